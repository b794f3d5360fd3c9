/**
 * Random writes of every kind, for tests that compare or check their results. A write is plain data,
 * drawn from a seed and the existing objects; `WriteVerbs` executes it. Many are wrong on purpose:
 * stale versions, taken names, missing namespaces, junk.
 */
import { applyMergePatch } from "../../../api/merge-patch.js";
import type { JsonObject, JsonValue } from "../../../api/meta.js";
import type { Naming } from "../../../api/naming.js";
import { compileSelector } from "../../../api/selectors.js";
import { decodeInput } from "../../generic/decode-input.js";
import type { Registry, WriteOptions, WriteResult } from "../../registry.js";
import { inputOf, noSignal, type RegistryHarness } from "../../testing/registry-harness.js";
import type { ResourceAction, runAction } from "../action.js";
import type { applyObject } from "../apply.js";
import type { createObject } from "../create.js";
import type { deleteObject } from "../delete.js";
import type { deleteCollection } from "../delete-collection.js";
import type { deleteCorruptObject } from "../delete-corrupt.js";
import type { patchObject, updateObject } from "../update.js";

/** The verbs under test. */
export interface WriteVerbs {
  readonly createObject: typeof createObject;
  readonly updateObject: typeof updateObject;
  readonly patchObject: typeof patchObject;
  readonly applyObject: typeof applyObject;
  readonly deleteObject: typeof deleteObject;
  readonly deleteCollection: typeof deleteCollection;
  readonly deleteCorruptObject: typeof deleteCorruptObject;
  readonly runAction: typeof runAction;
}

/** Random numbers from a seed. */
export interface Draw {
  below(limit: number): number;
  pick<T>(choices: readonly T[]): T;
  chance(probability: number): boolean;
}

/** mulberry32 */
export function drawFrom(seed: number): Draw {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    below: (limit) => Math.floor(next() * limit),
    pick: (choices) => choices[Math.floor(next() * choices.length)] as (typeof choices)[number],
    chance: (probability) => next() < probability,
  };
}

type KindName = keyof typeof KINDS;

export interface RandomWrite {
  readonly verb:
    | "create"
    | "update"
    | "patch"
    | "apply"
    | "delete"
    | "deletecollection"
    | "deletecorrupt"
    | "evict"
    | "bind"
    | "junk";
  readonly kind: KindName;
  readonly namespace: string;
  readonly name: string;
  readonly subresource: string;
  readonly body: JsonObject;
  readonly isDryRun: boolean;
  readonly force: boolean;
  readonly fieldValidation: "Ignore" | "Warn" | "Strict";
  readonly deletion: JsonObject;
  readonly manager: string;
}

const NAMESPACES = ["default", "shop", "strict", "n1"];
/** The names for writes of namespaces: some never exist, or are terminating. */
const NAMED_NAMESPACES = ["strict", "n1", "n2"];
const NAMES = ["a", "b", "c", "d", "e"];

/**
 * Kinds that together cover all differences between kinds; a group that ends in a dot is the vendor's.
 */
const KINDS = {
  configmaps: { group: "", version: "v1", make: configMap },
  secrets: { group: "", version: "v1", make: secret },
  services: { group: "", version: "v1", make: service },
  pods: { group: "", version: "v1", make: pod },
  namespaces: { group: "", version: "v1", make: () => ({}) },
  resourcequotas: { group: "", version: "v1", make: quota },
  limitranges: { group: "", version: "v1", make: limitRange },
  serviceaccounts: { group: "", version: "v1", make: () => ({}) },
  deployments: { group: "apps", version: "v1", make: deployment },
  leases: { group: "coordination.", version: "v1", make: lease },
  jobs: { group: "batch", version: "v1", make: job },
  poddisruptionbudgets: { group: "policy", version: "v1", make: budget },
  horizontalpodautoscalers: { group: "autoscaling", version: "v1", make: autoscaler },
  events: { group: "events.", version: "v1", make: event },
  clusterroles: { group: "rbac.authorization.", version: "v1", make: role },
  priorityclasses: { group: "scheduling.", version: "v1", make: priorityClass },
} as const;

