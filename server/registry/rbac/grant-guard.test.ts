/** Nobody grants more than they hold: every way to write a role or binding, on a whole registry. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { AdmissionChain } from "../../admission/chain.js";
import type { JsonObject } from "../../api/meta.js";
import { StatusError } from "../../api/status.js";
import { UnionAuthorizer } from "../../authz/authorizer.js";
import { createGrantGuards } from "../../authz/rbac/grant-guard.js";
import { RbacAuthorizer } from "../../authz/rbac/rbac-authorizer.js";
import { RbacIndex } from "../../authz/rbac/rbac-index.js";
import { createUser, MASTERS_GROUP, type UserInfo } from "../../request/user-info.js";
import type { Registry } from "../registry.js";
import { plainWrites } from "../testing/plain-writes.js";
import {
  inputOf,
  noSignal,
  openRegistryHarness,
  writeOptions,
} from "../testing/registry-harness.js";
import { applyObject } from "../write/apply.js";
import { patchObject, updateObject } from "../write/update.js";
import { createGrantGuardPlugin } from "./grant-guard-plugin.js";

const GROUP = "rbac.authorization.k8s.io";
const NAMESPACE = "shop";

const root = createUser({ name: "root", groups: [MASTERS_GROUP] });
const jane = createUser({ name: "jane", groups: ["ops", "system:authenticated"] });

const harness = await openRegistryHarness();
const registry = withGuard(harness.registry);
after(() => harness[Symbol.asyncDispose]());
const writes = plainWrites(harness, { namespace: NAMESPACE, on: registry });
await writes.create("", "namespaces", { metadata: { name: NAMESPACE } }, { user: root });

function withGuard(unguarded: Registry): Registry {
  const { view, naming } = unguarded;
  const index = new RbacIndex(view, naming);
  const rbac = new RbacAuthorizer(index);
  const authorizer = new UnionAuthorizer([rbac]);
  const plugin = createGrantGuardPlugin(createGrantGuards({ index, rbac, authorizer }));
  return { ...unguarded, admission: new AdmissionChain([plugin]) };
}

const rule = (verbs: string[], resources: string[], more: JsonObject = {}): JsonObject => ({
  apiGroups: [""],
  verbs,
  resources,
  ...more,
});

const namespaceOf = (resource: string) => (resource.startsWith("cluster") ? "" : NAMESPACE);

async function create(user: UserInfo, resource: string, value: JsonObject, isDryRun = false) {
  await writes.create(GROUP, resource, value, { user, isDryRun });
  await registry.freshness.fresh();
}

async function put(user: UserInfo, resource: string, name: string, value: JsonObject) {
  const target = {
    resource: harness.resource(GROUP, "v1", resource),
    namespace: namespaceOf(resource),
    name,
    subresource: "",
    input: inputOf({ ...value, metadata: { name, ...(value.metadata as JsonObject) } }),
    options: writeOptions({ user }),
  };
  await updateObject(registry, target, noSignal);
  await registry.freshness.fresh();
}

async function patch(user: UserInfo, resource: string, name: string, change: JsonObject) {
  const target = {
    resource: harness.resource(GROUP, "v1", resource),
    namespace: namespaceOf(resource),
    name,
    subresource: "",
    patch: (current: unknown) => ({ ...(current as JsonObject), ...change }),
    options: writeOptions({ user }),
  };
  await patchObject(registry, target, noSignal);
  await registry.freshness.fresh();
}

const role = (name: string, ...rules: JsonObject[]): JsonObject => ({ metadata: { name }, rules });

const binding = (name: string, roleName: string, user = "joe", kind = "ClusterRole") => ({
  metadata: { name },
  roleRef: { apiGroup: GROUP, kind, name: roleName },
  subjects: [{ kind: "User", apiGroup: GROUP, name: user }],
});

/** Grants a user these rules, cluster-wide or in the namespace. */
async function give(
  user: string,
  name: string,
  place: "" | typeof NAMESPACE,
  ...rules: JsonObject[]
) {
  await create(root, "clusterroles", role(name, ...rules));
  const resource = place === "" ? "clusterrolebindings" : "rolebindings";
  await create(root, resource, binding(`give-${name}`, name, user));
}

