/** ABAC: the policy file, its two forms, and what they let through; AlwaysAllow and AlwaysDeny. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createNaming } from "../api/naming.js";
import { parseRequestInfo } from "../request/request-info.js";
import { AUTHENTICATED_GROUP, createUser } from "../request/user-info.js";
import { AbacAuthorizer, AbacPolicyError } from "./abac.js";
import { alwaysAllow } from "./always-allow.js";
import { alwaysDeny } from "./always-deny.js";
import { UnionAuthorizer } from "./authorizer.js";
import { PrivilegedGroupsAuthorizer } from "./privileged-groups.js";
import { combineRules, unlistable } from "./subject-rules.js";

const naming = createNaming("kubernetes");
const WAIT = { signal: new AbortController().signal };

/** Versioned policies of these specs. */
function policies(...specs: object[]): AbacAuthorizer {
  const apiVersion = "abac.authorization.kubernetes.io/v1beta1";
  const lines = specs.map((spec) => JSON.stringify({ apiVersion, kind: "Policy", spec }));
  return new AbacAuthorizer(naming, "p", lines.join("\n"));
}

function unversioned(...specs: object[]): AbacAuthorizer {
  return new AbacAuthorizer(naming, "p", specs.map((spec) => JSON.stringify(spec)).join("\n"));
}

const person = (name: string, ...groups: string[]) =>
  createUser({ name, groups: [...groups, AUTHENTICATED_GROUP] });

function decide(authorizer: AbacAuthorizer, user: ReturnType<typeof person>, request: string) {
  const [method = "", url = ""] = request.split(" ");
  const { decision, reason } = authorizer.authorize({ user, info: parseRequestInfo(method, url) });
  if (decision !== "allow") assert.equal(reason, "No policy matched.");
  return decision === "allow";
}

const PODS = "/api/v1/namespaces/projects/pods";

test("S2-AZ-05: a policy allows what all its parts match, and nothing else", () => {
  const all = { namespace: "*", resource: "*", apiGroup: "*" };
  const bobReads = { ...all, user: "bob", resource: "pods", namespace: "projects", readonly: true };
  const authorizer = policies(
    { ...all, user: "alice" },
    bobReads,
    { ...all, group: "devs", apiGroup: "apps" },
    { ...all, user: "carol", group: "devs", apiGroup: "batch" },
    {},
  );
  const expectations: [user: ReturnType<typeof person>, request: string, isAllowed: boolean][] = [
    [person("alice"), `DELETE ${PODS}/a`, true],
    [person("alice"), "GET /apis/apps/v1/deployments", true],
    // A policy for resources does not cover paths.
    [person("alice"), "GET /metrics", false],
    [person("bob"), `GET ${PODS}`, true],
    [person("bob"), `GET ${PODS}/a`, true],
    [person("bob"), `GET ${PODS}?watch=1`, true],
    [person("bob"), `POST ${PODS}`, false],
    [person("bob"), `GET /api/v1/pods`, false],
    [person("bob"), `GET /api/v1/namespaces/projects/secrets`, false],
    [person("dave", "devs"), "POST /apis/apps/v1/namespaces/x/deployments", true],
    [person("dave", "devs"), `GET ${PODS}`, false],
    [person("carol", "devs"), "GET /apis/batch/v1/jobs", true],
    [person("carol"), "GET /apis/batch/v1/jobs", false],
    [person("dave", "devs"), "GET /apis/batch/v1/jobs", false],
    [person("eve"), `GET ${PODS}`, false],
  ];
  for (const [user, request, isAllowed] of expectations) {
    assert.equal(decide(authorizer, user, request), isAllowed, `${user.name} ${request}`);
  }
});

test("S2-AZ-05: non-resource paths match exactly, below a trailing star, or all", () => {
  const authorizer = policies(
    { user: "exact", nonResourcePath: "/metrics" },
    { user: "below", nonResourcePath: "/debug/*" },
    { user: "all", nonResourcePath: "*" },
    { user: "reads", nonResourcePath: "*", readonly: true },
  );
  const allowed = (name: string, request: string) => decide(authorizer, person(name), request);
  assert.ok(allowed("exact", "GET /metrics"));
  assert.ok(!allowed("exact", "GET /metrics/x"));
  assert.ok(allowed("below", "GET /debug/pprof"));
  assert.ok(!allowed("below", "GET /debug"));
  assert.ok(allowed("all", "POST /anything"));
  assert.ok(!allowed("all", `GET ${PODS}`));
  assert.ok(allowed("reads", "GET /x"));
  assert.ok(!allowed("reads", "POST /x"));
});

