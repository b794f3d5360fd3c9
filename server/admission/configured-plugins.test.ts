/** Plugins that clusters turn on by name (A20): what each changes and refuses. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { ManualClock } from "../../storage/base/testing/manual-clock.js";
import type { ApiObject, JsonObject } from "../api/meta.js";
import { StatusError } from "../api/status.js";
import type { Review } from "../client/review-client.js";
import { plainWrites } from "../registry/testing/plain-writes.js";
import { noSignal, openRegistryHarness } from "../registry/testing/registry-harness.js";
import { provisionNamespace } from "../registry/write/provision-namespace.js";
import { createUser } from "../request/user-info.js";
import type { AdmissionAttributes, AdmissionPlugin } from "./admission.js";
import {
  type ConfiguredPluginParts,
  createConfiguredPlugins,
  requireSettings,
} from "./configured-plugins.js";

const harness = await openRegistryHarness();
const writes = plainWrites(harness);
after(() => harness[Symbol.asyncDispose]());
const { view, naming, catalog, freshness } = harness.registry;
const clock = new ManualClock();

function pluginOf(name: string, parts: Partial<ConfiguredPluginParts> = {}): AdmissionPlugin {
  const ask = () => ({ isAllowed: false, reason: "", error: "" });
  const whole = { view, naming, catalog, clock, ask, settings: {}, ...parts };
  const found = createConfiguredPlugins(whole).plugins.find((plugin) => plugin.name === name);
  assert.ok(found !== undefined, name);
  return found;
}

async function put(resource: string, namespace: string, value: JsonObject): Promise<void> {
  await writes.create("", resource, value, namespace);
  await freshness.fresh();
}

const PODS = { group: "", version: "v1", resource: "pods", kind: "Pod" };

interface Asked {
  readonly spec?: object;
  readonly before?: object;
  readonly metadata?: object;
  readonly changes?: Partial<AdmissionAttributes>;
}

function asking({ spec = {}, before, metadata = {}, changes = {} }: Asked) {
  const notes: Record<string, string> = {};
  const objectOf = (content: object) =>
    ({
      kind: "Pod",
      apiVersion: "v1",
      metadata: { name: "x", ...metadata },
      spec: content,
    }) as unknown as ApiObject;
  const attributes: AdmissionAttributes = {
    operation: before === undefined ? "CREATE" : "UPDATE",
    resource: PODS,
    subresource: "",
    namespace: "shop",
    name: "x",
    object: objectOf(spec),
    oldObject: before && objectOf(before),
    options: { isDryRun: false },
    user: createUser({ name: "jane" }),
    warn() {},
    annotate: (key, value) => {
      notes[key] = value;
    },
    ...changes,
  };
  return { attributes, notes };
}

/** @returns the message of the refusal, or "" */
async function refusalOf(plugin: AdmissionPlugin, asked: Asked): Promise<string> {
  const { attributes } = asking(asked);
  const { operation, resource, subresource } = attributes;
  if (plugin.handles?.(operation, resource, subresource) === false) return "";
  try {
    await plugin.mutate?.(attributes, noSignal);
    await plugin.validate?.(attributes, noSignal);
    return "";
  } catch (error) {
    assert.ok(error instanceof StatusError, String(error));
    return error.status.message ?? "";
  }
}

async function mutated(plugin: AdmissionPlugin, asked: Asked): Promise<ApiObject> {
  const { attributes } = asking(asked);
  await plugin.mutate?.(attributes, noSignal);
  await plugin.validate?.(attributes, noSignal);
  return attributes.object as ApiObject;
}

const annotations = {
  "scheduler.alpha.kubernetes.io/node-selector": "zone=a",
  "scheduler.alpha.kubernetes.io/defaultTolerations": '[{"key":"k","operator":"Exists"}]',
  "scheduler.alpha.kubernetes.io/tolerationsWhitelist": '[{"key":"k","operator":"Exists"}]',
};
await put("namespaces", "", { metadata: { name: "shop", annotations } });
await put("namespaces", "", { metadata: { name: "plain" } });
await put("nodes", "", {
  metadata: {
    name: "n1",
    labels: { "topology.kubernetes.io/zone": "z", "kubernetes.io/os": "linux" },
  },
});

