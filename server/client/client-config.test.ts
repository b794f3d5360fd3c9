import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { makeTempDir } from "../../e2e/harness/temp-dir.js";
import { createNaming } from "../api/naming.js";
import {
  ClientConfigError,
  type ClientConfigOptions,
  parseClientConfig,
  readClientConfig,
} from "./client-config.js";

const naming = createNaming("kubernetes");
const PEM = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
const data = (text: string) => Buffer.from(text).toString("base64");

function configText(cluster: object, user: object, others: object = {}): string {
  return JSON.stringify({
    clusters: [
      { name: "other", cluster: { server: "https://other.example" } },
      { name: "remote", cluster },
    ],
    users: [{ name: "me", user }],
    contexts: [
      { name: "main", context: { cluster: "remote", user: "me" } },
      { name: "second", context: { cluster: "other", user: "" } },
    ],
    "current-context": "main",
    ...others,
  });
}

const parse = (text: string, options: Partial<ClientConfigOptions & { path: string }> = {}) =>
  parseClientConfig(text, { path: "/etc/keelson/webhook.yaml", naming, ...options });

test("S2-TR-01: a client configuration names the remote service and what is shown to it", async () => {
  const config = await parse(`
apiVersion: v1
kind: Config
clusters:
- name: remote
  cluster:
    certificate-authority-data: ${data(PEM)}
    server: https://authz.example:8443/authorize
    tls-server-name: authz.internal
users:
- name: me
  user:
    client-certificate: certs/client.pem
    client-key: /abs/client.key
contexts:
- name: webhook
  context: {cluster: remote, user: me}
current-context: webhook
`);
  assert.deepEqual(config, {
    server: "https://authz.example:8443/authorize",
    ca: PEM,
    serverName: "authz.internal",
    isInsecure: false,
    user: {
      certificate: {
        cert: { file: "/etc/keelson/certs/client.pem" },
        key: { file: "/abs/client.key" },
      },
    },
  });
});

test("credentials are a token, a token file (which goes first), a password or a certificate", async () => {
  const server = { server: "https://a.example" };
  const userOf = async (user: object) => (await parse(configText(server, user))).user;
  assert.deepEqual(await userOf({ token: "abc" }), { token: { text: "abc" } });
  assert.deepEqual(await userOf({ token: "abc", tokenFile: "t" }), {
    token: { file: "/etc/keelson/t" },
  });
  assert.deepEqual(await userOf({ username: "u", password: "p" }), {
    basic: { username: "u", password: "p" },
  });
  assert.deepEqual(
    await userOf({
      "client-certificate-data": data("cert"),
      "client-key-data": data("key"),
      "client-key": "ignored, as the data goes first",
    }),
    { certificate: { cert: { text: "cert" }, key: { text: "key" } } },
  );
  assert.deepEqual(await userOf({}), {});
});

test("the context can be chosen, and a context may have no user", async () => {
  const config = await parse(configText({ server: "https://a.example" }, {}), {
    context: "second",
  });
  assert.equal(config.server, "https://other.example");
  assert.deepEqual(config.user, {});
});

test("A33: a query and a fragment of the server's address do not count", async () => {
  const { server } = await parse(configText({ server: "https://a.example/x?y=1#z" }, {}));
  assert.equal(new URL(server).pathname, "/x");
});

test("S2-AZC-21: what cannot work is refused in one clear line without secrets", async () => {
  const server = "https://a.example";
  const cases: readonly (readonly [string, RegExp])[] = [
    [configText({ server: "ftp://a.example" }, {}), /is not a URL of scheme https or http/],
    [configText({ server: "https://u:p@a.example" }, {}), /must not carry a user name or password/],
    [configText({}, {}), /no server found for cluster "remote"/],
    [
      configText({ server, "proxy-url": "http://proxy" }, {}),
      /proxy-url of cluster "remote" is not/,
    ],
    [
      configText(
        { server, "insecure-skip-tls-verify": true, "certificate-authority-data": data(PEM) },
        {},
      ),
      /root certificates file with the insecure flag is not allowed/,
    ],
    [
      configText({ server, "certificate-authority": "missing.pem" }, {}),
      /unable to read certificate-authority \/etc\/keelson\/missing.pem: ENOENT/,
    ],
    [
      configText({ server }, { token: "secret-1", username: "u" }),
      /more than one authentication method found for me; found \[token basicAuth\]/,
    ],
    [
      configText({ server }, { "client-certificate": "c" }),
      /client-key-data or client-key must be specified for me/,
    ],
    [
      configText({ server }, { "auth-provider": { name: "gcp" } }),
      /auth-provider of user "me" is not supported/,
    ],
    [
      configText({ server }, {}, { "current-context": "nobody" }),
      /context was not found for specified context: nobody/,
    ],
    [configText({ server }, {}, { "current-context": "" }), /current-context is not set/],
    [configText({ server }, {}, { users: [] }), /user "me" was not found for context "main"/],
    [
      configText({ server }, {}, { clusters: [] }),
      /cluster "remote" was not found for context "main"/,
    ],
    [configText({ server }, {}, { clusters: {} }), /clusters: expected a list/],
    [configText({ server: 5 }, {}), /server: expected a string/],
    ["a: b: c", /\/etc\/keelson\/webhook.yaml: invalid configuration/],
    ["just text", /the file: expected a map/],
  ];
  for (const [text, expected] of cases) {
    await assert.rejects(parse(text), (error: Error) => {
      assert.match(error.message, expected);
      assert.ok(
        !error.message.includes("secret-1") && !error.message.includes("\n"),
        error.message,
      );
      return true;
    });
  }
});

