import assert from "node:assert/strict";
import { test } from "node:test";
import type { RequestContext, RequestMiddleware } from "../request/request-state.js";
import { bracket, gate, type RequestStep } from "../request/step.js";
import { composeChain } from "./compose-chain.js";

const CTX = {} as RequestContext;

/** Writes down what runs. @param waits whether the checks return promises */
function openNotes(waits = false) {
  const notes: string[] = [];
  const note = (text: string): Promise<void> | undefined => {
    notes.push(text);
    return waits ? Promise.resolve() : undefined;
  };
  const named = (name: string): RequestStep =>
    bracket(
      () => note(name),
      (_ctx, failure) => {
        notes.push(failure === undefined ? `/${name}` : `/${name} ${failure.error}`);
        return failure;
      },
    );
  const passing = (name: string): RequestStep => gate(() => note(name));
  const answering: RequestMiddleware = async () => void notes.push("answer");
  return { notes, named, passing, answering };
}

for (const waits of [false, true]) {
  const how = waits ? "that wait" : "that do not wait";

  test(`steps ${how} run in their order, and are left in the reverse one`, async () => {
    const { notes, named, passing, answering } = openNotes(waits);

    await composeChain({
      steps: [named("a"), passing("b"), named("c")],
      answerers: [(_ctx, next) => next(), answering],
    })(CTX);

    assert.deepEqual(notes, ["a", "b", "c", "answer", "/c", "/a"]);
  });

  test(`a step that refuses behind steps ${how} is not left, and those within it never run`, async () => {
    const { notes, named, answering } = openNotes(waits);
    const refuse = (): never => {
      throw "refused";
    };
    const refusing = bracket(refuse, () => assert.fail("it was not passed"));

    const done = composeChain({
      steps: [named("a"), named("b"), refusing, named("c")],
      answerers: [answering],
    })(CTX);

    await assert.rejects(done, (error) => error === "refused");
    assert.deepEqual(notes, ["a", "b", "/b refused", "/a refused"]);
  });
}

test("what a check rejects with refuses as well", async () => {
  const { notes, named, answering } = openNotes();
  const refusing = gate(() => Promise.reject("late"));

  const done = composeChain({ steps: [named("a"), refusing], answerers: [answering] })(CTX);

  await assert.rejects(done, (error) => error === "late");
  assert.deepEqual(notes, ["a", "/a late"]);
});

test("a step that turns a failure into an answer hides it from the outer ones", async () => {
  const { notes, named } = openNotes();
  const recovering = bracket(
    () => undefined,
    (_ctx, failure) => void notes.push(`recovered from ${failure?.error}`),
  );
  const failing: RequestMiddleware = async () => {
    throw "broken";
  };

  await composeChain({ steps: [named("a"), recovering, named("b")], answerers: [failing] })(CTX);

  assert.deepEqual(notes, ["a", "b", "/b broken", "recovered from broken", "/a"]);
});

test("what a step throws on leaving reaches the outer ones, which are left all the same", async () => {
  const { notes, named, answering } = openNotes();
  const breaking = bracket(
    () => undefined,
    () => {
      throw "defect";
    },
  );

  const done = composeChain({ steps: [named("a"), breaking], answerers: [answering] })(CTX);

  await assert.rejects(done, (error) => error === "defect");
  assert.deepEqual(notes, ["a", "answer", "/a defect"]);
});

test("a request that nobody answers passes all of them", async () => {
  const { notes, named } = openNotes();
  const passOn: RequestMiddleware = (_ctx, next) => next();

  await composeChain({ steps: [named("a")], answerers: [passOn] })(CTX);

  assert.deepEqual(notes, ["a", "/a"]);
});
