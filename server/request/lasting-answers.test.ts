import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { test } from "node:test";
import { LastingAnswers } from "./lasting-answers.js";
import type { RequestContext } from "./request-state.js";

class Answer extends EventEmitter {
  closed = false;

  destroy(): void {
    this.closed = true;
    this.emit("close");
  }
}

test("44: connections end with their control plane, also one that was asked for before and begins after", () => {
  const lasting = new LastingAnswers();
  const [before, after] = [new Answer(), new Answer()];
  const add = (res: Answer) => lasting.add({ res } as unknown as RequestContext);
  add(before);
  assert.equal(lasting.size, 1);
  const told: string[] = [];
  const known = new Answer() as unknown as RequestContext["res"];
  lasting.add({ res: known } as RequestContext, (why) => void told.push(why));
  lasting.endAll("it is suspended");
  add(after);
  assert.deepEqual(told, ["it is suspended"]);
  known.destroy();
  assert.deepEqual([before.closed, after.closed, lasting.size], [true, true, 0]);
});
