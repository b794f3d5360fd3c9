/**
 * ObjectCodec: decodes, defaults, validates and encodes objects of one kind, compiled once. Every request
 * uses it. It is pure, except that defaults may read the time. This one is built from the facts; KindCodec
 * in server/kinds is the contract that also covers kinds without facts.
 */

import type { Steps } from "../../storage/base/steps.js";
import type { ApiObject, JsonObject, JsonValue } from "../api/meta.js";
import { formatGroupVersion } from "../api/names.js";
import { badRequest, type FieldError } from "../api/status.js";
import { createChecks } from "./checks.js";
import { createDefaulting, type DefaultingOptions, fillInSteps } from "./defaulting.js";
import type { Facts, StructType } from "./model.js";
import { createCodecCompiler } from "./struct-codec.js";
import { DecodeFailure, decodeAny } from "./value-codec.js";

export interface DecodeResult {
  readonly object: ApiObject;
  /** Paths of the fields that the type does not have, such as "spec.containers[0].x". */
  readonly unknownFields: readonly string[];
}

export interface DecodeOptions {
  /**
   * Keeps the nulls of fields of custom kinds that may not be null, for validation to refuse: an applied
   * configuration owns them. Otherwise they count as not sent.
   */
  readonly keepsNulls?: boolean;
  /** For stored objects of custom kinds: leaves out what of embedded metadata has the wrong type. */
  readonly dropsInvalid?: boolean;
}

export interface ObjectCodec {
  /**
   * Checks JSON types and drops unknown fields. Returns a new object that has every always-written
   * field. @throws {StatusError} 400 for a wrong JSON type, caused by a DecodeFailure
   */
  decode(input: JsonValue, options?: DecodeOptions): DecodeResult;
  /** The same in steps. Absent = it cannot be cut. @throws {StatusError} as decode */
  decodeInSteps?(input: JsonValue, options?: DecodeOptions): Steps<DecodeResult>;
  /**
   * Whether decoding a stored object would give the same: all fields known and of their JSON types. Cheap, as
   * it is asked of everything that is read from the store. Absent = always.
   */
  fits?(object: Readonly<Record<string, unknown>>): boolean;
  /** Sets defaults in place: those of the schema and, for built-in kinds, those set in code. */
  applyDefaults(object: ApiObject): void;
  /**
   * The same in steps. Absent = they cannot be cut.
   * @param grew is told how many bytes were filled in, where a small object may get many
   */
  applyDefaultsInSteps?(object: ApiObject, grew?: (bytes: number) => void): Steps<void>;
  /** Checks required fields and closed enums. The registry checks metadata. */
  validate(object: ApiObject): FieldError[];
  /** Canonical JSON text without trailing newline. */
  encode(object: ApiObject): string;
  /** The same in steps. Absent = it cannot be cut. */
  encodeInSteps?(object: ApiObject): Steps<string>;
}

export interface ObjectCodecs {
  /** The codec of a kind of the facts; undefined if there is none. */
  forKind(group: string, version: string, kind: string): ObjectCodec | undefined;
}

export function createObjectCodecs(facts: Facts, options: DefaultingOptions = {}): ObjectCodecs {
  const compiler = createCodecCompiler(facts.model);
  const defaulting = createDefaulting(facts, options);
  const checks = createChecks(facts.model);
  const codecs = new Map<StructType, ObjectCodec>();

  function createCodec(type: StructType, apiVersion: string, version: string): ObjectCodec {
    const { name: kind } = type;
    const whole = compiler.struct(type);
    const body = compiler.kindBody(type);
    const opening = `{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)}`;
    let defaults: { readonly fillIn: ReturnType<typeof defaulting> } | undefined;
    const check = checks(type);
    const refuse = (failure: DecodeFailure) =>
      badRequest(
        `${kind} in version ${JSON.stringify(version)} cannot be handled as a ${kind}: ${failure.describe()}`,
        failure,
      );
    const named = (decoded: JsonObject, unknownFields: readonly string[]): DecodeResult => {
      // A decoded kind has the members of its type, and so the shape of ApiObject.
      decoded.kind = kind;
      decoded.apiVersion = apiVersion;
      return { object: decoded as unknown as ApiObject, unknownFields };
    };
    const refused = (error: unknown): unknown => {
      if (error instanceof DecodeFailure) return refuse(error);
      // Input from elsewhere than parseJson may be too deeply nested for the stack.
      const isDeep = error instanceof RangeError;
      return isDeep ? refuse(new DecodeFailure(undefined, "exceeded max depth")) : error;
    };
    const fillIn = () => {
      // On first use: finding out whether a kind has any goes through all of its types.
      defaults ??= { fillIn: defaulting(type) };
      return defaults.fillIn;
    };
    return {
      decode(input) {
        const unknownFields: string[] = [];
        try {
          return named(whole.decode(input, unknownFields) as JsonObject, unknownFields);
        } catch (error) {
          throw refused(error);
        }
      },
      *decodeInSteps(input) {
        const unknownFields: string[] = [];
        try {
          const decoded = yield* decodeAny(whole, input, unknownFields);
          return named(decoded as JsonObject, unknownFields);
        } catch (error) {
          throw refused(error);
        }
      },
      fits: (object) => whole.fits(object),
      applyDefaults: (object) => fillIn()?.(object as unknown as JsonObject),
      applyDefaultsInSteps: (object) => fillInSteps(fillIn(), object as unknown as JsonObject),
      validate: (object) => check(object as unknown as JsonObject),
      encode: (object) => body.encodeAfter(opening, object as unknown as JsonObject),
      encodeInSteps: (object) => body.encodeAfterInSteps(opening, object as unknown as JsonObject),
    };
  }

  return {
    forKind(group, version, kind) {
      const type = facts.model.kind(group, version, kind);
      if (type === undefined) return undefined;
      let codec = codecs.get(type);
      if (codec === undefined) {
        codec = createCodec(type, formatGroupVersion({ group, version }), version);
        codecs.set(type, codec);
      }
      return codec;
    },
  };
}
