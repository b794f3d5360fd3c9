import assert from "node:assert/strict";
import { test } from "node:test";
import { createAnonymous } from "./anonymous.js";
import { UnionAuthenticator } from "./authenticator.js";

const HEALTH = ["/livez", "/readyz", "/healthz"];

async function nameAt(path: string, lastResort: ReturnType<typeof createAnonymous>) {
  const facts = { headers: {}, socket: undefined, path };
  const wait = { signal: new AbortController().signal };
  return (await new UnionAuthenticator([], lastResort).authenticate(facts, wait))?.name;
}

test("S2-AUTHC-20, S2-ANON-03, S2-ERR-01: anonymous access to three health paths only", async () => {
  const conditions = HEALTH.map((path) => ({ path }));
  const anonymous = createAnonymous({ enabled: true, conditions });
  for (const path of HEALTH) assert.equal(await nameAt(path, anonymous), "system:anonymous");
  for (const path of ["/livez/", "/livez/ping", "/LIVEZ", "/", "", "/api", "/version", "/livezz"]) {
    assert.equal(await nameAt(path, anonymous), undefined, path);
  }
});

test("S2-ANON-01, S2-ANON-03: without conditions every path is open, or none", async () => {
  const everywhere = createAnonymous({ enabled: true, conditions: [] });
  for (const path of ["/livez", "/api"]) {
    assert.equal(await nameAt(path, everywhere), "system:anonymous");
  }
  assert.equal(createAnonymous({ enabled: false, conditions: [] }), undefined);
  assert.equal(await nameAt("/livez", undefined), undefined);
});