const CLUSTER_KINDS: readonly string[] = ["namespaces", "clusterroles", "priorityclasses"];
/** Kinds with many writes are drawn more often. */
const KIND_CHOICES: readonly KindName[] = [
  ...(Object.keys(KINDS) as KindName[]),
  "configmaps",
  "configmaps",
  "pods",
  "pods",
  "services",
  "deployments",
];

const VERBS: readonly RandomWrite["verb"][] = [
  "create",
  "create",
  "create",
  "update",
  "update",
  "patch",
  "patch",
  "patch",
  "apply",
  "apply",
  "delete",
  "delete",
  "deletecollection",
  "deletecorrupt",
  "evict",
  "bind",
];

/** Draws a write. `current` returns an object's current state, for verbs that start from it. */
export function drawWrite(
  draw: Draw,
  { groupDomain }: Naming,
  current: (write: RandomWrite) => JsonObject,
): RandomWrite {
  const drawn = draw.chance(0.01) ? "junk" : draw.pick(VERBS);
  const kind = drawn === "evict" || drawn === "bind" ? "pods" : draw.pick(KIND_CHOICES);
  // An unreadable namespace would break all later writes.
  const verb = drawn === "junk" && kind === "namespaces" ? "patch" : drawn;
  const isCluster = CLUSTER_KINDS.includes(kind);
  const namespace = isCluster ? "" : draw.pick([...NAMESPACES.slice(0, 3), ...NAMESPACES]);
  const name = kind === "namespaces" ? draw.pick(NAMED_NAMESPACES) : draw.pick(NAMES.slice(0, 3));
  const write: RandomWrite = {
    verb,
    kind,
    namespace,
    name,
    subresource: drawSubresource(draw, verb, kind),
    body: {},
    isDryRun: draw.chance(0.15),
    force: draw.chance(0.5),
    fieldValidation: draw.pick(["Warn", "Warn", "Strict", "Ignore"]),
    deletion: drawDeletion(draw),
    manager: draw.pick(["", "one", "two"]),
  };
  return { ...write, body: drawBody(draw, write, current(write), groupDomain) };
}

function drawSubresource(draw: Draw, verb: RandomWrite["verb"], kind: KindName): string {
  if (!["update", "patch", "apply"].includes(verb)) return "";
  if (kind === "deployments") return draw.pick(["", "", "status", "scale"]);
  const hasStatus = ["pods", "services", "namespaces", "resourcequotas", "jobs"].includes(kind);
  return hasStatus ? draw.pick(["", "", "status"]) : "";
}

function drawDeletion(draw: Draw): JsonObject {
  const options: JsonObject = {};
  if (draw.chance(0.3)) options.gracePeriodSeconds = draw.pick([0, 5, 30]);
  if (draw.chance(0.3)) {
    options.propagationPolicy = draw.pick(["Orphan", "Background", "Foreground"]);
  } else if (draw.chance(0.1)) options.orphanDependents = draw.chance(0.5);
  if (draw.chance(0.1)) options.preconditions = { uid: "somebody-else" };
  if (draw.chance(0.1)) options.preconditions = { resourceVersion: "1" };
  return options;
}

