import assert from "node:assert/strict";
import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { openOldRootServer } from "../../e2e/harness/old-root-server.js";
import { makeTempDir } from "../../e2e/harness/temp-dir.js";
import { ManualClock, settle } from "../../storage/base/testing/manual-clock.js";
import { createNaming } from "../api/naming.js";
import { type ClientConfig, parseClientConfig } from "./client-config.js";
import { ConfiguredCredentials } from "./credentials.js";
import { HttpsClient } from "./https-client.js";
import { kubeconfigFor, openWebhookStub } from "./testing/webhook-stub.js";

const naming = createNaming("kubernetes");
const never = new AbortController().signal;
const POST = { method: "POST", path: "", body: "{}" };

async function configOf(text: string): Promise<ClientConfig> {
  return await parseClientConfig(text, { path: "/config", naming });
}

function clientFor(
  config: ClientConfig,
  timeoutMs = 5_000,
  clock = new ManualClock(),
): HttpsClient {
  const credentials = new ConfiguredCredentials(config.user, clock);
  return new HttpsClient({
    endpoint: config,
    credentials,
    timeoutMs,
    answerLimits: { bytes: 1_000 },
  });
}

test("S2-TR-01: requests go to the exact address with a client certificate, over one connection", async () => {
  await using stub = await openWebhookStub(() => ({ body: { ok: true } }));
  const client = clientFor(await configOf(stub.kubeconfig));
  for (let i = 0; i < 3; i++) {
    const { status, body } = await client.request(POST, never);
    assert.deepEqual([status, JSON.parse(body.toString())], [200, { ok: true }]);
  }
  const [call] = stub.calls;
  assert.deepEqual([call?.method, call?.url, call?.clientName], ["POST", "/review", "apiserver"]);
  assert.equal(stub.handshakes, 1);
  client.close();
});

test("a path is appended to the address, and every status is an answer", async () => {
  await using stub = await openWebhookStub(() => ({ status: 418 }));
  const client = clientFor(await configOf(stub.kubeconfig));
  const { status } = await client.request({ method: "GET", path: "/api/v1" }, never);
  assert.equal(status, 418);
  assert.equal(stub.calls[0]?.url, "/review/api/v1");
  client.close();
});

test("CVE-2020-8561, NEW-2: a redirect is an answer, so that no webhook sends this server anywhere", async () => {
  for (const status of [301, 302, 307, 308]) {
    await using stub = await openWebhookStub(({ url }) => ({
      status: url === "/review" ? status : 200,
      headers: { location: "/else" },
    }));
    const client = clientFor(await configOf(stub.kubeconfig));
    assert.equal((await client.request(POST, never)).status, status);
    assert.equal(stub.calls.length, 1);
    client.close();
  }
});

test("a server that the authorities do not vouch for is not talked to, unless told so", async () => {
  await using stub = await openWebhookStub();
  await using stranger = await openWebhookStub();
  const user = { "client-certificate-data": "", "client-key-data": "" };
  const wrong = clientFor(
    await configOf(kubeconfigFor({ server: stub.url, ca: stranger.ca, user })),
  );
  await assert.rejects(wrong.request(POST, never), { name: "TransportError", kind: "connection" });

  const config = await configOf(stub.kubeconfig);
  const otherName = clientFor({ ...config, serverName: "somebody.example" });
  await assert.rejects(otherName.request(POST, never), { kind: "connection" });
  assert.equal(stub.calls.length, 0);

  // Without an authority the machine's apply.
  const credentials = new ConfiguredCredentials(config.user, new ManualClock());
  const endpoint = { ...config, ca: undefined };
  const defaultAuthorities = [stranger.ca, stub.ca];
  const usual = new HttpsClient({ endpoint, credentials, timeoutMs: 5_000, defaultAuthorities });
  assert.equal((await usual.request(POST, never)).status, 200);
  usual.close();
  await assert.rejects(clientFor(endpoint).request(POST, never), { kind: "connection" });

  const insecure = clientFor({ ...config, ca: undefined, isInsecure: true });
  assert.equal((await insecure.request(POST, never)).status, 200);
  insecure.close();
});

test("a server is believed by a root of X.509 version 1 too", async () => {
  await using server = await openOldRootServer();
  const { url, authority: ca } = server;
  const client = clientFor(await configOf(kubeconfigFor({ server: url, ca, user: {} })));
  assert.equal((await client.request(POST, never)).status, 200);
  client.close();
});

test("each connection verifies the certificate anew, so none is believed past its time", async () => {
  const resumed: boolean[] = [];
  await using stub = await openWebhookStub(({ isResumed }) => {
    resumed.push(isResumed);
    return { headers: { connection: "close" } };
  });
  const client = clientFor(await configOf(stub.kubeconfig));
  for (let i = 0; i < 3; i++) await client.request(POST, never);
  assert.deepEqual(resumed, [false, false, false]);
  assert.equal(stub.handshakes, 3);
  client.close();
});

