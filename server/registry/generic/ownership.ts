/**
 * Ownership: `metadata.managedFields` of everything that is served (S1-META-16, S1-SSA). Between the
 * field managers, which work on one version of one kind, and writes, which end in the stored version.
 * One field manager per resource and served version, made when the first write needs it.
 */

import type { ApiObject, JsonObject, JsonValue } from "../../api/meta.js";
import { formatGroupVersion } from "../../api/names.js";
import type { Naming } from "../../api/naming.js";
import { badRequest, internalError } from "../../api/status.js";
import {
  createFieldManager,
  type FieldManager,
  type OtherVersion,
  type Write,
} from "../../apply/field-manager.js";
import type { MergeSchema } from "../../apply/merge-schema.js";
import { createMergeSchemas } from "../../apply/merge-schema-facts.js";
import { resetFieldsOf } from "../../apply/writers.js";
import type { SchemaModel } from "../../schema/model.js";
import type { Conversion, ServedResource } from "./served-resource.js";

export interface Ownership {
  /**
   * The object to store with its owners after a write that is no apply. Both objects are in the stored
   * version; `before` is undefined for a create. Neither is changed.
   */
  track(
    resource: ServedResource,
    before: ApiObject | undefined,
    next: ApiObject,
    write: Write,
  ): ApiObject;
  /**
   * The current stored object (undefined = there is none) merged with a configuration, in the served
   * version: not yet decoded, without defaults, with its owners. @throws {StatusError} 400, 409
   */
  apply(
    resource: ServedResource,
    before: ApiObject | undefined,
    applied: JsonObject,
    write: Write & { readonly force: boolean },
  ): ApiObject;
}

export interface OwnershipOptions {
  readonly model: SchemaModel;
  readonly naming: Naming;
  readonly clock: { now(): number };
  readonly table: {
    find(group: string, version: string, resource: string): ServedResource | undefined;
    readonly all: readonly ServedResource[];
  };
}

interface OwnedResource {
  /** The resource itself, also where a write goes to one of its subresources. */
  readonly main: ServedResource;
  readonly fieldManager: FieldManager;
}

export function createOwnership({ model, naming, clock, table }: OwnershipOptions): Ownership {
  const schemas = createMergeSchemas(model);
  const owned = new WeakMap<ServedResource, OwnedResource>();

  function schemaOf({ group, version, kind }: ServedResource): MergeSchema {
    const type = model.kind(group, version, kind);
    return type === undefined ? schemas.schemaless() : schemas.ofKind(type);
  }

  function create(main: ServedResource): OwnedResource {
    const schema = schemaOf(main);
    const versions = new Map<string, OtherVersion | undefined>();
    const fieldManager = createFieldManager({
      schema,
      apiVersion: formatGroupVersion(main),
      kind: main.kind,
      naming,
      now: () => clock.now(),
      resetFields: resetFieldsOf(schema, main.subresources.has("status")),
      otherVersion(apiVersion) {
        if (!versions.has(apiVersion)) versions.set(apiVersion, versionOf(main, apiVersion));
        return versions.get(apiVersion);
      },
    });
    return { main, fieldManager };
  }

  function versionOf(main: ServedResource, apiVersion: string): OtherVersion | undefined {
    const other = table.all.find(
      (resource) =>
        resource.partition === main.partition &&
        resource.kind === main.kind &&
        formatGroupVersion(resource) === apiVersion,
    );
    if (other === undefined) return undefined;
    return {
      schema: schemaOf(other),
      toVersion: (object) => convert(object, main.conversion, other.conversion),
      fromVersion: (object) => convert(object, other.conversion, main.conversion),
    };
  }

  function ownedOf(resource: ServedResource): OwnedResource {
    const main = table.find(resource.group, resource.version, resource.resource);
    if (main === undefined) throw internalError(`${resource.resource} is not served`);
    let found = owned.get(main);
    if (found === undefined) {
      found = create(main);
      owned.set(main, found);
    }
    return found;
  }

  return {
    track(resource, before, next, write) {
      const { main, fieldManager } = ownedOf(resource);
      const { conversion } = main;
      if (conversion === undefined) return fieldManager.update(before, next, write);
      const live = before && served(conversion, before);
      const tracked = fieldManager.update(live, served(conversion, next), write);
      return withOwnersOf(next, tracked);
    },
    apply(resource, before, applied, write) {
      const { main, fieldManager } = ownedOf(resource);
      const live =
        before === undefined || main.conversion === undefined
          ? before
          : served(main.conversion, before);
      if (resource.part?.isOwnShape !== true) return fieldManager.apply(live, applied, write);
      const merged = fieldManager.apply(live, ofMain(resource, main, applied), write);
      return inOwnShape(resource, main, merged);
    },
  };
}

/** The object with the owners that another form of it has. */
export function withOwnersOf(object: ApiObject, { metadata }: ApiObject): ApiObject {
  const { managedFields: _, ...others } = object.metadata;
  const { managedFields } = metadata;
  return {
    ...object,
    metadata: managedFields === undefined ? others : { ...others, managedFields },
  };
}

/** Conversions may fill in empty members of what they are given. */
function served(conversion: Conversion, stored: ApiObject): ApiObject {
  return conversion.fromStored({ ...stored });
}

function convert(
  object: JsonObject,
  from: Conversion | undefined,
  to: Conversion | undefined,
): JsonObject {
  const copy = { ...object } as unknown as ApiObject;
  const stored = from === undefined ? copy : from.toStored(copy);
  const converted = to === undefined ? stored : to.fromStored(stored);
  return converted as unknown as JsonObject;
}

/** A configuration of a subresource with its own kind as one of the object: its `spec` is a part of it. */
function ofMain(resource: ServedResource, main: ServedResource, applied: JsonObject): JsonObject {
  const expected = formatGroupVersion(resource.fact.kindGroupVersion ?? resource);
  const { status: _, ...rest } = applied;
  if (rest.apiVersion !== expected || rest.kind !== resource.kind) {
    const sent = `${String(rest.apiVersion ?? "")}, Kind=${String(rest.kind ?? "")}`;
    throw badRequest(`invalid object type: ${sent}`);
  }
  return { ...rest, apiVersion: formatGroupVersion(main), kind: main.kind };
}

function inOwnShape(
  { conversion, codec }: ServedResource,
  main: ServedResource,
  merged: ApiObject,
): ApiObject {
  const { object } = main.codec.decode(merged as unknown as JsonValue);
  main.codec.applyDefaults(object);
  const stored = main.conversion === undefined ? object : main.conversion.toStored(object);
  const shaped = conversion === undefined ? stored : conversion.fromStored(stored);
  // The codec decides which members there are; here it only gives the object members of its own.
  return withOwnersOf(codec.decode(shaped as unknown as JsonValue).object, merged);
}
