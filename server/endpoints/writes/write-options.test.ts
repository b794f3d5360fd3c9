import assert from "node:assert/strict";
import { test } from "node:test";
import { AuditCapture } from "../../request/audit-capture.js";
import type { RequestContext } from "../../request/request-state.js";
import { remarksOf } from "./write-options.js";

test("what shows objects is noted for records that have them alone", () => {
  const notesAt = (request: boolean) => {
    const audit = new AuditCapture({ request, response: false });
    const { annotate } = remarksOf({
      state: { audit },
      headers: {},
      get: () => "",
    } as unknown as RequestContext);
    annotate?.("mutated", "true");
    annotate?.("patch", "secret", "objects");
    return [...audit.annotations.keys()];
  };

  assert.deepEqual(notesAt(false), ["mutated"]);
  assert.deepEqual(notesAt(true), ["mutated", "patch"]);
});
