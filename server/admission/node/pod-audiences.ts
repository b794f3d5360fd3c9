/**
 * The audiences of a pod's tokens: those of the token volumes that it mounts and those that its storage
 * drivers request. A node gets no token of the pod for other audiences.
 */
import type { ApiObject } from "../../api/meta.js";
import type { Naming } from "../../api/naming.js";
import { type AdmissionView, findObject } from "../stored-objects.js";

interface Volume {
  readonly name?: string;
  readonly projected?: {
    readonly sources?: readonly { readonly serviceAccountToken?: { readonly audience?: string } }[];
  };
  readonly csi?: { readonly driver?: string };
  readonly persistentVolumeClaim?: { readonly claimName?: string };
  readonly ephemeral?: object;
}

/** @param audience "" = that of this server */
export function podMentionsAudience(
  view: AdmissionView,
  naming: Naming,
  pod: ApiObject,
  audience: string,
): boolean {
  const { volumes = [] } = (pod.spec ?? {}) as { volumes?: readonly Volume[] };
  return volumes.some((volume) => {
    const sources = volume.projected?.sources ?? [];
    const isMounted = sources.some(
      ({ serviceAccountToken: token }) =>
        token !== undefined && (token.audience ?? "") === audience,
    );
    if (isMounted) return true;
    const driver = volume.csi?.driver ?? driverOfClaim(view, pod, volume);
    return driver !== undefined && driverAsksFor(view, naming, driver, audience);
  });
}

function driverOfClaim(view: AdmissionView, pod: ApiObject, volume: Volume): string | undefined {
  const { namespace = "", name = "" } = pod.metadata;
  const ephemeral = volume.ephemeral && `${name}-${volume.name ?? ""}`;
  const claimName = volume.persistentVolumeClaim?.claimName ?? ephemeral ?? "";
  const claims = { group: "", resource: "persistentvolumeclaims" };
  const claim = findObject(view, claims, namespace, claimName);
  const { volumeName = "" } = (claim?.spec ?? {}) as { volumeName?: string };
  const volumes = { group: "", resource: "persistentvolumes" };
  const persistent = findObject(view, volumes, "", volumeName);
  return ((persistent?.spec ?? {}) as { csi?: { driver?: string } }).csi?.driver;
}

function driverAsksFor(
  view: AdmissionView,
  { groupDomain }: Naming,
  name: string,
  audience: string,
): boolean {
  const drivers = { group: `storage.${groupDomain}`, resource: "csidrivers" };
  const spec = findObject(view, drivers, "", name)?.spec;
  const { tokenRequests = [] } = (spec ?? {}) as {
    tokenRequests?: readonly { audience?: string }[];
  };
  return tokenRequests.some((request) => (request.audience ?? "") === audience);
}
