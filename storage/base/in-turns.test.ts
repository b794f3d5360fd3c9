import assert from "node:assert/strict";
import { test } from "node:test";
import { InTurns } from "./in-turns.js";

test("owners take turns, piece by piece, and who has no more is asked no more", () => {
  const turns = new InTurns();
  const done: string[] = [];
  const owner = (name: string, pieces: number) => () => {
    done.push(name);
    return --pieces > 0;
  };
  turns.next();
  const shop = owner("shop", 3);
  turns.add(shop);
  turns.add(owner("bank", 1));
  turns.add(shop);
  while (!turns.isEmpty) turns.next();
  assert.deepEqual(done, ["shop", "bank", "shop", "shop"]);
});
