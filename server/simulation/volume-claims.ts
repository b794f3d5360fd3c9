/** Claims get volumes: one that is there and fits, or a new one of their class. Nothing is stored in them. */
import type { ApiObject } from "../api/meta.js";
import type { ObjectKey } from "../controllers/objects-api.js";
import { compareQuantities, parseQuantity, ZERO_QUANTITY } from "../schema/quantity.js";
import { runKeyedLoop, type Simulation, textOf } from "./keyed-loop.js";
import type { Pod } from "./kinds.js";
import { isDeleted } from "./owned-objects.js";
import { SIMULATION_DOMAIN } from "./settings.js";

interface Claim extends ApiObject {
  readonly spec?: {
    readonly volumeName?: string;
    readonly storageClassName?: string | null;
    readonly accessModes?: readonly string[];
    readonly volumeMode?: string;
    readonly resources?: { readonly requests?: Readonly<Record<string, string>> };
  };
  readonly status?: { readonly phase?: string };
}

interface Volume extends ApiObject {
  readonly spec?: {
    readonly storageClassName?: string;
    readonly accessModes?: readonly string[];
    readonly volumeMode?: string;
    readonly capacity?: Readonly<Record<string, string>>;
    readonly claimRef?: {
      readonly namespace?: string;
      readonly name?: string;
      readonly uid?: string;
    } | null;
    readonly persistentVolumeReclaimPolicy?: string;
  };
  readonly status?: { readonly phase?: string };
}

/** Runs until the signal aborts. */
export async function runVolumeClaims(simulation: Simulation, signal: AbortSignal): Promise<void> {
  const { objects } = simulation;
  const claims = objects.resource("", "persistentvolumeclaims");
  const volumes = objects.resource("", "persistentvolumes");
  const ofNamespace = ({ namespace }: ObjectKey) =>
    objects
      .list(claims, namespace)
      .map(({ metadata }) => textOf({ namespace, name: metadata.name ?? "" }));
  const own = { resource: claims, keysOf: (key: ObjectKey) => [textOf(key)] };
  // Its pods keep a claim that is deleted.
  const users = { resource: objects.resource("", "pods"), keysOf: ofNamespace };
  const waiting = () =>
    (objects.list(claims, "") as Claim[])
      .filter(({ status }) => status?.phase !== "Bound")
      .map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
  await Promise.all([
    runKeyedLoop(
      simulation,
      {
        name: "persistentvolumeclaims",
        watches: [own, users, { resource: volumes, keysOf: waiting }],
        sync: (key, until) => syncClaim(simulation, key, until),
      },
      signal,
    ),
    runKeyedLoop(
      simulation,
      {
        name: "persistentvolumes",
        watches: [
          { resource: volumes, keysOf: (key: ObjectKey) => [textOf(key)] },
          {
            resource: claims,
            keysOf: () => objects.list(volumes, "").map(({ metadata }) => `/${metadata.name}`),
          },
        ],
        sync: (key, until) => syncVolume(simulation, key, until),
      },
      signal,
    ),
  ]);
}

async function syncClaim(
  simulation: Simulation,
  key: ObjectKey,
  signal: AbortSignal,
): Promise<undefined> {
  const { objects, naming } = simulation;
  const claims = objects.resource("", "persistentvolumeclaims");
  const claim = objects.get(claims, key) as Claim | undefined;
  if (claim === undefined) return;
  if (isDeleted(claim)) return await release(simulation, claim, signal);
  const volume = await volumeFor(simulation, claim, signal);
  if (volume === undefined) {
    if (claim.status?.phase === undefined) await reportClaim(simulation, claim, undefined, signal);
    return;
  }
  let bound = claim;
  if (claim.spec?.volumeName !== volume.metadata.name) {
    const mark = { [`pv.${naming.groupDomain}/bind-completed`]: "yes" };
    const metadata = { ...claim.metadata, annotations: { ...claim.metadata.annotations, ...mark } };
    const spec = { ...claim.spec, volumeName: volume.metadata.name ?? "" };
    bound = (await objects.update(claims, { ...claim, metadata, spec }, "", signal)) as Claim;
  }
  if (bound.status?.phase !== "Bound") await reportClaim(simulation, bound, volume, signal);
}

async function reportClaim(
  { objects }: Simulation,
  claim: Claim,
  volume: Volume | undefined,
  signal: AbortSignal,
): Promise<void> {
  const found = volume?.spec ?? {};
  const bound = { phase: "Bound", accessModes: found.accessModes, capacity: found.capacity };
  const status = { ...claim.status, ...(volume === undefined ? { phase: "Pending" } : bound) };
  const claims = objects.resource("", "persistentvolumeclaims");
  await objects.update(claims, { ...claim, status }, "status", signal);
}

/** The one that it names or has, one that fits, or a new one. */
async function volumeFor(
  simulation: Simulation,
  claim: Claim,
  signal: AbortSignal,
): Promise<Volume | undefined> {
  const { objects } = simulation;
  const resource = objects.resource("", "persistentvolumes");
  const { namespace = "", name = "", uid = "" } = claim.metadata;
  const all = objects.list(resource, "") as Volume[];
  const wanted = claim.spec?.volumeName ?? "";
  const isOurs = ({ spec }: Volume) =>
    spec?.claimRef?.namespace === namespace &&
    spec.claimRef.name === name &&
    (spec.claimRef.uid ?? uid) === uid;
  const found =
    wanted === ""
      ? (all.find(isOurs) ??
        all.find((volume) => volume.spec?.claimRef == null && fits(volume, claim)))
      : all.find(
          ({ metadata, spec }) =>
            metadata.name === wanted && (spec?.claimRef == null || spec.claimRef.name === name),
        );
  if (found === undefined) {
    const className = claim.spec?.storageClassName ?? "";
    return wanted === "" && className !== ""
      ? await provision(simulation, claim, signal)
      : undefined;
  }
  if (found.spec?.claimRef?.uid === uid) return found;
  const spec = { ...found.spec, claimRef: referenceTo(claim) };
  return (await objects.update(resource, { ...found, spec }, "", signal)) as Volume;
}

