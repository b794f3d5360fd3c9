/**
 * DeviceFacts: what quotas of devices need to know of other objects, from the view. An extended resource is
 * another name of a device class: `spec.extendedResourceName` of the class, and always
 * `deviceclass.resource.kubernetes.io/<class>`. For a pod that asks for one, the scheduler makes a claim, and the
 * quota must not charge both.
 */
import { objectPath, partitionId } from "../../../storage/objects/keys.js";
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import type { ApiObject } from "../../api/meta.js";
import type { Naming } from "../../api/naming.js";
import { type AdmissionView, findObject, listObjects, parseObject } from "../stored-objects.js";

export interface DeviceFacts {
  /** The name that the class gives itself; undefined = none, or no such class. */
  extendedResourceOf(className: string): string | undefined;
  /** Whether the name stands for the devices of an existing class. */
  isExtendedResource(name: string): boolean;
  /** The pod whose demand contains this claim's; undefined = the claim counts in full. */
  podOf(claim: ApiObject): ApiObject | undefined;
}

const PODS = { group: "", resource: "pods" };

interface ClassObject extends ApiObject {
  spec?: { readonly extendedResourceName?: string | null } | null;
}

interface PodObject extends ApiObject {
  status?: {
    readonly extendedResourceClaimStatus?: { readonly resourceClaimName?: string } | null;
  } | null;
}

/** The claims made for pods, as far as their order among each other needs them. */
interface MadeClaim {
  readonly name: string;
  readonly createdAt: string;
}

export class ViewedDevices implements DeviceFacts {
  readonly #view: AdmissionView;
  readonly #classes: { readonly group: string; readonly resource: string };
  /** The start of the names that all classes have. */
  readonly #implicit: string;
  readonly #annotation: string;
  /** By class, read again after a change of any; undefined = to be read. */
  #names: ReadonlyMap<string, string | undefined> | undefined;
  /** By owning pod ("namespace/uid"), then by the claim's path. Bounded by the number of claims. */
  readonly #made = new Map<string, Map<string, MadeClaim>>();
  /** The owning pod by the claim's path. */
  readonly #pods = new Map<string, string>();

  /** Lasts as long as the view. */
  constructor(view: AdmissionView, { groupDomain, labelDomain }: Naming) {
    this.#view = view;
    this.#classes = { group: `resource.${groupDomain}`, resource: "deviceclasses" };
    this.#implicit = `deviceclass.resource.${labelDomain}/`;
    this.#annotation = `resource.${labelDomain}/extended-resource-claim`;
    const forget = () => {
      this.#names = undefined;
    };
    const { group, resource } = this.#classes;
    view
      .partition(partitionId(group, resource))
      .observe({ replaced: forget, put: forget, deleted: forget });
    view.partition(partitionId(group, "resourceclaims")).observe({
      replaced: (claims) => {
        this.#made.clear();
        this.#pods.clear();
        claims.visit("", "", (claim) => {
          this.#put(claim);
          return undefined;
        });
      },
      put: (claim) => this.#put(claim),
      deleted: (claim) => this.#forget(claim),
    });
  }

  extendedResourceOf(className: string): string | undefined {
    return this.#read().get(className);
  }

  isExtendedResource(name: string): boolean {
    const names = this.#read();
    if (name.startsWith(this.#implicit)) return names.has(name.slice(this.#implicit.length));
    return [...names.values()].includes(name);
  }

  /** The claim names its pod, and the pod names this claim, or none yet and this is its first one. */
  podOf(claim: ApiObject): ApiObject | undefined {
    const owner = podOwnerOf(claim, this.#annotation);
    if (owner === undefined) return undefined;
    const { namespace = "", name = "" } = claim.metadata;
    const createdAt = claim.metadata.creationTimestamp ?? "";
    const pod: PodObject | undefined = findObject(this.#view, PODS, namespace, owner.name);
    if (pod === undefined || pod.metadata.uid !== owner.uid) return undefined;
    const status = pod.status?.extendedResourceClaimStatus;
    if (status) return status.resourceClaimName === name ? pod : undefined;
    const others = this.#made.get(`${namespace}/${owner.uid}`) ?? new Map<string, MadeClaim>();
    // A claim that is not stored yet comes after all that are.
    const isStored = others.has(objectPath(namespace, name));
    const isEarlier = (other: MadeClaim) =>
      !isStored ||
      other.createdAt < createdAt ||
      (other.createdAt === createdAt && other.name < name);
    return [...others.values()].some(isEarlier) ? undefined : pod;
  }

  #read(): ReadonlyMap<string, string | undefined> {
    this.#names ??= new Map(
      listObjects(this.#view, this.#classes, "").map(({ metadata, spec }: ClassObject) => [
        metadata.name ?? "",
        spec?.extendedResourceName ?? undefined,
      ]),
    );
    return this.#names;
  }

  #put(stored: StoredObject): void {
    this.#forget(stored);
    // Most claims are not made for extended resources, and are not parsed.
    if (!stored.bytes.includes(this.#annotation)) return;
    const claim = parseObject(stored);
    const owner = claim && podOwnerOf(claim, this.#annotation);
    if (claim === undefined || owner === undefined) return;
    const { namespace, name, path } = stored;
    const pod = `${namespace}/${owner.uid}`;
    const claims = this.#made.get(pod) ?? new Map<string, MadeClaim>();
    claims.set(path, { name, createdAt: claim.metadata.creationTimestamp ?? "" });
    this.#made.set(pod, claims);
    this.#pods.set(path, pod);
  }

  #forget({ path }: StoredObject): void {
    const pod = this.#pods.get(path);
    if (pod === undefined) return;
    this.#pods.delete(path);
    const claims = this.#made.get(pod);
    claims?.delete(path);
    if (claims?.size === 0) this.#made.delete(pod);
  }
}

/** The pod that controls a claim which the scheduler made for an extended resource. */
function podOwnerOf(
  { metadata }: ApiObject,
  annotation: string,
): { readonly name: string; readonly uid: string } | undefined {
  if (metadata.annotations?.[annotation] !== "true") return undefined;
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  if (owner?.kind !== "Pod" || owner.apiVersion !== "v1") return undefined;
  return { name: owner.name ?? "", uid: owner.uid ?? "" };
}