async function refusal(write: Promise<void>): Promise<{ code: number; message: string }> {
  try {
    await write;
  } catch (error) {
    assert.ok(error instanceof StatusError, String(error));
    return { code: error.code, message: error.message };
  }
  return assert.fail("the write went through");
}

test("S2-RBAC-17: a role may give what its writer holds in its scope, and nothing else", async () => {
  await give("jane", "pods-in-shop", NAMESPACE, rule(["get", "list"], ["pods"]));
  await create(jane, "roles", role("fine", rule(["get"], ["pods"])));
  assert.deepEqual(
    await refusal(create(jane, "roles", role("more", rule(["get", "delete"], ["pods"])))),
    {
      code: 403,
      message:
        'roles.rbac.authorization.k8s.io "more" is forbidden: user "jane" (groups=["ops" "system:authenticated"]) ' +
        'is attempting to grant RBAC permissions not currently held:\n{APIGroups:[""], Resources:["pods"], Verbs:["delete"]}',
    },
  );
  // A permission in a namespace does not hold cluster-wide.
  const everywhere = await refusal(
    create(jane, "clusterroles", role("wide", rule(["get"], ["pods"]))),
  );
  assert.equal(everywhere.code, 403);
  await create(root, "clusterroles", role("wide", rule(["get"], ["pods"])));
});

test("S2-RBAC-17, S2-RBAC-18: who may not grant is told that, whatever else is wrong with the object", async () => {
  const isForbidden = async (write: Promise<void>) =>
    assert.equal((await refusal(write)).code, 403);
  const odd = { metadata: { name: "odd", labels: { "a b": "c" } } };
  await isForbidden(create(jane, "roles", { ...odd, rules: [rule(["get"], ["secrets"])] }));
  await isForbidden(create(jane, "roles", role("odd", rule([], ["pods"]), rule(["x"], ["x"]))));
  const selector = { matchLabels: { "a b": "c" } };
  const aggregationRule = { clusterRoleSelectors: [selector] };
  await isForbidden(create(jane, "clusterroles", { ...odd, aggregationRule }));
  await create(root, "clusterroles", role("all-secrets", rule(["*"], ["secrets"])));
  await isForbidden(
    create(jane, "rolebindings", {
      ...binding("odd", "all-secrets"),
      subjects: [{ kind: "X", name: "" }],
    }),
  );
  // What names no role grants nothing, so its mistakes are told.
  for (const roleRef of [{ apiGroup: GROUP, kind: "X", name: "wide" }, {}]) {
    const write = create(jane, "rolebindings", { ...binding("odd", "wide"), roleRef });
    assert.equal((await refusal(write)).code, 422, JSON.stringify(roleRef));
  }
  await give("mia", "get-pods", NAMESPACE, rule(["get"], ["pods"]));
  const mia = createUser({ name: "mia" });
  const write = create(mia, "roles", { ...odd, rules: [rule(["get"], ["pods"])] });
  assert.equal((await refusal(write)).code, 422);
});

test("S2-RBAC-17: updates, patches, applies, dry runs and PUTs that create are asked as well", async () => {
  const more = [rule(["delete"], ["pods"])];
  await create(root, "roles", role("target", rule(["get"], ["pods"])));
  assert.equal((await refusal(put(jane, "roles", "target", { rules: more }))).code, 403);
  assert.equal((await refusal(patch(jane, "roles", "target", { rules: more }))).code, 403);
  assert.equal((await refusal(create(jane, "roles", role("dry", ...more), true))).code, 403);
  assert.equal((await refusal(put(jane, "roles", "new-by-put", { rules: more }))).code, 403);
  const apply = applyObject(
    registry,
    {
      resource: harness.resource(GROUP, "v1", "roles"),
      namespace: NAMESPACE,
      name: "target",
      subresource: "",
      force: true,
      input: inputOf({
        apiVersion: `${GROUP}/v1`,
        kind: "Role",
        metadata: { name: "target" },
        rules: more,
      }),
      options: writeOptions({ user: jane }),
    },
    noSignal,
  ).then(() => {});
  assert.equal((await refusal(apply)).code, 403);
  await patch(jane, "roles", "target", { rules: [rule(["list"], ["pods"])] });
});

