import assert from "node:assert/strict";
import { test } from "node:test";
import { parseTraceparent } from "./trace-context.js";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const SPAN = "b7ad6b7169203331";

test("S2-TRACE-04: a traceparent is read as the specification says, and a malformed one says nothing", () => {
  const context = (traceFlags: number) => ({
    traceId: TRACE,
    spanId: SPAN,
    traceFlags,
    isRemote: true,
  });
  assert.deepEqual(parseTraceparent(`00-${TRACE}-${SPAN}-01`), context(1));
  assert.deepEqual(parseTraceparent(`00-${TRACE}-${SPAN}-00`), context(0));
  assert.deepEqual(parseTraceparent(`00-${TRACE}-${SPAN}-ff`), context(1));
  assert.deepEqual(parseTraceparent(`cc-${TRACE}-${SPAN}-01-more`), context(1));
  const malformed = [
    undefined,
    "",
    `ff-${TRACE}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01-more`,
    `00-${TRACE}-${SPAN}`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${"0".repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${"0".repeat(16)}-01`,
    `00-${TRACE}-${SPAN}-1`,
    `00-${TRACE}-${SPAN}-01\n`,
  ];
  for (const text of malformed) assert.equal(parseTraceparent(text), undefined, text);
});
