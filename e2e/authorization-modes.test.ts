/**
 * The authorization modes that need nothing but flags: AlwaysAllow, AlwaysDeny and an ABAC file, alone
 * and in order; what stands in the file's way at start; and the list that a self-review shows.
 */

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { furnished } from "./harness/furnished-namespace.js";
import { grant } from "./harness/grant.js";
import { type Answer, HttpsClient } from "./harness/https-client.js";
import { refusalAtStart } from "./harness/refusal-at-start.js";
import { runServer, type ServerProcess, startServer } from "./harness/server-process.js";
import { makeTempDir } from "./harness/temp-dir.js";
import { TestAuthority } from "./harness/test-authority.js";

const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const RULES_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
const POLICY = { apiVersion: "abac.authorization.kubernetes.io/v1beta1", kind: "Policy" };

const LINES = [
  "# who may do what",
  "",
  JSON.stringify({
    ...POLICY,
    spec: { user: "jane", namespace: "default", resource: "configmaps", readonly: true },
  }),
  JSON.stringify({ ...POLICY, spec: { group: "system:authenticated", nonResourcePath: "/api*" } }),
  JSON.stringify({
    ...POLICY,
    spec: {
      group: "system:authenticated",
      namespace: "*",
      resource: "selfsubjectrulesreviews",
      apiGroup: "authorization.k8s.io",
    },
  }),
  JSON.stringify({ user: "root" }),
];

interface Rules {
  readonly resourceRules: readonly object[];
  readonly nonResourceRules: readonly object[];
  readonly incomplete: boolean;
  readonly evaluationError?: string;
}

function refused(answer: Answer): void {
  assert.equal(answer.expect(403).object.reason, "Forbidden");
}