function drawBody(
  draw: Draw,
  write: RandomWrite,
  current: JsonObject,
  groupDomain: string,
): JsonObject {
  const { verb, kind, name } = write;
  const made = { metadata: drawMetadata(draw, name), ...KINDS[kind].make(draw) } as JsonObject;
  if (draw.chance(0.04)) made.extra = { unknown: true };
  if (draw.chance(0.03)) made.data = draw.pick<JsonValue>([5, [], "x"]);
  if (draw.chance(0.03)) made.kind = "Other";
  if (verb === "create") return made;
  if (verb === "apply") {
    const group = groupOf(kind, groupDomain);
    const { version } = KINDS[kind];
    const apiVersion = group === "" ? version : `${group}/${version}`;
    return { apiVersion, kind: KIND_NAMES[kind] ?? "", ...made };
  }
  if (write.subresource === "scale") {
    return { metadata: { name }, spec: { replicas: draw.below(4) } };
  }
  if (write.subresource === "status") {
    const status = drawStatus(draw, kind);
    return verb === "patch" ? { status } : { ...current, metadata: { name }, status };
  }
  if (verb === "patch") {
    if (draw.chance(0.15)) return {};
    const { metadata, ...rest } = made;
    const { name: _, ...labels } = metadata as JsonObject;
    return draw.chance(0.5) ? { metadata: labels } : { metadata: labels, ...rest };
  }
  if (draw.chance(0.2)) return current;
  return {
    ...current,
    ...made,
    metadata: { ...(current.metadata as JsonObject), ...(made.metadata as JsonObject) },
  };
}

function drawMetadata(draw: Draw, name: string): JsonObject {
  const metadata: JsonObject = { name };
  if (draw.chance(0.06)) Object.assign(metadata, { name: "", generateName: "gen-" });
  if (draw.chance(0.03)) metadata.name = draw.pick(["UPPER", "", "other"]);
  if (draw.chance(0.5)) metadata.labels = { app: draw.pick(["x", "y"]), n: `${draw.below(3)}` };
  if (draw.chance(0.1)) metadata.annotations = { note: `${draw.below(3)}` };
  if (draw.chance(0.12)) metadata.finalizers = draw.pick([[], ["example.com/hold"]]);
  if (draw.chance(0.05)) metadata.resourceVersion = draw.pick(["1", "0", "x"]);
  if (draw.chance(0.03)) metadata.uid = "not-mine";
  if (draw.chance(0.04)) metadata.namespace = "elsewhere";
  if (draw.chance(0.05)) {
    const owner = { apiVersion: "v1", kind: "ConfigMap", name: "o", uid: "o" };
    metadata.ownerReferences = [owner, owner];
  }
  return metadata;
}

function drawStatus(draw: Draw, kind: KindName): JsonObject {
  if (kind === "pods") {
    const ready = { type: "Ready", status: draw.pick(["True", "False"]) };
    return { phase: draw.pick(["Pending", "Running", "Succeeded"]), conditions: [ready] };
  }
  if (kind === "namespaces") return { phase: draw.pick(["Active", "Active", "Terminating"]) };
  if (kind === "resourcequotas") {
    const hard = { configmaps: "3", pods: "2", services: "2" };
    return { hard, used: { configmaps: "0", pods: "0", services: "0" } };
  }
  if (kind === "deployments") return { replicas: draw.below(3), observedGeneration: 1 };
  return {};
}

function configMap(draw: Draw): JsonObject {
  const data = Object.fromEntries(
    NAMES.slice(0, draw.below(4)).map((key) => [key, `${draw.below(3)}`]),
  );
  return draw.chance(0.05) ? { data, immutable: true } : { data };
}

function secret(draw: Draw): JsonObject {
  return draw.chance(0.5) ? { stringData: { p: `${draw.below(9)}` } } : { type: "Opaque" };
}

function service(draw: Draw): JsonObject {
  const port: JsonObject = { port: 80 + draw.below(2), name: "p" };
  if (draw.chance(0.2)) port.nodePort = 30_000 + draw.below(3);
  const spec: JsonObject = {
    type: draw.pick(["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"]),
    ports: [port],
  };
  if (spec.type === "ExternalName") spec.externalName = "example.com";
  if (draw.chance(0.2)) spec.clusterIP = draw.pick(["10.0.0.7", "10.0.0.8", "None"]);
  return { spec };
}

