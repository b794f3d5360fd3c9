/**
 * The cost of a decision with many bindings: `node dist/server/authz/rbac/decisions.bench.js`. 10,000
 * bindings of 1,000 users, 200 groups and 200 service accounts to 500 roles, in 200 namespaces, besides
 * the default policy's groups. Prints microseconds per decision:
 *
 *   warm   roles compiled, subjects in random order
 *   cold   the first decision of a subject after all of its roles changed
 *   many   a group with 10,000 bindings of its own, to 500 roles, of which the last one allows
 */
import { parseRequestInfo } from "../../request/request-info.js";
import { createUser } from "../../request/user-info.js";
import { allow, PolicyView, role } from "./testing/policy-view.js";

const USERS = 1_000;
const NAMESPACES = 200;
const ROLES = 500;
const BINDINGS = 10_000;
const DECISIONS = 200_000;
const COLD_ROUNDS = 2_000;

const RESOURCES = "pods,pods/log,services,configmaps,secrets,endpoints,persistentvolumeclaims";

const view = new PolicyView();
const groups = ["team-1", "system:authenticated"];
const commonGroups = ["basic", "discovery", "public"];

function putClusterRole(index: number): void {
  view.putRole({
    namespace: "",
    name: `role-${index}`,
    rules: [
      allow("get,list,watch", RESOURCES),
      allow("create,update,patch,delete", `apps:deployments,statefulsets,daemonsets,r${index}`),
      allow("get", "batch:jobs,cronjobs"),
    ],
  });
}

function time(count: number, run: (index: number) => void): number {
  const started = performance.now();
  for (let i = 0; i < count; i++) run(i);
  return ((performance.now() - started) * 1_000) / count;
}

const load = time(1, () => {
  for (let i = 0; i < ROLES; i++) putClusterRole(i);
  for (const name of commonGroups) {
    view.putRole({ namespace: "", name, rules: [{ verbs: ["get"], nonResourceURLs: ["/api/*"] }] });
    view.putBinding({
      namespace: "",
      name,
      role: { kind: "ClusterRole", name },
      subjects: [{ kind: "Group", name: "system:authenticated" }],
    });
  }
  for (let i = 0; i < BINDINGS; i++) {
    const namespace = i % 10 === 0 ? "" : `ns-${i % NAMESPACES}`;
    view.putBinding({
      namespace,
      name: `b-${i}`,
      role: { kind: "ClusterRole", name: `role-${i % ROLES}` },
      subjects: [
        { kind: "User", name: `user-${i % USERS}` },
        { kind: "Group", name: `team-${i % 200}` },
        { kind: "ServiceAccount", namespace: `ns-${i % NAMESPACES}`, name: "robot" },
      ],
    });
  }
});

const requests = Array.from({ length: 1_000 }, (_, i) => ({
  user: createUser({ name: `user-${(i * 7) % USERS}`, groups }),
  info: parseRequestInfo(
    i % 3 === 0 ? "POST" : "GET",
    i % 2 === 0
      ? `/api/v1/namespaces/ns-${i % NAMESPACES}/pods/p`
      : `/apis/apps/v1/namespaces/ns-${i % NAMESPACES}/deployments/d`,
  ),
}));
const count = { allowed: 0, coldMicroseconds: 0 };
const decide = (index: number) => {
  const { decision } = view.decide(requests[index % requests.length] as never);
  if (decision === "allow") count.allowed++;
};
time(DECISIONS, decide);
count.allowed = 0;
const warm = time(DECISIONS, decide);
const share = count.allowed / DECISIONS;

for (let round = 0; round < COLD_ROUNDS; round++) {
  const { user, info } = requests[(round * 13) % requests.length] as (typeof requests)[number];
  view.index.visit(user, info.namespace, ({ name }) => {
    if (name.startsWith("role-")) putClusterRole(Number(name.slice(5)));
  });
  count.coldMicroseconds += time(1, () => view.decide({ user, info }));
}

for (let i = 0; i < BINDINGS; i++) {
  view.putBinding({
    namespace: "big",
    name: `b-${i}`,
    role: { kind: "ClusterRole", name: `role-${i % ROLES}` },
    subjects: [{ kind: "Group", name: "everybody" }],
  });
}
view.putRole(role("big", "last", allow("delete", "pods")));
view.putBinding({
  namespace: "big",
  name: "last",
  role: { kind: "Role", name: "last" },
  subjects: [{ kind: "Group", name: "everybody" }],
});
const everybody = {
  user: createUser({ name: "x", groups: ["everybody"] }),
  info: parseRequestInfo("DELETE", "/api/v1/namespaces/big/pods/p"),
};
time(1_000, () => view.decide(everybody));
const many = time(10_000, () => view.decide(everybody));

const write = (text: string) => process.stdout.write(`${text}\n`);
write(`load   ${(load / 1_000).toFixed(0)} ms for ${BINDINGS} bindings and ${ROLES} roles`);
write(`warm   ${warm.toFixed(2)} µs (${(share * 100).toFixed(0)} % allowed)`);
write(`cold   ${(count.coldMicroseconds / COLD_ROUNDS).toFixed(2)} µs`);
write(`many   ${many.toFixed(2)} µs`);
