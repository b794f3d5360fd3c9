/**
 * StructuralCodec: the schema-driven codec of one version of a custom kind: decoding, defaults,
 * validation, and the canonical text that is stored and served. It is the counterpart of the facts'
 * codec of a built-in kind. The differences: nulls are kept, unknown members may be kept, and an
 * invalid field of the schema is a 422, while only metadata is typed (C-14).
 *
 * Members are sorted, as in kube-apiserver, so that the same content has the same text, whatever
 * its sender and order.
 */

import { finishNow, type Steps } from "../../storage/base/steps.js";
import { invalidValue } from "../api/field-errors.js";
import { isJsonObject } from "../api/json-object.js";
import type { LongWork } from "../api/long-work.js";
import type { ApiObject, JsonObject, JsonValue } from "../api/meta.js";
import { Problems } from "../api/problems.js";
import { badRequest, type FieldError } from "../api/status.js";
import { stringifyInSteps, stringifyJson } from "../schema/json-text.js";
import type { DecodeOptions, DecodeResult } from "../schema/object-codec.js";
import { areSorted, sortedKeys } from "../schema/sorted-keys.js";
import type { StructCodec } from "../schema/struct-codec.js";
import { DecodeFailure, encodeAny } from "../schema/value-codec.js";
import { applyDefaults } from "./defaulting.js";
import {
  readEmbedded,
  validateEmbedded,
  validateEmbeddedInSteps,
  withReadDefaults,
} from "./embedded.js";
import type { JsonSchema } from "./json-schema.js";
import { listTypeSteps } from "./list-types.js";
import { copyAll, prune } from "./prune.js";
import { createRuleCheck } from "./rules.js";
import type { Structural } from "./structural.js";
import { Findings, STEP_WORK_MAX, TakesLong, WHOLE, WorkMeter } from "./value-findings.js";
import { compileValidator } from "./value-validator.js";

export interface StructuralCodec {
  /** @throws {StatusError} 400 for metadata of a wrong type */
  decode(input: JsonValue, options?: DecodeOptions): DecodeResult;
  /** In place. */
  applyDefaults(object: ApiObject): void;
  /** With `current`, existing errors of unchanged values are tolerated. */
  validate(object: ApiObject, current?: ApiObject, options?: ValidationOptions): FieldError[];
  /** Canonical JSON text without trailing newline. */
  encode(object: ApiObject): string;
  /** The same in steps. */
  encodeInSteps(object: ApiObject): Steps<string>;
}

export interface ValidationOptions {
  /** "status": of the schema only what it says of the status is asked. */
  readonly subresource?: string;
  /** Receives tolerated errors of rules. */
  readonly warn?: ((text: string) => void) | undefined;
  /** Takes what may take long; absent = all is done at once. */
  readonly long?: LongWork | undefined;
}

export interface StructuralCodecOptions {
  readonly kind: string;
  readonly apiVersion: string;
  /** undefined = a version without a schema, or with all unknown fields kept. */
  readonly structural: Structural | undefined;
  /** The codec of ObjectMeta. */
  readonly metadata: StructCodec;
}

/** Reasons that prevent rules from running, as their values would be invalid. */
const BLOCKING: ReadonlySet<FieldError["reason"]> = new Set([
  "FieldValueNotSupported",
  "FieldValueRequired",
  "FieldValueTooLong",
  "FieldValueTooMany",
  "FieldValueTypeInvalid",
]);

