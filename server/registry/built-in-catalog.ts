/**
 * The catalog of built-in resources: the enabled resources of the facts, each with its codecs,
 * partition and strategy. Made once at start; custom resources are added later, in catalogs derived
 * from this one.
 */
import { assert } from "../../storage/base/assert.js";
import type { GroupVersion } from "../api/names.js";
import { type Naming, withoutDomain } from "../api/naming.js";
import { type Catalog, createCatalog } from "../kinds/catalog.js";
import type { KindCodec, KindCodecs } from "../kinds/kind-codec.js";
import {
  createActionResource,
  createComputedResource,
  createMainResource,
  createVirtualResource,
  type RootResource,
  type SubresourceDefinition,
  type VirtualOperation,
} from "../kinds/served-resource.js";
import { NO_STRATEGY, type StrategyTable } from "../kinds/strategy.js";
import { API_RELEASE, deprecationOf, isServedIn, type Release } from "../schema/lifecycle.js";
import type { Facts, ResourceFact } from "../schema/model.js";
import { type DefinitionSource, definitionStrategy } from "./apiextensions/definition-strategy.js";
import { createConversions } from "./conversions.js";
import { STRATEGIES } from "./groups.js";
import { ACTIONS, CONNECTORS, PARTS } from "./subresources/subresources.js";

/** Resources of catalogs of the same options, by group, version and name: all but those with dependencies of their own. */
export type SharedResources = Map<string, RootResource>;

export interface BuiltInOptions {
  readonly naming: Naming;
  readonly facts: Facts;
  readonly codecs: KindCodecs;
  /** Filled by the first catalog; absent = there is one. */
  readonly shared?: SharedResources | undefined;
  /** Whether a resource of the facts is served; default: the resources that are on by default. */
  readonly isEnabled?: (fact: ResourceFact) => boolean;
  /** Versions that this release lacks are not served; default: the release of the facts. */
  readonly release?: Release;
  /** Virtual resources, named like strategies; resources without an entry are not served. */
  readonly virtual?: Readonly<Record<string, VirtualOperation>>;
  /** The custom resources, whose names a new definition must not take. */
  readonly definitions?: DefinitionSource;
  /** Whether the status of a definition may say which generation it is of. Default true. */
  readonly tracksGenerations?: boolean;
  /** Names of the available actions; others are not served. Default: ACTIONS. */
  readonly actions?: Iterable<string>;
  /** Names of the computed resources that have a source. Default: none. */
  readonly computed?: Iterable<string>;
}

const DEFINITIONS = "apiextensions/customresourcedefinitions";
/** Subresources that are plain parts of the stored object; the others are in PARTS. */
const PLAIN_SUBRESOURCES: ReadonlySet<string> = new Set(["status", "namespaces/finalize"]);

export function createBuiltInCatalog(options: BuiltInOptions): Catalog {
  const { facts } = options;
  const isEnabled = options.isEnabled ?? ((fact: ResourceFact) => fact.onByDefault);
  const release = options.release ?? API_RELEASE;
  const enabled = facts.resources
    .filter((fact) => isServedIn(fact.lifecycle, release) && isEnabled(fact))
    .map((fact) => withDeprecation(fact, release));
  const create = resourceFactory(options, enabled);
  const resources = enabled
    .filter(({ subresource }) => subresource === "")
    .map(create)
    .filter((resource) => resource !== undefined);
  const served = new Set(resources.map(({ fact }) => pathOf(fact)));
  const unserved = facts.resources
    .filter((fact) => fact.subresource === "" && !served.has(pathOf(fact)))
    .map(create)
    .filter((resource) => resource?.form === "main");
  return createCatalog({ resources, unserved, order: facts.groupVersions });
}

/** Makes the resource of a fact; undefined if it stores nothing and has no implementation. */
function resourceFactory(options: BuiltInOptions, enabled: readonly ResourceFact[]) {
  const { naming, virtual = {} } = options;
  const conversions = createConversions(naming);
  const actions = new Set(options.actions ?? Object.keys(ACTIONS));
  const computed = new Set(options.computed);
  const definitions = options.definitions ?? { holders: () => [] };
  const strategies: StrategyTable = {
    ...STRATEGIES,
    [DEFINITIONS]: definitionStrategy(definitions, naming, options.tracksGenerations),
  };
  const subresources = new Map<string, ResourceFact[]>();
  for (const fact of enabled) {
    if (fact.subresource === "") subresources.set(pathOf(fact), []);
    else subresources.get(pathOf(fact))?.push(fact);
  }

  const codecOf = ({ group, version }: GroupVersion, kind: string): KindCodec => {
    const codec = options.codecs.forKind(group, version, kind);
    assert(codec !== undefined, "EveryResourceHasACodec");
    return codec;
  };

  function subresourceOf(name: string, fact: ResourceFact): SubresourceDefinition | undefined {
    const { resource, subresource } = fact;
    const full = `${name}/${subresource}`;
    const codec = () => codecOf(fact.kindGroupVersion ?? fact, fact.kind);
    if (actions.has(full)) return { fact, codec: codec(), action: full };
    if (CONNECTORS.has(full)) return { fact, codec: optionsCodec(codec()), connector: full };
    const definition = PARTS[full];
    if (definition !== undefined) return { fact, codec: codec(), ...definition };
    const isPlain =
      PLAIN_SUBRESOURCES.has(subresource) || PLAIN_SUBRESOURCES.has(`${resource}/${subresource}`);
    return isPlain ? { fact } : undefined;
  }

  return (fact: ResourceFact): RootResource | undefined => {
    const { version, resource, kind } = fact;
    const group = withoutDomain(naming, fact.group);
    const name = `${group}/${resource}`;
    const operation = virtual[name];
    if (operation !== undefined) {
      return createVirtualResource(fact, codecOf(fact, kind), operation);
    }
    if (actions.has(name)) return createActionResource(fact, codecOf(fact, kind), name);
    if (computed.has(name)) return createComputedResource(fact, codecOf(fact, kind), name);
    const { stored } = fact;
    if (stored === undefined) return undefined;
    const known = options.shared?.get(pathOf(fact));
    if (known !== undefined) return known;
    const main = createMainResource({
      fact,
      codec: codecOf(fact, kind),
      storedCodec: codecOf(stored, kind),
      stored,
      conversion: conversions[`${group}/${version}/${resource}`],
      strategy: strategies[name] ?? NO_STRATEGY,
      subresources: (subresources.get(pathOf(fact)) ?? [])
        .map((row) => subresourceOf(name, row))
        .filter((definition) => definition !== undefined),
    });
    if (name !== DEFINITIONS) options.shared?.set(pathOf(fact), main);
    return main;
  };
}

/** Options have no metadata, but the code that handles all objects expects it. */
function optionsCodec(codec: KindCodec): KindCodec {
  return Object.freeze({
    ...codec,
    decode(input) {
      const decoded = codec.decode(input);
      decoded.object.metadata ??= {};
      return decoded;
    },
  } satisfies KindCodec);
}

function withDeprecation(fact: ResourceFact, release: Release): ResourceFact {
  const { kind, lifecycle } = fact;
  const gvk = { ...(fact.kindGroupVersion ?? fact), kind };
  const deprecation = deprecationOf(gvk, lifecycle, release);
  return deprecation === undefined ? fact : Object.freeze({ ...fact, deprecation });
}

function pathOf({ group, version, resource }: ResourceFact): string {
  return `${group}/${version}/${resource}`;
}
