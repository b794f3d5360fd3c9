/**
 * One mutation of a policy on one object: evaluates the expression and applies what it makes, which is a
 * configuration or a JSON patch.
 */
import { applyJsonPatch, parseJsonPatch } from "../../api/json-patch.js";
import { JsonPatchFailure } from "../../api/json-patch-failure.js";
import type { ApiObject, JsonObject, JsonValue } from "../../api/meta.js";
import { internalError, StatusError } from "../../api/status.js";
import { isCustom, type ServedResource } from "../../kinds/served-resource.js";
import { parseJson } from "../../schema/parse-json.js";
import { decodeServed } from "../matching/write-subject.js";
import { applyMutation, toPlainJson } from "./apply-mutation.js";
import { type Evaluation, ExpressionError } from "./evaluation.js";
import type { Mutation } from "./policy.js";

/** @throws {ExpressionError} also if the result is not an object of the kind */
export function mutated(
  evaluation: Evaluation,
  { expression, program, patchType }: Mutation,
  resource: ServedResource,
  object: ApiObject,
): ApiObject {
  const made = evaluation.evaluate(expression, program);
  const json = parseJson(resource.codec.encode(object)) as JsonObject;
  if (patchType === "JSONPatch") {
    const patched = patchedBy(made, json);
    return patched === undefined ? object : decodePatched(patched, resource);
  }
  try {
    return decodeServed(applyMutation(resource, json, toPlainJson(made) as JsonObject), resource);
  } catch (error) {
    if (!(error instanceof StatusError) && !(error instanceof RangeError)) throw error;
    throw new ExpressionError(`error applying patch: ${error.message}`, "error");
  }
}

/** undefined = a `test` of the patch failed, so none of it counts. @throws {ExpressionError} */
function patchedBy(made: unknown, json: JsonObject): JsonValue | undefined {
  try {
    return applyJsonPatch(json, parseJsonPatch(toPlainJson(made)));
  } catch (error) {
    if (error instanceof JsonPatchFailure) {
      if (error.isTest) return undefined;
      throw new ExpressionError(`JSON Patch: ${error.why}`, "error");
    }
    if (!(error instanceof StatusError) && !(error instanceof RangeError)) throw error;
    throw new ExpressionError(`JSON Patch: ${error.message}`, "error");
  }
}

/** @throws {StatusError} 500 whatever the failure policy, as kube-apiserver: the patch made no object of the kind, or unknown fields */
function decodePatched(patched: JsonValue, resource: ServedResource): ApiObject {
  try {
    return decodeServed(patched, resource, { isStrict: !isCustom(resource) });
  } catch (error) {
    if (!(error instanceof StatusError) || error.code === 500) throw error;
    throw internalError(error.message, error);
  }
}
