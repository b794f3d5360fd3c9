/**
 * The other objects of its namespace that a pod references: pure. They determine what a node may
 * read, and what a mirror pod must not contain.
 */
import type { ApiObject } from "./meta.js";

export interface PodReferences {
  readonly secrets: ReadonlySet<string>;
  readonly configMaps: ReadonlySet<string>;
  /** Persistent volume claims, including those made for ephemeral volumes. */
  readonly claims: ReadonlySet<string>;
  /** Claims of devices. */
  readonly resourceClaims: ReadonlySet<string>;
  /** "" = none. */
  readonly serviceAccount: string;
}

type Named = { readonly name?: string } | null | undefined;

interface Container {
  readonly env?: readonly {
    readonly valueFrom?: {
      readonly secretKeyRef?: Named;
      readonly configMapKeyRef?: Named;
    } | null;
  }[];
  readonly envFrom?: readonly { readonly secretRef?: Named; readonly configMapRef?: Named }[];
}

interface WithSecret {
  readonly secretRef?: Named;
}

interface Volume {
  readonly name?: string;
  readonly secret?: { readonly secretName?: string };
  readonly configMap?: Named;
  readonly projected?: {
    readonly sources?: readonly { readonly secret?: Named; readonly configMap?: Named }[];
  };
  readonly azureFile?: { readonly secretName?: string };
  readonly cephfs?: WithSecret;
  readonly cinder?: WithSecret;
  readonly flexVolume?: WithSecret;
  readonly rbd?: WithSecret;
  readonly scaleIO?: WithSecret;
  readonly iscsi?: WithSecret;
  readonly storageos?: WithSecret;
  readonly csi?: { readonly nodePublishSecretRef?: Named };
  readonly persistentVolumeClaim?: { readonly claimName?: string };
  readonly ephemeral?: object;
}

interface Pod extends ApiObject {
  spec?: {
    readonly serviceAccountName?: string;
    readonly imagePullSecrets?: readonly Named[];
    /** May be null until validation refuses it. */
    readonly containers?: readonly Container[] | null;
    readonly initContainers?: readonly Container[];
    readonly ephemeralContainers?: readonly Container[];
    readonly volumes?: readonly Volume[];
    readonly resourceClaims?: readonly {
      readonly name?: string;
      readonly resourceClaimName?: string;
      readonly resourceClaimTemplateName?: string;
    }[];
  };
  status?: {
    readonly resourceClaimStatuses?: readonly {
      readonly name?: string;
      readonly resourceClaimName?: string;
    }[];
    readonly extendedResourceClaimStatus?: { readonly resourceClaimName?: string } | null;
  };
}

export function podReferences(object: ApiObject): PodReferences {
  const pod = object as Pod;
  const { spec = {} } = pod;
  const secrets = new Names();
  const configMaps = new Names();
  const claims = new Names();
  for (const reference of spec.imagePullSecrets ?? []) secrets.addNamed(reference);
  const { containers, initContainers = [], ephemeralContainers = [] } = spec;
  const all = [...(containers ?? []), ...initContainers, ...ephemeralContainers];
  for (const { env, envFrom } of all) {
    for (const { secretRef, configMapRef } of envFrom ?? []) {
      secrets.addNamed(secretRef);
      configMaps.addNamed(configMapRef);
    }
    for (const { valueFrom } of env ?? []) {
      secrets.addNamed(valueFrom?.secretKeyRef);
      configMaps.addNamed(valueFrom?.configMapKeyRef);
    }
  }
  for (const volume of spec.volumes ?? []) {
    for (const name of volumeSecrets(volume)) secrets.add(name);
    configMaps.addNamed(volume.configMap);
    for (const source of volume.projected?.sources ?? []) configMaps.addNamed(source.configMap);
    claims.add(claimOf(pod, volume));
  }
  return {
    secrets: secrets.all,
    configMaps: configMaps.all,
    claims: claims.all,
    resourceClaims: resourceClaimsOf(pod),
    serviceAccount: spec.serviceAccountName ?? "",
  };
}

class Names {
  readonly all = new Set<string>();

  add(name: string | undefined): void {
    if (name !== undefined && name !== "") this.all.add(name);
  }

  addNamed(reference: Named): void {
    this.add(reference?.name);
  }
}

function volumeSecrets(volume: Volume): (string | undefined)[] {
  const { azureFile, secret, csi, projected } = volume;
  const { cephfs, cinder, flexVolume, rbd, scaleIO, iscsi, storageos } = volume;
  return [
    azureFile?.secretName,
    secret?.secretName,
    csi?.nodePublishSecretRef?.name,
    ...[cephfs, cinder, flexVolume, rbd, scaleIO, iscsi, storageos].map(
      (source) => source?.secretRef?.name,
    ),
    ...(projected?.sources ?? []).map((source) => source.secret?.name),
  ];
}

/** An ephemeral volume has its own claim, named after the pod and the volume. */
function claimOf({ metadata }: Pod, volume: Volume): string | undefined {
  const { persistentVolumeClaim, ephemeral, name = "" } = volume;
  if (persistentVolumeClaim !== undefined) return persistentVolumeClaim.claimName;
  return ephemeral === undefined ? undefined : `${metadata.name ?? ""}-${name}`;
}

/** Only the status has the names of claims made from a template. */
function resourceClaimsOf({ spec, status }: Pod): ReadonlySet<string> {
  const names = new Names();
  // The first of a name counts.
  const made = new Map(
    (status?.resourceClaimStatuses ?? [])
      .toReversed()
      .map((one) => [one.name, one.resourceClaimName]),
  );
  for (const { name, resourceClaimName } of spec?.resourceClaims ?? []) {
    names.add(resourceClaimName ?? made.get(name));
  }
  names.add(status?.extendedResourceClaimStatus?.resourceClaimName);
  return names.all;
}