test("S2-RBAC-17: fields of the garbage collector are nobody's permission", async () => {
  await create(root, "roles", role("collected", rule(["delete"], ["pods"])));
  const metadata = { name: "collected", namespace: NAMESPACE, finalizers: ["example.com/hold"] };
  await put(jane, "roles", "collected", { metadata, rules: [rule(["delete"], ["pods"])] });
  const labelled = { ...metadata, labels: { a: "b" } };
  const write = put(jane, "roles", "collected", {
    metadata: labelled,
    rules: [rule(["delete"], ["pods"])],
  });
  assert.equal((await refusal(write)).code, 403);
});

test("S2-RBAC-17, S2-AZ-16: `escalate` lifts the limit, also for one name only", async () => {
  const escalate = { apiGroups: [GROUP], resources: ["roles"], verbs: ["escalate"] };
  await give("ed", "escalates-one", NAMESPACE, { ...escalate, resourceNames: ["named"] });
  await give("eve", "escalates", NAMESPACE, escalate);
  const [ed, eve] = ["ed", "eve"].map((name) => createUser({ name })) as [UserInfo, UserInfo];
  const more = rule(["*"], ["*"]);
  await create(eve, "roles", role("by-eve", more));
  // A create names nothing, so a permission limited to one name does not cover it.
  assert.equal((await refusal(create(ed, "roles", role("named", more)))).code, 403);
  await create(root, "roles", role("named"));
  await put(ed, "roles", "named", { rules: [more] });
  assert.equal((await refusal(put(ed, "roles", "by-eve", { rules: [more, more] }))).code, 403);
});

test("S2-RBAC-18: a binding may hand out what its writer holds", async () => {
  await create(jane, "rolebindings", binding("ok", "pods-in-shop"));
  await create(root, "clusterroles", role("secrets", rule(["get"], ["secrets"])));
  const { code, message } = await refusal(create(jane, "rolebindings", binding("no", "secrets")));
  assert.equal(code, 403);
  assert.match(
    message,
    /^rolebindings\.rbac\.authorization\.k8s\.io "no" is forbidden: user "jane" .*not currently held:\n\{APIGroups:\[""\], Resources:\["secrets"\], Verbs:\["get"\]\}$/,
  );
  const wide = await refusal(create(jane, "clusterrolebindings", binding("wide", "pods-in-shop")));
  assert.equal(wide.code, 403);
  // Adding a subject is a grant as well.
  await create(root, "rolebindings", binding("shared", "secrets"));
  const subjects = [{ kind: "User", apiGroup: GROUP, name: "jane" }];
  assert.equal((await refusal(patch(jane, "rolebindings", "shared", { subjects }))).code, 403);
});

test("S2-RBAC-18, S2-AZ-16: `bind` lifts the limit for the roles that it names", async () => {
  const bind = { apiGroups: [GROUP], resources: ["clusterroles"], verbs: ["bind"] };
  await give("bob", "binds", NAMESPACE, { ...bind, resourceNames: ["secrets", "not-there"] });
  const bob = createUser({ name: "bob" });
  await create(bob, "rolebindings", binding("by-bob", "secrets"));
  // The permission is limited to this namespace.
  const wide = await refusal(create(bob, "clusterrolebindings", binding("by-bob", "secrets")));
  assert.equal(wide.code, 403);
  await create(bob, "rolebindings", binding("early", "not-there"));
  assert.deepEqual(await refusal(create(bob, "rolebindings", binding("lost", "nothing"))), {
    code: 404,
    message: 'rolebindings.rbac.authorization.k8s.io "nothing" not found',
  });
});

