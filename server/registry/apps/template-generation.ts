/**
 * The generation of a DaemonSet's template, which it shows in an annotation because it has no field any more: the
 * server counts it, and what a client writes there counts for a new object alone.
 */

import { deepEqual } from "../../api/deep-equal.js";
import type { ApiObject } from "../../api/meta.js";
import { badRequest } from "../../api/status.js";
import { valueAt } from "../generic/fields.js";

const ANNOTATION = "deprecated.daemonset.template.generation";
const TEMPLATE = ["spec", "template"];

/** @throws {StatusError} 400 for a text that is no number */
export function countTemplate(next: ApiObject, current: ApiObject | undefined): void {
  const sent = readGeneration(next);
  // A new set begins at one, whatever it says.
  if (current === undefined) writeGeneration(next, sent === undefined || sent < 1 ? 1 : sent);
  else {
    const before = readGeneration(current) ?? 1;
    const isSame = deepEqual(valueAt(next, TEMPLATE), valueAt(current, TEMPLATE));
    writeGeneration(next, isSame ? before : before + 1);
  }
}

/** Whether an update makes another generation of the template, and not only of the set. */
export function isNewTemplate(next: ApiObject, current: ApiObject): boolean {
  return next.metadata.annotations?.[ANNOTATION] !== current.metadata.annotations?.[ANNOTATION];
}

function readGeneration({ metadata }: ApiObject): number | undefined {
  const text = metadata.annotations?.[ANNOTATION];
  if (text === undefined) return undefined;
  if (/^[+-]?\d{1,15}$/.test(text)) return Number(text);
  throw badRequest(
    `DaemonSet in version "v1" cannot be handled as a DaemonSet: strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`,
  );
}

function writeGeneration({ metadata }: ApiObject, generation: number): void {
  metadata.annotations = { ...metadata.annotations, [ANNOTATION]: String(generation) };
}
