/**
 * Starts that fail half-way, after the store and Redis have been opened: the process says one line and
 * ends by itself, within the process nothing is left open, and the store can be opened again.
 */
import assert from "node:assert/strict";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { parseCommandLine } from "../server/config/command-line.js";
import { readBuildInfo } from "../server/wiring/build-info.js";
import { createSilentLog } from "../server/wiring/create-logger.js";
import { openReplica } from "../server/wiring/replica.js";
import { systemClock } from "../storage/base/clock.js";
import { silentLogger } from "../storage/base/logger.js";
import { openEmbeddedStore } from "../storage/embedded/embedded-store.js";
import { COMMAND } from "./harness/command.js";
import { eventually } from "./harness/eventually.js";
import { runServer } from "./harness/server-process.js";
import { makeTempDir } from "./harness/temp-dir.js";
import { Child } from "./tools/child.js";

interface FailingStep {
  readonly title: string;
  readonly flags: (surroundings: { folder: string; port: number }) => readonly string[];
  readonly message: RegExp;
}

const STEPS: readonly FailingStep[] = [
  {
    title: "what policies have no say about is a resource that is not there",
    flags: () => ["--admission-policy-exclusions=configmap"],
    message: /--admission-policy-exclusions: "configmap" is not there; the group has /,
  },
  {
    title: "the store is open and a key file is bad",
    flags: ({ folder }) => [`--service-account-key-file=${join(folder, "bad")}`],
    message: /service-account-key-file/,
  },
  {
    title: "the store and Redis are open and a policy file is bad",
    flags: ({ folder }) => [
      "--authorization-mode=ABAC",
      `--authorization-policy-file=${join(folder, "bad")}`,
    ],
    message: /bad/,
  },
  {
    title: "the store, Redis and the audit log are open and the port is taken",
    flags: ({ folder, port }) => [
      `--secure-port=${port}`,
      `--audit-log-path=${join(folder, "audit.log")}`,
    ],
    message: /port \d+ of \S+ is in use by another process .*--secure-port/,
  },
];

for (const { title, flags, message } of STEPS) {
  test(`a failed start leaves nothing open: ${title}`, async () => {
    await using folder = await makeTempDir("failed-start");
    await using taken = await listen();
    await using redis = await listen();
    await folder.write("bad", "neither a key nor a policy\n");
    const dataDir = join(folder.path, "data");
    const args = [
      "serve",
      `--data-dir=${dataDir}`,
      "--secure-port=0",
      "--bind-address=127.0.0.1",
      `--authorization-webhook-cache-redis=redis://127.0.0.1:${redis.port}`,
      ...flags({ folder: folder.path, port: taken.port }),
    ];

    const commandLine = parseCommandLine(args);
    assert.ok(commandLine.action === "run");
    await assert.rejects(
      openReplica(commandLine.config, readBuildInfo({}), createSilentLog()),
      message,
    );
    const directory = join(dataDir, "store");
    const store = await openEmbeddedStore({ directory, clock: systemClock, logger: silentLogger });
    await store[Symbol.asyncDispose]();
    await eventually("the test's own two ports are all that is open", () =>
      openHandles().join() === "TCPServerWrap,TCPServerWrap" ? true : undefined,
    );
  });

  test(`a process whose start fails says why and ends by itself: ${title}`, async () => {
    await using folder = await makeTempDir("failed-start");
    await using taken = await listen();
    await using redis = await listen();
    await folder.write("bad", "neither a key nor a policy\n");
    const { code, output } = await runServer([
      "serve",
      `--data-dir=${join(folder.path, "data")}`,
      "--secure-port=0",
      "--bind-address=127.0.0.1",
      `--authorization-webhook-cache-redis=redis://127.0.0.1:${redis.port}`,
      ...flags({ folder: folder.path, port: taken.port }),
    ]);
    assert.equal(code, 1, output);
    assert.match(output, message);
  });
}

test("a signal before the server is ready is an end in good order", async () => {
  await using folder = await makeTempDir("early-end");
  const flags = [`--data-dir=${folder.path}`, "--secure-port=0", "--bind-address=127.0.0.1"];
  const child = new Child(process.execPath, [COMMAND, "serve", ...flags]);
  await eventually("the server says where it is", () => child.output.includes("KUBECONFIG"));
  await child.end("SIGTERM");
  assert.equal(child.exitCode, 0, child.output);
});

interface OpenPort extends AsyncDisposable {
  readonly port: number;
}

/** A port that takes connections and never says a word: taken, and a Redis that is slow to answer. */
async function listen(): Promise<OpenPort> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.resume());
    socket.on("error", () => {}).once("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Sockets, listeners and timers that keep this process alive. */
function openHandles(): string[] {
  return process
    .getActiveResourcesInfo()
    .filter((name) => /^(?:TCP|Timeout|Immediate)/.test(name))
    .sort();
}
