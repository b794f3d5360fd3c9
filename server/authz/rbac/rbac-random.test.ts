/**
 * Random policies: the index of a changing view answers every request like the simplest evaluator
 * over the same roles and bindings, and like a freshly filled index.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createUser, type UserInfo } from "../../request/user-info.js";
import type { AuthorizedRequest } from "../authorizer.js";
import { CompiledRules } from "./compiled-rules.js";
import { type PolicyRule, ruleAllows } from "./policy-rule.js";
import { PolicyView, type TestBinding, type TestRole } from "./testing/policy-view.js";
import { isAllowed, type Policy } from "./testing/reference-evaluator.js";

/** Together 20,000 requests, and in the long run 100,000. */
const POLICIES = process.env.KEELSON_TEST_LONG === "1" ? 1_000 : 200;
const STEPS = 10;
const REQUESTS_PER_STEP = 10;
const REQUESTS = POLICIES * STEPS * REQUESTS_PER_STEP;

const GROUPS = ["", "apps", "example.com"];
const RESOURCES = ["pods", "deployments", "widgets"];
const SUBRESOURCES = ["", "", "scale", "log"];
const RULE_RESOURCES = ["*", "*/scale", "pods", "pods/log", "pods/scale", "deployments", "widgets"];
const VERBS = ["get", "list", "create", "deletecollection", "impersonate"];
const NAMES = ["", "a", "b"];
const PATHS = ["/healthz", "/healthz/ping", "/metrics", "/", "/apis/x"];
const RULE_PATHS = ["*", "/healthz", "/healthz*", "/healthz/*", "/apis/**", "/"];
const NAMESPACES = ["one", "two"];
const USERS = ["jane", "joe", "Jane", "system:serviceaccount:one:robot"];
const USER_GROUPS = ["ops", "dev", "system:authenticated"];
const LABELS = ["to-view", "to-edit"];

test(`RBAC: ${REQUESTS} random requests are decided as by the plainest evaluator (S2-RBAC-01..16)`, () => {
  let allowed = 0;
  fc.assert(
    fc.property(fc.integer(), (seed) => {
      allowed += runPolicy(new Dice(seed));
    }),
    { numRuns: POLICIES },
  );
  // A test that allowed nothing, or everything, would prove little.
  const share = allowed / REQUESTS;
  assert.ok(share > 0.08 && share < 0.9, `${share} of all requests were allowed`);
});

test("compiled rules answer as the rules one by one", () => {
  fc.assert(
    fc.property(fc.integer(), (seed) => {
      const dice = new Dice(seed);
      const rules = dice.some(4, () => randomRule(dice));
      const compiled = CompiledRules.of(rules);
      for (let i = 0; i < 20; i++) {
        const request = randomRequest(dice);
        const expected = rules.some((rule) => ruleAllows(rule, request));
        assert.equal(compiled.allow(request), expected);
      }
    }),
    { numRuns: 500 },
  );
});

/** @returns the number of allowed requests */
function runPolicy(dice: Dice): number {
  // With every decision cached, and with none.
  const view = new PolicyView(dice.isOneIn(2) ? 0 : undefined);
  const roles = new Map<string, TestRole>();
  const bindings = new Map<string, TestBinding>();
  let allowed = 0;
  for (let step = 0; step < STEPS; step++) {
    for (let i = 0; i < (step === 0 ? 25 : 5); i++) changeSomething(dice, view, roles, bindings);
    const policy: Policy = { roles: [...roles.values()], bindings: [...bindings.values()] };
    for (let i = 0; i < REQUESTS_PER_STEP; i++) {
      const user = randomUser(dice);
      const info = randomRequest(dice);
      const expected = isAllowed(policy, user, info);
      const { decision } = view.decide({ user, info });
      assert.equal(decision === "allow", expected, JSON.stringify({ user, info, policy }));
      if (expected) allowed++;
    }
  }
  return allowed;
}

