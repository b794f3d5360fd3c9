/**
 * Credential plug-ins with the real kubectl: a program hands out a token or a certificate, and the
 * server sees the person behind it (S2-EXEC). Our own client runs the same programs.
 */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { createNaming } from "../server/api/naming.js";
import { readClientConfig } from "../server/client/client-config.js";
import { openClient } from "../server/client/open-client.js";
import { systemClock } from "../storage/base/clock.js";
import { Kubectl } from "./harness/kubectl.js";
import { type ServerProcess, startServer } from "./harness/server-process.js";
import { makeTempDir, type TempDir } from "./harness/temp-dir.js";
import { TestAuthority } from "./harness/test-authority.js";

const V1 = "client.authentication.k8s.io/v1";
const V1BETA1 = "client.authentication.k8s.io/v1beta1";
const WHO_AM_I = ["auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"];

describe("credential plug-ins", () => {
  let dir: TempDir;
  let server: ServerProcess;
  let clients: TestAuthority;

  before(async () => {
    dir = await makeTempDir("exec-plugin");
    clients = await TestAuthority.create();
    server = await startServer({
      flags: [
        `--client-ca-file=${await dir.write("clients.pem", clients.certificate)}`,
        `--token-auth-file=${await dir.write("tokens.csv", "token-of-jane,jane,1\ntoken-of-joe,joe,2\n")}`,
      ],
    });
  });

  after(async () => {
    await server?.[Symbol.asyncDispose]();
    await dir?.[Symbol.asyncDispose]();
  });

  /** A plug-in that says this and records its input, and the configuration that names it. */
  async function plugin(name: string, status: object, exec: object = {}) {
    const apiVersion = (exec as { apiVersion?: string }).apiVersion ?? V1;
    const output = join(dir.path, `${name}.json`);
    const log = join(dir.path, `${name}.log`);
    const says = (next: object) =>
      writeFile(output, JSON.stringify({ kind: "ExecCredential", apiVersion, status: next }));
    await says(status);
    const script = `#!/bin/sh\necho "$KUBERNETES_EXEC_INFO" >> ${log}\ncat ${output}\n`;
    await writeFile(join(dir.path, `${name}.sh`), script, { mode: 0o755 });
    const ca = Buffer.from(server.credentials.ca).toString("base64");
    const plugged = { command: `./${name}.sh`, apiVersion, interactiveMode: "Never", ...exec };
    const cluster = { server: server.url, "certificate-authority-data": ca };
    const config = {
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "here", cluster }],
      users: [{ name: "me", user: { exec: plugged } }],
      contexts: [{ name: "main", context: { cluster: "here", user: "me" } }],
      "current-context": "main",
    };
    const kubeconfig = await dir.write(`${name}.kubeconfig`, JSON.stringify(config));
    const inputs = async () => (await readFile(log, "utf8")).trim().split("\n");
    return { kubeconfig, says, inputs, cluster };
  }

  /** Whom the server sees when our own client asks with this configuration. */
  async function seenByOurClient(kubeconfig: string): Promise<string> {
    const config = await readClientConfig(kubeconfig, { naming: createNaming("kubernetes") });
    const client = openClient(config, { clock: systemClock, timeoutMs: 10_000 });
    const { body, status } = await client.request(
      {
        method: "POST",
        path: "/apis/authentication.k8s.io/v1/selfsubjectreviews",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({
          apiVersion: "authentication.k8s.io/v1",
          kind: "SelfSubjectReview",
        }),
      },
      new AbortController().signal,
    );
    client.close();
    assert.equal(status, 201, body.toString());
    return JSON.parse(body.toString()).status.userInfo.username;
  }

  for (const apiVersion of [V1, V1BETA1]) {
    test(`S2-EXEC-02, S2-EXEC-10: kubectl shows a plug-in's token (${apiVersion.split("/")[1]})`, async () => {
      const name = `token-${apiVersion.split("/")[1]}`;
      const { kubeconfig } = await plugin(name, { token: "token-of-jane" }, { apiVersion });
      await using kubectl = await Kubectl.open({ kubeconfig });
      assert.equal(await kubectl.ok(WHO_AM_I), "jane");
      assert.equal(await seenByOurClient(kubeconfig), "jane");
    });
  }

  test("S2-EXEC-04, S2-EXEC-10: kubectl shows a plug-in's certificate", async () => {
    const { cert, key } = await clients.issueClient("anna", ["dev"]);
    const status = {
      clientCertificateData: cert,
      clientKeyData: key,
      expirationTimestamp: new Date(Date.now() + 3_600_000).toISOString(),
    };
    const { kubeconfig } = await plugin("certificate", status);
    await using kubectl = await Kubectl.open({ kubeconfig });
    assert.equal(await kubectl.ok(WHO_AM_I), "anna");
    assert.equal(await seenByOurClient(kubeconfig), "anna");
  });

  test("S2-EXEC-06: kubectl and our client tell a plug-in the same about the cluster", async () => {
    const status = { token: "token-of-joe" };
    const { kubeconfig, inputs, cluster } = await plugin("informed", status, {
      provideClusterInfo: true,
    });
    await using kubectl = await Kubectl.open({ kubeconfig });
    assert.equal(await kubectl.ok(WHO_AM_I), "joe");
    const [ofKubectl] = await inputs();
    assert.equal(await seenByOurClient(kubeconfig), "joe");
    const ofOurs = (await inputs()).at(-1);
    const expected = {
      kind: "ExecCredential",
      apiVersion: V1,
      spec: { cluster: { ...cluster, config: null }, interactive: false },
    };
    assert.deepEqual(JSON.parse(String(ofKubectl)), expected);
    assert.deepEqual(JSON.parse(String(ofOurs)), expected);
  });

  test("S2-EXEC-08: a token that the server does not know is a 401 and asked for anew", async () => {
    const { kubeconfig, says, inputs } = await plugin("stale", { token: "forgotten" });
    await using kubectl = await Kubectl.open({ kubeconfig });
    await kubectl.fails(WHO_AM_I);
    const calls = (await inputs()).length;
    await says({ token: "token-of-jane" });
    assert.equal(await kubectl.ok(WHO_AM_I), "jane");
    assert.ok((await inputs()).length > calls);
  });

  test("S2-EXEC-07: a plug-in that needs a terminal fails without one", async () => {
    const exec = { interactiveMode: "Always" };
    const { kubeconfig } = await plugin("interactive", { token: "token-of-jane" }, exec);
    await using kubectl = await Kubectl.open({ kubeconfig });
    assert.match(await kubectl.fails(WHO_AM_I), /standard input is not a terminal/);
  });
});
