/** Permissions from roles and bindings, by requirement, and the reasons given. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseRequestInfo } from "../../request/request-info.js";
import { createUser } from "../../request/user-info.js";
import { allow, bind, clusterRole, PolicyView, role } from "./testing/policy-view.js";

const PODS = "/api/v1/namespaces/shop/pods";
const OTHER_PODS = "/api/v1/namespaces/store/pods";

/** A view in which "jane" is bound cluster-wide to one role with these rules. */
function janeWith(...rules: Parameters<typeof clusterRole>[1][]): PolicyView {
  const view = new PolicyView();
  view.putRole(clusterRole("r", ...rules));
  view.putBinding(bind("", "b", "ClusterRole/r", "User:jane"));
  return view;
}

test("S2-RBAC-01, S2-RBAC-03: a Role and a RoleBinding allow what they say, in their namespace", () => {
  const view = new PolicyView();
  assert.equal(view.allows("jane", "GET", PODS), false);
  view.putRole(role("shop", "reader", allow("get,list", "pods")));
  view.putBinding(bind("shop", "readers", "Role/reader", "User:jane"));
  assert.equal(view.allows("jane", "GET", PODS), true);
  assert.equal(view.allows("jane", "GET", `${PODS}/web`), true);
  assert.equal(view.allows("jane", "DELETE", `${PODS}/web`), false);
  assert.equal(view.allows("jane", "GET", OTHER_PODS), false);
  assert.equal(view.allows("jane", "GET", "/api/v1/pods"), false);
});

test("S2-RBAC-02, S2-RBAC-11: a ClusterRole counts where it is bound: everywhere, or in a namespace", () => {
  const view = new PolicyView();
  view.putRole(clusterRole("reader", allow("list", "pods,nodes")));
  view.putBinding(bind("shop", "readers", "ClusterRole/reader", "User:jane"));
  view.putBinding(bind("", "readers", "ClusterRole/reader", "User:joe"));
  assert.equal(view.allows("jane", "GET", PODS), true);
  assert.equal(view.allows("jane", "GET", OTHER_PODS), false);
  assert.equal(view.allows("jane", "GET", "/api/v1/nodes"), false);
  for (const url of [PODS, OTHER_PODS, "/api/v1/pods", "/api/v1/nodes"]) {
    assert.equal(view.allows("joe", "GET", url), true, url);
  }
});

test("S2-RBAC-01: of two bindings to one role each counts until it is gone, also one that names its subject twice", () => {
  const view = new PolicyView();
  view.putRole(role("shop", "reader", allow("get,list", "pods")));
  view.putBinding(bind("shop", "one", "Role/reader", "User:jane"));
  view.putBinding(bind("shop", "two", "Role/reader", "User:jane", "User:joe", "User:jane"));
  view.delete("rolebindings", "shop", "one");
  assert.equal(view.allows("jane", "GET", PODS), true);
  view.delete("rolebindings", "shop", "two");
  assert.equal(view.allows("jane", "GET", PODS), false);
});

test("S2-RBAC-04, S2-RBAC-05: each field of a rule restricts, and a star lifts the restriction", () => {
  const scale = "/apis/apps/v1/namespaces/shop/deployments/web/scale";
  const table: readonly (readonly [Parameters<typeof allow>, string, string, boolean])[] = [
    [["get", "pods"], "GET", `${PODS}/web`, true],
    [["*", "pods"], "PATCH", `${PODS}/web`, true],
    [["get", "*"], "GET", `${PODS}/web`, true],
    [["get", "*"], "GET", `${PODS}/web/log`, true],
    [["get", "apps:pods"], "GET", `${PODS}/web`, false],
    [["get", "*:pods"], "GET", `${PODS}/web`, true],
    [["get", "|apps:pods"], "GET", `${PODS}/web`, true],
    [["get", "apps:*/scale"], "GET", scale, true],
    [["get", "*:*/scale"], "GET", scale, true],
    [["get", "apps:*/scale"], "GET", scale.replace("/scale", ""), false],
    [["get", "apps:*/scale"], "GET", scale.replace("/scale", "/status"), false],
    [["get", "apps:deployments/*"], "GET", scale, false],
  ];
  for (const [rule, method, url, expected] of table) {
    const view = janeWith(allow(...rule));
    assert.equal(view.allows("jane", method, url), expected, `${rule.join(" ")}: ${method} ${url}`);
  }
});

