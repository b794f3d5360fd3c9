/**
 * Applying of manifests at the start, as the administrator through the server's own door: namespaces and definitions
 * first, then the others. What depends on something that is not there yet is tried again until the deadline; what
 * can never be ends the start at once. Server-side apply makes a start over the same data change nothing.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { oneLine } from "../../storage/base/one-line.js";
import type { AdminAccess } from "./access.js";
import { AdminClient } from "./admin-client.js";
import { Applier, isDefinition } from "./applier.js";
import type { PlacedObject } from "./manifests.js";

/** Why objects are not there: a line for each, of which as many are kept as somebody reads. */
export class ManifestsMissing extends Error {
  override readonly name = "ManifestsMissing";
  readonly lines: readonly string[];

  constructor(lines: readonly string[]) {
    const more = lines.length - LINES_MAX;
    const shown = lines.slice(0, LINES_MAX);
    if (more > 0) shown.push(`manifests: and ${more} more`);
    super(shown.join("\n"));
    this.lines = shown;
  }
}

/** What is said about a start that failed. */
export function linesOf(error: unknown): readonly string[] {
  return error instanceof ManifestsMissing ? error.lines : [oneLine(error)];
}

const LINES_MAX = 20;
const REASON_CHARS_MAX = 600;
const AT_ONCE = 8;
const PAUSE_MS_MIN = 10;
const PAUSE_MS_MAX = 500;
/** @throws {ManifestsMissing} */
export async function applyManifests(
  objects: readonly PlacedObject[],
  access: AdminAccess,
  deadlineMs: number,
): Promise<void> {
  if (objects.length === 0) return;
  const ending = AbortSignal.timeout(Math.max(1, Math.floor(deadlineMs)));
  const client = new AdminClient(access, "keelson-manifests");
  const applier = new Applier(client, ending);
  try {
    await applyAll(objects.filter(isFirst), applier, ending);
    await applyAll(
      objects.filter((object) => !isFirst(object)),
      applier,
      ending,
    );
  } finally {
    client.close();
  }
}

/** Others need it. */
function isFirst(object: PlacedObject): boolean {
  return isDefinition(object) || (object.apiVersion === "v1" && object.kind === "Namespace");
}

async function applyAll(objects: readonly PlacedObject[], applier: Applier, ending: AbortSignal) {
  let waiting = objects;
  let pauseMs = PAUSE_MS_MIN;
  const reasons = new Map<PlacedObject, string>();
  while (waiting.length > 0) {
    const left: PlacedObject[] = [];
    const never: PlacedObject[] = [];
    applier.forgetKinds();
    let i = 0;
    for (; i < waiting.length && !ending.aborted; i += AT_ONCE) {
      const some = waiting.slice(i, i + AT_ONCE);
      const hindrances = await Promise.all(some.map((object) => applier.apply(object)));
      for (const [at, object] of some.entries()) {
        const hindrance = hindrances[at];
        if (hindrance === undefined) continue;
        // What the deadline cut off says nothing about the object; what hindered it before does.
        if (hindrance.isFinal || !ending.aborted) reasons.set(object, hindrance.reason);
        (hindrance.isFinal ? never : left).push(object);
      }
    }
    for (const untried of waiting.slice(i)) left.push(untried);
    const describe = (object: PlacedObject) =>
      lineOf(object, reasons.get(object) ?? "not applied in time");
    if (never.length > 0) throw new ManifestsMissing(never.map(describe));
    if (left.length > 0 && ending.aborted) throw new ManifestsMissing(left.map(describe));
    pauseMs = left.length < waiting.length ? PAUSE_MS_MIN : Math.min(pauseMs * 2, PAUSE_MS_MAX);
    waiting = left;
    await sleep(pauseMs, undefined, { signal: ending }).catch(() => {});
  }
}

function lineOf({ place, kind, namespace, name }: PlacedObject, reason: string): string {
  const id = namespace === "" ? name : `${namespace}/${name}`;
  return oneLine(`manifests: ${place}: ${kind} ${id}: ${reason}`).slice(0, REASON_CHARS_MAX);
}
