/** Impersonation: the questions to the authorizer, and the resulting user. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createNaming } from "../api/naming.js";
import { StatusError } from "../api/status.js";
import { createUser, type UserInfo } from "../request/user-info.js";
import type { AuthorizationAttributes, Authorizer } from "./authorizer.js";
import { Impersonation } from "./impersonation.js";

const SIGNAL = { signal: new AbortController().signal };
const NODE_NAME = "authentication.kubernetes.io/node-name";

const bob = createUser({ name: "bob", groups: ["system:authenticated"] });
const LIST_PODS: AuthorizationAttributes["info"] = {
  isResourceRequest: true,
  verb: "list",
  path: "/api/v1/namespaces/shop/pods",
  group: "",
  version: "v1",
  namespace: "shop",
  resource: "pods",
  subresource: "",
  name: "",
};

/** "impersonate users jane", "impersonate:user-info userextras/acme.com/p.authentication.k8s.io one". */
function describeQuestion({ info }: AuthorizationAttributes): string {
  const resource = info.subresource === "" ? info.resource : `${info.resource}/${info.subresource}`;
  const group = info.group === "" ? "" : `.${info.group}`;
  const place = info.namespace === "" ? "" : `${info.namespace}/`;
  return `${info.verb} ${resource}${group} ${place}${info.name}`;
}

/** Allows exactly these questions; "*" allows all. Records the questions. */
class Rules implements Authorizer {
  readonly name = "rules";
  readonly asked: string[] = [];
  readonly askers: UserInfo[] = [];
  readonly #allowed: ReadonlySet<string>;

  constructor(allowed: readonly string[]) {
    this.#allowed = new Set(allowed);
  }

  authorize(attributes: AuthorizationAttributes) {
    const question = describeQuestion(attributes);
    this.asked.push(question);
    this.askers.push(attributes.user);
    const isAllowed = this.#allowed.has("*") || this.#allowed.has(question);
    return isAllowed
      ? ({ decision: "allow", reason: "" } as const)
      : ({ decision: "no-opinion", reason: "no rule" } as const);
  }
}

async function become(
  allowed: readonly string[],
  wanted: Partial<UserInfo> & { name: string },
  options: { isConstrained?: boolean; requestor?: UserInfo; vendor?: string } = {},
) {
  const rules = new Rules(allowed);
  const { isConstrained = false, requestor = bob, vendor = "kubernetes" } = options;
  const naming = createNaming(vendor);
  const impersonation = new Impersonation({ authorizer: rules, naming, isConstrained });
  const attributes = { user: requestor, info: LIST_PODS };
  try {
    const { user, constraint } = await impersonation.check(attributes, createUser(wanted), SIGNAL);
    return { user, constraint, asked: rules.asked, askers: rules.askers, message: "" };
  } catch (error) {
    assert.ok(error instanceof StatusError && error.code === 403, String(error));
    const { message } = error;
    return { user: undefined, constraint: "", asked: rules.asked, askers: rules.askers, message };
  }
}