test("S2-RBAC-05: nonResourceURLs match exactly, or by a star at their end, and only cluster-wide", () => {
  const rule = { verbs: ["get"], nonResourceURLs: ["/metrics", "/debug/*", "/logs*"] };
  const view = janeWith(rule);
  for (const [path, expected] of [
    ["/metrics", true],
    ["/metrics/slis", false],
    ["/debug/pprof", true],
    ["/debug", false],
    ["/logs", true],
    ["/logs/a/b", true],
    ["/", false],
  ] as const) {
    assert.equal(view.allows("jane", "GET", path), expected, path);
    assert.equal(view.allows("jane", "POST", path), false, path);
  }
  const all = janeWith({ verbs: ["*"], nonResourceURLs: ["*"] });
  assert.equal(all.allows("jane", "DELETE", "/anything"), true);
  assert.equal(all.allows("jane", "GET", PODS), false);
  const bound = new PolicyView();
  bound.putRole(clusterRole("r", rule));
  bound.putBinding(bind("shop", "b", "ClusterRole/r", "User:jane"));
  assert.equal(bound.allows("jane", "GET", "/metrics"), false);
});

test("S2-RBAC-06: permissions of several roles add up", () => {
  const view = janeWith(allow("get", "pods"));
  view.putRole(role("shop", "writer", allow("create", "pods")));
  view.putBinding(bind("shop", "b", "Role/writer", "Group:writers"));
  const jane = createUser({ name: "jane", groups: ["writers"] });
  assert.equal(view.allows(jane, "GET", `${PODS}/web`), true);
  assert.equal(view.allows(jane, "POST", PODS), true);
  assert.equal(view.allows("jane", "POST", PODS), false);
});

test("S2-RBAC-07, S2-RBAC-15: resourceNames restrict, and reach no create or deletecollection", () => {
  const named = janeWith(allow("*", "pods,pods/eviction", "web"));
  assert.equal(named.allows("jane", "GET", `${PODS}/web`), true);
  assert.equal(named.allows("jane", "GET", `${PODS}/api`), false);
  assert.equal(named.allows("jane", "POST", PODS), false);
  assert.equal(named.allows("jane", "DELETE", PODS), false);
  assert.equal(named.allows("jane", "DELETE", `${PODS}?fieldSelector=metadata.name=web`), false);
  // The URL names the object of a subresource.
  assert.equal(named.allows("jane", "POST", `${PODS}/web/eviction`), true);
  const empty = janeWith({ ...allow("*", "pods"), resourceNames: [] });
  assert.equal(empty.allows("jane", "POST", PODS), true);
  assert.equal(empty.allows("jane", "GET", `${PODS}/any`), true);
});

test("S2-RBAC-16: with resourceNames a list or watch needs a field selector for that name", () => {
  const view = janeWith(allow("list,watch", "pods", "web"));
  for (const [url, expected] of [
    [PODS, false],
    [`${PODS}?watch=1`, false],
    [`${PODS}?fieldSelector=metadata.name%3Dweb`, true],
    [`${PODS}?watch=1&fieldSelector=metadata.name%3Dweb`, true],
    [`${PODS}?fieldSelector=metadata.name%3Dapi`, false],
    [`${PODS}?fieldSelector=metadata.name!%3Dweb`, false],
    [`${PODS}?labelSelector=metadata.name%3Dweb`, false],
  ] as const) {
    assert.equal(view.allows("jane", "GET", url), expected, url);
  }
});

