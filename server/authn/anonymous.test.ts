import assert from "node:assert/strict";
import { test } from "node:test";
import { AnonymousAuthenticator } from "./anonymous.js";
import { UnionAuthenticator } from "./authenticator.js";

const HEALTH = ["/livez", "/readyz", "/healthz"];

async function nameAt(path: string, lastResort?: AnonymousAuthenticator) {
  const facts = { headers: {}, socket: undefined, path };
  const wait = { signal: new AbortController().signal };
  return (await new UnionAuthenticator([], lastResort).authenticate(facts, wait))?.name;
}

test("S2-AUTHC-20, S2-ANON-03, S2-ERR-01: anonymous access to three health paths only", async () => {
  const conditions = HEALTH.map((path) => ({ path }));
  const anonymous = new AnonymousAuthenticator({ enabled: true, conditions });
  for (const path of HEALTH) assert.equal(await nameAt(path, anonymous), "system:anonymous");
  for (const path of ["/livez/", "/livez/ping", "/LIVEZ", "/", "", "/api", "/version", "/livezz"]) {
    assert.equal(await nameAt(path, anonymous), undefined, path);
  }
});

test("S2-ANON-01, S2-ANON-03: without conditions every path is open, or none", async () => {
  const everywhere = new AnonymousAuthenticator();
  for (const path of ["/livez", "/api"]) {
    assert.equal(await nameAt(path, everywhere), "system:anonymous");
  }
  const closed = new AnonymousAuthenticator({ enabled: false, conditions: [] });
  assert.equal(await nameAt("/livez", closed), undefined);
  assert.equal(await nameAt("/livez"), undefined);
});

test("S2-AUTHC-22: anonymous access is closed, narrowed and opened while requests come", async () => {
  const anonymous = new AnonymousAuthenticator();
  const open = async () => [await nameAt("/livez", anonymous), await nameAt("/api", anonymous)];
  const who = "system:anonymous";
  anonymous.replace({ enabled: true, conditions: [{ path: "/livez" }] });
  assert.deepEqual(await open(), [who, undefined]);
  anonymous.replace({ enabled: false, conditions: [] });
  assert.deepEqual(await open(), [undefined, undefined]);
  anonymous.replace({ enabled: true, conditions: [] });
  assert.deepEqual(await open(), [who, who]);
});
