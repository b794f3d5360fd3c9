/**
 * ComponentStatus: the health of the components that the API depends on, checked anew on every
 * read. Deprecated, but some people still look at it first (`kubectl get componentstatuses`).
 */
import type { ApiObject } from "../../api/meta.js";
import type { ComputedSource } from "../../kinds/served-resource.js";

export interface Component {
  readonly name: string;
  /** Returns when it is healthy; has its own deadline. @throws {Error} with one line otherwise */
  check(): void | Promise<void>;
}

/** The source of the resource, sorted by component name. */
export function componentStatuses(components: readonly Component[]): ComputedSource {
  const ordered = [...components].sort((a, b) => (a.name < b.name ? -1 : 1));
  return () => Promise.all(ordered.map(statusOf));
}

async function statusOf({ name, check }: Component): Promise<ApiObject> {
  let error = "";
  try {
    await check();
  } catch (reason) {
    error = reason instanceof Error ? reason.message : String(reason);
  }
  const condition =
    error === ""
      ? { type: "Healthy", status: "True", message: "ok" }
      : { type: "Healthy", status: "False", error };
  return {
    kind: "ComponentStatus",
    apiVersion: "v1",
    metadata: { name },
    conditions: [condition],
  };
}

interface Lease extends Pick<ApiObject, "metadata"> {
  readonly spec?: { readonly renewTime?: string; readonly leaseDurationSeconds?: number };
}

/** The clocks of replicas may differ by this many lease durations. */
const LEASES_OF_SKEW = 2;

/** @throws {Error} while nobody renews the control loops' lease */
export function checkLease(lease: Lease | undefined, nowMs: number): void {
  const { renewTime = "", leaseDurationSeconds = 0 } = lease?.spec ?? {};
  const renewedMs = Date.parse(renewTime);
  if (Number.isNaN(renewedMs)) throw new Error("no process runs the control loops");
  if (nowMs - renewedMs <= leaseDurationSeconds * 1000 * LEASES_OF_SKEW) return;
  throw new Error(`no process has run the control loops since ${renewTime}`);
}
