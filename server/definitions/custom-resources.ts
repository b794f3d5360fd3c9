/**
 * The resources of a definition: one for each version, all in one partition, with the definition's
 * accepted names. Unused ones are small: schemas are read and compiled on demand (custom-codec.ts).
 */
import { createHash } from "node:crypto";
import { toRevision } from "../../storage/kv/store.js";
import type { StoredObject } from "../../storage/objects/stored-object.js";
import { compareVersions } from "../api/version-order.js";
import type { Conversion } from "../kinds/conversion.js";
import type { KindCodec } from "../kinds/kind-codec.js";
import {
  createMainResource,
  type MainResource,
  type SubresourceDefinition,
} from "../kinds/served-resource.js";
import {
  type Definition,
  type DefinitionVersion,
  isConditionTrue,
  isEnding,
  schemaOf,
} from "../registry/apiextensions/definition.js";
import type { ResourceFact } from "../schema/model.js";
import { parseJson } from "../schema/parse-json.js";
import type { JsonSchema } from "../structural/json-schema.js";
import type { CustomCodec, CustomCodecs } from "./custom-codec.js";
import { customScale, type ScaledObject } from "./custom-scale.js";
import { customStrategy } from "./custom-strategy.js";
import { customPrinter } from "./custom-table.js";
import { convertsOlder } from "./stored-under-older-schemas.js";
import { convertsByWebhook } from "./webhook-conversion.js";
import type { WebhookConverter } from "./webhook-converter.js";

const VERBS = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
/** For a terminating definition: no creates. Existing objects may still lose their finalizers. */
const TERMINATING_VERBS = VERBS.filter((verb) => verb !== "create");
/** Discovery shows no writes of it at all, though changes are served. */
const SHOWN_WHILE_TERMINATING = ["delete", "deletecollection", "get", "list", "watch"];
const PART_VERBS = ["get", "patch", "update"];

export interface CustomResourceParts {
  readonly codecs: CustomCodecs;
  /** The codec of autoscaling/v1 Scale. */
  readonly scaleCodec: KindCodec;
  /** The converter of a definition with a conversion webhook. */
  createConverter(definition: Definition): WebhookConverter;
}

/**
 * @returns nothing for a definition that is not in force, and for one of another version than v1, which the store
 * did not convert: its schema may be in other members, so that objects would go unjudged
 */
export function createCustomResources(
  stored: StoredObject,
  read: Definition,
  parts: CustomResourceParts,
  form?: object,
): readonly MainResource[] {
  if (!read.apiVersion.endsWith("/v1")) return [];
  if (!isConditionTrue(read, "Established")) return [];
  const definition = withoutAside(read);
  const versions = definition.spec?.versions ?? [];
  const storage = versions.find((version) => version.storage === true);
  if (storage === undefined) return [];
  const codecs = new Map<string, CustomCodec>();
  const schemaNamed = schemaReader(stored);
  const deprecation = deprecationsOf(definition);
  const codecOf = (version: DefinitionVersion): CustomCodec => {
    let codec = codecs.get(version.name);
    if (codec === undefined) {
      codec = parts.codecs.create({
        kind: definition.status?.acceptedNames?.kind ?? "",
        group: definition.spec?.group ?? "",
        version: version.name,
        keepsUnknown: definition.spec?.preserveUnknownFields === true,
        selectableFields: (version.selectableFields ?? []).map(({ jsonPath = "" }) => jsonPath),
        schema: () => schemaNamed(version.name),
      });
      codecs.set(version.name, codec);
    }
    return codec;
  };
  const isByWebhook = definition.spec?.conversion?.strategy === "Webhook";
  const converter = isByWebhook ? parts.createConverter(definition) : undefined;
  const served = versions.filter((version) => version.served === true);
  // A definition that ends without a served version still has objects to delete, in the stored one.
  const shown = served.length === 0 && isEnding(definition) ? [storage] : served;
  return shown.map((version) =>
    createVersion(
      { stored, definition, version, storage, deprecation, converter, form },
      codecOf,
      parts,
    ),
  );
}