test("A20: AlwaysAdmit has no say, AlwaysDeny denies all", async () => {
  assert.equal(await refusalOf(pluginOf("AlwaysAdmit"), {}), "");
  assert.equal(
    await refusalOf(pluginOf("AlwaysDeny"), {}),
    'pods "x" is forbidden: admission control is denying all modifications',
  );
});

test("A20: NamespaceExists refuses writes in namespaces that are not there", async () => {
  const plugin = pluginOf("NamespaceExists");
  assert.equal(await refusalOf(plugin, {}), "");
  assert.equal(
    await refusalOf(plugin, { changes: { namespace: "gone" } }),
    'namespaces "gone" not found',
  );
});

test("A20: NamespaceAutoProvision makes the namespace of a create, but not for a dry run", async () => {
  const registry = {
    ...harness.registry,
    provisionNamespace: (name: string) => provisionNamespace(harness.registry, name, noSignal),
  };
  const create = (namespace: string, isDryRun: boolean) =>
    writes.create(
      "",
      "configmaps",
      { metadata: { name: "c" } },
      { on: registry, namespace, isDryRun },
    );
  await assert.rejects(create("new", true), /namespaces "new" not found/);
  await create("new", false);
  await freshness.fresh();
  assert.ok(view.partition("core/namespaces").get("new"));
});

test("A20: LimitPodHardAntiAffinityTopology keeps others off a node at most", async () => {
  const plugin = pluginOf("LimitPodHardAntiAffinityTopology");
  const spec = (topologyKey: string) => ({
    affinity: {
      podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey }] },
    },
  });
  assert.equal(await refusalOf(plugin, { spec: spec("kubernetes.io/hostname") }), "");
  assert.equal(
    await refusalOf(plugin, { spec: spec("zone") }),
    'pods "x" is forbidden: affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey zone but only key kubernetes.io/hostname is allowed',
  );
});

test("A20: PodNodeSelector adds the namespace's selector and refuses what conflicts", async () => {
  const PodNodeSelector = new Map([
    ["clusterDefaultNodeSelector", "env=prod"],
    ["shop", "zone=a,disk=ssd"],
  ]);
  const plugin = pluginOf("PodNodeSelector", { settings: { PodNodeSelector } });
  const { spec } = await mutated(plugin, { spec: { nodeSelector: { disk: "ssd" } } });
  assert.deepEqual(spec, { nodeSelector: { zone: "a", disk: "ssd" } });
  const plain = { changes: { namespace: "plain" } };
  assert.deepEqual((await mutated(plugin, plain)).spec, { nodeSelector: { env: "prod" } });
  assert.equal(
    await refusalOf(plugin, { spec: { nodeSelector: { zone: "b" } } }),
    'pods "x" is forbidden: pod node label selector conflicts with its namespace node label selector',
  );
  assert.equal(
    await refusalOf(plugin, { spec: { nodeSelector: { disk: "hdd" } } }),
    'pods "x" is forbidden: pod node label selector labels conflict with its namespace whitelist',
  );
});

test("A20: PodTolerationRestriction adds tolerations and allows none but the listed ones", async () => {
  const PodTolerationRestriction = {
    defaults: [{ key: "d", operator: "Exists" }],
    allowed: [{ key: "d", operator: "Exists" }],
  };
  const plugin = pluginOf("PodTolerationRestriction", { settings: { PodTolerationRestriction } });
  const k = { key: "k", operator: "Exists" };
  assert.deepEqual((await mutated(plugin, {})).spec, { tolerations: [k] });
  const plain = { changes: { namespace: "plain" } };
  assert.deepEqual((await mutated(plugin, plain)).spec, {
    tolerations: PodTolerationRestriction.defaults,
  });
  const other = { tolerations: [{ key: "other", operator: "Exists" }] };
  const conflict = (whose: string) =>
    `pods "x" is forbidden: pod tolerations (possibly merged with namespace default tolerations) conflict with its ${whose} whitelist`;
  assert.equal(await refusalOf(plugin, { spec: other }), conflict("namespace"));
  assert.equal(await refusalOf(plugin, { spec: other, ...plain }), conflict("cluster"));
  const spec = { containers: [{ name: "c", resources: { requests: { cpu: "1" } } }] };
  const open = pluginOf("PodTolerationRestriction");
  assert.deepEqual((await mutated(open, { spec, ...plain })).spec, {
    ...spec,
    tolerations: [
      { key: "node.kubernetes.io/memory-pressure", operator: "Exists", effect: "NoSchedule" },
    ],
  });
});

