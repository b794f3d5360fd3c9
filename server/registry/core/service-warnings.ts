/** Warnings about services that are accepted, with settings that are deprecated or say nothing. */
import type { ApiObject } from "../../api/meta.js";
import type { StrategyContext } from "../../kinds/strategy.js";
import { warnOfAddress, warnOfBlock } from "../generic/address-warnings.js";
import { WarningList } from "../generic/warning-list.js";
import type { ServiceObject } from "./service-types.js";

export function serviceWarnings(
  next: ApiObject,
  _current: unknown,
  { naming }: Pick<StrategyContext, "naming">,
): readonly string[] {
  const warnings = new WarningList();
  const { metadata } = next;
  const { spec = {} } = next as ServiceObject;
  const prefix = `service.${naming.labelDomain}`;
  if (metadata.annotations?.[`${prefix}/topology-aware-hints`] !== undefined) {
    warnings.add(
      `annotation ${prefix}/topology-aware-hints is deprecated, please use ${prefix}/topology-mode instead`,
    );
  }
  const members = spec as Readonly<Record<string, unknown>>;
  const hasExternalIps = (spec.externalIPs?.length ?? 0) > 0;
  if (spec.clusterIP !== "None") {
    (spec.clusterIPs ?? []).forEach((ip, index) => {
      warnOfAddress(ip, `spec.clusterIPs[${index}]`, warnings);
    });
  }
  const isHeadless = spec.type === "ClusterIP" && spec.clusterIP === "None";
  if (isHeadless) {
    if ((spec.loadBalancerIP ?? "") !== "") {
      warnings.add("spec.loadBalancerIP is ignored for headless services");
    }
    if (hasExternalIps) warnings.add("spec.externalIPs is ignored for headless services");
    if ((members.sessionAffinity ?? "None") !== "None") {
      warnings.add("spec.SessionAffinity is ignored for headless services");
    }
  }
  const isName = spec.type === "ExternalName";
  (spec.externalIPs ?? []).forEach((ip, index) => {
    warnOfAddress(ip, `spec.externalIPs[${index}]`, warnings);
  });
  if (hasExternalIps && !isHeadless && !isName) {
    warnings.add(
      "spec.externalIPs is deprecated and may no longer be implemented in some clusters",
    );
  }
  warnOfAddress(spec.loadBalancerIP ?? "", "spec.loadBalancerIP", warnings);
  (spec.loadBalancerSourceRanges ?? []).forEach((range, index) => {
    warnOfBlock(range, `spec.loadBalancerSourceRanges[${index}]`, warnings);
  });
  if (isName && hasExternalIps) {
    warnings.add('spec.externalIPs is ignored when spec.type is "ExternalName"');
  }
  if (!isName && (members.externalName ?? "") !== "") {
    warnings.add('spec.externalName is ignored when spec.type is not "ExternalName"');
  }
  if (members.trafficDistribution === "PreferClose") {
    warnings.add('spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"');
  }
  return warnings.texts;
}