test("S2-AZ-05: a star for user or group means those who are authenticated", () => {
  const anonymous = createUser({ name: "system:anonymous", groups: ["system:unauthenticated"] });
  const rest = { namespace: "*", resource: "*", apiGroup: "*" };
  for (const subject of [{ user: "*" }, { group: "*" }, { group: "system:authenticated" }]) {
    const authorizer = policies({ ...rest, ...subject });
    assert.ok(decide(authorizer, person("any"), `GET ${PODS}`));
    assert.ok(!decide(authorizer, anonymous, `GET ${PODS}`));
  }
});

test("S2-AZ-05: in policies without a version what is left out means everything", () => {
  const authorizer = unversioned(
    { user: "admin" },
    { user: "pods", resource: "pods", readonly: true },
    { group: "team", namespace: "projects" },
  );
  assert.ok(decide(authorizer, person("admin"), "DELETE /apis/apps/v1/namespaces/x/deployments/d"));
  assert.ok(decide(authorizer, person("admin"), "POST /x"));
  assert.ok(decide(authorizer, person("pods"), "GET /api/v1/pods"));
  assert.ok(!decide(authorizer, person("pods"), `POST ${PODS}`));
  assert.ok(!decide(authorizer, person("pods"), "GET /x"));
  assert.ok(decide(authorizer, person("x", "team"), `POST ${PODS}`));
  assert.ok(!decide(authorizer, person("x", "team"), "POST /api/v1/namespaces/other/pods"));
  assert.ok(
    decide(unversioned({}), person("any"), `POST ${PODS}`),
    "nobody named: everybody known",
  );
});

test("S2-AZ-05: comments and empty lines are skipped, a bad line is named with its number", () => {
  const text = '# who\n\n  {"user":"a"}  \r\n# end\n';
  assert.ok(decide(new AbacAuthorizer(naming, "p", text), person("a"), "GET /x"));
  const bad: [text: string, line: number, why: RegExp][] = [
    ["{", 1, /JSON/],
    ['{"user":"a"}\n[]', 2, /no JSON object/],
    ['\n#\n{"kind":"Policy"}', 3, /neither of kind Policy/],
    ['{"kind":"Policy","apiVersion":"abac.authorization.kubernetes.io/v1"}', 1, /v1beta1/],
    ['{"user":7}', 1, /user must be a string/],
    ['{"readonly":"yes"}', 1, /readonly must be true or false/],
  ];
  for (const [file, line, why] of bad) {
    assert.throws(
      () => new AbacAuthorizer(naming, "/etc/p.jsonl", file),
      (error) => {
        assert.ok(error instanceof AbacPolicyError);
        assert.match(error.message, why);
        const begin = `error reading policy file /etc/p.jsonl, line ${line}: `;
        assert.ok(error.message.startsWith(begin), error.message);
        return true;
      },
    );
  }
  const acme = createNaming("acme");
  const own = '{"apiVersion":"abac.authorization.acme.io/v1beta1","kind":"Policy","spec":{}}';
  assert.doesNotThrow(() => new AbacAuthorizer(acme, "p", own));
});

test("S2-SAR: the policies of a user in a namespace can be listed; others say that they can not", async () => {
  const authorizer = policies(
    { user: "a", namespace: "x", resource: "pods", readonly: true },
    { user: "a", namespace: "y", resource: "secrets" },
    { user: "a", namespace: "*", nonResourcePath: "/x" },
    { user: "b", namespace: "*", resource: "*", apiGroup: "*" },
  );
  assert.deepEqual(authorizer.rulesFor(person("a"), "x"), {
    resourceRules: [{ verbs: ["get", "list", "watch"], apiGroups: [""], resources: ["pods"] }],
    nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["/x"] }],
    incomplete: false,
  });
  const all = combineRules([authorizer, unlistable("webhook"), alwaysAllow, alwaysDeny]);
  const rules = await all.rulesFor(person("a"), "x", WAIT.signal);
  assert.equal(rules.resourceRules.length, 2);
  assert.equal(rules.incomplete, true);
  assert.equal(rules.evaluationError, "webhook authorizer does not support user rule resolution");
});

test("S2-AZ-01, S2-AZ-04, S2-AZ-17: AlwaysAllow allows, AlwaysDeny lets nobody but masters in", async () => {
  const info = parseRequestInfo("DELETE", `${PODS}/a`);
  const masters = new PrivilegedGroupsAuthorizer(["system:masters"]);
  const decision = async (user: ReturnType<typeof person>, last: typeof alwaysAllow) =>
    (await new UnionAuthorizer([masters, last]).authorize({ user, info }, WAIT)).decision;
  assert.equal(await decision(person("a"), alwaysAllow), "allow");
  assert.equal(await decision(person("a"), alwaysDeny), "no-opinion");
  assert.equal(await decision(person("a", "system:masters"), alwaysDeny), "allow");
});