describe("authorization modes", () => {
  const folder = makeTempDir("authorization-modes");
  let authority: TestAuthority;
  let caFile = "";
  let policyFile = "";
  before(async () => {
    authority = await TestAuthority.create("people");
    const { path } = await folder;
    caFile = join(path, "people.crt");
    policyFile = join(path, "policy.jsonl");
    await writeFile(caFile, authority.certificate);
    await writeFile(policyFile, LINES.join("\n"));
  });
  after(async () => (await folder)[Symbol.asyncDispose]());

  const start = (...flags: string[]) =>
    startServer({ flags: [`--client-ca-file=${caFile}`, ...flags] });

  async function clientOf(
    server: ServerProcess,
    commonName: string,
    organizations: string[] = [],
  ): Promise<HttpsClient> {
    const identity = await authority.issue({ commonName, organizations });
    return new HttpsClient(server.url, { ca: server.credentials.ca, ...identity });
  }

  async function rulesOf(client: HttpsClient): Promise<Rules> {
    const answer = await client.post(RULES_REVIEWS, { spec: { namespace: "default" } });
    return answer.expect(201).object.status as Rules;
  }

  test("S2-AZ-04, S2-ANON-01: AlwaysAllow lets everybody do everything who is somebody", async () => {
    await using server = await start("--authorization-mode=AlwaysAllow");
    const nobody = new HttpsClient(server.url, { ca: server.credentials.ca });
    (await nobody.get("/livez")).expect(401);
    nobody.close();
    const jane = await clientOf(server, "jane");
    (await jane.post(CONFIG_MAPS, { metadata: { name: "a" } })).expect(201);
    (await jane.get("/metrics")).expect(200);
    const rules = await rulesOf(jane);
    assert.deepEqual(rules.resourceRules, [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }]);
    assert.equal(rules.incomplete, false);
    jane.close();
  });

  test("S2-ANON-01: AlwaysAllow among others, by flag or by file, closes anonymous access too", async () => {
    const { path } = await folder;
    const file = join(path, "authorization.json");
    const apiVersion = "apiserver.config.k8s.io/v1";
    const authorizers = ["RBAC", "AlwaysAllow"].map((type) => ({ type, name: type.toLowerCase() }));
    const kind = "AuthorizationConfiguration";
    await writeFile(file, JSON.stringify({ apiVersion, kind, authorizers }));
    for (const flag of [
      "--authorization-mode=RBAC,AlwaysAllow",
      `--authorization-config=${file}`,
    ]) {
      await using server = await start(flag);
      const nobody = new HttpsClient(server.url, { ca: server.credentials.ca });
      const password = { authorization: `Basic ${Buffer.from("bad:wrong").toString("base64")}` };
      for (const where of ["/livez", "/api/v1/secrets"]) {
        (await nobody.get(where)).expect(401);
        (await nobody.request(where, { headers: password })).expect(401);
      }
      nobody.close();
      assert.match(server.logs, /warn +anonymous requests are refused, as AlwaysAllow is one/);
    }
  });

  test("S2-AZ-01, S2-AZ-04, S2-AZ-17: AlwaysDeny lets nobody in but masters", async () => {
    await using server = await start("--authorization-mode=AlwaysDeny");
    const jane = await clientOf(server, "jane");
    const answer = await jane.get(CONFIG_MAPS);
    refused(answer);
    assert.equal(
      answer.object.message,
      'configmaps is forbidden: User "jane" cannot list resource "configmaps" in API group "" in the namespace "default": Everything is forbidden.',
    );
    (await server.client.get(CONFIG_MAPS)).expect(200);
    jane.close();
  });

  test("S2-AZ-06: Node and RBAC decide each about their own, and only where they are asked", async () => {
    const [ownNode, review] = ["/api/v1/nodes/n1", "/apis/authorization.k8s.io/v1"];
    const self = { spec: { resourceAttributes: { verb: "get", resource: "pods" } } };
    for (const [mode, isNodeAllowed] of [
      ["Node", true],
      ["RBAC", false],
    ] as const) {
      await using server = await start(`--authorization-mode=${mode}`);
      const node = await clientOf(server, "system:node:n1", ["system:nodes"]);
      const jane = await clientOf(server, "jane");
      const answer = await node.get(ownNode);
      if (isNodeAllowed) answer.expect(404);
      else refused(answer);
      // Everybody may ask about themselves by a default role, which is RBAC's.
      const asked = await jane.post(`${review}/selfsubjectaccessreviews`, self);
      if (isNodeAllowed) refused(asked);
      else asked.expect(201);
      node.close();
      jane.close();
    }
  });

  test("S2-AZ-02, S2-AZ-03, S2-AZ-05, S2-AZ-07: an ABAC file, and what comes behind it", async () => {
    await using server = await start(
      "--authorization-mode=ABAC,RBAC",
      `--authorization-policy-file=${policyFile}`,
    );
    const [jane, root] = [await clientOf(server, "jane"), await clientOf(server, "root")];
    (await jane.get(CONFIG_MAPS)).expect(200);
    (await jane.get(`${CONFIG_MAPS}/none`)).expect(404);
    refused(await jane.post(CONFIG_MAPS, { metadata: { name: "a" } }));
    refused(await jane.get("/api/v1/namespaces/kube-system/configmaps"));
    refused(await jane.get("/api/v1/configmaps"));
    (await jane.get("/apis")).expect(200);
    refused(await jane.get("/metrics"));
    (await root.post(CONFIG_MAPS, { metadata: { name: "a" } })).expect(201);
    (await root.get("/metrics")).expect(200);

    // What the file does not give roles may.
    const creates = [{ apiGroups: [""], resources: ["configmaps"], verbs: ["create"] }];
    const given = { name: "w", to: "User jane", rules: creates, namespace: "default" };
    await grant(server.client, given);
    (await jane.post(CONFIG_MAPS, { metadata: { name: "b" } })).expect(201);

    const rules = await rulesOf(jane);
    assert.equal(rules.incomplete, false);
    assert.deepEqual(rules.resourceRules[0], {
      verbs: ["get", "list", "watch"],
      apiGroups: [""],
      resources: ["configmaps"],
    });
    assert.ok(JSON.stringify(rules.resourceRules).includes('"create"'), "and those of roles");
    jane.close();
    root.close();
  });

  test("S2-AZ-05: a bad policy file ends the start with one line that says where", async () => {
    const bad = await (await folder).write("bad.jsonl", `${LINES[0]}\n{"user":"jane"}\n{"user":`);
    const args = ["serve", "--secure-port=0", `--data-dir=${bad}.data`];
    const abac = "--authorization-mode=ABAC";
    const { code, output } = await runServer([...args, abac, `--authorization-policy-file=${bad}`]);
    assert.equal(code, 1);
    assert.match(output, /^keelson: error reading policy file .*bad\.jsonl, line 3: .*\n$/);
    assert.match(
      await refusalAtStart([abac, "--authorization-policy-file=/none"]),
      /--authorization-policy-file: cannot read "\/none"/,
    );
    assert.match(await refusalAtStart([abac]), /authorization policy file not passed/);
    assert.match(await refusalAtStart(["--authorization-mode=Sometimes"]), /Sometimes/);
  });

  test("plugins of admission are chosen by name, and what there is not is one line at start", async () => {
    const refusal = await refusalAtStart(["--enable-admission-plugins=Nonsense"]);
    assert.match(refusal, /--enable-admission-plugins: plugin "Nonsense" is unknown/);
    await using server = await start("--disable-admission-plugins=Priority,ResourceQuota");
    await furnished(server.client);
    const pod = { metadata: { name: "p" }, spec: { containers: [{ name: "c", image: "i" }] } };
    const made = (
      await server.client.post("/api/v1/namespaces/default/pods?dryRun=All", pod)
    ).expect(201);
    assert.equal((made.object.spec as { priority?: number }).priority, undefined);
  });
});