function pod(draw: Draw): JsonObject {
  const container: JsonObject = { name: "c", image: draw.pick(["i:1", "i:2"]) };
  if (draw.chance(0.3)) container.resources = { requests: { cpu: "100m" } };
  if (draw.chance(0.1)) container.securityContext = { privileged: true };
  const spec: JsonObject = { containers: [container] };
  if (draw.chance(0.6)) spec.nodeName = "n1";
  if (draw.chance(0.1)) spec.priorityClassName = draw.pick(NAMES);
  return { spec };
}

function deployment(draw: Draw): JsonObject {
  return {
    spec: {
      replicas: draw.below(3),
      selector: { matchLabels: { app: "x" } },
      template: {
        metadata: { labels: { app: draw.pick(["x", "x", "x", "y"]) } },
        spec: { containers: [{ name: "c", image: draw.pick(["i:1", "i:2"]) }] },
      },
    },
  };
}

function job(draw: Draw): JsonObject {
  const spec = { containers: [{ name: "c", image: "i" }], restartPolicy: "Never" };
  return { spec: { suspend: draw.chance(0.5), template: { spec } } };
}

function lease(draw: Draw): JsonObject {
  return { spec: { holderIdentity: draw.pick(NAMES), leaseDurationSeconds: 1 + draw.below(3) } };
}

function quota(draw: Draw): JsonObject {
  return { spec: { hard: { configmaps: `${2 + draw.below(4)}`, pods: "2", services: "2" } } };
}

function limitRange(draw: Draw): JsonObject {
  const cpu = draw.pick(["50m", "200m"]);
  return { spec: { limits: [{ type: "Container", defaultRequest: { cpu }, max: { cpu: "1" } }] } };
}

function budget(draw: Draw): JsonObject {
  return { spec: { minAvailable: draw.below(3), selector: { matchLabels: { app: "x" } } } };
}

function autoscaler(draw: Draw): JsonObject {
  const scaleTargetRef = { apiVersion: "apps/v1", kind: "Deployment", name: "a" };
  return { spec: { scaleTargetRef, maxReplicas: 1 + draw.below(4) } };
}

function event(draw: Draw): JsonObject {
  return {
    eventTime: "2030-01-01T00:00:00.000000Z",
    reportingController: "example.com/c",
    reportingInstance: "i",
    action: "Acted",
    reason: "Because",
    type: draw.pick(["Normal", "Warning"]),
    regarding: { kind: "ConfigMap", namespace: "default", name: "a" },
  };
}

function role(draw: Draw): JsonObject {
  return { rules: [{ apiGroups: [""], resources: ["pods"], verbs: draw.pick([["get"], ["*"]]) }] };
}

function priorityClass(draw: Draw): JsonObject {
  return { value: draw.below(3) };
}

const KIND_NAMES: Readonly<Partial<Record<KindName, string>>> = {
  configmaps: "ConfigMap",
  secrets: "Secret",
  services: "Service",
  pods: "Pod",
  namespaces: "Namespace",
  resourcequotas: "ResourceQuota",
  limitranges: "LimitRange",
  serviceaccounts: "ServiceAccount",
  deployments: "Deployment",
  leases: "Lease",
  jobs: "Job",
  poddisruptionbudgets: "PodDisruptionBudget",
  horizontalpodautoscalers: "HorizontalPodAutoscaler",
  events: "Event",
  clusterroles: "ClusterRole",
  priorityclasses: "PriorityClass",
};

function groupOf(kind: KindName, groupDomain: string): string {
  const { group } = KINDS[kind];
  return group.endsWith(".") ? group + groupDomain : group;
}

/** The resource of a write, in a harness. */
export function resourceOf(harness: RegistryHarness, { kind }: Pick<RandomWrite, "kind">) {
  const group = groupOf(kind, harness.registry.naming.groupDomain);
  return harness.resource(group, KINDS[kind].version, kind);
}

function partOfKind(harness: RegistryHarness, { kind, subresource }: RandomWrite) {
  const group = groupOf(kind, harness.registry.naming.groupDomain);
  return harness.part(group, KINDS[kind].version, kind, subresource);
}