test("S2-RBAC-14: a subresource is a permission of its own", () => {
  const pods = janeWith(allow("get", "pods"));
  assert.equal(pods.allows("jane", "GET", `${PODS}/web/log`), false);
  const logs = janeWith(allow("get", "pods/log"));
  assert.equal(logs.allows("jane", "GET", `${PODS}/web/log`), true);
  assert.equal(logs.allows("jane", "GET", `${PODS}/web`), false);
});

test("S2-RBAC-08: subjects are users, groups and service accounts, by their exact names", () => {
  const view = new PolicyView();
  view.putRole(clusterRole("r", allow("list", "pods")));
  view.putBinding(
    bind("shop", "b", "ClusterRole/r", "User:jane", "Group:ops", "ServiceAccount:store/robot"),
  );
  view.putBinding(bind("shop", "own", "ClusterRole/r", "ServiceAccount:local", "Robot:jim"));
  view.putBinding(bind("", "nowhere", "ClusterRole/r", "ServiceAccount:lost"));
  const ops = createUser({ name: "x", groups: ["ops"] });
  for (const [who, expected] of [
    ["jane", true],
    ["Jane", false],
    ["ops", false],
    [ops, true],
    [createUser({ name: "x", groups: ["Ops", "jane"] }), false],
    ["system:serviceaccount:store:robot", true],
    ["system:serviceaccount:shop:robot", false],
    ["robot", false],
    // Without a namespace it is in the binding's own.
    ["system:serviceaccount:shop:local", true],
    ["system:serviceaccount::lost", false],
    ["jim", false],
  ] as const) {
    assert.equal(view.allows(who, "GET", PODS), expected, JSON.stringify(who));
  }
});

test("the reason names binding, role and subject, as administrators know it", () => {
  const view = new PolicyView();
  view.putRole(clusterRole("y", allow("get", "nodes")));
  view.putRole(role("shop", "y", allow("get", "pods")));
  view.putBinding(bind("", "x", "ClusterRole/y", "User:z"));
  view.putBinding(bind("shop", "x", "Role/y", "Group:g", "ServiceAccount:robot"));
  const reason = (name: string, url: string) =>
    view.ask(createUser({ name, groups: name === "m" ? ["a", "g"] : [] }), "GET", url).reason;
  assert.equal(
    reason("z", "/api/v1/nodes/n"),
    'RBAC: allowed by ClusterRoleBinding "x" of ClusterRole "y" to User "z"',
  );
  assert.equal(
    reason("m", `${PODS}/p`),
    'RBAC: allowed by RoleBinding "x/shop" of Role "y" to Group "g"',
  );
  assert.equal(
    reason("system:serviceaccount:shop:robot", `${PODS}/p`),
    'RBAC: allowed by RoleBinding "x/shop" of Role "y" to ServiceAccount "robot/shop"',
  );
  assert.deepEqual(view.ask("nobody", "GET", PODS), { decision: "no-opinion", reason: "" });
});

test("roles that are bound and missing, or unreadable, are told in a denial, and hinder no other role", () => {
  const view = new PolicyView();
  view.putBinding(bind("", "b", "ClusterRole/gone", "User:jane", "Group:ops"));
  const jane = createUser({ name: "jane", groups: ["ops"] });
  const gone = 'clusterrole.rbac.authorization.k8s.io "gone" not found';
  assert.deepEqual(view.ask(jane, "GET", PODS), {
    decision: "no-opinion",
    reason: `RBAC: ${gone}`,
  });
  view.putBinding(bind("shop", "c", "Role/lost", "User:jane"));
  view.corrupt("roles", "shop", "broken");
  view.putBinding(bind("shop", "d", "Role/broken", "User:jane"));
  const lost = 'role.rbac.authorization.k8s.io "lost" not found';
  const broken = 'role.rbac.authorization.k8s.io "broken" cannot be read';
  assert.equal(view.ask(jane, "GET", PODS).reason, `RBAC: [${gone}, ${lost}, ${broken}]`);
  view.putRole(role("shop", "lost", allow("list", "pods")));
  assert.equal(view.allows(jane, "GET", PODS), true);
  // An unreadable binding grants nothing.
  view.corrupt("rolebindings", "shop", "c");
  assert.equal(view.allows(jane, "GET", PODS), false);
});

