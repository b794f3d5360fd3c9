import assert from "node:assert/strict";
import { test } from "node:test";
import { createNaming } from "../api/naming.js";
import type { RequestContext } from "../request/request-state.js";
import { withWebSocketBearer } from "./web-socket-bearer.js";

const PREFIX = "base64url.bearer.authorization.k8s.io.";
const encoded = `${PREFIX}${Buffer.from("abc.def").toString("base64url")}`;

/** The Authorization header after the step, and the subprotocols; "401" when it refused. */
function headersAfter(
  headers: Record<string, string>,
  upgrade = "WebSocket",
): readonly (string | undefined)[] {
  const all: Record<string, string> = { ...headers, upgrade };
  const req = { headers: all, rawHeaders: [] as string[] };
  try {
    const { check } = withWebSocketBearer(createNaming("kubernetes"));
    assert.equal(check({ req } as unknown as RequestContext), undefined);
  } catch (error) {
    return [String((error as { code?: number }).code)];
  }
  const { authorization } = req.headers;
  assert.deepEqual(
    req.rawHeaders,
    authorization === undefined || headers.authorization !== undefined
      ? []
      : ["Authorization", authorization],
  );
  return [authorization, req.headers["sec-websocket-protocol"]];
}

const protocol = (value: string) => ({ "sec-websocket-protocol": value });

test("S2-TOK-04: a WebSocket's token comes as a subprotocol beside a real one, which remains (NEW-6)", () => {
  const after = (value: string) => headersAfter(protocol(value));
  assert.deepEqual(after(`${encoded}, v5.channel.k8s.io`), ["Bearer abc.def", "v5.channel.k8s.io"]);
  assert.deepEqual(after(`v4.channel.k8s.io,${encoded}`), ["Bearer abc.def", "v4.channel.k8s.io"]);
  assert.deepEqual(after(`a, ${encoded}, b`), ["Bearer abc.def", "a, b"]);
});

test("S2-TOK-04: without such a subprotocol nothing changes, and a header counts more", () => {
  assert.deepEqual(headersAfter({}), [undefined, undefined]);
  assert.deepEqual(headersAfter(protocol("v4.channel.k8s.io")), [undefined, "v4.channel.k8s.io"]);
  const both = { ...protocol(`${encoded}, x`), authorization: "Bearer other" };
  assert.deepEqual(headersAfter(both), ["Bearer other", `${encoded}, x`]);
  // What is no WebSocket is not looked into.
  for (const value of [`${encoded}, x`, encoded]) {
    assert.deepEqual(headersAfter(protocol(value), "SPDY/3.1"), [undefined, value]);
  }
});

test("S2-TOK-05: a token alone, two tokens, or one that is not base64url are 401", () => {
  for (const value of [encoded, `${encoded}, ${encoded}, x`, `${PREFIX}, x`, `${PREFIX}a+b=, x`]) {
    assert.deepEqual(headersAfter(protocol(value)), ["401"], value);
  }
});