/**
 * What is made here holds on to the definition: without its schemas, which are most of it, and without what nothing here
 * depends on, of which managed fields are most.
 */
function withoutAside({ apiVersion, kind, metadata, spec, status }: Definition): Definition {
  const { name = "", uid = "", generation = 0, deletionTimestamp } = metadata;
  const { names, ...others } = spec ?? {};
  const conditions = (status?.conditions ?? []).filter(({ type }) => type === "Terminating");
  return {
    apiVersion,
    kind,
    metadata: { name, uid, generation, ...(deletionTimestamp && { deletionTimestamp }) },
    spec: { ...others, versions: (spec?.versions ?? []).map((one) => ({ ...one, schema: null })) },
    status: {
      // Whatever a status says, a definition serves nothing but its own.
      acceptedNames: { ...status?.acceptedNames, plural: names?.plural ?? "" },
      storedVersions: status?.storedVersions ?? [],
      ...(conditions.length > 0 && { conditions }),
    },
  };
}

/**
 * The view holds the definition's bytes anyway: schemas are parsed from them on use. What was parsed is there for the next
 * version until memory is collected: parsed anew for each, 5,000 versions took minutes.
 */
function schemaReader(stored: StoredObject): (version: string) => JsonSchema | undefined {
  let parsed: WeakRef<ReadonlyMap<string, DefinitionVersion>> | undefined;
  return (name) => {
    let versions = parsed?.deref();
    if (versions === undefined) {
      const { spec } = parseJson(stored.bytes) as Definition;
      versions = new Map(spec?.versions?.map((version) => [version.name, version] as const));
      parsed = new WeakRef(versions);
    }
    const found = versions.get(name);
    return found && schemaOf(found);
  };
}

interface VersionOf {
  readonly stored: StoredObject;
  readonly definition: Definition;
  readonly version: DefinitionVersion;
  /** The storage version. */
  readonly storage: DefinitionVersion;
  readonly deprecation: DeprecationOf;
  /** What resources share that show objects alike. */
  readonly form: object | undefined;
  /** undefined = all versions have the same shape. */
  readonly converter: WebhookConverter | undefined;
}

/** undefined = the stored bytes are the served bytes. */
function conversionOf(
  { stored, definition, version, storage, converter }: VersionOf,
  codecOf: (version: DefinitionVersion) => CustomCodec,
): Conversion | undefined {
  const [codec, storedCodec] = [codecOf(version), codecOf(storage)];
  const { spec, status, metadata } = definition;
  // While a definition is unchanged, all its objects have its schema.
  const hasChanged = Number(metadata.generation ?? 0) > 1;
  const isOnly = version === storage && (status?.storedVersions ?? []).length < 2;
  if (converter !== undefined && !isOnly) {
    const versionOf = ({ name }: DefinitionVersion) => `${spec?.group ?? ""}/${name}`;
    return convertsByWebhook({
      converter,
      codec,
      storedCodec,
      servedVersion: versionOf(version),
      storedVersion: versionOf(storage),
      codecOf: (apiVersion) => {
        const known = spec?.versions?.find((one) => versionOf(one) === apiVersion);
        return known && codecOf(known);
      },
      revision: hasChanged ? stored.revision : toRevision(0),
      kind: status?.acceptedNames?.kind ?? "",
    });
  }
  if (!hasChanged && version === storage) return undefined;
  return convertsOlder({ storedCodec, codec, revision: stored.revision });
}

