/**
 * Ownership: `metadata.managedFields` of all served objects (S1-META-16, S1-SSA). It connects the
 * field managers, which work on one version of one kind, with writes, which produce the stored
 * version. Each resource and served version has one field manager, made on the first write that needs
 * it.
 */

import type { Steps } from "../../../storage/base/steps.js";
import { isJsonObject, withValueAt } from "../../api/json-object.js";
import type { ApiObject, JsonObject, JsonValue } from "../../api/meta.js";
import { formatGroupVersion } from "../../api/names.js";
import type { Naming } from "../../api/naming.js";
import { badRequest } from "../../api/status.js";
import type { OtherVersion } from "../../apply/entry-versions.js";
import { type ApplyWrite, FieldManager, type Write } from "../../apply/field-manager.js";
import { resetFieldsOf } from "../../apply/writers.js";
import { jsonToText } from "../../codec/json.js";
import type { Conversion } from "../../kinds/conversion.js";
import type { CatalogSource } from "../../kinds/live-catalog.js";
import { remembered } from "../../kinds/remembered.js";
import {
  isOwnShape,
  kindVersionOf,
  type MainResource,
  mainOf,
  partOf,
  type StoredResource,
} from "../../kinds/served-resource.js";
import type { ResourceStrategy } from "../../kinds/strategy.js";
import { valueAt } from "./fields.js";
import { SPEC_OR_STATUS } from "./status-parts.js";

export interface Ownership {
  /**
   * The object to store, with its owners, after a write that is not an apply. Both objects are in the
   * stored version and stay unchanged; `before` is undefined for a create.
   */
  track(
    resource: StoredResource,
    before: ApiObject | undefined,
    next: ApiObject,
    write: Write,
  ): Steps<ApiObject>;
  /**
   * The current stored object (undefined = none) merged with a configuration, in the served version:
   * not yet decoded, without defaults, with its owners. @throws {StatusError} 400, 409
   */
  apply(
    resource: StoredResource,
    before: ApiObject | undefined,
    applied: JsonObject,
    write: ApplyWrite,
  ): Steps<ApiObject>;
}

type ResetTable = NonNullable<ResourceStrategy["resetFields"]>;

export interface OwnershipOptions {
  readonly naming: Naming;
  readonly clock: { now(): number };
  readonly catalog: CatalogSource;
  /** Whether writes leave their owners; default: yes. */
  readonly isTracked?: boolean;
}

export function createOwnership({
  naming,
  clock,
  catalog,
  isTracked = true,
}: OwnershipOptions): Ownership {
  const managers = new WeakMap<MainResource, FieldManager>();

  function create(main: MainResource): FieldManager {
    const schema = main.codec.mergeSchema();
    // Keyed by the other version's resource, which is replaced when its definition changes.
    const versions = new WeakMap<MainResource, OtherVersion>();
    return new FieldManager({
      schema,
      apiVersion: formatGroupVersion(main),
      kind: main.kind,
      naming,
      now: () => clock.now(),
      resetFields: resetFieldsOf(resetTableOf(main)),
      otherVersion(apiVersion) {
        const other = catalog.current
          .knownVersionsOf(main.partition)
          .find((one) => one.kind === main.kind && formatGroupVersion(one) === apiVersion);
        if (other === undefined) return undefined;
        return remembered(versions, other, () => versionOf(main, other));
      },
    });
  }

  const managerOf = (main: MainResource) => remembered(managers, main, () => create(main));

  return {
    *track(resource, before, next, write) {
      if (!isTracked) return next;
      const main = mainOf(resource);
      const fieldManager = managerOf(main);
      const { conversion } = main;
      const replicas = partOf(resource)?.replicas;
      if (conversion === undefined && replicas === undefined) {
        return yield* fieldManager.updateSteps(before, next, write);
      }
      const live = before && withoutZero(served(conversion, before), replicas);
      const shown = withoutZero(served(conversion, next), replicas);
      yield;
      return withOwnersOf(
        next,
        yield* fieldManager.updateSteps(live, shown, { ...write, field: replicas }),
      );
    },
    *apply(resource, before, applied, write) {
      const main = mainOf(resource);
      const fieldManager = managerOf(main);
      const live = before && served(main.conversion, before);
      if (!isOwnShape(resource)) return yield* fieldManager.applySteps(live, applied, write);
      const own = ofMain(resource, main, applied);
      const shownVersion = formatGroupVersion(kindVersionOf(resource));
      const { replicas } = partOf(resource) ?? {};
      const seen = live && withoutZero(live, replicas);
      const part = { ...write, shownVersion, field: replicas };
      const merged = yield* fieldManager.applySteps(seen, own, part);
      return inOwnShape(resource, main, orZero(merged, live, replicas));
    },
  };
}