for (const { name, settings, spec } of [
  {
    name: "PodNodeSelector",
    settings: { PodNodeSelector: new Map([["shop", "zone=a"]]) },
    spec: { nodeSelector: { disk: "hdd" } },
  },
  { name: "PodTolerationRestriction", settings: {}, spec: { tolerations: [{ key: "other" }] } },
]) {
  test(`A20: ${name} refuses a pod before webhooks are asked and warnings written for it`, () => {
    const { attributes } = asking({ spec });
    const mutate = () => pluginOf(name, { settings }).mutate?.(attributes, noSignal);
    assert.throws(mutate, (error) => error instanceof StatusError && error.status.code === 403);
  });
}

test("A20: an event beyond the limit is not sent again, which only doubles the load", async () => {
  const limit = { type: "Server", qps: 1, burst: 1, cacheSize: 1 } as const;
  const plugin = pluginOf("EventRateLimit", { settings: { EventRateLimit: [limit] } });
  const write = async () => plugin.validate?.(asking({}).attributes, noSignal);
  await write();
  await assert.rejects(write, ({ status }: StatusError) => {
    assert.deepEqual([status.code, status.details?.retryAfterSeconds], [429, undefined]);
    return true;
  });
});

test("A20: EventRateLimit takes from token buckets by namespace, user, and source", async () => {
  const limit = (type: "Server" | "User" | "SourceAndObject", burst: number, cacheSize = 2) => ({
    type,
    qps: 1,
    burst,
    cacheSize,
  });
  const resource = { group: "", version: "v1", resource: "events", kind: "Event" };
  const plugin = pluginOf("EventRateLimit", { settings: { EventRateLimit: [limit("User", 2)] } });
  const ask = (name: string, isDryRun = false) =>
    refusalOf(plugin, { changes: { resource, options: { isDryRun }, user: createUser({ name }) } });
  const refusal = "Too many requests: limit reached on type User for key ann";
  assert.deepEqual(
    [await ask("ann"), await ask("ann"), await ask("ann"), await ask("bob")],
    ["", "", refusal, ""],
  );
  assert.equal(await ask("ann", true), "", "a dry run costs nothing");
  clock.advance(1000);
  assert.deepEqual([await ask("ann"), await ask("ann")], ["", refusal]);
  // Forgotten buckets are full again.
  await ask("eve");
  await ask("bob");
  assert.equal(await ask("ann"), "");

  const EventRateLimit = [limit("Server", 1), limit("SourceAndObject", 1)];
  const both = pluginOf("EventRateLimit", { settings: { EventRateLimit } });
  const event = { involvedObject: { kind: "Pod", name: "p" }, source: { component: "c" } };
  const object = { kind: "Event", apiVersion: "v1", metadata: {}, ...event };
  const changes = { resource, object: object as unknown as ApiObject };
  assert.equal(await refusalOf(both, { changes }), "");
  assert.equal(
    await refusalOf(both, { changes }),
    "Too many requests: [limit reached on type Server for key , limit reached on type SourceAndObject for key cPodp]",
  );
});

