/** The loops of service accounts over a real registry: namespace defaults and token Secrets. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { systemClock } from "../../storage/base/clock.js";
import { silentLogger } from "../../storage/base/logger.js";
import { ViewedDevices } from "../admission/quota/device-facts.js";
import type { ApiObject } from "../api/meta.js";
import { parseCompactToken } from "../authn/service-account/compact-token.js";
import { openAccounts } from "../authn/service-account/testing/account-fixtures.js";
import { noSignal, openRegistryHarness } from "../registry/testing/registry-harness.js";
import { createLocalObjects } from "./local-objects.js";
import { runControllers } from "./run-controllers.js";
import { untilSeen } from "./testing/until-object.js";

const harness = await openRegistryHarness();
const { naming, view } = harness.registry;
const objects = createLocalObjects(harness.registry);
const { issuer } = openAccounts();
const stop = new AbortController();
const running = runControllers(
  {
    objects,
    devices: new ViewedDevices(harness.registry.view, naming),
    naming,
    clock: systemClock,
    logger: silentLogger,
    serviceAccounts: { issuer, rootAuthority: () => "the CA" },
  },
  stop.signal,
);

after(async () => {
  stop.abort();
  await running;
  await harness[Symbol.asyncDispose]();
});

function read(resource: string, namespace: string, name: string): ApiObject | undefined {
  return objects.get(objects.resource("", resource), { namespace, name });
}

async function make(resource: string, namespace: string, object: object): Promise<ApiObject> {
  const { kind } = objects.resource("", resource);
  const { metadata, ...rest } = { metadata: {}, ...object };
  const value = { kind, apiVersion: "v1", metadata: { ...metadata, namespace }, ...rest };
  return await objects.create(objects.resource("", resource), value, noSignal);
}

async function remove(resource: string, namespace: string, name: string): Promise<void> {
  const options = { propagationPolicy: "Background" } as const;
  await objects.remove(objects.resource("", resource), { namespace, name }, options, noSignal);
}

const until = <T>(look: () => T | undefined) => untilSeen({ view }, look);

const gone = (resource: string, namespace: string, name: string) =>
  until(() => (read(resource, namespace, name) === undefined ? true : undefined));

test("S2-REQ-08: every namespace has a default account, also after somebody deleted it", async () => {
  for (const namespace of ["default", naming.systemNamespace]) {
    await until(() => read("serviceaccounts", namespace, "default"));
  }
  await make("namespaces", "", { metadata: { name: "shop" } });
  const first = await until(() => read("serviceaccounts", "shop", "default"));
  await remove("serviceaccounts", "shop", "default");
  const second = await until(() => {
    const now = read("serviceaccounts", "shop", "default");
    return now?.metadata.uid === first.metadata.uid ? undefined : now;
  });
  assert.notEqual(second.metadata.uid, first.metadata.uid);
});

test("the root CA lies in every namespace and is kept in shape", async () => {
  await make("namespaces", "", { metadata: { name: "ca" } });
  const name = "kube-root-ca.crt";
  const map = await until(() => read("configmaps", "ca", name));
  assert.deepEqual(map.data, { "ca.crt": "the CA" });
  const maps = objects.resource("", "configmaps");
  const changed = { ...map, data: { "ca.crt": "another", more: "x" } };
  await objects.update(maps, changed, "", noSignal);
  const isGood = () => {
    const now = read("configmaps", "ca", name);
    const isNewer = now?.metadata.resourceVersion !== map.metadata.resourceVersion;
    return isNewer && JSON.stringify(now?.data) === '{"ca.crt":"the CA"}' ? now : undefined;
  };
  await until(isGood);
  await remove("configmaps", "ca", name);
  const made = await until(() => {
    const now = read("configmaps", "ca", name);
    return now?.metadata.uid === map.metadata.uid ? undefined : now;
  });
  assert.deepEqual(made.data, { "ca.crt": "the CA" });
});

function tokenSecret(name: string, account: string, annotations: object = {}) {
  return {
    metadata: {
      name,
      annotations: { "kubernetes.io/service-account.name": account, ...annotations },
    },
    type: "kubernetes.io/service-account-token",
  };
}

const isFilled = (namespace: string, name: string) => () => {
  const secret = read("secrets", namespace, name);
  return (secret?.data as { token?: string } | undefined)?.token === undefined ? undefined : secret;
};

test("S2-REQ-08: a Secret of the token type is filled, and goes with its account", async () => {
  await make("namespaces", "", { metadata: { name: "tokens" } });
  const account = await make("serviceaccounts", "tokens", { metadata: { name: "web" } });
  await make("secrets", "tokens", tokenSecret("web-token", "web"));
  const secret = await until(isFilled("tokens", "web-token"));
  const data = secret.data as Record<string, string>;
  const text = (key: string) => Buffer.from(data[key] ?? "", "base64").toString();
  assert.equal(text("ca.crt"), "the CA");
  assert.equal(text("namespace"), "tokens");
  assert.deepEqual(secret.metadata.annotations, {
    "kubernetes.io/service-account.name": "web",
    "kubernetes.io/service-account.uid": account.metadata.uid,
  });
  assert.deepEqual(parseCompactToken(text("token"))?.claims, {
    iss: "kubernetes/serviceaccount",
    "kubernetes.io/serviceaccount/namespace": "tokens",
    "kubernetes.io/serviceaccount/secret.name": "web-token",
    "kubernetes.io/serviceaccount/service-account.name": "web",
    "kubernetes.io/serviceaccount/service-account.uid": account.metadata.uid,
    sub: "system:serviceaccount:tokens:web",
  });
  await remove("serviceaccounts", "tokens", "web");
  await gone("secrets", "tokens", "web-token");
});

test("S2-REQ-08: a token Secret without its account goes; what is no token Secret stays", async () => {
  await make("namespaces", "", { metadata: { name: "strays" } });
  const account = await make("serviceaccounts", "strays", { metadata: { name: "web" } });
  const uid = "kubernetes.io/service-account.uid";
  const { annotations } = tokenSecret("", "nobody").metadata;
  await make("secrets", "strays", { metadata: { name: "other-type", annotations } });
  await make("secrets", "strays", tokenSecret("no-account", "nobody"));
  await make("secrets", "strays", tokenSecret("old", "web", { [uid]: "of-another-time" }));
  await make("secrets", "strays", tokenSecret("good", "web", { [uid]: account.metadata.uid }));
  await gone("secrets", "strays", "no-account");
  await gone("secrets", "strays", "old");
  await until(isFilled("strays", "good"));
  assert.notEqual(read("secrets", "strays", "other-type"), undefined);
});

test("S1-GEN-19: a namespace with defaults ends, and they are not made again meanwhile", async () => {
  await make("namespaces", "", { metadata: { name: "ends" } });
  await until(() => read("serviceaccounts", "ends", "default"));
  await until(() => read("configmaps", "ends", "kube-root-ca.crt"));
  await remove("namespaces", "", "ends");
  await gone("namespaces", "", "ends");
  assert.equal(read("serviceaccounts", "ends", "default"), undefined);
  assert.equal(read("configmaps", "ends", "kube-root-ca.crt"), undefined);
});