test("without its client certificate a client does not get in", async () => {
  await using stub = await openWebhookStub();
  const client = clientFor({ ...(await configOf(stub.kubeconfig)), user: {} });
  await assert.rejects(client.request(POST, never), { name: "TransportError" });
});

test("certificates that are none are an error of the connection, which does not quote them", async () => {
  await using stub = await openWebhookStub();
  const config = await configOf(stub.kubeconfig);
  const certificate = { cert: { text: "secret" }, key: { text: "secret" } };
  for (const broken of [
    { ...config, ca: "secret" },
    { ...config, user: { certificate } },
  ]) {
    await assert.rejects(clientFor(broken).request(POST, never), (error: Error) => {
      assert.equal(error.name, "TransportError");
      return !error.message.includes("secret");
    });
  }
});

test("deadline, cancellation, a closed connection and too long answers are told apart", async () => {
  await using stub = await openWebhookStub(() => ({ isSilent: true }));
  const client = clientFor(await configOf(stub.kubeconfig), 50);
  await assert.rejects(client.request(POST, never), { kind: "timeout" });

  const patient = clientFor(await configOf(stub.kubeconfig));
  const controller = new AbortController();
  stub.answer = () => {
    controller.abort();
    return { isSilent: true };
  };
  await assert.rejects(patient.request(POST, controller.signal), { kind: "canceled" });
  await assert.rejects(patient.request(POST, controller.signal), { kind: "canceled" });
  stub.answer = () => ({ isReset: true });
  await assert.rejects(patient.request(POST, never), { kind: "reset" });
  stub.answer = () => ({ body: "x".repeat(2_000) });
  await assert.rejects(patient.request(POST, never), { kind: "too-large" });
  // A new client: its first connection fails the handshake, while a kept one would be closed.
  const late = clientFor(await configOf(stub.kubeconfig));
  await stub.stop();
  await assert.rejects(late.request(POST, never), { kind: "connection" });
});

test("A25: what was written to a kept connection is not sent again when the server closes it", async () => {
  await using stub = await openWebhookStub();
  const client = clientFor(await configOf(stub.kubeconfig));
  await client.request(POST, never);
  const before = stub.calls.length;
  stub.answer = () => ({ isReset: true });
  await assert.rejects(client.request(POST, never), { kind: "reset" });
  assert.equal(stub.calls.length, before + 1);
  client.close();
});

test("token and certificate files are read again after a minute or a 401; a lost file changes nothing", async () => {
  await using dir = await makeTempDir("credentials");
  await using stub = await openWebhookStub(() => ({}), true);
  const file = join(dir.path, "token");
  await writeFile(file, "first\n");
  const clock = new ManualClock();
  const config = await configOf(
    kubeconfigFor({ server: stub.url, ca: stub.ca, user: { tokenFile: file } }),
  );
  const client = clientFor(config, 5_000, clock);
  const sent = async () => {
    await client.request(POST, never);
    return stub.calls.at(-1)?.headers.authorization;
  };
  assert.equal(await sent(), "Bearer first");
  await writeFile(file, "second");
  assert.equal(await sent(), "Bearer first");
  clock.advance(60_000);
  // The request that notices the change uses the cached token; the next one has the new one.
  await sent();
  await untilChanged(sent, "Bearer second");

  await rename(file, `${file}.gone`);
  clock.advance(60_000);
  assert.equal(await sent(), "Bearer second");
  await writeFile(file, "third");
  stub.answer = () => ({ status: 401 });
  await sent();
  await untilChanged(sent, "Bearer third");
  client.close();
});

test("S2-EXEC-09: a changed certificate file closes connections and makes a new handshake", async () => {
  await using dir = await makeTempDir("credentials");
  await using stub = await openWebhookStub(() => ({}));
  const [cert, key] = [join(dir.path, "cert"), join(dir.path, "key")];
  const use = async (name: string) => {
    const identity = await stub.authority.issueClient(name);
    await writeFile(key, identity.key);
    await writeFile(cert, identity.cert);
  };
  await use("one");
  const clock = new ManualClock();
  const user = { "client-certificate": cert, "client-key": key };
  const config = await configOf(kubeconfigFor({ server: stub.url, ca: stub.ca, user }));
  const client = clientFor(config, 5_000, clock);
  const name = async () => {
    await client.request(POST, never);
    return stub.calls.at(-1)?.clientName;
  };
  assert.equal(await name(), "one");
  assert.equal(await name(), "one");
  assert.equal(stub.handshakes, 1);
  await use("two");
  clock.advance(60_000);
  await untilChanged(name, "two");
  assert.equal(stub.handshakes, 2);
  client.close();
});

async function untilChanged(read: () => Promise<unknown>, expected: unknown): Promise<void> {
  for (let i = 0; i < 100; i++) {
    if ((await read()) === expected) return;
    await settle();
  }
  assert.equal(await read(), expected);
}
