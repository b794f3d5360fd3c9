import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { makeTempDir, type TempDir } from "../../e2e/harness/temp-dir.js";
import { ManualClock } from "../../storage/base/testing/manual-clock.js";
import { createNaming } from "../api/naming.js";
import { parseClientConfig } from "./client-config.js";
import type { ExecConfig } from "./exec-config.js";
import { ExecCredentials, type ExecEnvironment } from "./exec-credentials.js";
import { openClient } from "./open-client.js";
import { kubeconfigFor, openWebhookStub } from "./testing/webhook-stub.js";

const never = new AbortController().signal;
const V1 = "client.authentication.k8s.io/v1";
const NO_TERMINAL: ExecEnvironment = {
  variables: { PATH: process.env.PATH, INHERITED: "yes", OVERRIDDEN: "no" },
  isStdinTerminal: false,
};

const credential = (status: unknown, apiVersion = V1) =>
  JSON.stringify({ kind: "ExecCredential", apiVersion, status });

/** A plug-in: prints the contents of a file and records its calls. */
async function plugin(dir: TempDir, options: Partial<ExecConfig> = {}) {
  const [script, output, log] = ["plugin.sh", "output", "log"].map((name) => join(dir.path, name));
  const lines = [
    "#!/bin/sh",
    `echo "$INHERITED|$OVERRIDDEN|$*|$KUBERNETES_EXEC_INFO" >> ${log}`,
    `if [ -t 0 ]; then echo terminal >> ${log}.stdin; fi`,
    `cat ${output}`,
  ];
  await writeFile(String(script), lines.join("\n"), { mode: 0o755 });
  const config: ExecConfig = {
    command: String(script),
    args: [],
    env: [],
    apiVersion: V1,
    installHint: "",
    interactiveMode: "Never",
    cluster: undefined,
    infoVariable: "KUBERNETES_EXEC_INFO",
    ...options,
  };
  return {
    config,
    says: (text: string) => writeFile(String(output), text),
    calls: async () => {
      const text = await readFile(String(log), "utf8").catch(() => "");
      return text.split("\n").slice(0, -1);
    },
  };
}

test("S2-EXEC-02, 04, 06: a program gets arguments, environment and its input, and gives a token", async () => {
  await using dir = await makeTempDir("exec");
  const { config, says, calls } = await plugin(dir, {
    args: ["get", "token"],
    env: [{ name: "OVERRIDDEN", value: "by config" }],
    cluster: { server: "https://a.example", config: null },
  });
  await says(credential({ token: "t-1" }));
  const credentials = new ExecCredentials(config, new ManualClock(), NO_TERMINAL);
  assert.deepEqual(await credentials.current(never), { authorization: "Bearer t-1" });
  const info = {
    kind: "ExecCredential",
    apiVersion: V1,
    spec: { cluster: { server: "https://a.example", config: null }, interactive: false },
  };
  assert.deepEqual(await calls(), [`yes|by config|get token|${JSON.stringify(info)}`]);
});

test("S2-EXEC-08: what it said is used until it expires or is refused, by all at once", async () => {
  await using dir = await makeTempDir("exec");
  const { config, says, calls } = await plugin(dir);
  const clock = new ManualClock();
  const credentials = new ExecCredentials(config, clock, NO_TERMINAL);
  await says(credential({ token: "for-ever" }));
  const all = await Promise.all([1, 2, 3].map(() => credentials.current(never)));
  clock.advance(1e9);
  const forEver = await credentials.current(never);
  assert.ok(all.every((other) => other === forEver));
  assert.equal((await calls()).length, 1);

  const expirationTimestamp = new Date(clock.now() + 60_000).toISOString();
  await says(credential({ token: "a-minute", expirationTimestamp }));
  credentials.rejected({ authorization: "of an older request" });
  assert.equal(await credentials.current(never), forEver);
  credentials.rejected(forEver);
  assert.equal((await credentials.current(never)).authorization, "Bearer a-minute");
  clock.advance(60_000);
  await credentials.current(never);
  assert.equal((await calls()).length, 2);
  clock.advance(1);
  await says(credential({ token: "next" }));
  assert.equal((await credentials.current(never)).authorization, "Bearer next");
  assert.equal((await calls()).length, 3);
});

