/**
 * Naming: every identifier that contains the vendor's name. The profile `kubernetes` has the three
 * spellings of existing clients (k8s, kubernetes, kube); any other vendor is spelled uniformly. No
 * other file spells a vendor's name.
 */

/** The vendor whose names existing clients know; the default of `--vendor`. */
export const DEFAULT_VENDOR = "kubernetes";

/** The group suffix in the facts of the built-in types. */
const FACTS_GROUP_SUFFIX = ".k8s.io";

export interface Naming {
  readonly vendor: string;
  /** Suffix of API groups and of API-level annotations: "k8s.io" or "acme.io". */
  readonly groupDomain: string;
  /** Prefix of well-known labels, annotations and finalizers: "kubernetes.io" or "acme.io". */
  readonly labelDomain: string;
  /** "application/vnd.kubernetes.protobuf" or "application/vnd.acme.protobuf". */
  readonly protobufMediaType: string;
  /** The finalizer in `spec.finalizers` of a namespace: "kubernetes" or "acme". */
  readonly namespaceFinalizer: string;
  /** The prefix of system names: "kube" or "acme". */
  readonly systemPrefix: string;
  /** The ConfigMap in every namespace by which pods verify this API. */
  readonly rootAuthorityMap: string;
  readonly systemNamespace: string;
  readonly publicNamespace: string;
  readonly nodeLeaseNamespace: string;
  /** The prefix of encrypted values in the store: "k8s:enc:" or "acme:enc:". */
  readonly encryptionPrefix: string;
  /** Environment variable through which an exec credential plug-in gets its input (S2-EXEC-06). */
  readonly execInfoVariable: string;
  /** A group as the facts spell it ("rbac.authorization.k8s.io", "apps") in this vendor's spelling. */
  group(factsGroup: string): string;
}

/**
 * The names of one vendor.
 * @param vendor a DNS label such as "acme". @throws {RangeError} for anything else
 */
export function createNaming(vendor: string): Naming {
  if (!/^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/.test(vendor)) {
    throw new RangeError(`vendor ${JSON.stringify(vendor)} is not a DNS label`);
  }
  const isDefault = vendor === DEFAULT_VENDOR;
  const groupDomain = isDefault ? "k8s.io" : `${vendor}.io`;
  const systemPrefix = isDefault ? "kube" : vendor;
  return Object.freeze({
    vendor,
    groupDomain,
    labelDomain: `${vendor}.io`,
    protobufMediaType: `application/vnd.${vendor}.protobuf`,
    namespaceFinalizer: vendor,
    systemPrefix,
    rootAuthorityMap: `${systemPrefix}-root-ca.crt`,
    systemNamespace: `${systemPrefix}-system`,
    publicNamespace: `${systemPrefix}-public`,
    nodeLeaseNamespace: `${systemPrefix}-node-lease`,
    encryptionPrefix: `${isDefault ? "k8s" : vendor}:enc:`,
    execInfoVariable: `${vendor.toUpperCase().replaceAll("-", "_")}_EXEC_INFO`,
    group: (factsGroup: string) =>
      factsGroup.endsWith(FACTS_GROUP_SUFFIX)
        ? `${factsGroup.slice(0, -FACTS_GROUP_SUFFIX.length)}.${groupDomain}`
        : factsGroup,
  });
}

/** The group without the vendor's domain: "rbac.authorization"; other groups unchanged. */
export function withoutDomain(naming: Naming, group: string): string {
  const domain = `.${naming.groupDomain}`;
  return group.endsWith(domain) ? group.slice(0, -domain.length) : group;
}
