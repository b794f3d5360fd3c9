/**
 * The helpers that start real programs for other tests: they must start, survive a restart, and
 * leave nothing behind when the test process is killed.
 */
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { promisify } from "node:util";
import { eventually, within } from "../harness/eventually.js";
import { makeTempDir } from "../harness/temp-dir.js";
import { startEtcdCluster } from "./etcd.js";
import { openLab, whyNoLab } from "./lab.js";
import { startRedis } from "./redis.js";
import { startTcpProxy } from "./tcp-proxy.js";

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

test("a cluster of three starts, loses a member, gets it back, and stops", async () => {
  await using cluster = await startEtcdCluster(3);
  const [first] = cluster.members;
  assert.ok(first !== undefined);
  const pid = first.pid;
  await first.kill();
  assert.equal(isRunning(pid), false);
  await first.restart();
  assert.notEqual(first.pid, pid);
  await cluster.stop();
  assert.equal(isRunning(first.pid), false);
});

test("a Redis starts, restarts on its port, and stops", async () => {
  await using redis = await startRedis();
  const { url } = redis;
  await redis.restart();
  assert.equal(redis.url, url);
  const { pid } = redis;
  await redis.stop();
  assert.equal(isRunning(pid), false);
});

test("a port is given once, whichever process asks", async () => {
  const ports = new URL("./free-port.js", import.meta.url).href;
  const code = `const { freePort } = await import(${JSON.stringify(ports)});
    const given = []; while (given.length < 300) given.push(await freePort());
    console.log(given.join()); process.stdin.resume();`;
  const processes = [1, 2].map(() =>
    spawn(process.execPath, ["--input-type=module", "-e", code], {
      stdio: ["pipe", "pipe", "inherit"],
    }),
  );
  const lines = await Promise.all(processes.map(({ stdout }) => once(stdout, "data")));
  for (const { stdin } of processes) stdin.end();
  const given = lines.flatMap(([line]) => String(line).trim().split(","));
  assert.equal(given.length, 600);
  assert.equal(new Set(given).size, 600);
});

test("a killed test process takes its programs with it", async () => {
  const etcdModule = new URL("./etcd.js", import.meta.url).href;
  const code = `const { startEtcd } = await import(${JSON.stringify(etcdModule)});
    const etcd = await startEtcd(); etcd.pause(); console.log(etcd.pid); setInterval(() => {}, 1000);`;
  const parent = spawn(process.execPath, ["--input-type=module", "-e", code], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(parent.stdout, "data")) as [Buffer];
  const pid = Number(line.toString());
  assert.equal(isRunning(pid), true);
  parent.kill("SIGKILL");
  await eventually(`process ${pid} is gone`, () => !isRunning(pid));
});

test("a test that forgets its server ends, and the server with it", async () => {
  const servers = new URL("../harness/server-process.js", import.meta.url).href;
  const code = `const { startServer } = await import(${JSON.stringify(servers)});
    console.log((await startServer()).pid);`;
  const forgetful = spawn(process.execPath, ["--input-type=module", "-e", code], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const said = text(forgetful.stdout);
  await within("it ends", once(forgetful, "exit"));
  const pid = Number(await said);
  assert.ok(pid > 0);
  await eventually(`process ${pid} is gone`, () => !isRunning(pid));
});

test("a link may be slow, lossy or silent, and what it carries arrives whole and in order", async () => {
  await using echo = await startEcho();
  await using link = await startTcpProxy(echo.endpoint);
  const socket = await connectTo(link.endpoint);
  const sent = randomBytes(300_000);
  const roundTrip = async () => {
    const begunAtMs = performance.now();
    const received: Buffer[] = [];
    socket.write(sent);
    for (let bytes = 0; bytes < sent.length; ) {
      const [chunk] = (await once(socket, "data")) as [Buffer];
      received.push(chunk);
      bytes += chunk.length;
    }
    assert.ok(Buffer.concat(received).equals(sent));
    return performance.now() - begunAtMs;
  };
  await roundTrip();
  link.setQuality({ delayMs: 40 });
  assert.ok((await roundTrip()) >= 80);
  link.setQuality({ bytesPerSecond: 3_000_000 });
  assert.ok((await roundTrip()) >= 100);
  link.setQuality({ lossShare: 0.2 });
  await roundTrip();
  link.setQuality({});
  link.hold(true);
  const late = roundTrip();
  const heldMs = 100;
  await new Promise((resolve) => setTimeout(resolve, heldMs));
  link.hold(false);
  assert.ok((await late) >= heldMs);
  socket.destroy();
});

test("a lab gives each program a cable that can be pulled, and a disk that can be full", async (t) => {
  const whyNot = await whyNoLab();
  if (whyNot !== undefined) {
    t.skip(whyNot);
    return;
  }
  await using folder = await makeTempDir("lab");
  const disk = join(folder.path, "disk");
  await mkdir(disk);
  await using lab = await openLab([disk]);
  const [room] = lab.rooms;
  assert.ok(room);
  const run = async (...command: readonly string[]) => {
    const [program = "", ...args] = [...room.enter, ...command];
    return await promisify(execFile)(program, args);
  };
  await room.fillDisk();
  await assert.rejects(run("sh", "-c", `echo word > ${disk}/file`));
  await room.freeDisk();
  await run("sh", "-c", `echo word > ${disk}/file`);
  const isReached = () => isRefused(room.address);
  await eventually("the room is reached", isReached);
  await room.unplug();
  assert.equal(await isReached(), false);
  await room.plug();
  await eventually("the room is reached again", isReached);
});

/** Whether somebody says that nobody listens: so the packets get there and back. */
function isRefused(host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port: 9, timeout: 500 });
    const end = (isThere: boolean) => {
      socket.destroy();
      resolve(isThere);
    };
    socket.once("timeout", () => end(false));
    socket.once("error", ({ message }) => end(message.includes("ECONNREFUSED")));
  });
}

async function startEcho(): Promise<AsyncDisposable & { readonly endpoint: string }> {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.pipe(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.close();
    },
  };
}

async function connectTo(endpoint: string): Promise<Socket> {
  const { hostname, port } = new URL(endpoint);
  const socket = connect(Number(port), hostname);
  await once(socket, "connect");
  return socket;
}
