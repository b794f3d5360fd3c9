/**
 * Which control loops run: the flag `--controllers`, a list of names. "*" stands for all, "name" for
 * one, "-name" for one less; the first entry that speaks of a loop decides. Names are upstream's, the
 * short ones that command lines have always had and the long ones that came later.
 */

/** Short names, with the long ones. */
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

/** The first entry of a list that names no loop; undefined = all do. */
export function unknownController(list: readonly string[]): string | undefined {
  const known = new Set<string>([...Object.keys(CONTROLLERS), ...Object.values(CONTROLLERS), ALL]);
  return list.find((entry) => !known.has(entry.replace(/^-/, "")) || entry === `-${ALL}`);
}
