/**
 * Calls of grpc-js against servers that each misbehave in one way: the caller's error, and above all
 * whether the server can have seen the request.
 */
import assert from "node:assert/strict";
import type { ServerHttp2Stream } from "node:http2";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { Channel, credentials, Metadata } from "@grpc/grpc-js";
import { StorageError } from "../kv/errors.js";
import { toCredentials } from "./connection.js";
import { GRPC_STATUS, type RpcError } from "./errors.js";
import { type CallPlan, StreamCall, UnaryCall } from "./grpc-calls.js";
import {
  answer,
  deny,
  failureOf,
  OPEN_ENDS,
  refuse,
  startGrpcServer,
} from "./testing/grpc-server.js";

/** A channel like EtcdConnection's, to a server that handles each call as given. */
async function startServer(onStream: (stream: ServerHttp2Stream) => void) {
  const server = await startGrpcServer(onStream);
  const { plan, close } = connect(server.port);
  return {
    plan,
    [Symbol.asyncDispose]: async () => {
      close();
      await server[Symbol.asyncDispose]();
    },
  };
}

function connect(port: number): { plan: CallPlan; close: () => void } {
  const options = { "grpc.enable_retries": 0, "grpc.per_rpc_retry_buffer_size": 0 };
  const channel = new Channel(`127.0.0.1:${port}`, credentials.createInsecure(), options);
  return {
    plan: { channel, path: "/test/Call", metadata: new Metadata() },
    close: () => channel.close(),
  };
}

function call(plan: CallPlan): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    new UnaryCall(plan, Buffer.from("request"), (failure, answer) => {
      if (answer === undefined) reject(failure);
      else resolve(answer);
    });
  });
}

test("an answer comes as it was sent", async () => {
  await using server = await startServer((stream) => answer(stream, ["pong"]));
  assert.equal((await call(server.plan)).toString(), "pong");
});

test("a request to nobody was certainly not sent", async () => {
  const { plan, close } = connect(1);
  const failure = await failureOf(call(plan));
  close();
  assert.deepEqual([failure.status, failure.isSent], [GRPC_STATUS.unavailable, false]);
});

test("a refused stream was certainly not looked at", async () => {
  await using server = await startServer(refuse);
  const failure = await failureOf(call(server.plan));
  assert.deepEqual([failure.isSent, failure.isHarmless, failure.isTransient], [false, true, true]);
});

test("whatever else ends a call leaves it open whether the request was done", async () => {
  for (const [index, end] of OPEN_ENDS.entries()) {
    await using server = await startServer((stream) => stream.once("data", () => end(stream)));
    const failure = await failureOf(call(server.plan));
    const found = [failure.isSent, failure.isHarmless, failure.isTransient];
    assert.deepEqual(found, [true, false, true], `${index}: ${failure.message}`);
  }
});

test("a refusal comes with its text", async () => {
  await using server = await startServer(deny);
  const failure = await failureOf(call(server.plan));
  assert.deepEqual([failure.status, failure.isTransient], [GRPC_STATUS.permissionDenied, false]);
  assert.match(failure.message, /permission denied/);
});

test("a stream sends and gives messages in order, and none while it is paused", async () => {
  const sent = Array.from({ length: 100 }, (_, index) => `message ${index}`);
  let received = "";
  await using server = await startServer((stream) => {
    stream.on("data", (chunk: Buffer) => {
      received += chunk.toString("latin1").replaceAll(/[^0-9]/g, "");
      if (received === "0123456789") answer(stream, sent);
    });
  });
  const got: string[] = [];
  const end = await new Promise<RpcError>((resolve) => {
    const stream = new StreamCall(server.plan, {
      onMessage: (message) => {
        got.push(message.toString());
        if (got.length !== 50) return;
        stream.pause();
        void (async () => {
          for (let turn = 0; turn < 20; turn++) await setImmediate();
          assert.equal(got.length, 50);
          stream.resume();
        })();
      },
      onEnd: resolve,
    });
    for (let index = 0; index < 10; index++) stream.send(Buffer.from(String(index)));
  });
  assert.equal(end.status, GRPC_STATUS.ok);
  assert.deepEqual(got, sent);
});

test("TLS files that are none are Refused", () => {
  const tls = { ca: "no certificate", cert: "no certificate" };
  assert.throws(
    () => toCredentials(tls, "https://127.0.0.1:2379"),
    (error: unknown) => {
      return error instanceof StorageError && error.code === "Refused";
    },
  );
});
