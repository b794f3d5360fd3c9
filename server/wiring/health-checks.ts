/** Wiring of health: the checks of a process that has a view of the registry. */
import type { Health } from "../http/health.js";
import type { Views } from "./storage.js";
import type { OpenedStore } from "./store.js";

/** Readiness: the store answers, the view follows it, and the process is not shutting down. */
export function addChecks(
  health: Health,
  { view, freshness }: Views,
  isShuttingDown: () => boolean,
): void {
  health.add(
    {
      name: "etcd",
      async check() {
        await freshness.fresh();
      },
      // A restart would only lose the state in memory.
      shownAt: ["livez"],
    },
    ["readyz", "healthz"],
  );
  health.add(
    {
      name: "informer-sync",
      check() {
        if (!view.isSynced) throw new Error("the view is loading");
      },
    },
    ["readyz"],
  );
  health.add(
    {
      name: "shutdown",
      check() {
        if (isShuttingDown()) throw new Error("the process is shutting down");
      },
    },
    ["readyz"],
  );
}

/** A store that takes no writes serves reads and deletes, so it does not fail the replica. */
export function addSpaceCheck(health: Health, space: OpenedStore["space"]): void {
  if (space === undefined) return;
  const check = () => {
    if (space.shortage !== "none") throw new Error(`no space: ${space.shortage}`);
  };
  health.add({ name: "store-space", check, shownAt: ["readyz", "healthz"] }, []);
}
