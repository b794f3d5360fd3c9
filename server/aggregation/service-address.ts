/**
 * Resolves a service to its cluster address, to one of its endpoints (for API servers that cannot reach
 * cluster addresses), or to its external name. Reads only the view.
 */
import type { PartitionId } from "../../storage/objects/keys.js";
import { partitionId } from "../../storage/objects/keys.js";
import type { StoredObject } from "../../storage/objects/stored-object.js";
import type { RemoteService } from "./api-services.js";

export interface ServiceAddress {
  readonly host: string;
  readonly port: number;
  /** The name required in the certificate. */
  readonly serverName: string;
}

/** Why a service is unreachable; reasons are those of the condition Available. */
export class UnreachableService extends Error {
  override readonly name = "UnreachableService";
  readonly reason:
    | "ServiceNotFound"
    | "ServicePortError"
    | "EndpointsNotFound"
    | "MissingEndpoints";

  constructor(reason: UnreachableService["reason"], message: string) {
    super(message);
    this.reason = reason;
  }
}

/** The part of the view that it reads. */
export interface ServiceView {
  partition(id: PartitionId): {
    get(path: string): StoredObject | undefined;
    visit(namespace: string, visitor: (object: StoredObject) => undefined): void;
  };
}

interface ServiceObject {
  readonly spec?: {
    readonly type?: string;
    readonly externalName?: string;
    readonly clusterIP?: string;
    readonly ports?: readonly { readonly name?: string; readonly port?: number }[];
  };
}

interface SliceObject {
  readonly ports?: readonly { readonly name?: string; readonly port?: number }[] | null;
  readonly endpoints?:
    | readonly {
        readonly addresses?: readonly string[];
        readonly conditions?: { readonly ready?: boolean };
      }[]
    | null;
}

const SERVICES = partitionId("", "services");

export interface LocateOptions {
  readonly view: ServiceView;
  /** The group of EndpointSlices. */
  readonly discoveryGroup: string;
  /** The domain of the labels of EndpointSlices. */
  readonly labelDomain: string;
  /** Whether to use endpoints instead of the cluster address. */
  readonly usesEndpoints: boolean;
  readonly random?: () => number;
}

/** @throws {UnreachableService} */
export function locate(remote: RemoteService, options: LocateOptions): ServiceAddress {
  const { view, usesEndpoints, random = Math.random } = options;
  const { namespace, service: name, port } = remote;
  const serverName = `${name}.${namespace}.svc`;
  const stored = view.partition(SERVICES).get(`${namespace}/${name}`);
  if (stored === undefined || stored.corruption !== undefined) {
    throw new UnreachableService(
      "ServiceNotFound",
      `service/${name} in ${JSON.stringify(namespace)} is not present`,
    );
  }
  const { spec = {} } = parse<ServiceObject>(stored);
  if (spec.type === "ExternalName") return { host: spec.externalName ?? "", port, serverName };
  const servicePort = spec.ports?.find((one) => one.port === port);
  if (servicePort === undefined) {
    throw new UnreachableService(
      "ServicePortError",
      `service/${name} in ${JSON.stringify(namespace)} is not listening on port ${port}`,
    );
  }
  const endpoints = endpointsOf(remote, servicePort.name ?? "", options);
  if (!usesEndpoints) return { host: spec.clusterIP ?? "", port, serverName };
  const chosen = endpoints[Math.floor(random() * endpoints.length)] ?? endpoints[0];
  return { host: chosen?.host ?? "", port: chosen?.port ?? port, serverName };
}

/** The ready endpoints. @throws {UnreachableService} if there are none */
function endpointsOf(
  { namespace, service: name }: RemoteService,
  portName: string,
  { view, discoveryGroup, labelDomain }: LocateOptions,
): readonly { readonly host: string; readonly port: number }[] {
  let slices = 0;
  const found: { host: string; port: number }[] = [];
  view.partition(partitionId(discoveryGroup, "endpointslices")).visit(namespace, (object) => {
    if (object.corruption !== undefined) return undefined;
    if (object.labels?.[`${labelDomain}/service-name`] !== name) return undefined;
    slices++;
    const slice = parse<SliceObject>(object);
    const port = slice.ports?.find((one) => (one.name ?? "") === portName)?.port;
    if (port === undefined) return undefined;
    for (const { addresses = [], conditions } of slice.endpoints ?? []) {
      if (conditions?.ready === false) continue;
      for (const host of addresses) found.push({ host, port });
    }
    return undefined;
  });
  const where = `service/${name} in ${JSON.stringify(namespace)}`;
  if (slices === 0) {
    throw new UnreachableService("EndpointsNotFound", `cannot find endpointslices for ${where}`);
  }
  if (found.length === 0) {
    throw new UnreachableService(
      "MissingEndpoints",
      `endpointslices for ${where} have no addresses with port name ${JSON.stringify(portName)}`,
    );
  }
  return found;
}

function parse<T>({ bytes }: StoredObject): T {
  return JSON.parse(bytes.toString("utf8")) as T;
}