const NOT_ASKED =
  "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";

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
        // Upstream tells them by their paths, and those of metadata after them.
        unknownFields.sort();
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
    validate: structural === undefined ? () => [] : createValidation(structural),
    encode(object) {
      let text = opening + metadata.encode(object.metadata as unknown as JsonObject);
      const members = object as unknown as JsonObject;
      for (const name of sortedKeys(members)) {
        if (name === "kind" || name === "apiVersion" || name === "metadata") continue;
        const value = members[name];
        if (value === undefined) continue;
        text += `,${JSON.stringify(name)}:${stringifyJson(inOrder(value))}`;
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
        const ordered = inOrder(value);
        yield;
        text += `,${JSON.stringify(name)}:${yield* stringifyInSteps(ordered)}`;
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

function createValidation(structural: Structural): StructuralCodec["validate"] {
  const check = checkOf(structural.schema);
  const status = structural.schema.properties?.status;
  const checkStatus = status === undefined ? undefined : checkOf(status);
  const checkRules = structural.has.rules ? createRuleCheck(structural) : undefined;
  const ofObject = (
    next: JsonObject,
    old: JsonObject | undefined,
    workMax: number | undefined,
  ): FieldError[] => [
    ...check(next, old, "", workMax),
    ...(structural.has.embedded ? validateEmbedded(next, structural) : []),
  ];
  function* ofObjectInSteps(next: JsonObject, old: JsonObject | undefined): Steps<FieldError[]> {
    const errors = yield* check.inSteps(next, old);
    if (structural.has.embedded) errors.push(...(yield* validateEmbeddedInSteps(next, structural)));
    return errors;
  }
  const ofStatus = (
    next: JsonObject,
    old: JsonObject | undefined,
    workMax: number | undefined,
  ): FieldError[] =>
    checkStatus === undefined || next.status === undefined
      ? []
      : checkStatus(next.status, old?.status, "status", workMax);
  function* ofStatusInSteps(next: JsonObject, old: JsonObject | undefined): Steps<FieldError[]> {
    return checkStatus === undefined || next.status === undefined
      ? []
      : yield* checkStatus.inSteps(next.status, old?.status, "status");
  }
  return (object, current, { subresource = "", warn, long } = {}) => {
    const next = object as unknown as JsonObject;
    const old = current as unknown as JsonObject | undefined;
    const isOfStatus = subresource === "status";
    const leaveAll = (later: LongWork): FieldError[] => {
      later.leave(function* (found) {
        const errors = yield* isOfStatus ? ofStatusInSteps(next, old) : ofObjectInSteps(next, old);
        const isBlocked = errors.some(isBlocking);
        found.push(...errors);
        if (structural.has.uniqueLists) yield* newlyRepeated(next, old, structural, found);
        if (checkRules === undefined) return;
        if (isBlocked) found.push(invalidValue(WHOLE, null, NOT_ASKED));
        else found.push(...(yield* checkRules.inSteps(next, old, { warn })));
      });
      return [];
    };
    if (long?.isOfLarge === true) return leaveAll(long);
    let errors: FieldError[];
    try {
      const workMax = long === undefined ? undefined : STEP_WORK_MAX;
      errors = isOfStatus ? ofStatus(next, old, workMax) : ofObject(next, old, workMax);
    } catch (error) {
      if (long === undefined || !(error instanceof TakesLong)) throw error;
      return leaveAll(long);
    }
    if (structural.has.uniqueLists) finishNow(newlyRepeated(next, old, structural, errors));
    if (checkRules === undefined) return errors;
    if (errors.some(isBlocking)) errors.push(invalidValue(WHOLE, null, NOT_ASKED));
    else if (long === undefined) errors.push(...checkRules(next, old, { warn }));
    else {
      // What a rule costs, its object's size does not tell.
      long.leave(function* (found) {
        found.push(...(yield* checkRules.inSteps(next, old, { warn })));
      });
    }
    return errors;
  };
}

function isBlocking({ reason }: FieldError): boolean {
  return BLOCKING.has(reason);
}

/** Checks a value by a schema; the messages name fields as from the value. */
function checkOf(schema: JsonSchema) {
  const check = compileValidator(schema);
  const now = (
    value: JsonValue,
    old: JsonValue | undefined,
    base = "",
    workMax?: number,
  ): FieldError[] => {
    const meter = new WorkMeter(workMax);
    let findings = new Findings({ meter });
    check(value, findings);
    if (findings.size > 0 && old !== undefined) {
      // Only invalid objects are compared with their old state: a valid one costs no comparison.
      findings = new Findings({ meter });
      check(value, findings, old);
    }
    return findings.size === 0 ? [] : findings.toErrors(base);
  };
  function* inSteps(value: JsonValue, old: JsonValue | undefined, base = ""): Steps<FieldError[]> {
    if (check.inSteps === undefined) return now(value, old, base);
    let findings = new Findings();
    yield* check.inSteps(value, findings);
    if (findings.size > 0 && old !== undefined) {
      findings = new Findings();
      yield* check.inSteps(value, findings, old);
    }
    return findings.size === 0 ? [] : findings.toErrors(base);
  }
  return Object.assign(now, { inSteps });
}

/** Repeated items of an object, unless the old one has some as well. */
function* newlyRepeated(
  next: JsonObject,
  old: JsonObject | undefined,
  structural: Structural,
  errors: FieldError[],
): Steps<void> {
  const repeated = yield* repeatedItems(next, structural);
  if (repeated.length === 0) return;
  if (old !== undefined && (yield* repeatedItems(old, structural)).length > 0) return;
  errors.push(...repeated);
}

function* repeatedItems(object: JsonObject, structural: Structural): Steps<FieldError[]> {
  const errors = new Problems();
  yield* listTypeSteps(object, structural, "", errors);
  return errors;
}

/** The value with all members sorted; the value itself if they already are. */
function inOrder(value: JsonValue): JsonValue {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    let copy: JsonValue[] | undefined;
    for (let index = 0; index < value.length; index++) {
      const item = value[index] as JsonValue;
      const sorted = inOrder(item);
      if (sorted === item && copy === undefined) continue;
      copy ??= value.slice(0, index);
      copy[index] = sorted;
    }
    return copy ?? value;
  }
  const keys = Object.keys(value);
  if (areSorted(keys)) {
    let copy: JsonObject | undefined;
    for (const key of keys) {
      const member = value[key];
      if (typeof member !== "object" || member === null) continue;
      const sorted = inOrder(member);
      if (sorted === member) continue;
      copy ??= { ...value };
      copy[key] = sorted;
    }
    return copy ?? value;
  }
  return Object.fromEntries(
    keys
      .filter((key) => value[key] !== undefined)
      .sort()
      .map((key) => [key, inOrder(value[key] as JsonValue)]),
  );
}
