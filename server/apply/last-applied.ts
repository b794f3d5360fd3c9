/**
 * Migration from client-side to server-side apply (S1-SSA-37). kubectl's annotation holds the last
 * applied configuration, so its server-side apply may take over those fields from the manager that
 * wrote them. The annotation is kept up to date, so that users may go back. Only for kubectl's own
 * manager name.
 */

import type { Steps } from "../../storage/base/steps.js";
import { isJsonObject } from "../api/json-object.js";
import type { JsonObject } from "../api/meta.js";
import type { Naming } from "../api/naming.js";
import { ANNOTATIONS_BYTES_MAX } from "../api/validation-metadata.js";
import { stringifyJson } from "../schema/json-text.js";
import { parseJson } from "../schema/parse-json.js";
import { withSortedMembers } from "../schema/sorted-members.js";
import { checkConfiguration } from "./check-configuration.js";
import { compareInSteps } from "./compare.js";
import { fieldsInSteps } from "./field-extraction.js";
import { EMPTY, type FieldSet, subtractInSteps } from "./field-set.js";
import type { MergeSchema } from "./merge-schema.js";

/** The default manager name of kubectl's server-side apply. */
export const KUBECTL_MANAGER = "kubectl";

/** Maximum nesting of an annotation's text. */
const DEPTH_MAX = 200;

export function lastAppliedKey(naming: Naming): string {
  return `kubectl.${naming.labelDomain}/last-applied-configuration`;
}

/** The fields that were applied client-side and are unchanged since. */
export function* fieldsLastApplied(
  schema: MergeSchema,
  apiVersion: string,
  key: string,
  live: JsonObject,
): Steps<FieldSet> {
  const text = annotationsOf(live)[key];
  const applied = typeof text === "string" ? parseConfiguration(text) : undefined;
  if (applied === undefined || applied.apiVersion !== apiVersion) return EMPTY;
  if ((yield* checkConfiguration(schema.root, applied)).length > 0) return EMPTY;
  const fields = yield* fieldsInSteps(schema.root, applied);
  const since = yield* compareInSteps(schema.root, applied, live);
  if (since === undefined) return fields;
  const unchanged = yield* subtractInSteps(fields, since.changed);
  return yield* subtractInSteps(unchanged, since.removed);
}

/** The merged object with its annotation updated, if it has one. */
export function withLastApplied(key: string, merged: JsonObject, applied: JsonObject): JsonObject {
  const annotations = annotationsOf(merged);
  if (typeof annotations[key] !== "string" || annotations[key] === "") return merged;
  const next: JsonObject = { ...annotations, [key]: textOf(key, applied) };
  if (bytesOf(next) > ANNOTATIONS_BYTES_MAX) delete next[key];
  return { ...merged, metadata: { ...(merged.metadata as JsonObject), annotations: next } };
}

/** In kubectl's format: JSON with sorted members and a newline, without the annotation itself. */
function textOf(key: string, applied: JsonObject): string {
  const { [key]: _, ...annotations } = annotationsOf(applied);
  const metadata = isJsonObject(applied.metadata) ? { ...applied.metadata } : {};
  if (Object.keys(annotations).length > 0) metadata.annotations = annotations;
  else delete metadata.annotations;
  return `${stringifyJson(withSortedMembers({ ...applied, metadata }))}\n`;
}

function annotationsOf(object: JsonObject): JsonObject {
  const { metadata } = object;
  const annotations = isJsonObject(metadata) ? metadata.annotations : undefined;
  return isJsonObject(annotations) ? annotations : {};
}

function bytesOf(annotations: JsonObject): number {
  let bytes = 0;
  for (const key of Object.keys(annotations)) {
    bytes += Buffer.byteLength(key) + Buffer.byteLength(String(annotations[key]));
  }
  return bytes;
}

function parseConfiguration(text: string): JsonObject | undefined {
  // An annotation is free text: deeper nesting than in any configuration is not parsed.
  if (depthOf(text) > DEPTH_MAX) return undefined;
  try {
    const value = parseJson(text);
    return isJsonObject(value) ? value : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  let isInString = false;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (isInString) {
      if (character === "\\") at++;
      else if (character === '"') isInString = false;
    } else if (character === '"') isInString = true;
    else if (character === "[" || character === "{") deepest = Math.max(deepest, ++depth);
    else if (character === "]" || character === "}") depth--;
  }
  return deepest;
}
