/** Warnings about names that are valid, but become host names or parts of them. */
import type { ApiObject } from "../../api/meta.js";
import { checkDnsLabel } from "../../api/validation-names.js";

/** For a new workload; existing ones have their pods already. */
export function workloadNameWarnings(next: ApiObject, current: ApiObject | undefined): string[] {
  return current === undefined ? nameWarnings(next, "in Pod names and hostnames") : [];
}

/** For a new pod. */
export function podNameWarnings(next: ApiObject): string[] {
  return nameWarnings(next, "in the Pod's hostname");
}

function nameWarnings({ metadata: { name = "" } }: ApiObject, where: string): string[] {
  const messages = checkDnsLabel(name);
  if (messages.length === 0) return [];
  return [
    `metadata.name: this is used ${where}, which can result in surprising behavior; a DNS label is recommended: [${messages.join(" ")}]`,
  ];
}
