/**
 * Reads pods, nodes and services as connection targets from the view, for each request. Knows only the
 * fields that it needs.
 */
import { objectPath, partitionId } from "../../storage/objects/keys.js";
import type { StoredObject } from "../../storage/objects/stored-object.js";
import type { ObjectMeta } from "../api/meta.js";
import { missingObject } from "../api/missing-object.js";
import { badRequest, internalError } from "../api/status.js";
import type { ServiceFields, ServiceView } from "../outbound/services.js";

export interface PodFields {
  readonly metadata: Pick<ObjectMeta, "labels" | "annotations"> & {
    readonly name: string;
    readonly namespace: string;
  };
  readonly spec?: {
    readonly nodeName?: string;
    readonly containers?: readonly ContainerFields[];
    readonly initContainers?: readonly ContainerFields[];
    readonly ephemeralContainers?: readonly ContainerFields[];
  };
  readonly status?: {
    readonly podIP?: string;
    readonly podIPs?: readonly { readonly ip?: string }[];
  };
}

interface ContainerFields {
  readonly name: string;
  readonly ports?: readonly { readonly name?: string; readonly containerPort: number }[];
}

export interface NodeFields {
  readonly metadata?: Pick<ObjectMeta, "labels" | "annotations">;
  readonly status?: {
    readonly addresses?: readonly { readonly type: string; readonly address: string }[];
    readonly daemonEndpoints?: { readonly kubeletEndpoint?: { readonly Port?: number } };
    readonly declaredFeatures?: readonly string[];
  };
}

/** @throws {StatusError} 404 */
export function podNamed(view: ServiceView, namespace: string, name: string): PodFields {
  return objectNamed<PodFields>(view, "pods", namespace, name);
}

/** @throws {StatusError} 404 */
export function nodeNamed(view: ServiceView, name: string): NodeFields {
  return objectNamed<NodeFields>(view, "nodes", "", name);
}

/** @throws {StatusError} 404 */
export function serviceNamed(view: ServiceView, namespace: string, name: string) {
  return objectNamed<{ readonly spec?: ServiceFields }>(view, "services", namespace, name);
}

/** The pod's first address; "" = none yet. */
export function addressOf({ status }: PodFields): string {
  return status?.podIP ?? status?.podIPs?.[0]?.ip ?? "";
}

/**
 * The selected container; the name is optional if there is only one.
 * @throws {StatusError} 400 in kube-apiserver's words
 */
export function containerOf({ metadata, spec = {} }: PodFields, asked: string): string {
  const namesOf = (list: readonly ContainerFields[] = []) => list.map(({ name }) => name);
  const names = namesOf(spec.containers);
  const init = namesOf(spec.initContainers);
  const ephemeral = namesOf(spec.ephemeralContainers);
  if (asked !== "") {
    if ([...names, ...init, ...ephemeral].includes(asked)) return asked;
    throw badRequest(`container ${asked} is not valid for pod ${metadata.name}`);
  }
  const [only] = names;
  if (only !== undefined && names.length === 1) return only;
  const choices = [
    ...(names.length === 0 ? [] : [`, choose one of: [${names.join(" ")}]`]),
    ...(init.length === 0 ? [] : [` or one of the init containers: [${init.join(" ")}]`]),
    ...(ephemeral.length === 0
      ? []
      : [` or one of the ephemeral containers: [${ephemeral.join(" ")}]`]),
  ];
  throw badRequest(
    `a container name must be specified for pod ${metadata.name}${choices.join("")}`,
  );
}

export function parseStored<T>({ corruption, bytes }: StoredObject): T {
  if (corruption !== undefined) throw internalError("the stored object cannot be read");
  return JSON.parse(bytes.toString("utf8")) as T;
}

function objectNamed<T>(view: ServiceView, resource: string, namespace: string, name: string): T {
  const stored = view.partition(partitionId("", resource)).get(objectPath(namespace, name));
  if (stored === undefined) throw missingObject({ group: "", resource }, name);
  return parseStored<T>(stored);
}
