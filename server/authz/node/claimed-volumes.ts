/**
 * ClaimedVolumes: persistent volumes by their claim, and by the secrets that a node needs to mount
 * them. Follows the view of volumes in its own turn, but parses a changed volume only on the next
 * query: volumes change more often than nodes query their secrets.
 */
import type { Partition } from "../../../storage/cache/partition.js";
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import type { ApiObject } from "../../api/meta.js";

/** "namespace/name". */
export type ObjectPath = string;

interface Volume {
  readonly claim: ObjectPath;
  readonly secrets: readonly ObjectPath[];
}

export class ClaimedVolumes {
  readonly #volumes: Pick<Partition, "get" | "observe">;
  /** Volumes changed since they were last parsed, by name. Bounded by the number of volumes. */
  readonly #unread = new Set<string>();
  readonly #byName = new Map<string, Volume>();
  /** Volume names by secret. */
  readonly #bySecret = new Map<ObjectPath, Set<string>>();

  constructor(volumes: Pick<Partition, "get" | "observe">) {
    this.#volumes = volumes;
    volumes.observe({
      replaced: (tree) => {
        for (const name of this.#byName.keys()) this.#unread.add(name);
        tree.visit("", "", ({ name }) => {
          this.#unread.add(name);
          return undefined;
        });
      },
      put: ({ name }) => void this.#unread.add(name),
      deleted: ({ name }) => void this.#unread.add(name),
    });
  }

  /** The volume's claim; undefined = none, or no such volume. */
  claimOf(volume: string): ObjectPath | undefined {
    this.#read();
    return this.#byName.get(volume)?.claim;
  }

  /** The claims whose volumes need the secret for mounting. */
  claimsOfSecret(secret: ObjectPath): ObjectPath[] {
    this.#read();
    const names = this.#bySecret.get(secret);
    if (names === undefined) return [];
    return [...names].flatMap((name) => this.#byName.get(name)?.claim ?? []);
  }

  #read(): void {
    for (const name of this.#unread) {
      this.#forget(name);
      const stored = this.#volumes.get(name);
      const volume = stored && parseVolume(stored);
      if (volume !== undefined) this.#remember(name, volume);
    }
    this.#unread.clear();
  }

  #remember(name: string, volume: Volume): void {
    this.#byName.set(name, volume);
    for (const secret of volume.secrets) {
      const names = this.#bySecret.get(secret);
      if (names === undefined) this.#bySecret.set(secret, new Set([name]));
      else names.add(name);
    }
  }

  #forget(name: string): void {
    const volume = this.#byName.get(name);
    if (volume === undefined) return;
    this.#byName.delete(name);
    for (const secret of volume.secrets) {
      const names = this.#bySecret.get(secret);
      names?.delete(name);
      if (names?.size === 0) this.#bySecret.delete(secret);
    }
  }
}

interface SecretReference {
  readonly name?: string;
  readonly namespace?: string;
}

interface VolumeSpec {
  readonly claimRef?: { readonly namespace?: string; readonly name?: string } | null;
  readonly azureFile?: { readonly secretName?: string; readonly secretNamespace?: string | null };
  readonly cephfs?: { readonly secretRef?: SecretReference };
  readonly cinder?: { readonly secretRef?: SecretReference };
  readonly flexVolume?: { readonly secretRef?: SecretReference };
  readonly rbd?: { readonly secretRef?: SecretReference };
  readonly scaleIO?: { readonly secretRef?: SecretReference };
  readonly iscsi?: { readonly secretRef?: SecretReference };
  readonly storageos?: { readonly secretRef?: SecretReference };
  readonly csi?: {
    readonly nodePublishSecretRef?: SecretReference;
    readonly nodeStageSecretRef?: SecretReference;
    readonly nodeExpandSecretRef?: SecretReference;
  };
}

/** undefined if the volume has no claim or is unreadable. */
function parseVolume({ bytes, corruption }: StoredObject): Volume | undefined {
  if (corruption !== undefined) return undefined;
  // The stored JSON is our own encoding of a decoded object.
  const object = JSON.parse(bytes.toString("utf8")) as ApiObject;
  const spec = (object.spec ?? {}) as VolumeSpec;
  const { namespace = "", name = "" } = spec.claimRef ?? {};
  if (name === "") return undefined;
  const secrets = secretsOf(spec)
    .filter((reference) => (reference.name ?? "") !== "")
    // Older volumes name no namespace; the secret is then in the claim's namespace.
    .map((reference) => `${reference.namespace || namespace}/${reference.name}`);
  return { claim: `${namespace}/${name}`, secrets };
}

/** Secrets that the node uses; those for controllers (attach, resize) are excluded. */
function secretsOf(spec: VolumeSpec): SecretReference[] {
  const { azureFile, cephfs, cinder, flexVolume, rbd, scaleIO, iscsi, storageos, csi } = spec;
  const plain = [cephfs, cinder, flexVolume, rbd, scaleIO, iscsi, storageos];
  const azure: SecretReference | undefined = azureFile && {
    name: azureFile.secretName ?? "",
    namespace: azureFile.secretNamespace ?? "",
  };
  return [
    azure,
    ...plain.map((source) => source?.secretRef),
    csi?.nodePublishSecretRef,
    csi?.nodeStageSecretRef,
    csi?.nodeExpandSecretRef,
  ].filter((reference) => reference !== undefined);
}
