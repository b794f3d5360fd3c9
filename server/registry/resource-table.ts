/**
 * The table of what this server serves: the facts' resources that are enabled, each with its codecs,
 * its place in the store and its strategy. Made once at start; discovery, dispatch, the view and the
 * controllers read it.
 */
import { assert } from "../../storage/base/assert.js";
import type { PartitionTraits } from "../../storage/cache/registry-view.js";
import { type PartitionId, partitionId } from "../../storage/objects/keys.js";
import type { GroupVersion } from "../api/names.js";
import type { Naming } from "../api/naming.js";
import type { Facts, ResourceFact } from "../schema/model.js";
import type { ObjectCodecs } from "../schema/object-codec.js";
import { createConversions } from "./conversions.js";
import type {
  Conversion,
  ResourceAction,
  ResourceStrategy,
  ServedResource,
  VirtualResource,
} from "./generic/served-resource.js";
import { STRATEGIES } from "./groups.js";
import type { FindResource, SubresourceDefinition } from "./subresources/definition.js";
import { SUBRESOURCES } from "./subresources/subresources.js";

export interface ResourceTableOptions {
  readonly naming: Naming;
  readonly facts: Facts;
  readonly codecs: ObjectCodecs;
  /** Whether a resource of the facts is to be served; default: what is on by default. */
  readonly isEnabled?: (fact: ResourceFact) => boolean;
  /** Virtual resources, named as strategies are; those not given are not served. */
  readonly virtual?: Readonly<Record<string, VirtualResource>>;
  /** Subresources that work on more than objects, named as in subresources.ts. */
  readonly subresources?: Readonly<Record<string, SubresourceDefinition>>;
}

export interface ResourceTable {
  /** A resource by its served group-version. */
  find(group: string, version: string, resource: string): ServedResource | undefined;
  /** Every served resource, once per group-version, in the facts' order. */
  readonly all: readonly ServedResource[];
  /** Rows for discovery: resources and subresources that are really served, in the facts' order. */
  readonly servedFacts: readonly ResourceFact[];
  /** What the view must know of a partition. */
  traits(partition: PartitionId): PartitionTraits;
  /** The resource in its stored version, one per partition. */
  stored(partition: PartitionId): ServedResource | undefined;
}

/** Subresources that are parts of the stored object; subresources.ts has those that are more. */
const PLAIN_SUBRESOURCES: ReadonlySet<string> = new Set(["status", "namespaces/finalize"]);

/** Versions whose shape differs from the stored one and for which there is no conversion yet. */
const UNCONVERTED_VERSIONS: ReadonlySet<string> = new Set(["resource/v1beta1"]);

const IDENTITY: Conversion = { toStored: (object) => object, fromStored: (object) => object };
const NO_STRATEGY: ResourceStrategy = Object.freeze({});
const NO_TRAITS: PartitionTraits = Object.freeze({});

export function createResourceTable(options: ResourceTableOptions): ResourceTable {
  const { naming, facts } = options;
  const isEnabled = options.isEnabled ?? ((fact: ResourceFact) => fact.onByDefault);
  const conversions = createConversions(naming);
  const virtual = options.virtual ?? {};
  const subresources = { ...SUBRESOURCES, ...options.subresources };

  const byName = new Map<string, ServedResource>();
  const servedFacts: ResourceFact[] = [];
  const find = (group: string, version: string, resource: string) =>
    byName.get(keyOf(group, version, resource));
  for (const fact of facts.resources) {
    const group = withoutDomain(naming, fact.group);
    if (!isEnabled(fact) || UNCONVERTED_VERSIONS.has(`${group}/${fact.version}`)) continue;
    if (fact.subresource !== "") {
      const isPlain =
        PLAIN_SUBRESOURCES.has(fact.subresource) ||
        PLAIN_SUBRESOURCES.has(`${fact.resource}/${fact.subresource}`);
      const definition = subresources[`${group}/${fact.resource}/${fact.subresource}`];
      const parent = byName.get(keyOf(fact.group, fact.version, fact.resource));
      if (parent === undefined || (!isPlain && definition === undefined)) continue;
      (parent.subresources as Map<string, ResourceFact>).set(fact.subresource, fact);
      if (definition !== undefined) {
        const shape = toShape(options, parent, fact, definition, find);
        (parent.shapes as Map<string, ServedResource>).set(fact.subresource, shape);
      }
      servedFacts.push(fact);
      continue;
    }
    const operation = virtual[`${group}/${fact.resource}`];
    const action = subresources[`${group}/${fact.resource}`]?.action?.(find);
    if (fact.stored === undefined && operation === undefined && action === undefined) continue;
    byName.set(
      keyOf(fact.group, fact.version, fact.resource),
      toServed(options, fact, {
        stored: storedVersion(facts, fact),
        strategy: STRATEGIES[`${group}/${fact.resource}`] ?? NO_STRATEGY,
        conversion: conversions[`${group}/${fact.version}/${fact.resource}`],
        virtual: operation,
        action,
      }),
    );
    servedFacts.push(fact);
  }

  const all = Object.freeze([...byName.values()]);
  const byPartition = new Map<PartitionId, ServedResource>();
  for (const resource of all) {
    const isStoredVersion = resource.conversion === undefined;
    if (resource.virtual !== undefined || resource.action !== undefined) continue;
    if (isStoredVersion || !byPartition.has(resource.partition)) {
      byPartition.set(resource.partition, resource);
    }
  }
  const traits = new Map([...byPartition].map(([id, resource]) => [id, traitsOf(resource)]));
  return Object.freeze({
    find,
    all,
    servedFacts: Object.freeze(servedFacts),
    traits: (partition: PartitionId) => traits.get(partition) ?? NO_TRAITS,
    stored: (partition: PartitionId) => byPartition.get(partition),
  });
}