test("a file and the authorities that it names by a relative path are read", async () => {
  await using dir = await makeTempDir("client-config");
  await mkdir(join(dir.path, "pki"));
  await writeFile(join(dir.path, "pki/ca.pem"), PEM);
  const path = join(dir.path, "config");
  await writeFile(
    path,
    configText({ server: "https://a.example", "certificate-authority": "pki/ca.pem" }, {}),
  );

  assert.equal((await readClientConfig(path, { naming })).ca, PEM);
  await assert.rejects(readClientConfig(`${path}.none`, { naming }), {
    message: `unable to read ${path}.none: ENOENT`,
  });
});

test("S2-EXEC-01, 02, 03: an exec plug-in is read with its defaults, and refused when incomplete", async () => {
  const server = "https://a.example";
  const v1 = "client.authentication.k8s.io/v1";
  const execOf = async (exec: object, options: Parameters<typeof parse>[1] = {}) =>
    (await parse(configText({ server }, { exec }), options)).user.exec;
  const complete = { command: "./bin/login", apiVersion: v1, interactiveMode: "Never" };
  assert.deepEqual(
    await execOf({
      ...complete,
      args: ["a"],
      env: [{ name: "A", value: "1" }],
      installHint: "get it",
    }),
    {
      command: "/etc/keelson/bin/login",
      args: ["a"],
      env: [{ name: "A", value: "1" }],
      apiVersion: v1,
      installHint: "get it",
      interactiveMode: "Never",
      cluster: undefined,
      infoVariable: "KUBERNETES_EXEC_INFO",
    },
  );
  assert.equal((await execOf({ ...complete, command: "login" }))?.command, "login");
  assert.equal((await execOf({ ...complete, command: "/bin/login" }))?.command, "/bin/login");
  // A program in the working directory is not found by PATH.
  const beside = await execOf({ ...complete, command: "./login" }, { path: "webhook.yaml" });
  assert.equal(beside?.command, join(process.cwd(), "login"));
  const v1beta1 = { command: "login", apiVersion: "client.authentication.k8s.io/v1beta1" };
  assert.equal((await execOf(v1beta1))?.interactiveMode, "IfAvailable");

  const refused: readonly (readonly [object, RegExp])[] = [
    [{ apiVersion: v1 }, /command must be specified/],
    [{ command: "x", interactiveMode: "Never" }, /apiVersion must be specified/],
    [{ ...complete, apiVersion: "client.authentication.k8s.io/v1alpha1" }, /invalid apiVersion/],
    [{ command: "x", apiVersion: v1 }, /interactiveMode must be specified/],
    [{ ...complete, interactiveMode: "Sometimes" }, /invalid interactiveMode "Sometimes"/],
    [{ ...complete, env: [{ value: "1" }] }, /env name must be specified/],
    [{ ...complete, args: "a" }, /exec.args: expected a list of strings/],
  ];
  for (const [exec, expected] of refused) await assert.rejects(execOf(exec), { message: expected });
});

test("S2-EXEC-06: a plug-in that asks is told about the cluster, in the vendor's names", async () => {
  const acme = createNaming("acme");
  const cluster = {
    server: "https://a.example",
    "certificate-authority-data": data(PEM),
    "tls-server-name": "b.example",
    extensions: [
      { name: "other", extension: 1 },
      { name: "client.authentication.acme.io/exec", extension: { audience: "x" } },
    ],
  };
  const exec = {
    command: "login",
    apiVersion: "client.authentication.acme.io/v1",
    interactiveMode: "Never",
    provideClusterInfo: true,
  };
  const { user } = await parse(configText(cluster, { exec }), { naming: acme });
  assert.deepEqual(user.exec?.cluster, {
    server: "https://a.example",
    "tls-server-name": "b.example",
    "certificate-authority-data": data(PEM),
    config: { audience: "x" },
  });
  assert.equal(user.exec?.infoVariable, "ACME_EXEC_INFO");
});

test("whatever a file holds, it is a configuration or one clear line", async () => {
  const value = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom("main", "remote", "me", "https://a.example"),
  );
  const entry = (member: string) =>
    fc.record({ name: value, [member]: fc.oneof(value, fc.dictionary(keys, value)) });
  const keys = fc.constantFrom(
    ...["server", "token", "tokenFile", "exec", "cluster", "user", "extensions", "proxy-url"],
    ...["client-certificate-data", "client-key-data", "certificate-authority-data"],
    ...["insecure-skip-tls-verify", "tls-server-name", "username", "password", "auth-provider"],
  );
  const list = (member: string) => fc.oneof(fc.array(entry(member), { maxLength: 2 }), value);
  const file = fc.record(
    {
      clusters: list("cluster"),
      users: list("user"),
      contexts: list("context"),
      "current-context": value,
    },
    { requiredKeys: [] },
  );
  await fc.assert(
    fc.asyncProperty(fc.oneof(file, fc.jsonValue()), async (content) => {
      try {
        assert.equal(typeof (await parse(JSON.stringify(content))).server, "string");
      } catch (error) {
        assert.ok(error instanceof ClientConfigError, String((error as Error).stack));
      }
    }),
    { numRuns: 1_000 },
  );
});
