/** Warnings about services that are accepted, with settings that are deprecated or say nothing. */
import type { ApiObject } from "../../api/meta.js";
import type { StrategyContext } from "../../kinds/strategy.js";
import type { ServiceObject } from "./service-types.js";

export function serviceWarnings(
  next: ApiObject,
  _current: unknown,
  { naming }: Pick<StrategyContext, "naming">,
): string[] {
  const warnings: string[] = [];
  const { metadata } = next;
  const { spec = {} } = next as ServiceObject;
  const prefix = `service.${naming.labelDomain}`;
  if (metadata.annotations?.[`${prefix}/topology-aware-hints`] !== undefined) {
    warnings.push(
      `annotation ${prefix}/topology-aware-hints is deprecated, please use ${prefix}/topology-mode instead`,
    );
  }
  const members = spec as Readonly<Record<string, unknown>>;
  const hasExternalIps = (spec.externalIPs?.length ?? 0) > 0;
  const isHeadless = spec.type === "ClusterIP" && spec.clusterIP === "None";
  if (isHeadless) {
    if ((members.loadBalancerIP ?? "") !== "") {
      warnings.push("spec.loadBalancerIP is ignored for headless services");
    }
    if (hasExternalIps) warnings.push("spec.externalIPs is ignored for headless services");
    if ((members.sessionAffinity ?? "None") !== "None") {
      warnings.push("spec.SessionAffinity is ignored for headless services");
    }
  }
  const isName = spec.type === "ExternalName";
  if (hasExternalIps && !isHeadless && !isName) {
    warnings.push(
      "spec.externalIPs is deprecated and may no longer be implemented in some clusters",
    );
  }
  if (isName && hasExternalIps) {
    warnings.push('spec.externalIPs is ignored when spec.type is "ExternalName"');
  }
  if (!isName && (members.externalName ?? "") !== "") {
    warnings.push('spec.externalName is ignored when spec.type is not "ExternalName"');
  }
  if (members.trafficDistribution === "PreferClose") {
    warnings.push('spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"');
  }
  return warnings;
}