describe("unconstrained", () => {
  test("S2-IMP-05, S2-IMP-06: every part of the identity is asked for by itself", async () => {
    const { user, asked, constraint } = await become(["*"], {
      name: "jane",
      uid: "7",
      groups: ["dev", "ops"],
      extra: { "acme.com/project": ["one", "two"], scopes: ["a"] },
    });
    assert.deepEqual(asked, [
      "impersonate users jane",
      "impersonate uids.authentication.k8s.io 7",
      "impersonate groups dev",
      "impersonate groups ops",
      "impersonate userextras/acme.com/project.authentication.k8s.io one",
      "impersonate userextras/acme.com/project.authentication.k8s.io two",
      "impersonate userextras/scopes.authentication.k8s.io a",
    ]);
    assert.deepEqual(user, {
      name: "jane",
      uid: "7",
      groups: ["dev", "ops", "system:authenticated"],
      extra: { "acme.com/project": ["one", "two"], scopes: ["a"] },
    });
    assert.equal(constraint, "");
  });

  test("S2-IMP-01, S2-IMP-07, S2-IMP-09: one part that is refused refuses all, in kube-apiserver's words", async () => {
    const allowed = ["impersonate users jane", "impersonate groups dev"];
    assert.equal((await become(allowed, { name: "jane", groups: ["dev"] })).user?.name, "jane");
    assert.equal(
      (await become(allowed, { name: "joe" })).message,
      'users "joe" is forbidden: User "bob" cannot impersonate resource "users" in API group "" at the cluster scope: no rule',
    );
    assert.equal(
      (await become(allowed, { name: "jane", groups: ["dev", "ops"] })).message,
      'groups "ops" is forbidden: User "bob" cannot impersonate resource "groups" in API group "" at the cluster scope: no rule',
    );
    assert.equal(
      (await become(allowed, { name: "jane", uid: "7" })).message,
      'uids.authentication.k8s.io "7" is forbidden: User "bob" cannot impersonate resource "uids" in API group "authentication.k8s.io" at the cluster scope: no rule',
    );
    assert.equal(
      (await become(allowed, { name: "jane", extra: { scopes: ["a"] } })).message,
      'userextras.authentication.k8s.io "a" is forbidden: User "bob" cannot impersonate resource "userextras/scopes" in API group "authentication.k8s.io" at the cluster scope: no rule',
    );
  });

  test("S2-IMP-10: a service account is asked for in its namespace and gets its groups", async () => {
    const name = "system:serviceaccount:shop:web";
    const { user, asked } = await become(["*"], { name });
    assert.deepEqual(asked, ["impersonate serviceaccounts shop/web"]);
    assert.deepEqual(user?.groups, [
      "system:serviceaccounts",
      "system:serviceaccounts:shop",
      "system:authenticated",
    ]);
    const named = await become(["*"], { name, groups: ["dev"] });
    assert.deepEqual(named.user?.groups, ["dev", "system:authenticated"]);
    for (const user of ["a:b:c", "A:b", ":b", "a:", "a"]) {
      const odd = await become(["*"], { name: `system:serviceaccount:${user}` });
      assert.deepEqual(odd.asked, [`impersonate users system:serviceaccount:${user}`]);
      assert.deepEqual(odd.user?.groups, ["system:authenticated"]);
    }
  });

  test("S2-IMP-10: the anonymous user is unauthenticated, and who asks for that group too", async () => {
    const groupsOf = async (name: string, groups: string[] = []) =>
      (await become(["*"], { name, groups })).user?.groups;
    assert.deepEqual(await groupsOf("system:anonymous"), ["system:unauthenticated"]);
    assert.deepEqual(await groupsOf("system:anonymous", ["dev"]), [
      "dev",
      "system:unauthenticated",
    ]);
    assert.deepEqual(await groupsOf("jane", ["system:unauthenticated"]), [
      "system:unauthenticated",
    ]);
    assert.deepEqual(await groupsOf("jane", ["system:authenticated"]), ["system:authenticated"]);
  });
});