test("S2-RBAC-12: only who may do everything may write an aggregationRule", async () => {
  const aggregated = {
    metadata: { name: "sum" },
    rules: [],
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: { part: "sum" } }] },
  };
  assert.deepEqual(await refusal(create(jane, "clusterroles", aggregated)), {
    code: 403,
    message:
      'clusterroles.rbac.authorization.k8s.io "sum" is forbidden: must have cluster-admin privileges to use the aggregationRule',
  });
  const empty = { ...aggregated, aggregationRule: { clusterRoleSelectors: [] } };
  assert.equal((await refusal(create(jane, "clusterroles", empty))).code, 422);
  await create(root, "clusterroles", aggregated);
  // Nor may they remove it, or bind more than it aggregates.
  assert.equal(
    (await refusal(patch(jane, "clusterroles", "sum", { aggregationRule: null }))).code,
    403,
  );
  await create(jane, "rolebindings", binding("sum", "sum"));
  await create(root, "clusterroles", {
    ...role("summand", rule(["get"], ["secrets"])),
    metadata: { name: "summand", labels: { part: "sum" } },
  });
  assert.equal((await refusal(create(jane, "rolebindings", binding("sum2", "sum")))).code, 403);

  const all = [
    { apiGroups: ["*"], resources: ["*"], verbs: ["*"] },
    { nonResourceURLs: ["*"], verbs: ["*"] },
  ];
  await give("chief", "everything", "", ...all);
  const chief = createUser({ name: "chief" });
  await create(chief, "clusterroles", { ...aggregated, metadata: { name: "sum-of-chief" } });
});

test("S2-RBAC-10: the roleRef of a binding never changes", async () => {
  const other = { apiGroup: GROUP, kind: "ClusterRole", name: "wide" };
  const { code, message } = await refusal(patch(root, "rolebindings", "ok", { roleRef: other }));
  assert.equal(code, 422);
  assert.match(message, /cannot change roleRef/);
});

test("S2-RBAC-05, S2-RBAC-09, S2-RBAC-13: what makes no sense is refused with 422", async () => {
  const pods = rule(["get"], ["pods"]);
  const subject = (value: JsonObject) => ({ ...binding("x", "wide"), subjects: [value] });
  const table: readonly (readonly [string, JsonObject, boolean])[] = [
    ["roles", role("system:x", pods), true],
    ["roles", role("a%b", pods), false],
    ["roles", role("..", pods), false],
    ["clusterroles", role("A b", pods), true],
    ["roles", role("urls", { verbs: ["get"], nonResourceURLs: ["/x"] }), false],
    ["clusterroles", role("urls", { verbs: ["get"], nonResourceURLs: ["/x/*"] }), true],
    ["clusterroles", role("both", { ...pods, nonResourceURLs: ["/x"] }), false],
    ["clusterroles", role("scale", rule(["get"], ["*/scale"])), true],
    ["roles", role("no-verbs", { apiGroups: [""], resources: ["pods"] }), false],
    ["rolebindings", subject({ kind: "User", name: "a", apiGroup: "" }), true],
    ["rolebindings", subject({ kind: "User", name: "a", apiGroup: "example.com" }), false],
    ["rolebindings", subject({ kind: "Robot", name: "a" }), false],
    ["rolebindings", subject({ kind: "ServiceAccount", name: "a", apiGroup: GROUP }), false],
    ["clusterrolebindings", subject({ kind: "ServiceAccount", name: "a" }), false],
    ["clusterrolebindings", binding("y", "wide", "a", "Role"), false],
  ];
  for (const [resource, value, isFine] of table) {
    const write = create(root, resource, value, true);
    if (isFine) await write;
    else assert.equal((await refusal(write)).code, 422, JSON.stringify(value));
  }
});
