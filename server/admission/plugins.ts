/**
 * Admission plugins by name: in which order they run, which are on when nothing is said, and which
 * ones the flags choose. Names and order are upstream's, as what one sets another one looks at.
 * A name that no plugin was given for is unknown to the flags.
 */
import type { AdmissionPlugin } from "./admission.js";

/** In the order of the chain. */
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
  // Webhooks and policies see what all others made of the object, quotas what is left to count.
  "MutatingAdmissionPolicy",
  "MutatingAdmissionWebhook",
  "ValidatingAdmissionPolicy",
  "ValidatingAdmissionWebhook",
  "ResourceQuota",
  "AlwaysDeny",
];

/**
 * Off unless asked for. Two differ from upstream. StorageObjectInUseProtection is on there: its
 * finalizers are taken off by controllers that come with the scheduler, and without them no claim
 * could ever be deleted. NodeRestriction is off there, as is the Node authorizer; here that one is on,
 * and without this plugin a node could give itself every secret by a pod of its own making.
 */
const OFF_BY_DEFAULT: ReadonlySet<string> = new Set([
  "AlwaysPullImages",
  "ExtendedResourceToleration",
  "StorageObjectInUseProtection",
  "OwnerReferencesPermissionEnforcement",
  "DenyServiceExternalIPs",
]);

export interface PluginChoice {
  /** `--enable-admission-plugins` */
  readonly enabled: readonly string[];
  /** `--disable-admission-plugins` */
  readonly disabled: readonly string[];
}

/** Names of the plugins in the order in which they run, and whether each is on by default. */
export function describePlugins(
  plugins: readonly AdmissionPlugin[],
): readonly { readonly name: string; readonly isDefault: boolean }[] {
  return inOrder(plugins).map(({ name }) => ({ name, isDefault: !OFF_BY_DEFAULT.has(name) }));
}

/**
 * The plugins that are to run, in order.
 * @throws {RangeError} one line for a name that is unknown, or both enabled and disabled
 */
export function choosePlugins(
  plugins: readonly AdmissionPlugin[],
  { enabled, disabled }: PluginChoice,
): AdmissionPlugin[] {
  const known = new Set(plugins.map(({ name }) => name));
  refuseUnknown("enable", enabled, known);
  // What there is not is off already, so flags that were written for upstream do no harm.
  refuseUnknown("disable", disabled, new Set([...known, ...ORDER]));
  const both = enabled.filter((name) => disabled.includes(name));
  if (both.length > 0) {
    const names = both.join(", ");
    throw new RangeError(`${names}: in --enable- and in --disable-admission-plugins`);
  }
  return inOrder(plugins).filter(
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

function inOrder(plugins: readonly AdmissionPlugin[]): AdmissionPlugin[] {
  const position = ({ name }: AdmissionPlugin) => {
    const index = ORDER.indexOf(name);
    return index < 0 ? ORDER.length : index;
  };
  return [...plugins].sort((left, right) => position(left) - position(right));
}
