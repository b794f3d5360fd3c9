/** What `--runtime-config` turns off: the server begins, and the loops that need it do nothing, while all others go on. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { systemClock } from "../../storage/base/clock.js";
import { Lifecycle } from "../../storage/base/lifecycle.js";
import { type Logger, silentLogger } from "../../storage/base/logger.js";
import { formatGroupVersion } from "../api/names.js";
import { createNaming, DEFAULT_VENDOR } from "../api/naming.js";
import { LegacyTokenUses } from "../authn/service-account/legacy-token-uses.js";
import { enabledResources, GENERAL_KEYS } from "../config/runtime-config.js";
import { createLocalObjects } from "../controllers/local-objects.js";
import { type ControllersOptions, runLoops } from "../controllers/run-controllers.js";
import { Metrics } from "../metrics/metrics.js";
import { openRegistryHarness } from "../registry/testing/registry-harness.js";
import { loadFacts } from "../types/load-facts.js";
import { type FilledParts, fillRegistry } from "./fill-registry.js";

const harness = await openRegistryHarness();
after(() => harness[Symbol.asyncDispose]());

const naming = createNaming(DEFAULT_VENDOR);
const facts = loadFacts(naming);
const keys = [
  ...GENERAL_KEYS,
  ...facts.groupVersions.map((gv) => formatGroupVersion(gv)),
  ...facts.resources
    .filter(({ subresource }) => subresource === "")
    .map((fact) => `${formatGroupVersion(fact)}/${fact.resource}`),
];
/** Without these nothing that the loops do is seen, or they do not run. */
const KEPT = { "v1/namespaces": true, "coordination.k8s.io/v1/leases": true };

/** What does nothing without a kind. No loop needs any other kind. */
const IDLE: Readonly<Record<string, readonly string[]>> = {
  "admissionregistration.k8s.io/v1/validatingadmissionpolicies": [
    "validatingadmissionpolicy-status",
  ],
  "apiextensions.k8s.io/v1/customresourcedefinitions": ["customresourcedefinition"],
  "apiregistration.k8s.io/v1/apiservices": ["api-services"],
  "batch/v1/jobs": ["ttl-after-finished"],
  "flowcontrol.apiserver.k8s.io/v1/flowschemas": ["flow control defaults"],
  "flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations": ["flow control defaults"],
  "rbac.authorization.k8s.io/v1/clusterroles": ["clusterrole-aggregation"],
  "rbac.authorization.k8s.io/v1/rolebindings": ["cluster-info"],
  "rbac.authorization.k8s.io/v1/roles": ["cluster-info"],
  "scheduling.k8s.io/v1/priorityclasses": ["system priority classes"],
  "v1/configmaps": [
    "authentication trust",
    "bootstrapsigner",
    "cluster-info",
    "legacy token tracking",
    "root-ca-cert-publisher",
  ],
  "v1/resourcequotas": ["resourcequota"],
  "v1/secrets": ["bootstrapsigner", "serviceaccount-token", "tokencleaner"],
  "v1/serviceaccounts": ["serviceaccount", "serviceaccount-token"],
};

/** Of a resource, of a group-version, or of all. */
function idleBy(key: string): readonly string[] {
  const isGeneral = key === "api/all" || key === "api/ga";
  const concerned = Object.entries(IDLE).filter(
    ([kind]) => isGeneral || kind === key || kind.startsWith(`${key}/`),
  );
  return [...new Set(concerned.flatMap(([, loops]) => loops))].sort();
}

/** Begins a server without these keys, has its loops delete a namespace, and says which loops do nothing. */
async function idleWithout(...off: readonly string[]): Promise<readonly string[]> {
  const asked = new Map([...off.map((key) => [key, false] as const), ...Object.entries(KEPT)]);
  const registry = await harness.openReplica(enabledResources(asked, facts, true));
  const idle = new Set<string>();
  const logger: Logger = {
    ...silentLogger,
    info: (fields: { loop?: string }) => void (fields.loop && idle.add(fields.loop)),
    error: (fields: { err?: unknown }) => assert.fail(fields.err as Error),
    child: () => logger,
  };
  let running = Promise.resolve();
  {
    await using lifecycle = new Lifecycle(logger);
    const parts = {
      registry,
      facts,
      lifecycle,
      logger,
      clock: systemClock,
      metrics: new Metrics(),
      config: { naming, controllers: ["*"], runControllers: true, enableBootstrapTokenAuth: true },
      aggregation: { spawn() {} },
      storage: { tokenKeys: { issuer: {} } },
      access: { authentication: { legacyTokenUses: new LegacyTokenUses(naming, systemClock) } },
      serverAddress: () => "192.0.2.1:6443",
      rootAuthority: () => "an authority",
      trust: () => ({ clientAuthorities: "an authority", frontProxy: undefined }),
      runLoops: (options: ControllersOptions, signal: AbortSignal) =>
        (running = runLoops(options, signal)),
    } as unknown as FilledParts;
    const nothing = () => {};
    const begin = await fillRegistry(parts, {
      kindsServed: nothing,
      rolesMade: nothing,
      fairnessSet: nothing,
    });
    begin();
    const objects = createLocalObjects(registry);
    const namespaces = objects.resource("", "namespaces");
    const place = { namespace: "", name: "short" };
    const made = { kind: "Namespace", apiVersion: "v1", metadata: { name: "short" } };
    await objects.create(namespaces, made, lifecycle.signal);
    const options = { propagationPolicy: "Background" } as const;
    await objects.remove(namespaces, place, options, lifecycle.signal);
    const { view } = registry;
    const deadline = AbortSignal.timeout(20_000);
    while (objects.get(namespaces, place) !== undefined) {
      await Promise.race([
        view.waitForRevision((view.revision + 1) as typeof view.revision, deadline),
        running.then(() => assert.fail("the loops ended")),
      ]);
    }
  }
  await running;
  return [...idle].sort();
}

test("S2-VERS-06: whichever kind is turned off, the server begins and all loops that do not need it go on", async () => {
  const others = keys.filter((key) => idleBy(key).length === 0);
  assert.deepEqual(await idleWithout(...others), []);
  for (const key of keys.filter((one) => !others.includes(one))) {
    assert.deepEqual(await idleWithout(key), idleBy(key), key);
  }
});