function createVersion(
  of: VersionOf,
  codecOf: (version: DefinitionVersion) => CustomCodec,
  { scaleCodec }: CustomResourceParts,
): MainResource {
  const { definition, version, storage, deprecation } = of;
  const group = definition.spec?.group ?? "";
  const fact = factOf(definition, version, storage, deprecation);
  const codec = codecOf(version);
  const storedCodec = codecOf(storage);
  const conversion = conversionOf(of, codecOf);
  const selectable = version.selectableFields ?? [];
  const strategy = customStrategy({
    codec,
    toServed: conversion?.remote && conversion.fromStored,
    ofView: conversion?.ofView,
    isTerminating: isEnding(definition),
    subresources: version.subresources ?? {},
    selectableFields: selectable.map(({ jsonPath = "" }) => jsonPath),
  });
  const { validateUpdate: validate } = strategy;
  return createMainResource({
    fact,
    codec,
    storedCodec,
    conversion,
    stored: { group, version: storage.name },
    strategy,
    printer: customPrinter(version.additionalPrinterColumns ?? [], conversion?.ofView),
    isCustom: true,
    shownAs: of.form,
    subresources: subresourcesOf(fact, version, scaleCodec, { validate, conversion }),
  });
}

function factOf(
  definition: Definition,
  version: DefinitionVersion,
  storage: DefinitionVersion,
  deprecation: DeprecationOf,
): ResourceFact {
  const group = definition.spec?.group ?? "";
  const names = definition.status?.acceptedNames ?? {};
  const { plural = "", kind = "", listKind = `${kind}List` } = names;
  return Object.freeze({
    group,
    version: version.name,
    resource: plural,
    subresource: "",
    singular: names.singular ?? kind.toLowerCase(),
    kind,
    listKind,
    isCustom: true,
    namespaced: definition.spec?.scope === "Namespaced",
    ...(isEnding(definition)
      ? { verbs: TERMINATING_VERBS, shownVerbs: SHOWN_WHILE_TERMINATING }
      : { verbs: VERBS }),
    shortNames: names.shortNames ?? [],
    categories: names.categories ?? [],
    onByDefault: true,
    ...deprecation(version),
    stored: { group, version: storage.name },
    storageVersionHash: storage.served === true ? hashOf(`${group}/${storage.name}/${kind}`) : "",
  });
}

function hashOf(storedKind: string): string {
  return createHash("sha256").update(storedKind).digest().subarray(0, 8).toString("base64");
}

type DeprecationOf = (version: DefinitionVersion) => Pick<ResourceFact, "deprecation">;

/** The warning for a deprecated version: the definition's own or the default. */
function deprecationsOf({ spec, status }: Definition): DeprecationOf {
  const what = (version: string) =>
    `${spec?.group ?? ""}/${version} ${status?.acceptedNames?.kind ?? ""}`;
  let newest: string | undefined;
  for (const { name, served, deprecated } of spec?.versions ?? []) {
    if (served !== true || deprecated === true) continue;
    if (newest === undefined || compareVersions(name, newest) < 0) newest = name;
  }
  return ({ name, deprecated, deprecationWarning }) => {
    if (deprecated !== true) return {};
    const better = newest !== undefined && compareVersions(newest, name) < 0 ? newest : undefined;
    const usual = `${what(name)} is deprecated${better === undefined ? "" : `; use ${what(better)}`}`;
    return { deprecation: { warning: deprecationWarning ?? usual, removedRelease: "" } };
  };
}

function subresourcesOf(
  fact: ResourceFact,
  { subresources }: DefinitionVersion,
  scaleCodec: KindCodec,
  scaled: ScaledObject,
): readonly SubresourceDefinition[] {
  const nothing = { shortNames: [], categories: [], singular: "", storageVersionHash: "" };
  const part = { ...fact, ...nothing, verbs: PART_VERBS };
  const found: SubresourceDefinition[] = [];
  if (subresources?.status) {
    found.push({ fact: Object.freeze({ ...part, subresource: "status" }) });
  }
  const scale = subresources?.scale;
  if (scale) {
    const scaleFact: ResourceFact = Object.freeze({
      ...part,
      subresource: "scale",
      kind: "Scale",
      kindGroupVersion: { group: "autoscaling", version: "v1" },
    });
    found.push({
      fact: scaleFact,
      codec: scaleCodec,
      ...customScale(scale, scaleCodec, scaled),
    });
  }
  return found;
}