export interface Runner {
  readonly harness: RegistryHarness;
  readonly registry: Registry;
  readonly verbs: WriteVerbs;
  readonly actions: { readonly eviction: ResourceAction; readonly binding: ResourceAction };
  readonly user: WriteOptions["user"];
}

/** Executes a write. @returns the answer and the client's warnings */
export async function runRandomWrite(
  runner: Runner,
  write: RandomWrite,
): Promise<{ readonly result: WriteResult; readonly warnings: readonly string[] }> {
  const { harness, registry, verbs, user } = runner;
  const warnings = new Set<string>();
  const { namespace, name, subresource, isDryRun, fieldValidation, body, manager } = write;
  const options: WriteOptions = {
    isDryRun,
    fieldManager: manager,
    fieldValidation,
    user,
    warn: (text) => warnings.add(text),
  };
  const main = resourceOf(harness, write);
  const resource = subresource === "" ? main : partOfKind(harness, write);
  const target = { resource, namespace, name, subresource, options };
  const deletion = { ...write.deletion, isDryRun };
  const doomed = { resource: main, namespace, name, user, warn: options.warn };
  const input = inputOf(structuredClone(body) as JsonValue);
  const run = async (): Promise<WriteResult> => {
    switch (write.verb) {
      case "create":
        return await verbs.createObject(
          registry,
          { resource: main, namespace, input, options },
          noSignal,
        );
      case "update":
        return await verbs.updateObject(registry, { ...target, input }, noSignal);
      case "patch": {
        const patch = (current: JsonValue) => applyMergePatch(current, structuredClone(body));
        return await verbs.patchObject(registry, { ...target, patch }, noSignal);
      }
      case "apply":
        return await verbs.applyObject(
          registry,
          { ...target, input, force: write.force },
          noSignal,
        );
      case "delete":
        return await verbs.deleteObject(registry, { ...doomed, options: deletion }, noSignal);
      case "deletecollection": {
        const labelSelector = write.force ? "app=x" : "n=1";
        const selector = compileSelector({ namespace, labelSelector });
        const { objects } = await verbs.deleteCollection(
          registry,
          { ...doomed, selector, limit: 1, options: deletion },
          noSignal,
        );
        return { status: 200, bytes: Buffer.concat(objects.map(({ bytes }) => bytes)) };
      }
      case "deletecorrupt":
        return await verbs.deleteCorruptObject(registry, doomed, noSignal);
      case "evict":
      case "bind":
        return await act(runner, write, options);
      case "junk": {
        const key = registry.view.keys.key(
          main.partition,
          namespace === "" ? name : `${namespace}/${name}`,
        );
        const text = write.force
          ? "junk"
          : JSON.stringify({ kind: "X", apiVersion: "v1", metadata: { name, finalizers: 5 } });
        await registry.store.commit(
          { compares: [], operations: [{ type: "put", key, value: Buffer.from(text) }] },
          noSignal,
        );
        await registry.freshness.fresh();
        return { status: 200, bytes: Buffer.from("{}") };
      }
    }
  };
  return { result: await run(), warnings: [...warnings].sort() };
}

async function act(
  { harness, registry, verbs, actions }: Runner,
  { verb, name, namespace, deletion }: RandomWrite,
  options: WriteOptions,
): Promise<WriteResult> {
  const subresource = verb === "evict" ? "eviction" : "binding";
  const resource = harness.action("", "v1", "pods", subresource);
  const body: JsonObject =
    verb === "evict"
      ? { metadata: { name, namespace }, deleteOptions: deletion }
      : { metadata: { name, namespace }, target: { kind: "Node", name: "n2" } };
  const object = decodeInput(resource, inputOf(body), options);
  const request = { resource, object, namespace, name, subresource, options };
  return await verbs.runAction(registry, actions[subresource], request, noSignal);
}
