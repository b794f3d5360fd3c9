/** EtcdConnection: which of its connections a call takes. */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { Http2Session, IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { type AddressInfo, createConnection, createServer, type Socket } from "node:net";
import { test } from "node:test";
import { eventually, soon } from "../../e2e/harness/eventually.js";
import { AbortHub } from "../base/abort-hub.js";
import { silentLogger } from "../base/logger.js";
import { type ConnectionPurpose, EtcdConnection, toCredentials } from "./connection.js";
import { GRPC_STATUS, type RpcError } from "./errors.js";
import { ANSWER_BYTES_MAX, STREAM_WINDOW_BYTES } from "./lean-exchange.js";
import { answer, startGrpcServer } from "./testing/grpc-server.js";

const LIST = { path: "/etcdserverpb.KV/Range", message: Buffer.from("list"), isLong: true };
const READ = { path: "/etcdserverpb.KV/Txn", message: Buffer.from("read") };
const CREDENTIALS = toCredentials(undefined, "http://127.0.0.1");

/**
 * A member whose calls `onCall` answers, and a connection to it.
 * @param takesLean whether a lean connection gets through to it now
 */
async function connect(
  onCall: (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void,
  purpose: ConnectionPurpose = "calls",
  takesLean = () => true,
) {
  const server = await startGrpcServer((stream, headers) => {
    if (headers[":path"]?.startsWith("/grpc.health")) answer(stream, [""]);
    else onCall(stream, headers);
  });
  const gate = await startGate(server.port, takesLean);
  const url = `http://127.0.0.1:${gate.port}`;
  const connection = new EtcdConnection({
    url,
    credentials: () => CREDENTIALS,
    keepalive: { intervalMs: 5_500, timeoutMs: 2_500 },
    dialTimeoutMs: 5_000,
    aborts: new AbortHub(),
    lean: { tls: undefined, logger: silentLogger, purpose },
  });
  await connection.open();
  return {
    connection,
    async [Symbol.asyncDispose]() {
      connection.close();
      await gate[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** Lets connections to `port` through, lean ones only if they are taken: those announce another window. */
async function startGate(port: number, takesLean: () => boolean) {
  const leanWindow = Buffer.alloc(4);
  leanWindow.writeUInt32BE(STREAM_WINDOW_BYTES);
  const sockets = new Set<Socket>();
  const gate = createServer((client) => {
    sockets.add(client.on("error", () => {}));
    client.once("data", (first) => {
      if (!takesLean() && first.includes(leanWindow)) {
        client.destroy();
        return;
      }
      const server = createConnection(port, "127.0.0.1").on("error", () => {});
      server.write(first);
      client.pipe(server).pipe(client);
      client.once("close", () => server.destroy());
      server.once("close", () => client.destroy());
    });
  });
  gate.listen(0, "127.0.0.1");
  await once(gate, "listening");
  return {
    port: (gate.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      gate.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

test("a small call does not wait behind the answer to a list", async () => {
  const sessions = new Set<Http2Session | undefined>();
  let finishList = () => {};
  await using member = await connect((stream, headers) => {
    sessions.add(stream.session);
    if (headers[":path"] === READ.path) answer(stream, ["read"]);
    else finishList = () => answer(stream, ["list"]);
  });
  const list = member.connection.unary(LIST, undefined, soon());
  assert.equal(String(await member.connection.unary(READ, undefined, soon())), "read");
  finishList();
  assert.equal(String(await list), "list");
  assert.equal(sessions.size, 2);
});

test("a list that is longer than a lean connection takes comes whole, through grpc-js", async () => {
  const long = Buffer.alloc(ANSWER_BYTES_MAX + 1, "x");
  const agents: unknown[] = [];
  await using member = await connect((stream, headers) => {
    agents.push(headers["user-agent"]);
    answer(stream, [long]);
  });
  assert.deepEqual(await member.connection.unary(LIST, undefined, soon()), long);
  assert.equal(agents.length, 2);
  assert.equal(agents[0], "keelson");
  assert.match(String(agents[1]), /grpc-node/);
});

test("streams take a lean connection where there is one, and grpc-js where there is none", async () => {
  for (const [purpose, agent] of [
    ["streams", /^keelson$/],
    ["calls", /grpc-node/],
  ] as const) {
    const agents: string[] = [];
    await using member = await connect((stream, headers) => {
      agents.push(String(headers["user-agent"]));
      answer(stream, ["event"]);
    }, purpose);
    const messages: string[] = [];
    const end = await new Promise<RpcError>((onEnd) => {
      const onMessage = (message: Buffer) => messages.push(String(message));
      member.connection.stream("/etcdserverpb.Watch/Watch", undefined, { onMessage, onEnd });
    });
    assert.equal(end.status, GRPC_STATUS.ok);
    assert.deepEqual(messages, ["event"]);
    assert.match(agents.join(), agent);
  }
});

test("what is asked about the member of a stream is asked on the connection that the stream takes", async () => {
  const sessions = new Set<Http2Session | undefined>();
  await using member = await connect((stream) => {
    sessions.add(stream.session);
    answer(stream, ["version 3.5"]);
  }, "streams");
  await member.connection.unary(READ, undefined, soon());
  await new Promise((onEnd) => {
    const handlers = { onMessage: () => {}, onEnd };
    member.connection.stream("/etcdserverpb.Watch/Watch", undefined, handlers);
  });
  assert.equal(sessions.size, 1);
});

test("a line that is dialed later is a connection of its own, of which nothing is known yet", async () => {
  let isLeanTaken = false;
  const agents: unknown[] = [];
  await using member = await connect(
    (stream, headers) => {
      agents.push(headers["user-agent"]);
      answer(stream, ["version 3.5"]);
    },
    "streams",
    () => isLeanTaken,
  );
  const { connection } = member;
  const ask = () => connection.unary(READ, undefined, soon());
  await ask();
  assert.match(String(agents.pop()), /grpc-node/);
  const { generation } = connection;
  isLeanTaken = true;
  for (let tick = 0; tick < 20; tick++) connection.tick();
  await eventually("a lean connection is taken", async () => {
    await ask();
    return agents.at(-1) === "keelson";
  });
  assert.equal(connection.generation, generation + 1);
});
