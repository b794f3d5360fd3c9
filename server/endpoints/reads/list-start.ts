/**
 * Finds the start of a list (S1-RV-04..28, S1-LIST): the state that its version or continue token names,
 * from memory if available, else from the store's history.
 */
import type { Revision } from "../../../storage/kv/store.js";
import { expired, StatusError } from "../../api/status.js";
import { type ContinueToken, formatContinueToken, type ListIdentity } from "../continue-token.js";
import type { Listing, Start } from "./listing.js";
import type { Wanted } from "./read-options.js";

/** The start of a new list. @throws {StatusError} 503, 504 */
export async function startOf(listing: Listing, wanted: Wanted): Promise<Start> {
  const { ctx, resource, services } = listing;
  const { reader } = services;
  await reader.reach(wanted, ctx.state);
  const partition = reader.view.partition(resource.partition);
  if (wanted.kind === "exact") return stateAt(listing, wanted.revision);
  const { revision, tree } = partition.snapshot();
  return { revision, tree, after: "", remaining: undefined };
}

/** The state at an exact revision, from memory if possible. */
function stateAt({ resource, services }: Listing, revision: Revision): Start {
  const { reader, history, usesSnapshots = true } = services;
  const partition = reader.view.partition(resource.partition);
  const tree = usesSnapshots ? partition.snapshotAt(revision)?.tree : undefined;
  if (tree === undefined) history.countFallback();
  return { revision, tree, after: "", remaining: undefined };
}

/** The start of a further page. @throws {StatusError} 503, 504 */
export async function continuation(listing: Listing, token: ContinueToken): Promise<Start> {
  const { ctx, resource, services } = listing;
  const { reader } = services;
  const { revision, after, remaining } = token;
  if (revision === -1) {
    await reader.reach({ kind: "mostRecent" }, ctx.state);
    const snapshot = reader.view.partition(resource.partition).snapshot();
    return { ...snapshot, after, remaining: undefined };
  }
  await reader.reach({ kind: "atLeast", revision }, ctx.state);
  return { ...stateAt(listing, revision), after, remaining };
}

/** Whether the requested state no longer exists anywhere. */
export function isExpired(error: unknown): boolean {
  return error instanceof StatusError && error.code === 410;
}

/** The client may still finish its list, at the price of consistency (S1-LIST-07). */
export function expiredToken({ after }: ContinueToken, identity: ListIdentity): StatusError {
  const message =
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.";
  return expired(message, formatContinueToken({ revision: -1, after }, identity));
}
