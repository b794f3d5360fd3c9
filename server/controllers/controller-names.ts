/**
 * Chooses the control loops by the flag `--controllers`, a list of names. "*" enables all, "name" one,
 * "-name" disables one; the first entry that applies to a loop decides. Names are kube-apiserver's, both the
 * original short ones and the newer long ones.
 */

/** Long names by short name. */
export const CONTROLLERS = {
  namespace: "namespace-controller",
  customresourcedefinition: "customresourcedefinition-controller",
  garbagecollector: "garbage-collector-controller",
  resourcequota: "resourcequota-controller",
  "ttl-after-finished": "ttl-after-finished-controller",
  "clusterrole-aggregation": "clusterrole-aggregation-controller",
  serviceaccount: "serviceaccount-controller",
  "serviceaccount-token": "serviceaccount-token-controller",
  "root-ca-cert-publisher": "root-ca-certificate-publisher-controller",
  tokencleaner: "token-cleaner-controller",
  bootstrapsigner: "bootstrap-signer-controller",
  "validatingadmissionpolicy-status": "validatingadmissionpolicy-status-controller",
  "storage-version-migrator": "storage-version-migrator-controller",
} as const satisfies Readonly<Record<string, string>>;

export type ControllerName = keyof typeof CONTROLLERS;

const ALL = "*";

/** Whether the list turns a loop on. */
export function isControllerEnabled(name: ControllerName, list: readonly string[]): boolean {
  for (const entry of list) {
    const isOff = entry.startsWith("-");
    const asked = isOff ? entry.slice(1) : entry;
    if (asked === name || asked === CONTROLLERS[name]) return !isOff;
  }
  return list.includes(ALL);
}

/** The first entry that names no loop; undefined = none. */
export function unknownController(list: readonly string[]): string | undefined {
  const known = new Set<string>([...Object.keys(CONTROLLERS), ...Object.values(CONTROLLERS), ALL]);
  return list.find((entry) => !known.has(entry.replace(/^-/, "")) || entry === `-${ALL}`);
}
