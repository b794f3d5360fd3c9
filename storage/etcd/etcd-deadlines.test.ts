/**
 * How long a caller of EtcdStore waits at most. The members here accept connections and then fall
 * silent, as paused ones do, so no etcd is needed.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingHttpHeaders } from "node:http2";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { test } from "node:test";
import { soon } from "../../e2e/harness/eventually.js";
import { AbortHub } from "../base/abort-hub.js";
import { type Clock, systemClock } from "../base/clock.js";
import { silentLogger } from "../base/logger.js";
import { ManualClock, settle } from "../base/testing/manual-clock.js";
import { toRevision } from "../kv/store.js";
import type { EndpointPool } from "./endpoint-pool.js";
import { EtcdStore, type EtcdTransport } from "./etcd-store.js";
import type { StreamHandlers } from "./grpc-calls.js";
import type { MemberIdentity } from "./member-identity.js";
import { answer, startGrpcServer } from "./testing/grpc-server.js";
import { EtcdWatch } from "./watch.js";

const HOUR_MS = 3_600_000;

interface MuteMember extends AsyncDisposable {
  readonly endpoint: string;
  /** Connections that were opened so far. */
  readonly dials: number;
  untilDialled(): Promise<void>;
}

async function startMuteMember(): Promise<MuteMember> {
  const sockets = new Set<Socket>();
  let dials = 0;
  const server = createServer((socket) => {
    dials++;
    sockets.add(socket);
    socket.on("error", () => {});
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get dials() {
      return dials;
    },
    async untilDialled() {
      if (dials === 0) await once(server, "connection");
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

/** The answer to any range, of which only the revision is read: 7. */
const RANGE_ANSWER = Buffer.from([0x0a, 2, 0x18, 7]);

/** Answers the greeting; the caller decides about ranges. */
async function startMember(onRange: (answer: () => void, headers: IncomingHttpHeaders) => void) {
  const server = await startGrpcServer((stream, headers) => {
    const answerRange = () => answer(stream, [RANGE_ANSWER]);
    if (String(headers[":path"]).includes("Range")) onRange(answerRange, headers);
    else answerRange();
  });
  return {
    endpoint: `http://127.0.0.1:${server.port}`,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

function storeOn(
  members: readonly { readonly endpoint: string }[],
  clock: Clock,
  dialTimeoutMs: number,
  transport: EtcdTransport = "lean",
): EtcdStore {
  const endpoints = members.map(({ endpoint }) => endpoint);
  return new EtcdStore({
    endpoints,
    prefix: "/deadlines",
    clock,
    logger: silentLogger,
    dialTimeoutMs,
    transport,
  });
}

test("a caller whose time is over does not wait for the dial that it shares with others", async () => {
  await using member = await startMuteMember();
  await using store = storeOn([member], systemClock, HOUR_MS);
  const caller = new AbortController();
  const read = store.currentRevision(caller.signal);
  await member.untilDialled();
  const reason = new Error("the caller's time is over");
  caller.abort(reason);
  await assert.rejects(read, reason);
});

for (const transport of ["lean", "grpc"] as const) {
  test(`a start asks a member again that took longer than a dial may, until its own deadline: ${transport}`, async () => {
    let greetings = 0;
    const member = await startGrpcServer((stream, headers) => {
      if (String(headers[":path"]).startsWith("/grpc.health") && greetings++ < 2) return;
      answer(stream, [RANGE_ANSWER]);
    });
    await using _ = member;
    const endpoint = `http://127.0.0.1:${member.port}`;
    await using store = storeOn([{ endpoint }], systemClock, 500, transport);
    // Any answer will do for a greeting; that of a range is no status of a member.
    await store
      .check(soon())
      .catch((error: Error) => assert.doesNotMatch(error.message, /no etcd/));
    assert.ok(greetings > 2);
  });

  test(`a write to silent members fails within 10 s, however many there are, and has not happened: ${transport}`, async () => {
    await using first = await startMuteMember();
    await using second = await startMuteMember();
    await using third = await startMuteMember();
    const members = [first, second, third];
    const clock = new ManualClock();
    await using store = storeOn(members, clock, 500, transport);
    const operations = [{ type: "delete", key: "/deadlines/a" }] as const;
    const write = store.commit({ compares: [], operations }, AbortSignal.timeout(HOUR_MS));
    const failed = assert.rejects(write, { code: "Unavailable", outcomeUnknown: false });
    await Promise.race(members.map((member) => member.untilDialled()));
    await clock.advanceInSteps(7_000);
    await failed;
    await settle();
    assert.equal(
      members.reduce((sum, { dials }) => sum + dials, 0),
      // For grpc-js, small calls and lists; the members after the first are not tried.
      transport === "lean" ? 3 : 1,
    );
  });
}

test("calls with one answer leave over connections of our own, or all through grpc-js", async () => {
  const agents: string[] = [];
  await using member = await startMember((answer, headers) => {
    agents.push(String(headers["user-agent"]).split("/")[0] ?? "");
    answer();
  });
  for (const transport of ["lean", "grpc"] as const) {
    await using store = storeOn([member], systemClock, 5_000, transport);
    const signal = soon();
    await store.currentRevision(signal);
    await store.get("/deadlines/a", {}, signal);
    await store.range({ prefix: "/deadlines/" }, signal);
  }
  assert.deepEqual(agents, [...Array(3).fill("keelson"), ...Array(3).fill("grpc-node-js")]);
});

test("a member whose answer somebody waited for in vain is left for another one", async () => {
  let asked = () => {};
  const firstRange = new Promise<void>((resolve) => {
    asked = resolve;
  });
  // The first member asked is silent from then on; the keepalive would take seconds to notice.
  let silent: number | undefined;
  const onRange = (member: number) => (answer: () => void) => {
    silent ??= member;
    asked();
    if (member !== silent) answer();
  };
  await using first = await startMember(onRange(1));
  await using second = await startMember(onRange(2));
  const clock = new ManualClock();
  await using store = storeOn([first, second], clock, 5_000);
  const caller = new AbortController();
  const read = store.currentRevision(caller.signal);
  await firstRange;
  await clock.advanceInSteps(2_500);
  const reason = new Error("the caller's time is over");
  caller.abort(reason);
  await assert.rejects(read, reason);
  assert.equal(await store.currentRevision(soon()), 7);
});

test("a watch whose member is asked for progress and says nothing more goes on with another one", async () => {
  const left: string[] = [];
  const created = Buffer.from([0x0a, 2, 0x18, 8, 0x18, 1]);
  const streams: StreamHandlers[] = [];
  let opened = () => {};
  const pool = {
    async openStream(_path: string, handlersFor: (identity: MemberIdentity) => StreamHandlers) {
      const handlers = handlersFor({ version: "3.6.0", clusterId: "1" });
      streams.push(handlers);
      const send = () => handlers.onMessage(created);
      setImmediate(opened);
      return { stream: { send, pause() {}, resume() {}, close() {} }, url: `m${streams.length}` };
    },
    leave: (url: string) => left.push(url),
  };
  const clock = new ManualClock();
  const watch = new EtcdWatch(
    {
      prefix: "/deadlines",
      after: toRevision(7),
      pool: pool as unknown as EndpointPool,
      aborts: new AbortHub(),
      clock,
      logger: silentLogger,
      clockKey: "/deadlines.clock",
      requestClock() {},
      currentRevision: async () => toRevision(8),
      onEnd() {},
    },
    new AbortController().signal,
  );
  const untilOpened = () =>
    new Promise<void>((resolve) => {
      opened = resolve;
    });
  const first = untilOpened();
  const running = watch.run();
  await first;
  // "created" answers each question so far; from now on nobody answers.
  const handlers = streams[0] as StreamHandlers;
  handlers.onMessage = () => {};
  const second = untilOpened();
  for (let waitedMs = 0; left.length === 0; waitedMs += 20) {
    assert.ok(waitedMs <= 2_100, "it waits on");
    watch.requestProgress();
    clock.advance(20);
  }
  await clock.advanceInSteps(1_000);
  await second;
  assert.deepEqual(left, ["m1"]);
  assert.equal(streams.length, 2);
  await watch.return();
  await running;
});
