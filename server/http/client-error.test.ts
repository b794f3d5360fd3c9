/** Bytes that are not an HTTP request: the sender can read the answer, and is soon disconnected. */
import assert from "node:assert/strict";
import { Duplex } from "node:stream";
import { test } from "node:test";
import { answerClientError } from "./client-error.js";

/** A connection whose peer keeps sending, and the answer to it. */
function openConnection() {
  const told = { text: "" };
  const socket = new Duplex({
    allowHalfOpen: true,
    read: () => {},
    write: (chunk: Buffer, _encoding, done) => {
      told.text += chunk.toString();
      done();
    },
  });
  return { socket, told };
}

test("a flood gets one answer, and may run out before the connection is closed", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { socket, told } = openConnection();
  const overflow = Object.assign(new Error("too much"), { code: "HPE_HEADER_OVERFLOW" });
  // Each further piece raises its own error.
  for (let piece = 0; piece < 3; piece++) answerClientError(overflow, socket);
  assert.equal(told.text.match(/HTTP\/1\.1 431 /g)?.length, 1);
  assert.equal(socket.destroyed, false);
  t.mock.timers.tick(1_000);
  assert.equal(socket.destroyed, true);
});
