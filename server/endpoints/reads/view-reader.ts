/**
 * ViewReader: brings the view to the state that a read asks for, and says clearly when it cannot
 * (S1-RV-01..06, S1-RV-29). What it gives is used synchronously afterwards: the next await may
 * change the view.
 */
import type { FreshnessBarrier } from "../../../storage/cache/freshness.js";
import type { RegistryView } from "../../../storage/cache/registry-view.js";
import { StorageError } from "../../../storage/kv/errors.js";
import type { Revision } from "../../../storage/kv/store.js";
import {
  StatusError,
  serviceUnavailable,
  timeout,
  tooLargeResourceVersion,
} from "../../api/status.js";
import type { Wanted } from "./read-options.js";

/** A version that does not exist yet is waited for so long (S1-RV-29: about 3 s). */
const FUTURE_REVISION_WAIT_MS = 3_000;

export interface ViewReader {
  readonly view: RegistryView;
  /**
   * Resolves when the view can answer.
   * @throws {StatusError} 503 not loaded, or the store is out of reach; 504 a future version
   */
  reach(wanted: Wanted): Promise<void>;
}

export function createViewReader(view: RegistryView, freshness: FreshnessBarrier): ViewReader {
  return {
    view,
    async reach(wanted) {
      if (!view.isSynced) throw serviceUnavailable("the view of the registry is still loading");
      switch (wanted.kind) {
        case "any":
          return;
        case "mostRecent":
          await reachNow(freshness);
          return;
        case "atLeast":
        case "exact":
          if (view.revision < wanted.revision)
            await reachRevision(view, freshness, wanted.revision);
          return;
      }
    },
  };
}

async function reachNow(freshness: FreshnessBarrier): Promise<void> {
  try {
    await freshness.fresh();
  } catch (error) {
    if (error instanceof StorageError) {
      throw serviceUnavailable("the store is not reachable or has no quorum; try again later");
    }
    throw error;
  }
}

async function reachRevision(
  view: RegistryView,
  freshness: FreshnessBarrier,
  revision: Revision,
): Promise<void> {
  const deadline = AbortSignal.timeout(FUTURE_REVISION_WAIT_MS);
  try {
    // Another replica may have seen it already, without any write below our prefix since.
    freshness.fresh().catch(() => {});
    await view.waitForRevision(revision, deadline);
  } catch (error) {
    if (deadline.aborted) throw tooLargeResourceVersion(revision, view.revision);
    throw error instanceof StatusError ? error : timeout("the version was not reached in time");
  }
}