test("S2-EXEC-05: the time at which credentials end is RFC 3339 in any zone, and nothing else", async () => {
  await using dir = await makeTempDir("exec");
  const { config, says, calls } = await plugin(dir);
  const noon = Date.parse("2030-06-01T12:00:00Z");
  const sameTimes = [
    "2030-06-01T12:00:00Z",
    "2030-06-01T12:00:00.000000000Z",
    "2030-06-01T14:30:00+02:30",
    "2030-06-01T04:00:00-08:00",
  ];
  for (const expirationTimestamp of sameTimes) {
    const clock = new ManualClock(noon - 1);
    const credentials = new ExecCredentials(config, clock, NO_TERMINAL);
    await says(credential({ token: "t", expirationTimestamp }));
    const before = (await calls()).length;
    await credentials.current(never);
    await credentials.current(never);
    assert.equal((await calls()).length, before + 1, `${expirationTimestamp} is to come`);
    clock.advance(2);
    await credentials.current(never);
    assert.equal((await calls()).length, before + 2, `${expirationTimestamp} is over`);
  }
  for (const other of [
    "1906545600",
    "2030-06-01",
    "2030-06-01T12:00:00",
    "2030-13-01T12:00:00Z",
    5,
  ]) {
    await says(credential({ token: "t", expirationTimestamp: other }));
    const credentials = new ExecCredentials(config, new ManualClock(noon), NO_TERMINAL);
    await assert.rejects(async () => await credentials.current(never), /expirationTimestamp/);
  }
});

test("S2-EXEC-03, S2-EXEC-07: standard input is handed on where it is a terminal and wanted", async () => {
  await using dir = await makeTempDir("exec");
  const taken = { ...NO_TERMINAL, isStdinTerminal: true, stdinTakenBy: "it holds a manifest" };
  const terminal = { ...NO_TERMINAL, isStdinTerminal: true };
  const cases: readonly (readonly [
    ExecConfig["interactiveMode"],
    ExecEnvironment,
    boolean | RegExp,
  ])[] = [
    ["Never", terminal, false],
    ["IfAvailable", NO_TERMINAL, false],
    ["IfAvailable", taken, false],
    ["IfAvailable", terminal, true],
    ["Always", terminal, true],
    ["Always", NO_TERMINAL, /cannot support interactive mode: standard input is not a terminal/],
    ["Always", taken, /standard input is unavailable: it holds a manifest/],
  ];
  for (const [interactiveMode, environment, expected] of cases) {
    const { config, says, calls } = await plugin(dir, { interactiveMode });
    await says(credential({ token: "t" }));
    const credentials = new ExecCredentials(config, new ManualClock(), environment);
    if (expected instanceof RegExp) {
      await assert.rejects(async () => await credentials.current(never), { message: expected });
      continue;
    }
    await credentials.current(never);
    const last = (await calls()).at(-1) ?? "";
    assert.match(last, new RegExp(`"interactive":${expected}`));
  }
});

