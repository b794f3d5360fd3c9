/** Loops of the server share the turns of the event loop. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { SharedTurns, TURN_MS } from "./next-turn.js";

test("39.3: of loops that wait together those go on in a turn that it has room for, each as often as the others", async () => {
  let ms = 0;
  const turns = new SharedTurns({ now: () => ms });
  const worked = [0, 0, 0, 0];
  let isOver = false;
  const loops = worked.map(async (_, loop) => {
    while (!isOver) {
      await turns.next();
      // Of what was there already: no turn of the event loop ends by it.
      await undefined;
      worked[loop] = (worked[loop] ?? 0) + 1;
      // The first two are quick.
      ms += loop < 2 ? TURN_MS / 4 : TURN_MS;
    }
  });
  const perTurn: number[] = [];
  for (let turn = 0; turn < 8; turn++) {
    const before = ms;
    await new Promise((resolve) => setImmediate(resolve));
    perTurn.push((ms - before) / TURN_MS);
  }
  isOver = true;
  assert.ok(Math.max(...perTurn) < 2, perTurn.join(" "));
  assert.ok(Math.max(...worked) - Math.min(...worked) <= 1, worked.join(" "));
  assert.ok(Math.min(...worked) >= 3, worked.join(" "));
  await Promise.all(loops);
});

test("39.3: of owners each has one go on in turn, however many of the others' wait before it", async () => {
  const turns = new SharedTurns({ now: () => 0 });
  const owners = { a: {}, b: {}, x: {} };
  const gone: string[] = [];
  const all = (["a", "a", "a", "b", "b", "x"] as const).map(async (name) => {
    await turns.next(owners[name]);
    gone.push(name);
  });
  await Promise.all(all);
  assert.equal(gone.join(""), "abxaba");
});
