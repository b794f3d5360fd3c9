import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { BEGUN_PER_TURN, HandshakeTurns, READ_AT_ONCE } from "./handshake-turns.js";

/** Handshakes of which it is known who is read, and a loop that is turned by hand. */
function setScene() {
  let due: (() => void)[] = [];
  const later = {
    nextTurn: (run: () => void) => void due.push(run),
    after: (_ms: number, run: () => void) => void due.push(run),
  };
  const turns = new HandshakeTurns(later);
  const read = new Set<number>();
  let begun = 0;
  const open = (at: number) => {
    const handshake = {
      begin() {
        begun++;
        read.add(at);
      },
      stopReading: () => void read.delete(at),
      startReading: () => void read.add(at),
    };
    turns.take(handshake);
    return handshake;
  };
  return {
    turns,
    read,
    open,
    begun: () => begun,
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
    const opened = [0, 1, 2].map(scene.open);
    assert.equal(scene.begun(), 3);
    assert.deepEqual([...scene.read], [0, 1, 2]);
    for (const handshake of opened) scene.turns.done(handshake);
    scene.turn();
    assert.ok(scene.isIdle());
  });

  test("of a thousand some are begun in a turn, some are read at a time, and each comes to be read", () => {
    const scene = setScene();
    const opened = Array.from({ length: 1_000 }, (_, at) => scene.open(at));
    const everRead = new Set<number>();
    for (let turn = 0, before = 0; turn < 100; turn++) {
      assert.ok(scene.begun() - before <= BEGUN_PER_TURN, `${scene.begun() - before} begun`);
      before = scene.begun();
      assert.ok(scene.read.size <= READ_AT_ONCE, `${scene.read.size} read`);
      for (const at of scene.read) everRead.add(at);
      scene.turn();
    }
    assert.equal(scene.begun(), 1_000);
    assert.equal(everRead.size, 1_000);
    for (const handshake of opened) scene.turns.done(handshake);
    scene.turn();
    assert.ok(scene.isIdle(), "the loop may rest");
  });

  test("whose handshake is done makes room for the next at once", () => {
    const scene = setScene();
    const opened = Array.from({ length: BEGUN_PER_TURN }, (_, at) => scene.open(at));
    scene.turn();
    scene.open(1_000);
    assert.ok(!scene.read.has(1_000));
    const [first] = opened;
    assert.ok(first !== undefined);
    scene.turns.done(first);
    assert.ok(scene.read.has(1_000));
  });

  test("a connection that is closed before its handshake begins is forgotten", () => {
    const scene = setScene();
    const opened = Array.from({ length: BEGUN_PER_TURN + 1 }, (_, at) => scene.open(at));
    const last = opened.at(-1);
    assert.ok(last !== undefined);
    scene.turns.done(last);
    scene.turn();
    assert.equal(scene.begun(), BEGUN_PER_TURN);
  });
});