function fits({ spec: volume = {}, metadata }: Volume, { spec: claim = {} }: Claim): boolean {
  if (metadata.deletionTimestamp !== undefined) return false;
  if ((volume.storageClassName ?? "") !== (claim.storageClassName ?? "")) return false;
  if ((volume.volumeMode ?? "Filesystem") !== (claim.volumeMode ?? "Filesystem")) return false;
  if (!(claim.accessModes ?? []).every((mode) => volume.accessModes?.includes(mode))) return false;
  const size = parseQuantity(volume.capacity?.storage ?? "") ?? ZERO_QUANTITY;
  const asked = parseQuantity(claim.resources?.requests?.storage ?? "") ?? ZERO_QUANTITY;
  return compareQuantities(size, asked) >= 0;
}

function referenceTo({ metadata }: Claim) {
  const { namespace, name, uid, resourceVersion } = metadata;
  return { apiVersion: "v1", kind: "PersistentVolumeClaim", namespace, name, uid, resourceVersion };
}

async function provision(
  { objects, naming }: Simulation,
  claim: Claim,
  signal: AbortSignal,
): Promise<Volume | undefined> {
  const classes = objects.resource(`storage.${naming.groupDomain}`, "storageclasses");
  const className = claim.spec?.storageClassName ?? "";
  const found = objects.get(classes, { namespace: "", name: className }) as
    | (ApiObject & { readonly reclaimPolicy?: string })
    | undefined;
  if (found === undefined) return undefined;
  const name = `pvc-${claim.metadata.uid}`;
  const volume: ApiObject = {
    ...{ apiVersion: "v1", kind: "PersistentVolume" },
    metadata: {
      name,
      annotations: { [`${SIMULATION_DOMAIN}/note`]: "simulated: nothing is stored here" },
    },
    spec: {
      capacity: { storage: claim.spec?.resources?.requests?.storage ?? "1Gi" },
      accessModes: claim.spec?.accessModes ?? [],
      volumeMode: claim.spec?.volumeMode ?? "Filesystem",
      persistentVolumeReclaimPolicy: found.reclaimPolicy ?? "Delete",
      storageClassName: className,
      claimRef: referenceTo(claim),
      csi: { driver: SIMULATION_DOMAIN, volumeHandle: name },
    },
  };
  return (await objects.create(
    objects.resource("", "persistentvolumes"),
    volume,
    signal,
  )) as Volume;
}

/** A claim that is deleted goes when no pod has it any more. */
async function release(
  { objects, naming }: Simulation,
  claim: Claim,
  signal: AbortSignal,
): Promise<undefined> {
  const { namespace = "", name, finalizers = [] } = claim.metadata;
  const own = `${naming.labelDomain}/pvc-protection`;
  if (!finalizers.includes(own)) return;
  const pods = objects.list(objects.resource("", "pods"), namespace) as Pod[];
  const isUsed = pods.some(({ spec, status }) => {
    const isOver = status?.phase === "Succeeded" || status?.phase === "Failed";
    return !isOver && spec?.volumes?.some((one) => one.persistentVolumeClaim?.claimName === name);
  });
  if (isUsed) return;
  const metadata = { ...claim.metadata, finalizers: finalizers.filter((one) => one !== own) };
  await objects.update(
    objects.resource("", "persistentvolumeclaims"),
    { ...claim, metadata },
    "",
    signal,
  );
}

/** What a volume is in, and its end with its claim. */
async function syncVolume(
  { objects, naming }: Simulation,
  key: ObjectKey,
  signal: AbortSignal,
): Promise<undefined> {
  const resource = objects.resource("", "persistentvolumes");
  const volume = objects.get(resource, key) as Volume | undefined;
  if (volume === undefined) return;
  const { claimRef, persistentVolumeReclaimPolicy: policy } = volume.spec ?? {};
  const { namespace = "", name = "", uid = "" } = claimRef ?? {};
  const claims = objects.resource("", "persistentvolumeclaims");
  const claim = claimRef == null ? undefined : objects.get(claims, { namespace, name });
  const isHeld = claim !== undefined && (uid === "" || claim.metadata.uid === uid);
  const phase = claimRef == null || uid === "" ? "Available" : isHeld ? "Bound" : "Released";
  if (isDeleted(volume)) {
    const own = `${naming.labelDomain}/pv-protection`;
    const { finalizers = [] } = volume.metadata;
    if (isHeld || !finalizers.includes(own)) return;
    const metadata = { ...volume.metadata, finalizers: finalizers.filter((one) => one !== own) };
    await objects.update(resource, { ...volume, metadata }, "", signal);
    return;
  }
  if (volume.status?.phase !== phase) {
    await objects.update(
      resource,
      { ...volume, status: { ...volume.status, phase } },
      "status",
      signal,
    );
  } else if (phase === "Released" && policy === "Delete") {
    const options = { uid: volume.metadata.uid ?? "", propagationPolicy: "Background" } as const;
    await objects.remove(resource, key, options, signal);
  }
}
