import assert from "node:assert/strict";
import { test } from "node:test";
import { boundedStatus, STATUS_BYTES_MAX } from "./bounded-status.js";
import { badRequest, invalid, notFound } from "./status.js";

const bytesOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value));

test("a refusal of ordinary size is given as it is", () => {
  const { status } = invalid({ group: "", kind: "Pod" }, "a", [
    { reason: "FieldValueInvalid", field: "spec.x", message: "Invalid value: 1" },
  ]);
  assert.equal(boundedStatus(status), status);
});

test("no text of a client makes a refusal longer than its bound, whatever characters it has", () => {
  for (const letter of ["n", "\u0001", "日", "\ud83d\ude00", "\\", '"', "\ud800"]) {
    const long = letter.repeat(1_000_000);
    const field = letter.repeat(1_024);
    for (const { status } of [
      badRequest(long),
      notFound({ group: long, resource: long }, long),
      invalid({ group: long, kind: "Pod" }, long, [
        { reason: "FieldValueInvalid", field: long, message: long },
      ]),
      invalid(
        { group: "", kind: "Pod" },
        "a",
        Array.from({ length: 2_000 }, () => ({
          reason: "FieldValueInvalid" as const,
          field,
          message: field,
        })),
      ),
    ]) {
      const bounded = boundedStatus(status);
      assert.ok(bytesOf(bounded) <= STATUS_BYTES_MAX, `${bytesOf(bounded)} bytes of ${letter}`);
      assert.equal(bounded.code, status.code);
      assert.equal(bounded.reason, status.reason);
      assert.ok((bounded.message ?? "").startsWith((status.message ?? "").slice(0, 10)));
    }
  }
});