describe("S2-IMP-12: constrained", () => {
  const isConstrained = true;
  const AUTHN = ".authentication.k8s.io";

  test("both halves are needed: who, and what for", async () => {
    const who = `impersonate:user-info users${AUTHN} jane`;
    const what = "impersonate-on:user-info:list pods shop/";
    const both = await become([who, what], { name: "jane" }, { isConstrained });
    assert.deepEqual(both.user?.groups, ["system:authenticated"]);
    assert.equal(both.constraint, "impersonate:user-info");
    assert.equal((await become([who, what], { name: "jane" })).user, undefined);
    assert.equal(
      (await become([who], { name: "jane" }, { isConstrained })).message,
      'pods is forbidden: User "bob" cannot impersonate-on:user-info:list resource "pods" in API group "" in the namespace "shop": no rule',
    );
    assert.equal(
      (await become([what], { name: "jane" }, { isConstrained })).message,
      `users${AUTHN} "jane" is forbidden: User "bob" cannot impersonate:user-info resource "users" in API group "authentication.k8s.io" at the cluster scope: no rule`,
    );
    // S2-IMP-09: a user with neither half gets the message of unconstrained impersonation.
    assert.match(
      (await become([], { name: "jane" }, { isConstrained })).message,
      /^users "jane" is forbidden: User "bob" cannot impersonate resource "users" in API group ""/,
    );
  });

  test("the unconstrained permission still suffices, and is no constraint", async () => {
    const answer = await become(["impersonate users jane"], { name: "jane" }, { isConstrained });
    assert.equal(answer.user?.name, "jane");
    assert.equal(answer.constraint, "");
  });

  test("groups, uid and extra are of the mode user-info; some never", async () => {
    const wanted = { name: "jane", uid: "7", groups: ["dev"], extra: { "acme.com/p": ["one"] } };
    const rules = [
      "impersonate-on:user-info:list pods shop/",
      `impersonate:user-info users${AUTHN} jane`,
      `impersonate:user-info uids${AUTHN} 7`,
      `impersonate:user-info groups${AUTHN} dev`,
      `impersonate:user-info userextras/acme.com/p${AUTHN} one`,
    ];
    const ask = async (changes: Partial<UserInfo>, more: string[] = []) =>
      await become([...rules, ...more], { ...wanted, ...changes }, { isConstrained });
    assert.equal((await ask({})).constraint, "impersonate:user-info");
    const masters = [`impersonate:user-info groups${AUTHN} system:masters`];
    assert.match(
      (await ask({ groups: ["system:masters"] }, masters)).message,
      /impersonating the system:masters group is not allowed$/,
    );
    assert.match((await ask({ groups: [""] })).message, /the empty string group is not allowed$/);
    assert.match(
      (await ask({ extra: { scopes: ["a"] } })).message,
      /invalid key in extra is not allowed: .*domain-prefixed path/,
    );
    assert.match((await ask({ extra: { "acme.com/P": ["a"] } })).message, /non-lowercase key/);
    assert.match((await ask({ extra: { "acme.com/p": [""] } })).message, /empty string value/);
  });

  test("many groups or facts may be allowed all at once", async () => {
    const groups = ["a", "b", "c", "d"];
    const rules = [
      "impersonate-on:user-info:list pods shop/",
      `impersonate:user-info users${AUTHN} jane`,
      `impersonate:user-info groups${AUTHN} *`,
      `impersonate:user-info userextras/*${AUTHN} *`,
    ];
    const extra = { "acme.com/p": groups };
    const many = await become(rules, { name: "jane", groups, extra }, { isConstrained });
    assert.equal(many.constraint, "impersonate:user-info");
    const few = await become(rules, { name: "jane", groups: ["a"] }, { isConstrained });
    assert.equal(few.user, undefined);
  });

  test("a service account has its own mode, and comes alone", async () => {
    const name = "system:serviceaccount:shop:web";
    const rules = [
      "impersonate-on:serviceaccount:list pods shop/",
      `impersonate:serviceaccount serviceaccounts${AUTHN} shop/web`,
      "impersonate-on:user-info:list pods shop/",
      `impersonate:user-info users${AUTHN} ${name}`,
    ];
    const answer = await become(rules, { name }, { isConstrained });
    assert.equal(answer.constraint, "impersonate:serviceaccount");
    assert.deepEqual(answer.user?.groups.slice(0, 2), [
      "system:serviceaccounts",
      "system:serviceaccounts:shop",
    ]);
    const withGroup = await become(rules, { name, groups: ["dev"] }, { isConstrained });
    assert.match(withGroup.message, /cannot impersonate resource "serviceaccounts"/);
  });

  test("a node: any of them, or only one's own, of which the authorizer sees no name", async () => {
    const arbitrary = [
      "impersonate-on:arbitrary-node:list pods shop/",
      `impersonate:arbitrary-node nodes${AUTHN} n1`,
    ];
    const name = "system:node:n1";
    const any = await become(arbitrary, { name }, { isConstrained });
    assert.equal(any.constraint, "impersonate:arbitrary-node");
    assert.deepEqual(any.user?.groups, ["system:nodes", "system:authenticated"]);

    const associated = [
      "impersonate-on:associated-node:list pods shop/",
      `impersonate:associated-node nodes${AUTHN} *`,
    ];
    const agent = (node: string[], account = "system:serviceaccount:net:agent") =>
      createUser({ name: account, extra: { [NODE_NAME]: node, other: ["x"] } });
    const own = await become(associated, { name }, { isConstrained, requestor: agent(["n1"]) });
    assert.equal(own.constraint, "impersonate:associated-node");
    assert.equal(own.user?.name, name);
    for (const asker of own.askers) {
      assert.deepEqual(asker.extra, {
        "authentication.kubernetes.io/associated-node-keys": [NODE_NAME, "other"],
      });
    }
    for (const other of [agent(["n2"]), agent(["n1", "n2"]), agent([]), agent(["n1"], "mallory")]) {
      const answer = await become(associated, { name }, { isConstrained, requestor: other });
      assert.equal(answer.user, undefined);
    }
  });
});

test("S2-IMP-06, S2-IMP-12: groups and keys are spelled as the vendor's", async () => {
  const rules = ["impersonate users jane", "impersonate uids.authentication.acme.io 7"];
  assert.equal(
    (await become(rules, { name: "jane", uid: "7" }, { vendor: "acme" })).user?.uid,
    "7",
  );
  const requestor = createUser({
    name: "system:serviceaccount:net:agent",
    extra: { "authentication.acme.io/node-name": ["n1"] },
  });
  const associated = [
    "impersonate-on:associated-node:list pods shop/",
    "impersonate:associated-node nodes.authentication.acme.io *",
  ];
  const options = { vendor: "acme", isConstrained: true, requestor };
  const answer = await become(associated, { name: "system:node:n1" }, options);
  assert.equal(answer.constraint, "impersonate:associated-node");
});
