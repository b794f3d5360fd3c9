import assert from "node:assert/strict";
import { test } from "node:test";
import { createNaming } from "../api/naming.js";
import type { RequestContext } from "../request/request-state.js";
import { withWebSocketBearer } from "./web-socket-bearer.js";

const PREFIX = "base64url.bearer.authorization.k8s.io.";
const encoded = `${PREFIX}${Buffer.from("abc.def").toString("base64url")}`;

/** The Authorization header after the step; "401" when it refused. */
function authorizationAfter(headers: Record<string, string>): string | undefined {
  const req = { headers: { ...headers } as Record<string, string>, rawHeaders: [] as string[] };
  try {
    const { check } = withWebSocketBearer(createNaming("kubernetes"));
    assert.equal(check({ req } as unknown as RequestContext), undefined);
  } catch (error) {
    return String((error as { code?: number }).code);
  }
  const { authorization } = req.headers;
  assert.deepEqual(
    req.rawHeaders,
    authorization === undefined || headers.authorization !== undefined
      ? []
      : ["Authorization", authorization],
  );
  return authorization;
}

const protocol = (value: string) => ({ "sec-websocket-protocol": value });

test("S2-TOK-04: a WebSocket's token comes as a subprotocol beside a real one", () => {
  assert.equal(authorizationAfter(protocol(`${encoded}, v5.channel.k8s.io`)), "Bearer abc.def");
  assert.equal(authorizationAfter(protocol(`v4.channel.k8s.io,${encoded}`)), "Bearer abc.def");
});

test("S2-TOK-04: without such a subprotocol nothing changes, and a header counts more", () => {
  assert.equal(authorizationAfter({}), undefined);
  assert.equal(authorizationAfter(protocol("v4.channel.k8s.io")), undefined);
  const both = { ...protocol(`${encoded}, x`), authorization: "Bearer other" };
  assert.equal(authorizationAfter(both), "Bearer other");
});

test("S2-TOK-05: a token alone, two tokens, or one that is not base64url are 401", () => {
  for (const value of [encoded, `${encoded}, ${encoded}, x`, `${PREFIX}, x`, `${PREFIX}a+b=, x`]) {
    assert.equal(authorizationAfter(protocol(value)), "401", value);
  }
});
