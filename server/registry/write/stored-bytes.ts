/**
 * The bytes of an object to be stored: the one place where they are made, and the last line of defence. What would
 * not read back as the same value is never committed, whoever made it: a request, a webhook, a rule, a default, a
 * conversion or a loop of ours. Input is refused earlier, with a 400; what gets here is our own defect, and
 * stored it would make a whole resource unreadable for everybody.
 */

import type { Steps } from "../../../storage/base/steps.js";
import type { ApiObject, JsonValue } from "../../api/meta.js";
import { internalError } from "../../api/status.js";
import type { StoredResource } from "../../kinds/served-resource.js";
import { JSON_DEPTH_MAX } from "../../schema/json-parser.js";
import { stringifyJson, Unwritable } from "../../schema/json-text.js";

export interface StorableHost {
  /** Told of a value that was not stored, with the reason. */
  readonly onUnstorable?: ((why: string) => void) | undefined;
}

/**
 * @param isLong whether it is worth while to encode the object in steps
 * @throws {StatusError} 500 for a value that could not be read again
 */
export function* storedBytes(
  registry: StorableHost,
  { storedCodec, conversion }: Pick<StoredResource, "storedCodec" | "conversion">,
  judged: ApiObject,
  isLong: boolean,
): Steps<Buffer> {
  const object = conversion?.settle?.(judged) ?? judged;
  const why = isLong ? yield* unstorableInSteps(object, 1) : unstorable(object, 0);
  if (why !== undefined) throw refusal(registry, why);
  try {
    if (!isLong || storedCodec.encodeInSteps === undefined) {
      return Buffer.from(storedCodec.encode(object));
    }
    yield;
    const text = yield* storedCodec.encodeInSteps(object);
    yield;
    return Buffer.from(text);
  } catch (error) {
    throw error instanceof Unwritable ? refusal(registry, error.message, error) : error;
  }
}

/** The same for the few values that have no codec. */
export function plainBytes(registry: StorableHost, value: object): Buffer {
  const why = unstorable(value, 0);
  if (why !== undefined) throw refusal(registry, why);
  return Buffer.from(stringifyJson(value as JsonValue));
}

function refusal({ onUnstorable }: StorableHost, why: string, cause?: unknown) {
  onUnstorable?.(why);
  return internalError(`the object could not be read again and was not stored: ${why}`, cause);
}

/** Node.js has it, the library of types of this target does not. */
type CheckedText = string & { isWellFormed(): boolean };

/** Why a value is not the same in JSON; undefined when it is. A walk costs a fraction of the encoding. */
function unstorable(value: unknown, depth: number): string | undefined {
  switch (typeof value) {
    case "string":
      return (value as CheckedText).isWellFormed() ? undefined : "a text has half of a character";
    case "number":
      return Number.isFinite(value) ? undefined : `${value} is no JSON number`;
    case "object":
      return value === null ? undefined : unstorableWithin(value, depth + 1);
    case "boolean":
    case "bigint":
    case "undefined":
      return undefined;
    default:
      return `a ${typeof value} is no JSON`;
  }
}

/** Members that are looked at in one step. */
const STRETCH = 200;

function* unstorableInSteps(value: object, depth: number): Steps<string | undefined> {
  if (depth > JSON_DEPTH_MAX) return TOO_DEEP;
  const members = value as Readonly<Record<string, unknown>>;
  let seen = 0;
  for (const key in members) {
    if (++seen % STRETCH === 0) yield;
    if (!(key as CheckedText).isWellFormed()) return BROKEN_KEY;
    const member = members[key];
    const isWithin = typeof member === "object" && member !== null;
    const why = isWithin ? yield* unstorableInSteps(member, depth + 1) : unstorable(member, depth);
    if (why !== undefined) return why;
  }
  return undefined;
}

const TOO_DEEP = `it is nested deeper than ${JSON_DEPTH_MAX}`;
const BROKEN_KEY = "a key has half of a character";

function unstorableWithin(value: object, depth: number): string | undefined {
  if (depth > JSON_DEPTH_MAX) return TOO_DEEP;
  if (Array.isArray(value)) {
    for (const item of value) {
      const why = unstorable(item, depth);
      if (why !== undefined) return why;
    }
    return undefined;
  }
  const members = value as Readonly<Record<string, unknown>>;
  for (const key in members) {
    if (!(key as CheckedText).isWellFormed()) return BROKEN_KEY;
    const why = unstorable(members[key], depth);
    if (why !== undefined) return why;
  }
  return undefined;
}