function keyOf(group: string, version: string, resource: string): string {
  return `${group}/${version}/${resource}`;
}

/** "rbac.authorization" of the group that the vendor's domain stands behind; others as they are. */
function withoutDomain(naming: Naming, group: string): string {
  const domain = `.${naming.groupDomain}`;
  return group.endsWith(domain) ? group.slice(0, -domain.length) : group;
}

/**
 * The GA version is what is stored where there is one, also where upstream still writes the beta
 * form of the same shape; else what the facts say.
 */
function storedVersion(facts: Facts, fact: ResourceFact): GroupVersion {
  const stored = fact.stored ?? fact;
  if (/^v\d+$/.test(stored.version)) return stored;
  const stable = facts.resources.find(
    (other) =>
      other.group === stored.group &&
      other.resource === fact.resource &&
      other.subresource === "" &&
      /^v\d+$/.test(other.version),
  );
  return stable ?? stored;
}

function toServed(
  { codecs }: ResourceTableOptions,
  fact: ResourceFact,
  parts: {
    stored: GroupVersion;
    strategy: ResourceStrategy;
    conversion: Conversion | undefined;
    virtual: VirtualResource | undefined;
    action: ResourceAction | undefined;
  },
): ServedResource {
  const { group, version, resource, kind } = fact;
  const { stored, strategy, virtual, action } = parts;
  const codec = codecs.forKind(group, version, kind);
  const storedCodec = codecs.forKind(stored.group, stored.version, kind);
  assert(codec !== undefined && storedCodec !== undefined, "EveryResourceHasACodec");
  const isSame = stored.group === group && stored.version === version;
  return Object.freeze({
    fact,
    group,
    version,
    resource,
    kind,
    isNamespaced: fact.namespaced,
    partition: partitionId(stored.group, resource),
    codec,
    storedCodec,
    conversion: isSame ? undefined : (parts.conversion ?? IDENTITY),
    strategy,
    subresources: new Map<string, ResourceFact>(),
    shapes: new Map<string, ServedResource>(),
    ...(virtual === undefined ? {} : { virtual }),
    ...(action === undefined ? {} : { action }),
  });
}

/** The resource that requests to a subresource work on: its parent's objects, in its own kind. */
function toShape(
  { codecs }: ResourceTableOptions,
  parent: ServedResource,
  fact: ResourceFact,
  { conversion, part, action }: SubresourceDefinition,
  find: FindResource,
): ServedResource {
  const { group, version } = fact.kindGroupVersion ?? fact;
  const codec = codecs.forKind(group, version, fact.kind);
  assert(codec !== undefined, "EveryResourceHasACodec");
  return Object.freeze({
    ...parent,
    fact,
    kind: fact.kind,
    codec,
    conversion: conversion ?? parent.conversion,
    ...(part === undefined ? {} : { part }),
    ...(action === undefined ? {} : { action: action(find) }),
  });
}

function traitsOf({ strategy }: ServedResource): PartitionTraits {
  return {
    ...(strategy.selectableFields === undefined
      ? {}
      : { extractFields: strategy.selectableFields }),
    ...(strategy.triggerField === undefined ? {} : { triggerField: strategy.triggerField }),
  };
}