test("S2-EXEC-01, 04, 05: what cannot be used is one clear error that quotes nothing", async () => {
  await using dir = await makeTempDir("exec");
  const { config, says } = await plugin(dir);
  const outputs: readonly (readonly [string, RegExp])[] = [
    ["secret", /decoding stdout: it is not a JSON object/],
    [JSON.stringify({ kind: "Pod", apiVersion: V1 }), /not an ExecCredential/],
    [
      credential({ token: "secret" }, "client.authentication.k8s.io/v1beta1"),
      /configured to use API version .*\/v1, plugin returned version .*\/v1beta1/,
    ],
    [credential(undefined), /didn't return a status field/],
    [credential({}), /didn't return a token or cert\/key pair/],
    [credential({ clientKeyData: "secret" }), /only certificate or key, not both/],
    [
      credential({ clientKeyData: "secret", clientCertificateData: "secret" }),
      /failed parsing client key\/certificate/,
    ],
    [credential({ token: 5 }), /status.token: expected a string/],
    [credential({ token: "secret\nX-Evil: 1" }), /no header can carry/],
    [credential({ token: "secret", expirationTimestamp: "tomorrow" }), /not an RFC 3339 time/],
  ];
  const reject = async (exec: ExecConfig, message: RegExp) => {
    const credentials = new ExecCredentials(exec, new ManualClock(), NO_TERMINAL);
    await assert.rejects(
      async () => await credentials.current(never),
      (error: Error) => {
        assert.equal(error.name, "ExecError");
        assert.match(error.message, message);
        assert.ok(!error.message.includes("secret"), error.message);
        return true;
      },
    );
  };
  for (const [output, message] of outputs) {
    await says(output);
    await reject(config, message);
  }
  await reject(
    { ...config, command: "no-such-program-anywhere", installHint: "ask Jane" },
    /^exec: executable no-such-program-anywhere not found\n\n.*not installed\.\n\nask Jane$/,
  );
  await reject({ ...config, command: dir.path }, /EACCES/);
  await reject({ ...config, command: "sh", args: ["-c", "exit 3"] }, /failed with exit code 3/);
  await reject({ ...config, command: "sh", args: ["-c", "kill -9 $$"] }, /ended by SIGKILL/);
  await reject({ ...config, command: "cat", args: ["/dev/zero"] }, /wrote too much/);
});

test("who waits for a program can give up; the program is ended when nobody waits", async () => {
  await using dir = await makeTempDir("exec");
  const { config } = await plugin(dir);
  const slow = { ...config, command: "sleep", args: ["60"] };
  const credentials = new ExecCredentials(slow, new ManualClock(), NO_TERMINAL);
  const controller = new AbortController();
  const waiting = Promise.resolve(credentials.current(controller.signal));
  controller.abort(new Error("left"));
  await assert.rejects(waiting, { message: "left" });
});

test("S2-EXEC-08, S2-EXEC-10: the server sees the token; its 401 runs the program again", async () => {
  await using dir = await makeTempDir("exec");
  await using stub = await openWebhookStub(() => ({}), true);
  const { config, says, calls } = await plugin(dir);
  await says(credential({ token: "old" }));
  const client = await open(stub.url, stub.ca, config);
  const post = async () => (await client.request({ method: "POST", path: "" }, never)).status;
  assert.equal(await post(), 200);
  assert.equal(await post(), 200);
  stub.answer = ({ headers }) => ({
    status: headers.authorization === "Bearer new" ? 200 : 401,
  });
  await says(credential({ token: "new" }));
  assert.deepEqual([await post(), await post(), await post()], [401, 200, 200]);
  assert.equal((await calls()).length, 2);
  assert.deepEqual(
    stub.calls.map(({ headers }) => headers.authorization),
    ["Bearer old", "Bearer old", "Bearer old", "Bearer new", "Bearer new"],
  );
  assert.equal(stub.handshakes, 1, "a new token needs no new connection");
  client.close();
});

test("S2-EXEC-04, S2-EXEC-09: certificates with intermediates are shown; a changed one makes a new handshake", async () => {
  await using dir = await makeTempDir("exec");
  await using stub = await openWebhookStub(() => ({}));
  const { config, says } = await plugin(dir);
  const clock = new ManualClock();
  const use = async (name: string) => {
    const { cert, key } = await stub.authority.issueClient(name);
    const status = {
      clientCertificateData: cert + stub.ca,
      clientKeyData: key,
      expirationTimestamp: new Date(clock.now() + 1_000).toISOString(),
    };
    await says(credential(status));
  };
  await use("one");
  const client = await open(stub.url, stub.ca, config, clock);
  const post = async () => {
    await client.request({ method: "POST", path: "" }, never);
    return stub.calls.at(-1)?.clientName;
  };
  assert.deepEqual([await post(), await post(), stub.handshakes], ["one", "one", 1]);
  await use("two");
  clock.advance(1_001);
  assert.deepEqual([await post(), await post(), stub.handshakes], ["two", "two", 2]);
  client.close();
});

test("a user with another credential does not need the program", async () => {
  await using stub = await openWebhookStub(() => ({}), true);
  const exec = { command: "no-such-program", apiVersion: V1, interactiveMode: "Never" };
  const text = kubeconfigFor({ server: stub.url, ca: stub.ca, user: { token: "own", exec } });
  const naming = createNaming("kubernetes");
  const config = await parseClientConfig(text, { path: "/config", naming });
  const client = openClient(config, { clock: new ManualClock(), timeoutMs: 5_000 });
  await client.request({ method: "POST", path: "" }, never);
  assert.equal(stub.calls[0]?.headers.authorization, "Bearer own");
  client.close();
});

async function open(server: string, ca: string, exec: ExecConfig, clock = new ManualClock()) {
  const endpoint = { server, ca, serverName: undefined, isInsecure: false };
  const options = { clock, timeoutMs: 5_000, environment: NO_TERMINAL };
  return openClient({ ...endpoint, user: { exec } }, options);
}
