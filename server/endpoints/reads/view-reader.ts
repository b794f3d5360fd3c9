/**
 * ViewReader: waits until the view has the state that a read asks for, or reports why it cannot
 * (S1-RV-01..06, S1-RV-29). Use the result synchronously: the next await may change the view.
 */
import type { RegistryView } from "../../../storage/cache/registry-view.js";
import { serviceUnavailable, timeout, tooLargeResourceVersion } from "../../api/status.js";
import { type Barrier, reachNow, type Waiting } from "../../request/reach-now.js";
import type { Wanted, WantedVersion } from "./read-options.js";

/** The wait for a version that does not exist yet (S1-RV-29: about 3 s). */
const FUTURE_REVISION_WAIT_MS = 3_000;
/** Longer versions are invalid; error messages truncate them. */
const SHOWN_DIGITS_MAX = 40;

export interface ViewReader {
  readonly view: RegistryView;
  /**
   * Resolves when the view can answer; undefined if it can do so now.
   * @throws {StatusError} 503 the view is not loaded or the store is unreachable; 504 a future
   *   version
   */
  reach(wanted: Wanted, request: Waiting): Promise<void> | undefined;
}

export function createViewReader(view: RegistryView, freshness: Barrier): ViewReader {
  return {
    view,
    reach(wanted, request) {
      const waiting = wait(wanted, request);
      if (waiting !== undefined) return waiting.then(refuseUnlessSynced);
      refuseUnlessSynced();
      return undefined;
    },
  };

  function wait(wanted: Wanted, request: Waiting): Promise<void> | undefined {
    switch (wanted.kind) {
      case "any":
        return undefined;
      case "mostRecent":
        return request.isFresh ? undefined : reachNow(freshness, request);
      case "atLeast":
      case "exact":
        return view.revision < wanted.revision
          ? reachRevision(view, freshness, wanted, request)
          : undefined;
    }
  }

  /** Checked after waiting too: a defect may have occurred meanwhile. */
  function refuseUnlessSynced(): void {
    if (!view.isSynced) throw serviceUnavailable("the view of the registry is still loading");
  }
}

async function reachRevision(
  view: RegistryView,
  freshness: Barrier,
  { revision, asked }: WantedVersion,
  { signal }: Waiting,
): Promise<void> {
  const deadline = AbortSignal.timeout(FUTURE_REVISION_WAIT_MS);
  try {
    // Another replica may have seen the revision, even without a later write below our prefix.
    freshness.fresh().catch(() => {});
    await view.waitForRevision(revision, AbortSignal.any([deadline, signal]));
  } catch {
    if (deadline.aborted) {
      const shown =
        asked === undefined || asked.length > SHOWN_DIGITS_MAX ? revision : BigInt(asked);
      throw tooLargeResourceVersion(shown, view.revision);
    }
    if (signal.aborted) throw signal.reason;
    throw timeout("the version was not reached in time", 1);
  }
}