/** What writes to the kind and its subresources do not reach. */
export function resetTableOf({ strategy, subresources }: MainResource): ResetTable {
  return strategy.resetFields ?? (subresources.has("status") ? SPEC_OR_STATUS : {});
}

/** The object with the owners of another form of it. */
export function withOwnersOf(object: ApiObject, { metadata }: ApiObject): ApiObject {
  const { managedFields: _, ...others } = object.metadata;
  const { managedFields } = metadata;
  return {
    ...object,
    metadata: managedFields === undefined ? others : { ...others, managedFields },
  };
}

/** Conversions may fill in empty members of their argument, so it is copied. */
function served(conversion: Conversion | undefined, stored: ApiObject): ApiObject {
  return conversion === undefined ? stored : conversion.fromStored({ ...stored });
}

/** The object as the owners of its number see it, who have none when it is 0. */
function withoutZero(object: ApiObject, path: readonly string[] | undefined): ApiObject {
  if (path === undefined || Number(valueAt(object, path) ?? 1) !== 0) return object;
  return withNumber(object, path, undefined);
}

/** What an apply took away, or never saw, is 0. */
function orZero(
  merged: ApiObject,
  live: ApiObject | undefined,
  path: readonly string[] | undefined,
): ApiObject {
  if (path === undefined || live === undefined) return merged;
  const isGone = valueAt(merged, path) === undefined && valueAt(live, path) !== undefined;
  return isGone ? withNumber(merged, path, 0) : merged;
}

function withNumber(object: ApiObject, path: readonly string[], value: number | undefined) {
  return withValueAt(object as unknown as JsonObject, path, value) as unknown as ApiObject;
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

function versionOf(main: MainResource, other: MainResource): OtherVersion {
  return {
    schema: other.codec.mergeSchema(),
    toVersion: (object) => convert(object, main.conversion, other.conversion),
    fromVersion: (object) => convert(object, other.conversion, main.conversion),
  };
}

/** A configuration of a subresource with its own kind, as one of the main object: `spec` is part of it. */
function ofMain(resource: StoredResource, main: MainResource, applied: JsonObject): JsonObject {
  const expected = formatGroupVersion(kindVersionOf(resource));
  const { status: _, ...rest } = applied;
  if (rest.apiVersion !== expected || rest.kind !== resource.kind) {
    const sent = `${jsonToText(rest.apiVersion ?? "")}, Kind=${jsonToText(rest.kind ?? "")}`;
    throw badRequest(`invalid object type: ${sent}`);
  }
  const members = withNumberInMain(rest, partOf(resource)?.replicas);
  return { ...members, apiVersion: formatGroupVersion(main), kind: main.kind };
}

/** Of the `spec` of a scale there is the number alone, where the main object has it. */
function withNumberInMain(applied: JsonObject, path: readonly string[] | undefined): JsonObject {
  if (path === undefined) return applied;
  const { spec, ...others } = applied;
  const number = isJsonObject(spec) ? spec.replicas : undefined;
  return number === undefined ? others : withValueAt(others, path, number);
}

function inOwnShape(
  { conversion, codec }: StoredResource,
  main: MainResource,
  merged: ApiObject,
): ApiObject {
  const { object } = main.codec.decode(merged as unknown as JsonValue);
  main.codec.applyDefaults(object);
  const stored = main.conversion === undefined ? object : main.conversion.toStored(object);
  const shaped = conversion === undefined ? stored : conversion.fromStored(stored);
  // The codec decides which members exist; here the object only gets members of its own.
  return withOwnersOf(codec.decode(shaped as unknown as JsonValue).object, merged);
}