test("S2-RBAC-12, S2-RBAC-30: an aggregated role has what it gathers, from the next decision on", () => {
  const view = new PolicyView();
  const label = (name: string) => ({ [`to-${name}`]: "true" });
  const gathers = (name: string) => [{ matchLabels: label(name) }];
  view.putRole({
    ...clusterRole("edit", allow("delete", "pods")),
    selectors: gathers("edit"),
    labels: label("admin"),
  });
  view.putRole({ ...clusterRole("admin"), selectors: gathers("admin") });
  view.putBinding(bind("shop", "a", "ClusterRole/admin", "User:ann"));
  view.putBinding(bind("shop", "e", "ClusterRole/edit", "User:ed"));
  const may = (who: string, method = "GET") =>
    view.allows(who, method, method === "GET" ? PODS : `${PODS}/x`);
  // Rules written into an aggregated role do not count.
  assert.deepEqual([may("ann", "DELETE"), may("ed", "DELETE")], [false, false]);

  view.putRole({ ...clusterRole("part", allow("list", "pods")), labels: label("edit") });
  assert.deepEqual([may("ann"), may("ed")], [true, true]);
  view.putRole({ ...clusterRole("part", allow("list", "nodes")), labels: label("edit") });
  assert.deepEqual([may("ann"), may("ed")], [false, false]);
  view.putRole({ ...clusterRole("part", allow("list", "pods")), labels: label("admin") });
  assert.deepEqual([may("ann"), may("ed")], [true, false]);
  view.delete("clusterroles", "", "part");
  assert.deepEqual([may("ann"), may("ed")], [false, false]);

  // Two roles that include each other both have the rules of either.
  view.putRole({ ...clusterRole("ring"), selectors: gathers("ring"), labels: label("edit") });
  view.putRole({ ...clusterRole("edit"), selectors: gathers("edit"), labels: label("ring") });
  view.putRole({ ...clusterRole("part", allow("list", "pods")), labels: label("ring") });
  assert.equal(may("ed"), true);
});

test("S2-RBAC-30: a decision is as fresh as the view: changes, deletions, a reload", () => {
  const view = new PolicyView();
  const rights = role("shop", "r", allow("list", "pods"));
  const binding = bind("shop", "b", "Role/r", "User:jane", "User:jane", "Group:ops");
  view.putBinding(binding);
  assert.equal(view.allows("jane", "GET", PODS), false);
  view.putRole(rights);
  assert.equal(view.allows("jane", "GET", PODS), true);
  view.putBinding(bind("shop", "b", "Role/r", "User:joe"));
  assert.deepEqual(
    [view.allows("jane", "GET", PODS), view.allows("joe", "GET", PODS)],
    [false, true],
  );
  view.putBinding(binding);
  view.putBinding(bind("shop", "c", "Role/r", "User:jane"));
  view.delete("rolebindings", "shop", "b");
  assert.equal(view.allows("jane", "GET", PODS), true);
  view.delete("rolebindings", "shop", "c");
  assert.equal(view.allows("jane", "GET", PODS), false);
  view.replace("rolebindings", [binding]);
  assert.equal(view.allows("jane", "GET", PODS), true);
  view.replace("roles", []);
  assert.equal(view.allows("jane", "GET", PODS), false);
  view.replace("roles", [rights]);
  view.replace("rolebindings", []);
  assert.equal(view.allows("jane", "GET", PODS), false);
});

