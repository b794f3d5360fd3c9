/** The ConfigMap that tells other API servers our clients' authorities. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { TestAuthority } from "../../e2e/harness/test-authority.js";
import { systemClock } from "../../storage/base/clock.js";
import { silentLogger } from "../../storage/base/logger.js";
import type { ApiObject } from "../api/meta.js";
import { noSignal, openRegistryHarness } from "../registry/testing/registry-harness.js";
import { type AuthenticationTrust, runAuthenticationTrust } from "./authentication-trust.js";
import { createLocalObjects } from "./local-objects.js";
import { ensureSystemNamespaces } from "./system-namespaces.js";
import { untilObject } from "./testing/until-object.js";

const harness = await openRegistryHarness();
const { naming } = harness.registry;
const objects = createLocalObjects(harness.registry);
await ensureSystemNamespaces(objects, naming, noSignal);
await objects.refresh();
const stop = new AbortController();
const running: Promise<void>[] = [];

after(async () => {
  stop.abort();
  await Promise.all(running);
  await harness[Symbol.asyncDispose]();
});

function start(trust: AuthenticationTrust): void {
  const parts = { objects, clock: systemClock, logger: silentLogger };
  running.push(runAuthenticationTrust({ ...parts, naming, trust: () => trust }, stop.signal));
}

const configMaps = objects.resource("", "configmaps");
const place = { namespace: naming.systemNamespace, name: "extension-apiserver-authentication" };
const until = (isRight: (data: Record<string, string>) => boolean) =>
  untilObject(harness.registry, objects, configMaps, place, (object) =>
    isRight((object?.data ?? {}) as Record<string, string>),
  );
const dataOf = (object: ApiObject | undefined) => object?.data as Record<string, string>;

test("S2-PROXY-04: authorities and header names are published, beside what others published", async () => {
  const [clients, proxies, others] = await Promise.all([
    TestAuthority.create("clients"),
    TestAuthority.create("proxies"),
    TestAuthority.create("others"),
  ]);
  start({
    clientAuthorities: clients.certificate,
    frontProxy: {
      authorities: proxies.certificate,
      allowedNames: ["front-proxy"],
      headers: {
        username: ["X-Remote-User"],
        uid: [],
        group: ["X-Remote-Group"],
        extraPrefix: ["X-Remote-Extra-"],
      },
    },
  });
  const first = dataOf(await until((data) => "client-ca-file" in data));
  assert.deepEqual(first, {
    "client-ca-file": clients.certificate,
    "requestheader-client-ca-file": proxies.certificate,
    "requestheader-allowed-names": '["front-proxy"]',
    "requestheader-username-headers": '["X-Remote-User"]',
    "requestheader-uid-headers": "[]",
    "requestheader-group-headers": '["X-Remote-Group"]',
    "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
  });

  start({ clientAuthorities: others.certificate, frontProxy: undefined });
  const both = dataOf(
    await until((data) => data["client-ca-file"]?.includes(others.certificate) ?? false),
  );
  assert.equal(both["client-ca-file"], clients.certificate + others.certificate);
  assert.equal(both["requestheader-allowed-names"], '["front-proxy"]');
});

test("what somebody breaks in it is put right again, and other keys stay", async () => {
  const current = objects.get(configMaps, place);
  assert.ok(current !== undefined);
  const data = { mine: "x", "requestheader-allowed-names": "broken", "client-ca-file": "rubbish" };
  await objects.update(configMaps, { ...current, data }, "", noSignal);
  const repaired = dataOf(
    await until((now) => (now["client-ca-file"] ?? "").split("BEGIN").length === 3),
  );
  assert.equal(repaired.mine, "x");
  assert.equal(repaired["requestheader-allowed-names"], '["front-proxy"]');
});
