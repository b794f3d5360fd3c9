/** Files of a running server, replaced together as a kubelet does: by a symbolic link that goes elsewhere. */
import assert from "node:assert/strict";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { mkdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { FLAGS } from "../server/config/flags.js";
import { COMMAND } from "./harness/command.js";
import { eventually } from "./harness/eventually.js";
import { startServer } from "./harness/server-process.js";
import { makeTempDir } from "./harness/temp-dir.js";
import { TestAuthority } from "./harness/test-authority.js";
import { Child } from "./tools/child.js";
import { startEtcd } from "./tools/etcd.js";
import { etcdTls, requireLogIn } from "./tools/etcd-access.js";
import { freePort } from "./tools/free-port.js";

/** By the flag that names it. */
type Contents = Readonly<Record<string, string>>;

/** They say who may come in, or what a run is: one list for the life of a process. */
const READ_ONCE = [
  "admission-control-config-file",
  "authorization-policy-file",
  "simulation-file",
  "token-auth-file",
  "tracing-config-file",
];

/** Their clients are the ones of this test: e2e/helm/certificates.test.ts, server/certificates/file-watch.test.ts. */
const TRIED_ELSEWHERE = ["tls-cert-file", "tls-private-key-file"];

/** Read together, and so counted as one. */
const PAIRS = [
  ["service-account-key-file", "service-account-signing-key-file"],
  ["proxy-client-cert-file", "proxy-client-key-file"],
  ["kubelet-client-certificate", "kubelet-client-key"],
  ["etcd-cafile", "etcd-certfile", "etcd-keyfile"],
];

/** Any text is a password, so only a file without one cannot be used. */
const PASSWORDS = ["etcd-password-file", "authorization-webhook-cache-redis-password-file"];

const FAMILIES =
  /^apiserver_(?:certificate_reloads|\w+_config_controller_automatic_reloads)_total\{.*"(success|failure)".*\} (\d+)$/gm;

const RBAC = { type: "RBAC", name: "rbac" };
const NODE = { type: "Node", name: "node" };
const ETCD = await TestAuthority.create("etcd");

async function contentsOnEtcd(which: "one" | "two"): Promise<Contents> {
  const authority = await TestAuthority.create(which);
  const [proxy, kubelet, etcd] = await Promise.all([
    authority.issue({ commonName: "proxy" }),
    authority.issue({ commonName: "kubelet" }),
    ETCD.issue({ commonName: which }),
  ]);
  const jwt = { issuer: { url: `https://nobody.invalid/${which}`, audiences: ["a"] } };
  const user = { claimMappings: { username: { claim: "sub", prefix: "" } } };
  return {
    "client-ca-file": authority.certificate,
    "requestheader-client-ca-file": authority.certificate,
    "root-ca-file": authority.certificate,
    "proxy-client-cert-file": proxy.cert,
    "proxy-client-key-file": proxy.key,
    "kubelet-client-certificate": kubelet.cert,
    "kubelet-client-key": kubelet.key,
    "kubelet-certificate-authority": authority.certificate,
    "etcd-cafile": which === "one" ? ETCD.certificate : ETCD.certificate + authority.certificate,
    "etcd-certfile": etcd.cert,
    "etcd-keyfile": etcd.key,
    "etcd-password-file": which === "one" ? "secret" : "secret\n",
    "service-account-signing-key-file": newKey(),
    "service-account-key-file": newKey(),
    "audit-policy-file": `{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [{"level": "${which === "one" ? "None" : "Metadata"}"}]}`,
    "audit-webhook-config-file": webhook(which),
    "authentication-token-webhook-config-file": webhook(which),
    "authentication-config": configuration(
      "AuthenticationConfiguration",
      "apiserver.config.k8s.io/v1",
      { jwt: [{ ...jwt, ...user }] },
    ),
    "authorization-config": configuration(
      "AuthorizationConfiguration",
      "apiserver.config.k8s.io/v1",
      {
        authorizers: which === "one" ? [RBAC, NODE] : [NODE, RBAC],
      },
    ),
    "encryption-provider-config": configuration(
      "EncryptionConfiguration",
      "apiserver.config.k8s.io/v1",
      {
        resources: [
          {
            resources: ["secrets"],
            providers: [
              {
                secretbox: { keys: [{ name: which, secret: randomBytes(32).toString("base64") }] },
              },
              { identity: {} },
            ],
          },
        ],
      },
    ),
    "authorization-webhook-cache-redis-password-file": which,
    "authorization-webhook-cache-redis-cafile": authority.certificate,
  };
}

/** What cannot be beside those above. */
async function contentsOnEmbedded(which: "one" | "two"): Promise<Contents> {
  const { certificate } = await TestAuthority.create(which);
  return {
    "oidc-ca-file": certificate,
    "optional-root-ca-file": certificate,
    "authorization-webhook-config-file": webhook(which),
  };
}

test("P10: every flag that names a file is read again, or is known to be read once", async () => {
  const named = Object.values(FLAGS)
    .filter(
      ({ type, name }) => ["file", "files"].includes(type) || name === "optional-root-ca-file",
    )
    .map(({ name }) => name);
  const known = [
    ...Object.keys(await contentsOnEtcd("one")),
    ...Object.keys(await contentsOnEmbedded("one")),
    ...[...READ_ONCE, ...TRIED_ELSEWHERE],
  ];
  assert.deepEqual(known.sort(), named.sort());
});

test("P10: files that cannot be used are counted once each, and the next good ones are in force: on etcd", async () => {
  await using folder = await makeTempDir("etcd-tls");
  await using etcd = await startEtcd({ tls: await etcdTls(folder.path, ETCD) });
  const client = await ETCD.issue({ commonName: "admin" });
  const credentials = {
    rootCertificate: Buffer.from(ETCD.certificate),
    privateKey: Buffer.from(client.key),
    certChain: Buffer.from(client.cert),
  };
  await requireLogIn({ hosts: etcd.endpoint, credentials });
  const [one, two] = [await contentsOnEtcd("one"), await contentsOnEtcd("two")];
  await replaceAll(one, two, {
    etcdEndpoints: [etcd.endpoint],
    flags: [
      ...ON_ETCD,
      // Nobody answers there.
      "--authorization-webhook-cache-redis=rediss://127.0.0.1:1",
    ],
  });
  await loopsFollow(ofLoops(one), ofLoops(two), etcd.endpoint);
});

const ON_ETCD = ["--etcd-username=root", "--encryption-provider-config-automatic-reload"];

/** Those that the process of the control loops has as well. */
function ofLoops(contents: Contents): Contents {
  const isOfLoops = (name: string) =>
    Object.values(FLAGS).some(
      (flag) => flag.name === name && !("commands" in flag && flag.commands?.join() === "serve"),
    );
  return Object.fromEntries(Object.entries(contents).filter(([name]) => isOfLoops(name)));
}

/** As a Secret that loses all of its keys, and gets others. */
async function loopsFollow(one: Contents, two: Contents, endpoint: string): Promise<void> {
  await using folder = await makeTempDir("loops-files");
  const port = await freePort();
  const write = async (contents: Contents) => {
    for (const [name, text] of Object.entries(contents)) {
      await folder.write(`${name}.new`, text);
      await rename(join(folder.path, `${name}.new`), join(folder.path, name));
    }
  };
  await write(one);
  const names = Object.keys(one);
  const loops = new Child(process.execPath, [
    ...[COMMAND, "controllers", `--etcd-servers=${endpoint}`],
    ...[`--metrics-bind-address=127.0.0.1:${port}`, ...ON_ETCD],
    ...names.map((name) => `--${name}=${join(folder.path, name)}`),
  ]);
  await using _ended = { [Symbol.asyncDispose]: () => loops.end("SIGTERM") };
  const reloads = async () =>
    countsIn(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text());
  await eventually("the loops run", async () => {
    return (await fetch(`http://127.0.0.1:${port}/readyz`)).ok;
  });
  const watched = watchesOf(names);
  for (const name of names) await rm(join(folder.path, name));
  await eventually("the loops count all failures", async () => {
    const { failure = 0 } = await reloads();
    // Files go one after the other, and those that are read together may be looked at between two.
    assert.ok(failure >= watched.length, String(failure));
    return true;
  });
  await write(two);
  await eventually("the loops have all that is new", async () => {
    assert.equal((await reloads()).success, watched.length);
    return true;
  });
}

test("P10: files that cannot be used are counted once each, and the next good ones are in force: of flags that others exclude", async () => {
  await replaceAll(await contentsOnEmbedded("one"), await contentsOnEmbedded("two"), {
    flags: [
      "--oidc-issuer-url=https://nobody.invalid",
      "--oidc-client-id=a",
      "--authorization-mode=RBAC,Webhook",
    ],
  });
});

async function replaceAll(
  one: Contents,
  two: Contents,
  { flags, ...options }: { flags: readonly string[]; etcdEndpoints?: readonly string[] },
): Promise<void> {
  await using folder = await makeTempDir("file-reloads");
  const link = join(folder.path, "..data");
  let versions = 0;
  const put = async (contents: Contents) => {
    versions += 1;
    const version = `version-${versions}`;
    await mkdir(join(folder.path, version));
    for (const [name, text] of Object.entries(contents)) {
      await writeFile(join(folder.path, version, name), text);
    }
    await symlink(version, `${link}-next`);
    await rename(`${link}-next`, link);
  };
  await put(one);
  const names = Object.keys(one);
  await using server = await startServer({
    ...options,
    flags: [...flags, ...names.map((name) => `--${name}=${join(link, name)}`)],
  });
  const reloads = async () => {
    const { text } = (await server.client.get("/metrics")).expect(200);
    return countsIn(text);
  };
  const signers = async () => (await server.client.get("/openid/v1/jwks")).expect(200).text;
  const before = await signers();
  const watched = watchesOf(names);
  let failure = 0;
  const failsAs: readonly ((name: string) => string | undefined)[] = [
    () => undefined,
    (name) => (PASSWORDS.includes(name) ? undefined : ""),
    (name) => (PASSWORDS.includes(name) ? undefined : one[name]?.slice(0, one[name].length / 2)),
    (name) => (PASSWORDS.includes(name) ? undefined : "\0[{:"),
  ];
  for (const [index, broken] of failsAs.entries()) {
    const contents = names.map((name) => [name, broken(name)] as const);
    await put(
      Object.fromEntries(
        contents.filter((entry): entry is [string, string] => entry[1] !== undefined),
      ),
    );
    // A password that is not there was not there before either.
    failure +=
      index === 0 ? watched.length : watched.filter((name) => !PASSWORDS.includes(name)).length;
    await eventually("all failures are counted", async () => {
      // Of what was taken although it cannot be used.
      assert.equal(
        /changed (?:files|authorization configuration) (?:are|is) in use.*/.exec(server.logs)?.[0],
        undefined,
      );
      assert.deepEqual(await reloads(), { success: 0, failure });
      return true;
    });
    assert.equal(await signers(), before);
  }
  const saidBefore = server.logs.length;
  await put(two);
  await eventually("all of the new ones are in force", async () => {
    const said = server.logs.slice(saidBefore);
    assert.equal(/.*(?:is|are) not usable.*/.exec(said)?.[0], undefined);
    assert.deepEqual(await reloads(), { success: watched.length, failure });
    return true;
  });
  if (names.includes("service-account-key-file")) assert.notEqual(await signers(), before);
  (await server.client.post("/api/v1/namespaces", { metadata: { name: "after" } })).expect(201);
}

function countsIn(metrics: string): Record<string, number> {
  const counts: Record<string, number> = { success: 0, failure: 0 };
  for (const [, result = "", count] of metrics.matchAll(FAMILIES)) {
    counts[result] = (counts[result] ?? 0) + Number(count);
  }
  return counts;
}

/** One flag of each watch. */
function watchesOf(names: readonly string[]): readonly string[] {
  return names.filter((name) => !PAIRS.some((pair) => pair.slice(1).includes(name)));
}

function newKey(): string {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return privateKey.export({ type: "sec1", format: "pem" }).toString();
}

function webhook(which: string): string {
  return configuration("Config", "v1", {
    clusters: [{ name: "a", cluster: { server: `https://nobody.invalid/${which}` } }],
    users: [{ name: "a" }],
    contexts: [{ name: "a", context: { cluster: "a", user: "a" } }],
    "current-context": "a",
  });
}

function configuration(kind: string, apiVersion: string, more: object): string {
  return JSON.stringify({ apiVersion, kind, ...more });
}