function changeSomething(
  dice: Dice,
  view: PolicyView,
  roles: Map<string, TestRole>,
  bindings: Map<string, TestBinding>,
): void {
  const isDeletion = dice.isOneIn(5);
  const namespace = dice.pick(["", ...NAMESPACES]);
  if (dice.isOneIn(2)) {
    const name = dice.pick(["r1", "r2", "r3"]);
    const key = `${namespace}/${name}`;
    if (isDeletion) {
      view.delete(namespace === "" ? "clusterroles" : "roles", namespace, name);
      roles.delete(key);
      return;
    }
    const role = randomRole(dice, namespace, name);
    view.putRole(role);
    roles.set(key, role);
    return;
  }
  const name = dice.pick(["b1", "b2", "b3"]);
  const key = `${namespace}/${name}`;
  const resource = namespace === "" ? "clusterrolebindings" : "rolebindings";
  if (isDeletion) {
    view.delete(resource, namespace, name);
    bindings.delete(key);
    return;
  }
  const binding = randomBinding(dice, namespace, name);
  view.putBinding(binding);
  bindings.set(key, binding);
  // Occasionally the feed is lost and everything is reloaded.
  if (!dice.isOneIn(10)) return;
  view.replace(
    resource,
    [...bindings.values()].filter((one) => (one.namespace === "") === (namespace === "")),
  );
  view.replace(
    "clusterroles",
    [...roles.values()].filter((one) => one.namespace === ""),
  );
}

function randomRole(dice: Dice, namespace: string, name: string): TestRole {
  const labels = Object.fromEntries(dice.some(2, () => [dice.pick(LABELS), "true"]));
  const rules = dice.some(3, () => randomRule(dice));
  if (namespace !== "" || !dice.isOneIn(3)) return { namespace, name, labels, rules };
  const selectors = dice.some(2, () => ({ matchLabels: { [dice.pick(LABELS)]: "true" } }));
  return { namespace, name, labels, rules, selectors };
}

function randomRule(dice: Dice): PolicyRule {
  const verbs = dice.some(3, () => dice.pick([...VERBS, "*"]));
  if (dice.isOneIn(4)) return { verbs, nonResourceURLs: dice.some(2, () => dice.pick(RULE_PATHS)) };
  return {
    verbs,
    apiGroups: dice.some(2, () => dice.pick([...GROUPS, "*"])),
    resources: dice.some(3, () => dice.pick(RULE_RESOURCES)),
    ...(dice.isOneIn(3) && { resourceNames: dice.some(2, () => dice.pick(["a", "b"])) }),
  };
}

function randomBinding(dice: Dice, namespace: string, name: string): TestBinding {
  const kind = namespace === "" || dice.isOneIn(2) ? "ClusterRole" : "Role";
  return {
    namespace,
    name,
    role: { kind, name: dice.pick(["r1", "r2", "r3", "missing"]) },
    subjects: dice.some(3, () => {
      if (dice.isOneIn(3)) return { kind: "Group", name: dice.pick(USER_GROUPS) };
      if (dice.isOneIn(2)) return { kind: "User", name: dice.pick(USERS) };
      const place = dice.pick(["", "one", "two"]);
      return { kind: "ServiceAccount", name: "robot", ...(place !== "" && { namespace: place }) };
    }),
  };
}

function randomUser(dice: Dice): UserInfo {
  const groups = dice.some(2, () => dice.pick(USER_GROUPS));
  return createUser({ name: dice.pick(USERS), groups });
}

function randomRequest(dice: Dice): AuthorizedRequest {
  const nothing = { version: "v1", group: "", namespace: "", resource: "", subresource: "" };
  if (dice.isOneIn(5)) {
    const path = dice.pick(PATHS);
    return { ...nothing, isResourceRequest: false, verb: "get", path, name: "" };
  }
  return {
    isResourceRequest: true,
    version: "v1",
    path: "",
    verb: dice.pick(VERBS),
    group: dice.pick(GROUPS),
    namespace: dice.pick(["", ...NAMESPACES]),
    resource: dice.pick(RESOURCES),
    subresource: dice.pick(SUBRESOURCES),
    name: dice.pick(NAMES),
  };
}

/** A seeded random generator: xorshift, because a case makes hundreds of choices. */
class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed === 0 ? 1 : seed;
  }

  below(bound: number): number {
    this.#state ^= this.#state << 13;
    this.#state ^= this.#state >>> 17;
    this.#state ^= this.#state << 5;
    return (this.#state >>> 0) % bound;
  }

  isOneIn(chances: number): boolean {
    return this.below(chances) === 0;
  }

  pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)] as T;
  }

  /** One to `max` values. */
  some<T>(max: number, make: () => T): T[] {
    return Array.from({ length: 1 + this.below(max) }, make);
  }
}
