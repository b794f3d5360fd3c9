/** A warning about names of workloads that are valid, but become parts of host names. */
import type { ApiObject } from "../../api/meta.js";
import { checkDnsLabel } from "../../api/validation-names.js";

/** For a new workload; existing ones have their pods already. */
export function workloadNameWarnings(next: ApiObject, current: ApiObject | undefined): string[] {
  const messages = current === undefined ? checkDnsLabel(next.metadata.name ?? "") : [];
  if (messages.length === 0) return [];
  return [
    `metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [${messages.join(" ")}]`,
  ];
}
