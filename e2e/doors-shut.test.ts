/** Doors that flags have shut, or that nobody has opened: refusals at the start, and logins without them. */
import assert from "node:assert/strict";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { parse } from "yaml";
import { eventually } from "./harness/eventually.js";
import { refusalAtStart } from "./harness/refusal-at-start.js";
import { startServer } from "./harness/server-process.js";
import { makeTempDir } from "./harness/temp-dir.js";
import { TestAuthority } from "./harness/test-authority.js";
import { ask, bearer } from "./harness/who-am-i.js";

const SECRETS = "/api/v1/namespaces/kube-system/secrets";
const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const CLUSTER_INFO = "/api/v1/namespaces/kube-public/configmaps/cluster-info";
const TOKEN_SECRET = "f395accd246ae52d";

describe("doors that are shut", () => {
  test("S2-TOK-03, S2-BOOT-12, S2-X509-01, S2-PROXY-04: a bad list, an unknown loop or a bundle without a certificate is one clear line", async () => {
    await using dir = await makeTempDir("doors");
    const [none, broken] = [join(dir.path, "none.pem"), join(dir.path, "broken.pem")];
    const tokens = await dir.write("tokens.csv", "a,b,c\nsecret,jane\n");
    await writeFile(none, "secret\n");
    await writeFile(broken, "-----BEGIN CERTIFICATE-----\nsecret\n-----END CERTIFICATE-----\n");
    const refusals = [
      `--token-auth-file=${tokens}`,
      "--token-auth-file=/nowhere",
      `--client-ca-file=${none}`,
      `--client-ca-file=${broken}`,
      `--requestheader-client-ca-file=${none}`,
      `--requestheader-client-ca-file=${broken}`,
      "--controllers=nobody",
    ];
    for (const flag of refusals) {
      const refusal = await refusalAtStart([flag]);
      assert.equal(refusal.split("\n").length, 1, refusal);
      assert.ok(!refusal.includes("secret"), refusal);
    }
    await rm(tokens);
  });

  test("S2-BOOT-13: machines that join learn the authorities that the operator names", async () => {
    await using dir = await makeTempDir("doors");
    const [old, next] = [await TestAuthority.create("old"), await TestAuthority.create("next")];
    const authorities = old.certificate + next.certificate;
    const file = await dir.write("roots.pem", authorities);
    await using server = await startServer({
      flags: ["--enable-bootstrap-token-auth", `--root-ca-file=${file}`],
    });
    const info = (await ask(server, CLUSTER_INFO)).expect(200).object.data as {
      kubeconfig: string;
    };
    const { clusters } = parse(info.kubeconfig) as {
      clusters: { cluster: Record<string, string> }[];
    };
    const data = clusters[0]?.cluster["certificate-authority-data"] ?? "";
    assert.equal(Buffer.from(data, "base64").toString(), authorities);
  });

  test("S2-BOOT-08, S2-BOOT-12: without the flags nobody gets in by a token, and it stays", async () => {
    await using server = await startServer({
      flags: ["--run-controllers", "--controllers=*,-tokencleaner"],
    });
    const stringData = {
      "token-id": "aaaaaa",
      "token-secret": TOKEN_SECRET,
      "usage-bootstrap-authentication": "true",
      expiration: "2020-01-01T00:00:00Z",
    };
    const type = "bootstrap.kubernetes.io/token";
    const over = { metadata: { name: "bootstrap-token-aaaaaa" }, type, stringData };
    (await server.client.post(SECRETS, over)).expect(201);
    const good = {
      metadata: { name: "bootstrap-token-bbbbbb" },
      type,
      stringData: { ...stringData, "token-id": "bbbbbb", expiration: "" },
    };
    (await server.client.post(SECRETS, good)).expect(201);
    (await ask(server, "/version", { headers: bearer(`bbbbbb.${TOKEN_SECRET}`) })).expect(401);
    // Another loop has been through a namespace meanwhile, so the cleaner would have been, too.
    const namespace = "/api/v1/namespaces/passing";
    (await server.client.post("/api/v1/namespaces", { metadata: { name: "passing" } })).expect(201);
    (await server.client.delete(namespace)).expect(200);
    await eventually(
      "the namespace is gone",
      async () => (await server.client.get(namespace)).status === 404,
    );
    (await server.client.get(`${SECRETS}/bootstrap-token-aaaaaa`)).expect(200);
    (await server.client.get(CONFIG_MAPS)).expect(200);
  });
});
