/**
 * The JSON text of a body: its value, and the keys that it repeats. A long text is read in turns of the event
 * loop by a parser of our own, as the platform's cannot be cut: 1.2 MB of labels take it 40 ms.
 */
import type { JsonValue } from "../../api/meta.js";
import { badRequest } from "../../api/status.js";
import { type BodyLimits, refuseLargeText } from "../../codec/body-values.js";
import { duplicateKeySteps, findDuplicateKeys } from "../../codec/json.js";
import { afterSteps, type Pause } from "../../registry/write/long-write.js";
import { JsonSyntaxError } from "../../schema/json-parser.js";
import { parseJson, parseLong, parseWritten } from "../../schema/parse-json.js";

export interface JsonBody {
  readonly value: JsonValue;
  /** Paths of repeated keys; empty when they are not wanted. */
  readonly duplicateFields: readonly string[];
}

export interface JsonBodyOptions {
  /** Those of the body's kind. */
  readonly limits: BodyLimits;
  /** As ObjectDecoders.keepsDecimals. Default false. */
  readonly keepsDecimals?: boolean | undefined;
  readonly findsDuplicates: boolean;
  /** Ends the turn; undefined = the body is short. */
  readonly pause: Pause;
}

/**
 * Returns a promise for a long text only.
 * @throws {StatusError} 400 with the message of `describe`, 413 for too many values
 */
export function readJson(
  text: string,
  describe: (why: string) => string,
  options: JsonBodyOptions,
): JsonBody | Promise<JsonBody> {
  refuseLargeText(text, options.limits);
  if (options.pause !== undefined) return readLong(text, describe, options);
  try {
    const value = options.keepsDecimals === true ? parseWritten(text) : parseJson(text);
    return {
      value,
      duplicateFields: options.findsDuplicates ? findDuplicateKeys(text, value) : [],
    };
  } catch (error) {
    throw asRefusal(error, describe);
  }
}

async function readLong(
  text: string,
  describe: (why: string) => string,
  { keepsDecimals = false, findsDuplicates, pause }: JsonBodyOptions,
): Promise<JsonBody> {
  try {
    return await afterSteps(pause, parseLong(text, keepsDecimals), ({ value, repeatsKeys }) => {
      if (!findsDuplicates || !repeatsKeys) return { value, duplicateFields: [] };
      return afterSteps(pause, duplicateKeySteps(text), (duplicateFields) => {
        return { value, duplicateFields };
      });
    });
  } catch (error) {
    throw asRefusal(error, describe);
  }
}

function asRefusal(error: unknown, describe: (why: string) => string): unknown {
  return error instanceof JsonSyntaxError ? badRequest(describe(error.message)) : error;
}
