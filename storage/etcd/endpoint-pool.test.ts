/** EndpointPool: what the caller of a stream is told about the member that serves it. */
import assert from "node:assert/strict";
import type { Http2Session } from "node:http2";
import { test } from "node:test";
import { soon } from "../../e2e/harness/eventually.js";
import { AbortHub } from "../base/abort-hub.js";
import { systemClock } from "../base/clock.js";
import { Lifecycle } from "../base/lifecycle.js";
import { silentLogger } from "../base/logger.js";
import { EndpointPool } from "./endpoint-pool.js";
import { answer, startGrpcServer } from "./testing/grpc-server.js";

const WATCH = "/etcdserverpb.Watch/Watch";
const STATUS = "/etcdserverpb.Maintenance/Status";
const READ = { path: "/etcdserverpb.KV/Range", message: Buffer.from("read") };

/** The answer of a member: field 2 is its version. */
const VERSION = "3.5.16";
const STATUS_ANSWER = Buffer.concat([Buffer.from([0x12, VERSION.length]), Buffer.from(VERSION)]);

/** A member that counts its watches, and a pool of streams to it whose tokens a test can hold back. */
async function startMember() {
  const sessions = new Set<Http2Session>();
  const member = {
    watches: 0,
    token: undefined as Promise<undefined> | undefined,
    onStatus() {},
    onToken() {},
    loseConnections() {
      for (const session of sessions) session.destroy();
      sessions.clear();
    },
  };
  const server = await startGrpcServer((stream, headers) => {
    if (stream.session !== undefined) sessions.add(stream.session);
    if (headers[":path"] === STATUS) {
      member.onStatus();
      answer(stream, [STATUS_ANSWER]);
    } else if (headers[":path"] === WATCH) {
      member.watches++;
      answer(stream, ["event"]);
    } else answer(stream, [""]);
  });
  const lifecycle = new Lifecycle(silentLogger);
  const pool = new EndpointPool({
    urls: [`http://127.0.0.1:${server.port}`],
    tls: undefined,
    dialTimeoutMs: 5_000,
    keepalive: { intervalMs: 5_500, timeoutMs: 2_500 },
    probe: READ,
    isLean: true,
    purpose: "streams",
    tokens: {
      token() {
        member.onToken();
        return member.token;
      },
      invalidate() {},
    },
    aborts: new AbortHub(),
    clock: systemClock,
    lifecycle,
    logger: silentLogger,
  });
  return {
    member,
    pool,
    async [Symbol.asyncDispose]() {
      pool.close();
      await lifecycle[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

test("who opens a stream is told the version of the member first", async () => {
  await using started = await startMember();
  const versions: (string | undefined)[] = [];
  const ended = new Promise((onEnd) => {
    const handlers = { onMessage() {}, onEnd };
    const opened = started.pool.openStream(
      WATCH,
      ({ version }) => {
        versions.push(version, String(started.member.watches));
        return handlers;
      },
      soon(),
    );
    opened.catch(onEnd);
  });
  await ended;
  assert.deepEqual([versions, started.member.watches], [[VERSION, "0"], 1]);
});

test("a stream is not opened over another connection than the one on which its member was asked", async () => {
  await using started = await startMember();
  const { member, pool } = started;
  let release = () => {};
  const held = new Promise<undefined>((resolve) => {
    release = () => resolve(undefined);
  });
  const isHeld = new Promise<void>((resolve) => {
    member.onStatus = () => {
      member.token = held;
      member.onToken = resolve;
    };
  });
  const opened = pool.openStream(WATCH, () => assert.fail("nobody is told"), soon());
  const refused = assert.rejects(opened, /the connection was lost meanwhile/);
  await isHeld;
  member.token = undefined;
  member.loseConnections();
  // Answered over a new connection, which is ready then.
  await pool.call(READ, false, soon());
  release();
  await refused;
  assert.equal(member.watches, 0);
});
