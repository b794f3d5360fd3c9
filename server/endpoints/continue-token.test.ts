/** A continue token works for its own list only. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { toRevision } from "../../storage/kv/store.js";
import { StatusError } from "../api/status.js";
import { formatContinueToken, type ListIdentity, parseContinueToken } from "./continue-token.js";

const list: ListIdentity = {
  group: "",
  resource: "configmaps",
  namespace: "default",
  labelSelector: "app=x",
  fieldSelector: "",
};

test("S1-LIST-05: a token carries revision and position unchanged", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1 }),
      fc.string({ minLength: 1, maxLength: 300 }),
      fc.option(fc.nat(), { nil: undefined }),
      (rv, name, remaining) => {
        const token = { revision: toRevision(rv), after: `default/${name}`, remaining };
        const text = formatContinueToken(token, list);
        assert.match(text, /^[A-Za-z0-9_-]+$/, "it travels in a URL as it is");
        assert.deepEqual(parseContinueToken(text, list), token);
      },
    ),
  );
});

test("S1-LIST-06: a token of another type, namespace or selector is a 400", () => {
  const text = formatContinueToken({ revision: toRevision(5), after: "default/a" }, list);
  const others: Partial<ListIdentity>[] = [
    { resource: "secrets" },
    { group: "apps" },
    { namespace: "other" },
    { namespace: "" },
    { labelSelector: "" },
    { fieldSelector: "metadata.name=a" },
  ];
  for (const other of others) {
    assert.throws(() => parseContinueToken(text, { ...list, ...other }), { code: 400 });
  }
});

test("S1-LIST-06: a position outside of the list's namespace is a 400", () => {
  const text = formatContinueToken({ revision: toRevision(5), after: "other/a" }, list);
  assert.throws(() => parseContinueToken(text, list), { code: 400 });
});

test("S1-LIST-06: whatever a client makes up is a 400 and never anything worse", () => {
  const forged = fc.oneof(
    fc.string(),
    fc.base64String(),
    fc.json().map((text) => Buffer.from(text).toString("base64url")),
    fc
      .record({ v: fc.constant("keelson/v1"), rv: fc.anything(), after: fc.anything() })
      .map((value) => {
        try {
          return Buffer.from(JSON.stringify(value)).toString("base64url");
        } catch {
          return "x";
        }
      }),
  );
  fc.assert(
    fc.property(forged, (text) => {
      assert.throws(
        () => parseContinueToken(text, list),
        (error) => error instanceof StatusError && error.code === 400,
      );
    }),
  );
});
