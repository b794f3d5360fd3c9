/**
 * Rewrite: stores an object again in today's form (version, schema, encryption) without changing its
 * content. Admission is not involved, as it judges changes.
 *
 *   look ─► make it of itself ─► differs from what lies there? ─► put, on condition of what was seen
 *                                          │ no, or somebody else has just written it ─► nothing
 */
import type { Revision } from "../../../storage/kv/store.js";
import { conflict, notFound, StatusError } from "../../api/status.js";
import type { MainResource } from "../../kinds/served-resource.js";
import { SERVER_USER } from "../../request/user-info.js";
import type { Registry, WriteOptions } from "../registry.js";
import { orUnreadable, parseCurrent } from "./current.js";
import { decideUpdate, type MakeNext } from "./decide-update.js";
import type { Decision, Seen } from "./decision.js";
import { afterSteps } from "./long-write.js";
import { runWrite } from "./write.js";

export interface RewriteTarget {
  /** In its stored version. */
  readonly resource: MainResource;
  readonly namespace: string;
  readonly name: string;
  /** Whether its stored form is outdated in a way that is invisible above the store. */
  readonly isStale: boolean;
}

/** "kept": the form was current, or another write has updated it. */
export type Rewritten = "rewritten" | "kept" | "gone";

/** The view must be fresh. @throws {StatusError} the object is unreadable, or invalid today */
export async function rewriteObject(
  registry: Registry,
  { resource, namespace, name, isStale }: RewriteTarget,
  signal: AbortSignal,
): Promise<Rewritten> {
  const { admission: _admission, ...unasked } = registry;
  const target = { resource, namespace, name, subresource: "", options: OPTIONS };
  let seenAt: Revision | undefined;
  const decide = async ({ current, write }: Seen): Promise<Decision> => {
    if (current === undefined) throw notFound(resource, name);
    seenAt ??= current.revision;
    if (current.revision !== seenAt) return { action: "same", object: parseCurrent(current) };
    const made = decideUpdate(unasked, target, { current, write }, unchanged, signal);
    const decision = made instanceof Promise ? await made : made;
    if (decision.action !== "same") return decision;
    // Without its value the check of the stored form is skipped.
    return isStale ? { ...decision, action: "put" } : { action: "same", object: decision.object };
  };
  try {
    const { isStored } = await runWrite(
      registry,
      {
        resource,
        namespace,
        isDryRun: false,
        isProved: true,
        name: () => name,
        decide,
        explain: (error, current) => orUnreadable(error, resource, current),
        lost: () => conflict(resource, name),
      },
      signal,
    );
    return isStored ? "rewritten" : "kept";
  } catch (error) {
    if (error instanceof StatusError && error.code === 404) return "gone";
    throw error;
  }
}

const OPTIONS: WriteOptions = Object.freeze({
  isDryRun: false,
  fieldManager: "storage-version-migrator-controller",
  fieldValidation: "Ignore",
  user: SERVER_USER,
  warn() {},
});

const unchanged: MakeNext = (served, _, pause) => afterSteps(pause, served(), (object) => object);