test("S2-SAR-04: rules are listed cluster-wide and for one namespace, with what is missing", async () => {
  const view = janeWith(allow("get", "nodes"), { verbs: ["get"], nonResourceURLs: ["/metrics"] });
  view.putRole(role("shop", "r", allow("list", "apps:deployments", "web")));
  view.putBinding(bind("shop", "b", "Role/r", "User:jane"));
  view.putBinding(bind("shop", "again", "Role/r", "User:jane"));
  view.putBinding(bind("store", "b", "Role/gone", "User:jane"));
  const jane = createUser({ name: "jane" });
  assert.deepEqual(await view.authorizer.rulesFor(jane, "shop"), {
    resourceRules: [
      { verbs: ["get"], apiGroups: [""], resources: ["nodes"] },
      { verbs: ["list"], apiGroups: ["apps"], resources: ["deployments"], resourceNames: ["web"] },
    ],
    nonResourceRules: [{ verbs: ["get"], nonResourceURLs: ["/metrics"] }],
    incomplete: false,
  });
  const elsewhere = await view.authorizer.rulesFor(jane, "store");
  assert.equal(elsewhere.evaluationError, 'role.rbac.authorization.k8s.io "gone" not found');
  assert.equal(elsewhere.resourceRules.length, 1);
});

/** So many roles of so many rules each, bound to jane in one namespace; only the last one allows pods. */
function wide(roles: number, rules: number): PolicyView {
  const view = new PolicyView();
  for (let at = 0; at < roles; at++) {
    const others = Array.from({ length: rules }, (_, rule) => allow("get", `things-${at}-${rule}`));
    if (at === roles - 1) others.push(allow("list", "pods"));
    view.putRole(role("shop", `r${at}`, ...others));
    view.putBinding(bind("shop", `b${at}`, `Role/r${at}`, "User:jane"));
  }
  return view;
}

test("39.3: the roles of a user are not all read in one turn, and the decision is the same", async () => {
  const view = wide(20, 500);
  const jane = createUser({ name: "jane" });
  const ask = (url: string) => ({ user: jane, info: parseRequestInfo("GET", url) });
  const answer = view.authorizer.authorize(ask(PODS));
  assert.ok(answer instanceof Promise);
  // One turn has read only what there was room for.
  const read = () =>
    Array.from({ length: 20 }, (_, at) => view.index.role("Role", "shop", `r${at}`)).filter(
      (entry) => entry?.content !== undefined,
    ).length;
  assert.ok(read() < 20, String(read()));
  assert.equal((await answer).decision, "allow");
  // What has been read is not read again.
  assert.equal(view.decide(ask(PODS)).decision, "allow");
  assert.equal(view.decide(ask("/api/v1/namespaces/shop/secrets")).decision, "no-opinion");
  // A change of one role leads to no more than reading that one.
  view.putRole(role("shop", "r3", allow("get", "secrets")));
  assert.equal(view.decide(ask("/api/v1/namespaces/shop/secrets/a")).decision, "allow");
  // Nobody else waits for them.
  assert.equal(view.allows("joe", "GET", PODS), false);
});

test("39.3: one role of thousands of rules is read in steps, and so is one that gathers them", async () => {
  const jane = createUser({ name: "jane" });
  const ask = { user: jane, info: parseRequestInfo("GET", "/api/v1/nodes") };
  const rules = Array.from({ length: 5_000 }, (_, at) => allow("get", `things-${at}`));
  const labels = { part: "large" };
  for (const selectors of [undefined, [{ matchLabels: labels }]]) {
    const view = new PolicyView();
    view.putRole({ ...clusterRole("large", ...rules, allow("list", "nodes")), labels });
    view.putRole({ ...clusterRole("gathers"), ...(selectors && { selectors }) });
    view.putBinding(bind("", "b", `ClusterRole/${selectors ? "gathers" : "large"}`, "User:jane"));
    const answer = view.authorizer.authorize(ask);
    assert.ok(answer instanceof Promise);
    const entry = view.index.role("ClusterRole", "", selectors ? "gathers" : "large");
    assert.ok(entry !== undefined && entry.content === undefined);
    // Who asks meanwhile waits for the same reading.
    const { reading } = entry;
    const other = { user: jane, info: parseRequestInfo("GET", "/api/v1/pods") };
    const second = view.authorizer.authorize(other);
    assert.ok(second instanceof Promise && reading !== undefined);
    assert.equal(entry.reading, reading);
    const steps = view.index.rules(entry);
    let count = 0;
    while (steps.next().done !== true) count++;
    assert.ok(count > 20, String(count));
    assert.equal((await answer).decision, "allow");
    assert.equal((await second).decision, "no-opinion");
    // A change while it is read is not lost.
    view.putRole({ ...clusterRole("large", ...rules, allow("list", "pods")), labels });
    const stale = view.index.rules(entry);
    stale.next();
    view.putRole({ ...clusterRole("large", ...rules), labels });
    while (stale.next().done !== true);
    assert.equal((await view.authorizer.authorize(ask)).decision, "no-opinion");
  }
});

