/** Wiring of health: the checks of a process that has a view of the registry. */
import type { Health } from "../http/health.js";
import type { Views } from "./storage.js";

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