test("A20: ImagePolicyWebhook asks about images, remembers answers, and fails as configured", async () => {
  const asked: Review[] = [];
  const answers: Record<string, unknown>[] = [];
  const open = (defaultAllow: boolean) =>
    pluginOf("ImagePolicyWebhook", {
      settings: {
        ImagePolicyWebhook: {
          kubeConfigFile: "/k",
          retryBackoffMs: 1,
          allowTtlMs: 60_000,
          denyTtlMs: 0,
          defaultAllow,
        },
      },
      async askAboutImages(review) {
        asked.push(review);
        const answer = answers.shift();
        if (answer === undefined) throw new Error("nobody there");
        return answer;
      },
    });
  const plugin = open(false);
  const spec = { containers: [{ image: "a" }], initContainers: [{ image: "b" }] };
  const metadata = { annotations: { "x.image-policy.k8s.io/why": "test", other: "1" } };
  answers.push({ allowed: true, auditAnnotations: { seen: "yes" } });
  for (const _ of [1, 2]) {
    const { attributes, notes } = asking({ spec, metadata });
    await plugin.validate?.(attributes, noSignal);
    assert.deepEqual(notes, { "imagepolicywebhook.image-policy.k8s.io/seen": "yes" });
  }
  assert.deepEqual(asked, [
    {
      apiVersion: "imagepolicy.k8s.io/v1alpha1",
      kind: "ImageReview",
      spec: {
        containers: [{ image: "a" }, { image: "b" }],
        annotations: { "x.image-policy.k8s.io/why": "test" },
        namespace: "shop",
      },
      status: { allowed: false },
    },
  ]);
  answers.push({ allowed: false, reason: "bad" }, { allowed: false });
  assert.equal(
    await refusalOf(plugin, { spec: { containers: [{ image: "c" }] } }),
    'pods "x" is forbidden: image policy webhook backend denied one or more images: bad',
  );
  assert.equal(
    await refusalOf(plugin, { spec: { containers: [{ image: "c" }] } }),
    'pods "x" is forbidden: one or more images rejected by webhook backend',
  );
  assert.equal(await refusalOf(plugin, { spec: {} }), 'pods "x" is forbidden: nobody there');
  const { attributes, notes } = asking({});
  await open(true).validate?.(attributes, noSignal);
  assert.deepEqual(notes, { "imagepolicywebhook.image-policy.k8s.io/failed-open": "true" });
});

test("CVE-2023-2727: the images of ephemeral containers are asked about, when a pod is made and later", async () => {
  const asked: unknown[] = [];
  const plugin = pluginOf("ImagePolicyWebhook", {
    settings: {
      ImagePolicyWebhook: {
        ...{ kubeConfigFile: "/k", retryBackoffMs: 1, allowTtlMs: 0, denyTtlMs: 0 },
        defaultAllow: false,
      },
    },
    async askAboutImages({ spec }) {
      asked.push(spec?.containers);
      return { allowed: false };
    },
  });
  const before = { containers: [{ image: "a" }] };
  const spec = { ...before, ephemeralContainers: [{ image: "evil" }] };
  const refused = 'pods "x" is forbidden: one or more images rejected by webhook backend';
  const subresource = "ephemeralcontainers";
  assert.equal(await refusalOf(plugin, { spec, before, changes: { subresource } }), refused);
  assert.equal(await refusalOf(plugin, { spec, before }), refused);
  const shown = JSON.stringify(asked);
  assert.ok(shown.startsWith('[[{"image":"evil"}]'), shown);
});

test("A20: EventRateLimit and ImagePolicyWebhook are not turned on without settings", () => {
  assert.throws(() => requireSettings([pluginOf("EventRateLimit")], {}), /EventRateLimit has no/);
  requireSettings([pluginOf("AlwaysAdmit")], {});
});

