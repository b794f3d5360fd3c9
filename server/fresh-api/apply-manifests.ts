/**
 * Applying of manifests at the start, as the administrator through the server's own door: namespaces and definitions
 * first, then the others. What depends on something that is not there yet is tried again until the deadline; what
 * can never be ends the start at once. Server-side apply makes a start over the same data change nothing.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { oneLine } from "../../storage/base/one-line.js";
import type { JsonObject, JsonValue } from "../api/meta.js";
import type { AdminAccess } from "./access.js";
import { AdminClient, type Answer } from "./admin-client.js";
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

/** Why one is not there yet. */
interface Hindrance {
  readonly reason: string;
  /** Waiting does not help. */
  readonly isFinal: boolean;
}

const LINES_MAX = 20;
const REASON_CHARS_MAX = 600;
const FIELD_MANAGER = "manifests";
const AT_ONCE = 8;
const PAUSE_MS_MIN = 10;
const PAUSE_MS_MAX = 500;
/** Answers that the same request will always get. */
const FINAL = new Set([400, 405, 406, 413, 415, 422]);

/** @throws {ManifestsMissing} */
export async function applyManifests(
  objects: readonly PlacedObject[],
  access: AdminAccess,
  deadlineMs: number,
): Promise<void> {
  if (objects.length === 0) return;
  const ending = AbortSignal.timeout(Math.max(1, Math.floor(deadlineMs)));
  const applier = new Applier(access, ending);
  try {
    await applyAll(objects.filter(isFirst), applier, ending);
    await applyAll(
      objects.filter((object) => !isFirst(object)),
      applier,
      ending,
    );
  } finally {
    applier.close();
  }
}

/** Others need it. */
function isFirst(object: PlacedObject): boolean {
  return isDefinition(object) || (object.apiVersion === "v1" && object.kind === "Namespace");
}

function isDefinition({ apiVersion, kind }: PlacedObject): boolean {
  return kind === "CustomResourceDefinition" && apiVersion.startsWith("apiextensions.");
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

class Applier {
  readonly #client: AdminClient;
  readonly #ending: AbortSignal;
  /** By group and version: its kinds, with path and scope. */
  #kinds = new Map<string, Promise<Kinds | Hindrance>>();

  constructor(access: AdminAccess, ending: AbortSignal) {
    this.#ending = ending;
    this.#client = new AdminClient(access, "keelson-manifests");
  }

  /** Definitions make new ones. */
  forgetKinds(): void {
    this.#kinds = new Map();
  }

  close(): void {
    this.#client.close();
  }

  /** @returns undefined when it is there and in force */
  async apply(placed: PlacedObject): Promise<Hindrance | undefined> {
    try {
      const path = await this.#pathOf(placed);
      if (typeof path !== "string") return path;
      const query = `?fieldManager=${FIELD_MANAGER}&force=true`;
      const answer = await this.#client.ask("PATCH", path + query, {
        body: placed.object,
        contentType: "application/apply-patch+yaml",
        signal: this.#ending,
      });
      if (answer.status >= 300) return hindranceOf(answer);
      return isDefinition(placed) ? hindranceOfDefinition(answer.value) : undefined;
    } catch (error) {
      return { reason: oneLine(error), isFinal: false };
    }
  }

  async #pathOf({ apiVersion, kind, namespace, name }: PlacedObject): Promise<string | Hindrance> {
    let known = this.#kinds.get(apiVersion);
    if (known === undefined) {
      known = this.#discover(apiVersion);
      this.#kinds.set(apiVersion, known);
    }
    const kinds = await known;
    if (!(kinds instanceof Map)) return kinds;
    const found = kinds.get(kind);
    if (found === undefined) {
      return { reason: `${apiVersion} has no kind ${JSON.stringify(kind)}`, isFinal: false };
    }
    const { resource, isNamespaced } = found;
    if (!isNamespaced && namespace !== "") {
      return { reason: `${kind} has no namespace`, isFinal: true };
    }
    const within = isNamespaced ? `/namespaces/${encodeURIComponent(namespace || "default")}` : "";
    return `${pathOfVersion(apiVersion)}${within}/${resource}/${encodeURIComponent(name)}`;
  }

  async #discover(apiVersion: string): Promise<Kinds | Hindrance> {
    const { status, value } = await this.#client.ask("GET", pathOfVersion(apiVersion), {
      signal: this.#ending,
    });
    if (status === 404) return { reason: `${apiVersion} is not served`, isFinal: false };
    if (status !== 200) return hindranceOf({ status, value });
    const { resources = [] } = value as unknown as DiscoveredVersion;
    return new Map(
      resources
        .filter(({ name }) => !name.includes("/"))
        .map(({ name, kind, namespaced }) => [kind, { resource: name, isNamespaced: namespaced }]),
    );
  }
}

type Kinds = Map<string, { readonly resource: string; readonly isNamespaced: boolean }>;

interface DiscoveredVersion {
  readonly resources?: readonly {
    readonly name: string;
    readonly kind: string;
    readonly namespaced: boolean;
  }[];
}

interface Condition {
  readonly type?: JsonValue;
  readonly status?: JsonValue;
  readonly message?: JsonValue;
}

function pathOfVersion(apiVersion: string): string {
  const path = apiVersion.split("/").map(encodeURIComponent).join("/");
  return path.includes("/") ? `/apis/${path}` : `/api/${path}`;
}

function hindranceOf({ status, value }: Answer): Hindrance {
  return {
    reason: `${String(value.message ?? "refused")} (${status})`,
    isFinal: FINAL.has(status),
  };
}

function hindranceOfDefinition({ status }: JsonObject): Hindrance | undefined {
  const { conditions = [] } = (status ?? {}) as { conditions?: readonly Condition[] };
  const isTrue = (type: string) => conditions.some((c) => c.type === type && c.status === "True");
  if (isTrue("Established")) return undefined;
  const names = conditions.find((c) => c.type === "NamesAccepted" && c.status === "False");
  const why = names === undefined ? "" : `: ${String(names.message)}`;
  return { reason: `not established${why}`, isFinal: false };
}
