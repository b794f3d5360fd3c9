import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ANSWERED_READ, HandshakeTurns, NEWEST_READ, READ_AT_ONCE } from "./handshake-turns.js";

/** Handshakes of which it is known who is read, and a clock that is moved by hand. */
function setScene() {
  let due: (() => void)[] = [];
  const turns = new HandshakeTurns((_ms, run) => void due.push(run));
  const read = new Set<number>();
  const said = new Map<number, number>();
  const open = (at: number) => {
    const handshake = {
      begin: () => void read.add(at),
      stopReading: () => void read.delete(at),
      startReading: () => void read.add(at),
      bytesRead: () => said.get(at) ?? 0,
    };
    turns.take(handshake);
    return handshake;
  };
  return {
    turns,
    read,
    open,
    openMany: (count: number) => Array.from({ length: count }, (_, at) => open(at)),
    say: (at: number) => void said.set(at, (said.get(at) ?? 0) + 500),
    isIdle: () => due.length === 0,
    turn() {
      const now = due;
      due = [];
      for (const run of now) run();
    },
  };
}

describe("H5: connections in their TLS handshake", () => {
  test("a few are begun and read at once, and nothing is left to do when they are done", () => {
    const scene = setScene();
    const opened = scene.openMany(3);
    assert.deepEqual([...scene.read], [0, 1, 2]);
    assert.ok(scene.isIdle());
    for (const handshake of opened) scene.turns.done(handshake);
  });

  test("of a thousand some are read at a time, and each comes to be read", () => {
    const scene = setScene();
    const opened = scene.openMany(1_000);
    const everRead = new Set<number>();
    for (let turn = 0; turn < 1_000 / READ_AT_ONCE; turn++) {
      assert.ok(scene.read.size <= NEWEST_READ + READ_AT_ONCE, `${scene.read.size} read`);
      for (const at of scene.read) everRead.add(at);
      scene.turn();
    }
    assert.equal(everRead.size, 1_000);
    for (const handshake of opened) scene.turns.done(handshake);
    scene.turn();
    assert.ok(scene.isIdle(), "the loop may rest");
  });

  test("who comes waits for none of a thousand, neither before its first message is answered nor behind it", () => {
    const scene = setScene();
    scene.openMany(1_000);
    for (let at = 1_000; at < 1_000 + NEWEST_READ; at++) scene.open(at);
    for (let turn = 0; turn < 3; turn++) {
      assert.ok(scene.read.has(1_000), "its first message");
      for (const at of scene.read) if (at < 1_000) scene.say(at);
      scene.turn();
    }
    scene.say(1_000);
    // Its place among the newest goes to another one.
    scene.open(2_000);
    for (let turn = 0; turn < ANSWERED_READ / READ_AT_ONCE; turn++) {
      assert.ok(scene.read.has(1_000), "its last message");
      for (const at of scene.read) if (at < 1_000) scene.say(at);
      scene.turn();
    }
  });

  test("of those who were answered the last ones are read, and the others when their turn comes", () => {
    const scene = setScene();
    scene.openMany(1_000);
    for (let turn = 0; turn < 2_000 / READ_AT_ONCE; turn++) {
      for (const at of scene.read) scene.say(at);
      scene.turn();
    }
    assert.equal(scene.read.size, NEWEST_READ + READ_AT_ONCE + ANSWERED_READ);
    const everRead = new Set<number>();
    for (let turn = 0; turn < 1_000 / READ_AT_ONCE; turn++) {
      for (const at of scene.read) everRead.add(at);
      scene.turn();
    }
    assert.equal(everRead.size, 1_000);
  });

  test("whose handshake is done makes room for the next at once", () => {
    const scene = setScene();
    const opened = scene.openMany(NEWEST_READ + READ_AT_ONCE + 1);
    scene.turn();
    const [first] = opened;
    assert.ok(first !== undefined);
    assert.ok(scene.read.has(0) && !scene.read.has(READ_AT_ONCE));
    scene.turns.done(first);
    assert.ok(scene.read.has(READ_AT_ONCE));
  });
});
