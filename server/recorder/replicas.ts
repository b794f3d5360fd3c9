/** Replicas: where the replicas of this API are, by the leases that they renew. */

import { isRecord } from "../../storage/base/is-record.js";
import type { RegistryView } from "../../storage/cache/registry-view.js";
import { partitionId } from "../../storage/objects/keys.js";
import type { Naming } from "../api/naming.js";
import { parseJson } from "../schema/parse-json.js";
import type { ReplicaAsked } from "./record-types.js";

export interface ReplicasParts {
  readonly view: RegistryView;
  readonly naming: Naming;
  /** "host:port" of this one. */
  readonly own: () => string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** Two renewals that were missed, and clocks that differ. */
const SILENT_MS = 60_000;
const REPLICAS_MAX = 100;
const OTHERS = "each replica answers for itself";

/** Empty while there is one only. */
export function livingReplicas({ view, naming, own, now }: ReplicasParts): readonly ReplicaAsked[] {
  const leases = partitionId(`coordination.${naming.groupDomain}`, "leases");
  const addresses = new Set<string>();
  view
    .partition(leases)
    .snapshot()
    .tree.visit(naming.systemNamespace, "", ({ bytes, corruption }) => {
      if (corruption !== undefined || addresses.size >= REPLICAS_MAX) return undefined;
      const address = addressOf(parseJson(bytes), naming, now());
      if (address !== undefined) addresses.add(address);
      return undefined;
    });
  addresses.add(own());
  if (addresses.size === 1) return [];
  return [...addresses].sort().map((address) => {
    const isAsked = address === own();
    return { address, isAsked, problem: isAsked ? "" : OTHERS };
  });
}

/** Of a lease of a replica that is renewed. */
function addressOf(lease: unknown, { labelDomain }: Naming, nowMs: number): string | undefined {
  if (!isRecord(lease) || !isRecord(lease.metadata) || !isRecord(lease.spec)) return undefined;
  const { annotations } = lease.metadata;
  const address = isRecord(annotations)
    ? annotations[`apiserver.${labelDomain}/advertise-address`]
    : undefined;
  const renewedAtMs = Date.parse(String(lease.spec.renewTime ?? ""));
  return typeof address === "string" && nowMs - renewedAtMs < SILENT_MS ? address : undefined;
}
