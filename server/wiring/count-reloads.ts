/** The count of changed files that were read again and have no count of their own. */
import type { Metrics } from "../metrics/metrics.js";

/** Called for each change with its result. */
export type ObserveReload = (isGood: boolean) => void;

/** Once for a process. */
export function countReloads(metrics: Metrics): ObserveReload {
  const reloads = metrics.counter({
    name: "apiserver_certificate_reloads_total",
    help: "Changed files of certificates, keys, passwords, webhooks and the audit policy, by whether they could be used.",
    labelNames: ["result"],
  });
  // Otherwise the first failure is no increase to Prometheus, and raises no alert.
  for (const result of ["success", "failure"]) reloads.add(0, result);
  return (isGood) => reloads.add(1, isGood ? "success" : "failure");
}