test("A20: OwnerReferencesPermissionEnforcement: owners need rights, of the object and of the owner", async () => {
  const rights = new Set<string>();
  const plugin = pluginOf("OwnerReferencesPermissionEnforcement", {
    ask: (_user, { verb, resource, subresource, name }) => ({
      isAllowed: rights.has(`${verb} ${resource}${subresource && `/${subresource}`} ${name}`),
      reason: "no",
      error: "",
    }),
  });
  const owner = (parts: object = {}) => ({
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    name: "rs",
    uid: "u",
    ...parts,
  });
  const write = (ownerReferences: object[], before?: object[]) => {
    const objectOf = (references: object[]) =>
      ({ metadata: { name: "x", ownerReferences: references } }) as unknown as ApiObject;
    return refusalOf(plugin, {
      changes: {
        operation: before === undefined ? "CREATE" : "UPDATE",
        object: objectOf(ownerReferences),
        oldObject: before && objectOf(before),
      },
    });
  };
  assert.equal(await write([owner()]), "", "who creates an object gives it owners");
  assert.equal(await write([owner()], [owner()]), "", "nothing changed");
  assert.equal(
    await write([owner()], []),
    'pods "x" is forbidden: cannot set an ownerRef on a resource you can\'t delete: no, <nil>',
  );
  rights.add("delete pods x");
  assert.equal(await write([owner()], []), "");
  const blocking = owner({ blockOwnerDeletion: true });
  assert.equal(
    await write([blocking]),
    'pods "x" is forbidden: cannot set blockOwnerDeletion if an ownerReference refers to a resource you can\'t set finalizers on: no, <nil>',
  );
  assert.match(
    await write([owner({ kind: "Nothing", blockOwnerDeletion: true })]),
    /cannot find RESTMapping for APIVersion apps\/v1 Kind Nothing: no matches for kind "Nothing" in version "apps\/v1"/,
  );
  rights.add("update replicasets/finalizers rs");
  assert.equal(await write([blocking]), "");
  assert.equal(await write([blocking, owner({ uid: "v" })], [blocking]), "");
  rights.clear();
  rights.add("update */finalizers *");
  assert.equal(await write([blocking]), "");
  const { handles } = plugin;
  assert.equal(handles?.call(plugin, "UPDATE", PODS, "status"), false);
});

test("A20: PodTopologyLabels copies zone and region to pods and bindings", async () => {
  const plugin = pluginOf("PodTopologyLabels");
  const { metadata } = await mutated(plugin, { spec: { nodeName: "n1" } });
  assert.deepEqual(metadata.labels, { "topology.kubernetes.io/zone": "z" });
  const object = {
    kind: "Binding",
    apiVersion: "v1",
    metadata: { name: "x" },
    target: { kind: "Node", name: "n1" },
  } as unknown as ApiObject;
  const bound = await mutated(plugin, { changes: { object, subresource: "binding" } });
  assert.deepEqual(bound.metadata.labels, { "topology.kubernetes.io/zone": "z" });
  assert.equal((await mutated(plugin, { spec: { nodeName: "gone" } })).metadata.labels, undefined);
});

test("A20: a resize has to fit its node, and to be something that the node can do", async () => {
  const resizing = { changes: { subresource: "resize" } };
  const pod = (cpu: string, nodeName = "n1") => ({
    nodeName,
    containers: [{ name: "c", resources: { requests: { cpu } } }],
  });
  const plugin = pluginOf("PodResizeValidator");
  assert.equal(
    await refusalOf(plugin, { spec: pod("1"), before: pod("500m"), ...resizing }),
    `pods "x" is forbidden: node didn't have enough allocatable resources: cpu, requested: 1000, allocatable: 0`,
  );
  assert.equal(
    await refusalOf(plugin, { spec: pod("1", "n2"), before: pod("2", "n2"), ...resizing }),
    'pods "x" is forbidden: node "n2" not found',
  );
  assert.equal(await refusalOf(plugin, { spec: pod("1"), before: pod("1"), ...resizing }), "");

  const features = pluginOf("NodeDeclaredFeatureValidator");
  const whole = (cpu: string) => ({ ...pod("1"), resources: { requests: { cpu } } });
  assert.equal(await refusalOf(features, { spec: pod("1"), before: pod("2"), ...resizing }), "");
  assert.equal(
    await refusalOf(features, { spec: whole("1"), before: whole("2"), ...resizing }),
    'pods "x" is forbidden: pod update requires features InPlacePodLevelResourcesVerticalScaling which are not available on node "n1"',
  );
});
