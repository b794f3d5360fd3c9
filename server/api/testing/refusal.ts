/** What tests expect of work that is refused. */
import assert from "node:assert/strict";
import { StatusError } from "../status.js";

export async function refusal(work: Promise<unknown>): Promise<StatusError> {
  const error: unknown = await work.then(
    () => assert.fail("it was not refused"),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof StatusError, String(error));
  return error;
}

/** Refused with 403. */
export async function forbidden(work: Promise<unknown>, why: RegExp): Promise<void> {
  const { code, message } = await refusal(work);
  assert.equal(code, 403, message);
  assert.match(message, why);
}