test("39.2: of more rules than anybody reads the first are listed, as incomplete", async () => {
  const view = wide(41, 500);
  const jane = createUser({ name: "jane" });
  const { resourceRules, incomplete, evaluationError } = await view.authorizer.rulesFor(
    jane,
    "shop",
  );
  assert.deepEqual([resourceRules.length, incomplete], [20_000, true]);
  assert.equal(evaluationError, "more than 20000 rules apply to the user");
});

test("malformed roles and bindings in the store grant nothing and break nothing", () => {
  const view = new PolicyView();
  const odd = (value: unknown) => value as never;
  view.putBinding(bind("shop", "ok", "Role/r", "User:jane"));
  for (const rules of [null, {}, "x", [null], [{}], [{ verbs: "get", resources: 7 }], [[]]]) {
    view.putRole({ namespace: "shop", name: "r", rules: odd(rules) });
    assert.equal(view.allows("jane", "GET", PODS), false);
  }
  for (const selectors of [
    odd({}),
    odd([null]),
    odd([{ matchLabels: [] }]),
    odd([{ matchExpressions: [1] }]),
  ]) {
    view.putRole({ namespace: "", name: "agg", selectors });
  }
  for (const subjects of [
    null,
    {},
    [null],
    [{}],
    [{ kind: "User" }],
    [{ kind: 1, name: "jane" }],
  ]) {
    view.putBinding({ ...bind("shop", "odd", "Role/r"), subjects: odd(subjects) });
  }
  view.putBinding({ ...bind("shop", "odd", "Role/r", "User:joe"), role: odd({ kind: "Widget" }) });
  view.putRole(role("shop", "r", allow("list", "pods")));
  assert.deepEqual(
    [view.allows("jane", "GET", PODS), view.allows("joe", "GET", PODS)],
    [true, false],
  );
});

test("a subject with many roles gets right answers again and again, while the policy changes", () => {
  const view = new PolicyView();
  for (let i = 0; i < 40; i++) {
    view.putRole(clusterRole(`r${i}`, allow("get", `kind${i}`)));
    view.putBinding(bind("shop", `b${i}`, `ClusterRole/r${i}`, "User:jane"));
  }
  const url = "/api/v1/namespaces/shop/kind39/x";
  for (let round = 0; round < 3; round++) {
    assert.equal(view.allows("jane", "GET", url), true);
    assert.equal(view.allows("jane", "DELETE", url), false);
  }
  view.putRole(clusterRole("r39", allow("delete", "kind39")));
  assert.deepEqual(
    [view.allows("jane", "GET", url), view.allows("jane", "DELETE", url)],
    [false, true],
  );
  view.delete("rolebindings", "shop", "b39");
  assert.equal(view.allows("jane", "DELETE", url), false);
  // More distinct requests than the cache holds.
  for (let i = 0; i < 1_500; i++) {
    assert.equal(
      view.allows("jane", "GET", `/api/v1/namespaces/shop/kind${i % 50}/n${i}`),
      i % 50 < 39,
    );
  }
});
