/**
 * Admission plugins by name: their order, their defaults, and the choice by flags. Names and order are
 * kube-apiserver's, because some plugins depend on the results of others. The flags reject a name without a
 * plugin.
 */
import type { AdmissionPlugin } from "./admission.js";

/** In chain order. */
const ORDER: readonly string[] = [
  "AlwaysAdmit",
  "NamespaceAutoProvision",
  "NamespaceLifecycle",
  "NamespaceExists",
  "LimitPodHardAntiAffinityTopology",
  "LimitRanger",
  "ServiceAccount",
  "NodeRestriction",
  "TaintNodesByCondition",
  "AlwaysPullImages",
  "ImagePolicyWebhook",
  "PodSecurity",
  "PodNodeSelector",
  "Priority",
  "DefaultTolerationSeconds",
  "PodTolerationRestriction",
  "EventRateLimit",
  "ExtendedResourceToleration",
  "DefaultStorageClass",
  "StorageObjectInUseProtection",
  "PodGroupProtection",
  "OwnerReferencesPermissionEnforcement",
  "PersistentVolumeClaimResize",
  "RuntimeClass",
  "CertificateApproval",
  "CertificateSigning",
  "ClusterTrustBundleAttest",
  "CertificateSubjectRestriction",
  "DefaultIngressClass",
  "DenyServiceExternalIPs",
  "PodTopologyLabels",
  "PodGroupWorkloadExists",
  "NodeDeclaredFeatureValidator",
  "JobValidation",
  "PodResizeValidator",
  // Webhooks and policies see the final object of the other plugins; quotas count what is left.
  "MutatingAdmissionPolicy",
  "MutatingAdmissionWebhook",
  "ValidatingAdmissionPolicy",
  "ValidatingAdmissionWebhook",
  "ResourceQuota",
  "AlwaysDeny",
];

/**
 * Off by default. Three differ from kube-apiserver. StorageObjectInUseProtection and PodGroupProtection are on
 * there: their finalizers are removed by controllers that come with the scheduler, and without these no
 * such object could ever be deleted. NodeRestriction is off there, like the Node authorizer; here the
 * authorizer is on, and without this plugin a node could read every secret through a pod of its own.
 */
const OFF_BY_DEFAULT: ReadonlySet<string> = new Set([
  "AlwaysAdmit",
  "AlwaysDeny",
  "AlwaysPullImages",
  "DenyServiceExternalIPs",
  "EventRateLimit",
  "ExtendedResourceToleration",
  "ImagePolicyWebhook",
  "LimitPodHardAntiAffinityTopology",
  "NamespaceAutoProvision",
  "NamespaceExists",
  "OwnerReferencesPermissionEnforcement",
  "PodGroupProtection",
  "PodNodeSelector",
  "PodTolerationRestriction",
  "StorageObjectInUseProtection",
]);

export interface PluginChoice {
  /** `--enable-admission-plugins` */
  readonly enabled: readonly string[];
  /** `--disable-admission-plugins` */
  readonly disabled: readonly string[];
}

/** Names of the plugins in chain order, and whether each is on by default. */
export function describePlugins(
  plugins: readonly AdmissionPlugin[],
): readonly { readonly name: string; readonly isDefault: boolean }[] {
  return inChainOrder(plugins).map(({ name }) => ({ name, isDefault: !OFF_BY_DEFAULT.has(name) }));
}

/**
 * Returns the chosen plugins, in order.
 * @throws {RangeError} one line for a name that is unknown, or both enabled and disabled
 */
export function choosePlugins(
  plugins: readonly AdmissionPlugin[],
  { enabled, disabled }: PluginChoice,
): AdmissionPlugin[] {
  const known = new Set(plugins.map(({ name }) => name));
  refuseUnknown("enable", enabled, known);
  // A plugin that is missing here is off already, so flags written for kube-apiserver stay valid.
  refuseUnknown("disable", disabled, new Set([...known, ...ORDER]));
  const both = enabled.filter((name) => disabled.includes(name));
  if (both.length > 0) {
    const names = both.join(", ");
    throw new RangeError(`${names}: in --enable- and in --disable-admission-plugins`);
  }
  return inChainOrder(plugins).filter(
    ({ name }) => enabled.includes(name) || (!OFF_BY_DEFAULT.has(name) && !disabled.includes(name)),
  );
}

function refuseUnknown(
  verb: "enable" | "disable",
  names: readonly string[],
  known: ReadonlySet<string>,
): void {
  const unknown = names.find((name) => !known.has(name));
  if (unknown === undefined) return;
  throw new RangeError(
    `--${verb}-admission-plugins: plugin ${JSON.stringify(unknown)} is unknown; known are ${[...known].sort().join(", ")}`,
  );
}

function inChainOrder(plugins: readonly AdmissionPlugin[]): AdmissionPlugin[] {
  const position = ({ name }: AdmissionPlugin) => {
    const index = ORDER.indexOf(name);
    return index < 0 ? ORDER.length : index;
  };
  return [...plugins].sort((left, right) => position(left) - position(right));
}
