/**
 * StructuralCodec: the schema-driven codec of one version of a custom kind: decoding, defaults,
 * validation, and the canonical text that is stored and served. It is the counterpart of the facts'
 * codec of a built-in kind. The differences: nulls are kept, unknown members may be kept, and an
 * invalid field of the schema is a 422, while only metadata is typed (C-14).
 *
 * Members are sorted, as in kube-apiserver, so that the same content has the same text, whatever
 * its sender and order.
 */

import { compareTexts, sortTexts } from "../../storage/base/compare-texts.js";
import { sortInSteps } from "../../storage/base/sort-in-steps.js";
import type { Steps } from "../../storage/base/steps.js";
import { isJsonObject } from "../api/json-object.js";
import type { ApiObject, JsonObject, JsonValue } from "../api/meta.js";
import { badRequest } from "../api/status.js";
import { type MemberOrder, stringifyInSteps, stringifyJson } from "../schema/json-text.js";
import type { DecodeOptions, DecodeResult } from "../schema/object-codec.js";
import { areSorted, sortedKeys } from "../schema/sorted-keys.js";
import { withSortedMembers } from "../schema/sorted-members.js";
import type { StructCodec } from "../schema/struct-codec.js";
import { DecodeFailure, encodeAny } from "../schema/value-codec.js";
import { applyDefaults, applyDefaultsInSteps } from "./defaulting.js";
import { readEmbedded, withReadDefaults } from "./embedded.js";
import { copyAll, prune } from "./prune.js";
import type { Structural } from "./structural.js";
import { createValidation, type Validation } from "./structural-validation.js";

export interface StructuralCodec {
  /** @throws {StatusError} 400 for metadata of a wrong type */
  decode(input: JsonValue, options?: DecodeOptions): DecodeResult;
  /** In place. */
  applyDefaults(object: ApiObject): void;
  /** The same in steps. @param grew is told how many bytes were filled in */
  applyDefaultsInSteps(object: ApiObject, grew?: (bytes: number) => void): Steps<void>;
  /** With `current`, existing errors of unchanged values are tolerated. */
  readonly validate: Validation;
  /** Canonical JSON text without trailing newline. */
  encode(object: ApiObject): string;
  /** The same in steps. */
  encodeInSteps(object: ApiObject): Steps<string>;
}

export interface StructuralCodecOptions {
  readonly kind: string;
  readonly apiVersion: string;
  /** undefined = a version without a schema, or with all unknown fields kept. */
  readonly structural: Structural | undefined;
  /** The codec of ObjectMeta. */
  readonly metadata: StructCodec;
}

export function createStructuralCodec(options: StructuralCodecOptions): StructuralCodec {
  const { kind, apiVersion, metadata } = options;
  const structural = options.structural && withReadDefaults(options.structural, metadata);
  const version = apiVersion.slice(apiVersion.indexOf("/") + 1);
  const opening = `{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},"metadata":`;
  const refuse = (failure: DecodeFailure) =>
    badRequest(
      `${kind} in version ${JSON.stringify(version)} cannot be handled as a ${kind}: ${failure.describe()}`,
      failure,
    );
  const refuseFor = (why: string) => refuse(new DecodeFailure(undefined, why));
  return {
    decode(input, { keepsNulls = false, dropsInvalid = false } = {}) {
      if (!isJsonObject(input)) throw refuseFor("the body is not an object");
      const unknownFields: string[] = [];
      try {
        const copy =
          structural === undefined
            ? copyAll(input)
            : prune(input, structural, { dropped: unknownFields, keepsNulls });
        // kube-apiserver tells them by their paths, and those of metadata after them.
        sortTexts(unknownFields);
        const object = copy as JsonObject;
        object.metadata = readMetadata(metadata, object.metadata, unknownFields);
        if (structural?.has.embedded) {
          readEmbedded(object, structural, metadata, unknownFields, dropsInvalid);
        }
        // Both may be missing in the body.
        object.kind = kind;
        object.apiVersion = apiVersion;
        return { object: object as unknown as ApiObject, unknownFields };
      } catch (error) {
        if (error instanceof DecodeFailure) throw refuse(error);
        if (error instanceof RangeError) throw refuseFor("exceeded max depth");
        throw error;
      }
    },
    applyDefaults(object) {
      if (structural === undefined) return;
      applyDefaults(object as unknown as JsonObject, structural);
    },
    *applyDefaultsInSteps(object, grew) {
      if (structural === undefined) return;
      const bytes = yield* applyDefaultsInSteps(object as unknown as JsonObject, structural);
      grew?.(bytes);
    },
    validate: structural === undefined ? () => [] : createValidation(structural),
    encode(object) {
      let text = opening + metadata.encode(object.metadata as unknown as JsonObject);
      const members = object as unknown as JsonObject;
      for (const name of sortedKeys(members)) {
        if (name === "kind" || name === "apiVersion" || name === "metadata") continue;
        const value = members[name];
        if (value === undefined) continue;
        text += `,${JSON.stringify(name)}:${stringifyJson(withSortedMembers(value))}`;
      }
      return `${text}}`;
    },
    *encodeInSteps(object) {
      let text = opening;
      text += yield* encodeAny(metadata, object.metadata as unknown as JsonObject);
      const members = object as unknown as JsonObject;
      for (const name of sortedKeys(members)) {
        if (name === "kind" || name === "apiVersion" || name === "metadata") continue;
        const value = members[name];
        if (value === undefined) continue;
        yield;
        text += `,${JSON.stringify(name)}:${yield* stringifyInSteps(value, SORTED)}`;
      }
      return `${text}}`;
    },
  };
}

function readMetadata(
  codec: StructCodec,
  sent: JsonValue | undefined,
  unknownFields: string[],
): JsonValue {
  // A failure has its path from here: kube-apiserver reads metadata apart from the object.
  const own: string[] = [];
  const read = sent === undefined || sent === null ? codec.zero() : codec.decode(sent, own);
  unknownFields.push(...own.map((field) => `metadata.${field}`));
  return read;
}

const SORTED: MemberOrder = {
  *keys(object) {
    const keys = Object.keys(object);
    return areSorted(keys) ? keys : yield* sortInSteps(keys, compareTexts);
  },
  ordered: withSortedMembers,
};
