/** Wiring of what a control plane is cloned from: another one below the root, or the root, without loading it. */
import { type KeyValue, type Revision, toRevision } from "../../storage/kv/store.js";
import { KeySpace, type ParsedKey, partitionId } from "../../storage/objects/keys.js";
import type { Naming } from "../api/naming.js";
import { badRequest, notFound } from "../api/status.js";
import type { Config } from "../config/config.js";
import { CREATOR_BINDING } from "../control-planes/administrator.js";
import { begunAt } from "../control-planes/beginning.js";
import { ROOT } from "../control-planes/control-plane-admission.js";
import type { CloneSource, ControlPlaneEntry } from "../control-planes/control-plane-index.js";
import type { ContentSource } from "../control-planes/copy-content.js";
import { CONTROL_PLANES, controlPlaneGroup } from "../control-planes/definition.js";
import type { Facts } from "../schema/model.js";
import { controlPlaneConfig } from "./control-plane-config.js";
import { type OpenedStore, readPartStore } from "./store.js";

export interface OriginalParts {
  readonly config: Config;
  readonly facts: Facts;
  readonly storage: OpenedStore;
  /** The entry of a control plane as it is now. */
  current(name: string): ControlPlaneEntry | undefined;
  /** Loads a control plane, which has begun by then. @throws {StatusError} */
  open(name: string): Promise<unknown>;
}

export interface OpenedOriginal {
  readonly source: ContentSource;
  release(): void;
}

/**
 * As of the revision that made the clone, or of the one that it names: whoever makes it, and whenever, finds the same.
 * An original that nobody had used by then begins now, and the clone with what it begins with.
 * @throws {StatusError} 404, 400; {RangeError} it was not there then; {StorageError}
 */
export async function openOriginal(
  parts: OriginalParts,
  clone: ControlPlaneEntry,
  { name, resourceVersion }: CloneSource,
  signal: AbortSignal,
): Promise<OpenedOriginal> {
  const { config, facts, storage } = parts;
  const { naming } = config;
  const asked = await revisionOf(parts, clone, resourceVersion, signal);
  if (name === ROOT) {
    const revision = asked;
    const { prefix } = new KeySpace(config.etcdPrefix);
    const isLeftOut = leftOutOfRoot(naming);
    return { source: { store: storage.store, prefix, revision, naming, isLeftOut }, release() {} };
  }
  const entry = parts.current(name);
  const group = controlPlaneGroup(naming);
  if (entry === undefined) throw notFound({ group, resource: CONTROL_PLANES }, name);
  const original = controlPlaneConfig(config, entry);
  const part = { config: original, uid: entry.uid, facts };
  const { store, release } = await readPartStore(part, storage, signal);
  const { prefix } = new KeySpace(original.etcdPrefix);
  const begun = await beginningOf(parts, { name, prefix, asked }, signal).catch((error) => {
    release();
    throw error;
  });
  const revision = begun > asked ? begun : asked;
  const isLeftOut = creatorsOf(naming);
  return { source: { store, prefix, revision, naming, isLeftOut }, release };
}

/** Who made the original has nothing to say in its clone. */
function creatorsOf({ groupDomain }: Naming) {
  const bindings = partitionId(`rbac.authorization.${groupDomain}`, "clusterrolebindings");
  return ({ partition, path }: ParsedKey) => path === CREATOR_BINDING && partition === bindings;
}

/** The control planes of the root, and their kind, are the root's alone. */
function leftOutOfRoot(naming: Naming) {
  const group = controlPlaneGroup(naming);
  const kind = partitionId(group, CONTROL_PLANES);
  const definition = `${CONTROL_PLANES}.${group}`;
  const service = `.${group}`;
  const { groupDomain } = naming;
  const definitions = partitionId(`apiextensions.${groupDomain}`, "customresourcedefinitions");
  const services = partitionId(`apiregistration.${groupDomain}`, "apiservices");
  return ({ partition, path }: ParsedKey): boolean =>
    partition === kind ||
    (path === definition && partition === definitions) ||
    (path.endsWith(service) && partition === services);
}

/** @throws {StatusError} it cannot be loaded; {RangeError} it was not there at the revision that is asked for */
async function beginningOf(
  parts: OriginalParts,
  { name, prefix, asked }: { readonly name: string; readonly prefix: string; asked: Revision },
  signal: AbortSignal,
): Promise<Revision> {
  const own = { store: parts.storage.plain, prefix };
  // None is made before what it is cloned from: so the loads of two never wait for each other.
  if ((await madeAt(parts, name, signal)) > asked) throw new RangeError(NO_OBJECTS);
  const begun = await begunAt(own, signal);
  if (begun !== undefined) return begun;
  await parts.open(name);
  const now = await begunAt(own, signal);
  if (now === undefined) throw new RangeError(NO_OBJECTS);
  return now;
}

const NO_OBJECTS = "what it is cloned from had no objects then";

async function revisionOf(
  parts: OriginalParts,
  { name }: ControlPlaneEntry,
  resourceVersion: string | undefined,
  signal: AbortSignal,
): Promise<Revision> {
  if (resourceVersion !== undefined) {
    if (!/^[1-9]\d{0,15}$/.test(resourceVersion)) {
      throw badRequest(
        `spec.cloneFrom.resourceVersion: ${JSON.stringify(resourceVersion)} is none`,
      );
    }
    return toRevision(Number(resourceVersion));
  }
  return await madeAt(parts, name, signal);
}

/** The revision that made a ControlPlane. */
async function madeAt(
  { config, storage }: OriginalParts,
  name: string,
  signal: AbortSignal,
): Promise<Revision> {
  const kind = partitionId(controlPlaneGroup(config.naming), CONTROL_PLANES);
  const key = new KeySpace(config.etcdPrefix).key(kind, name);
  const { kv } = await storage.plain.get(key, {}, signal);
  return createdAt(kv);
}

function createdAt(kv: KeyValue | undefined): Revision {
  if (kv === undefined) throw new Error("the control plane is gone");
  return kv.createRevision;
}
