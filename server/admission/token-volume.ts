/** The volume that gives a pod's containers their token, the root CA and their namespace. */
import { randomInt } from "node:crypto";
import type { ApiObject } from "../api/meta.js";
import type { Naming } from "../api/naming.js";

export interface VolumeMount {
  name: string;
  mountPath: string;
  readOnly?: boolean;
}

export interface SecretSelector {
  readonly name?: string;
}

export interface Container {
  readonly name?: string;
  volumeMounts?: VolumeMount[] | null;
  readonly env?:
    | readonly {
        readonly name?: string;
        readonly valueFrom?: { readonly secretKeyRef?: SecretSelector | null } | null;
      }[]
    | null;
  readonly envFrom?: readonly { readonly secretRef?: SecretSelector | null }[] | null;
}

export interface Volume {
  readonly name: string;
  readonly [source: string]: unknown;
}

export interface PodSpec {
  serviceAccountName?: string;
  serviceAccount?: string;
  automountServiceAccountToken?: boolean | null;
  imagePullSecrets?: { name: string }[] | null;
  volumes?: Volume[] | null;
  initContainers?: Container[] | null;
  containers?: Container[] | null;
  ephemeralContainers?: Container[] | null;
}

/** The fields of a pod that concern its account. */
export interface PodObject extends ApiObject {
  spec: PodSpec;
}

/**
 * The lifetime of the tokens that a node requests for this volume. The odd number tells the server
 * that no person chose it: see PROJECTED_LIFETIME_SECONDS of the issuer.
 */
const LIFETIME_SECONDS = 3607;
const FILE_MODE = 0o644;

const NAME_CHARACTERS = "bcdfghjklmnpqrstvwxz2456789";
const SUFFIX_LENGTH = 5;

/** Mounts the token unless its path is taken already. @returns whether the pod changed */
export function mountToken(naming: Naming, spec: PodSpec): boolean {
  const mountPath = `/var/run/secrets/${naming.labelDomain}/serviceaccount`;
  const prefix = `${naming.systemPrefix}-api-access-`;
  const lacking = [...(spec.initContainers ?? []), ...(spec.containers ?? [])].filter(
    ({ volumeMounts }) => !(volumeMounts ?? []).some((mount) => mount.mountPath === mountPath),
  );
  if (lacking.length === 0) return false;
  // A copy of another pod has the volume already.
  const known = (spec.volumes ?? []).find(({ name }) => name.startsWith(prefix));
  const name = known?.name ?? prefix + makeSuffix();
  for (const container of lacking) {
    const mount = { name, readOnly: true, mountPath };
    container.volumeMounts = [...(container.volumeMounts ?? []), mount];
  }
  if (known === undefined) spec.volumes = [...(spec.volumes ?? []), tokenVolume(naming, name)];
  return true;
}

function tokenVolume({ rootAuthorityMap }: Naming, name: string): Volume {
  const fieldRef = { apiVersion: "v1", fieldPath: "metadata.namespace" };
  return {
    name,
    projected: {
      sources: [
        { serviceAccountToken: { expirationSeconds: LIFETIME_SECONDS, path: "token" } },
        { configMap: { items: [{ key: "ca.crt", path: "ca.crt" }], name: rootAuthorityMap } },
        { downwardAPI: { items: [{ fieldRef, path: "namespace" }] } },
      ],
      defaultMode: FILE_MODE,
    },
  };
}

/** Without vowels, so that it spells no words. */
function makeSuffix(): string {
  const pick = () => NAME_CHARACTERS[randomInt(NAME_CHARACTERS.length)] ?? "";
  return Array.from({ length: SUFFIX_LENGTH }, pick).join("");
}
