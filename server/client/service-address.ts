/**
 * Resolves a Service to its cluster IP or to one of its ready endpoints. Reads the view for each
 * request, so it is always current. Knows only the fields that it needs.
 */
import { objectPath, type PartitionId, partitionId } from "../../storage/objects/keys.js";
import type { StoredObject } from "../../storage/objects/stored-object.js";
import type { Naming } from "../api/naming.js";
import { TransportError } from "./https-client.js";

export interface ServiceReference {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
}

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** The part of the view that it reads. */
export interface ServiceView {
  partition(id: PartitionId): {
    get(path: string): StoredObject | undefined;
    snapshot(): {
      readonly tree: {
        visit(namespace: string, after: string, visitor: (object: StoredObject) => undefined): void;
      };
    };
  };
}

export interface ServiceAddressOptions {
  readonly view: ServiceView;
  readonly naming: Naming;
  /** Bypasses cluster IPs and uses endpoints, for servers outside the cluster's network. */
  readonly usesEndpoints: boolean;
  readonly random?: () => number;
}

interface ServiceFields {
  readonly spec?: {
    readonly type?: string;
    readonly clusterIP?: string;
    readonly externalName?: string;
    readonly ports?: readonly { readonly name?: string; readonly port: number }[];
  };
}

interface SliceFields {
  readonly ports?: readonly { readonly name?: string; readonly port?: number }[];
  readonly endpoints?: readonly {
    readonly addresses?: readonly string[];
    readonly conditions?: { readonly ready?: boolean };
  }[];
}

/** @throws {TransportError} if there is no such service, port or endpoint */
export function resolveService(
  options: ServiceAddressOptions,
  { namespace, name, port }: ServiceReference,
): Address {
  const stored = options.view
    .partition(partitionId("", "services"))
    .get(objectPath(namespace, name));
  if (stored === undefined) throw nowhere(`service ${JSON.stringify(name)} not found`);
  const { spec = {} } = JSON.parse(stored.bytes.toString("utf8")) as ServiceFields;
  if (spec.type === "ExternalName") return { host: spec.externalName ?? "", port };
  const servicePort = spec.ports?.find((one) => one.port === port);
  if (servicePort === undefined) {
    throw nowhere(`no service port ${port} found for service ${JSON.stringify(name)}`);
  }
  const { clusterIP = "" } = spec;
  const isHeadless = clusterIP === "" || clusterIP === "None";
  if (!isHeadless && !options.usesEndpoints) return { host: clusterIP, port };
  return pickEndpoint(options, namespace, name, servicePort.name ?? "");
}

function pickEndpoint(
  { view, naming, random = Math.random }: ServiceAddressOptions,
  namespace: string,
  service: string,
  portName: string,
): Address {
  const found: Address[] = [];
  const label = `${naming.labelDomain}/service-name`;
  view
    .partition(partitionId(`discovery.${naming.groupDomain}`, "endpointslices"))
    .snapshot()
    .tree.visit(namespace, "", (stored) => {
      if (stored.labels[label] === service) found.push(...addressesOf(stored, portName));
      return undefined;
    });
  const picked = found[Math.floor(random() * found.length)];
  if (picked === undefined) {
    throw nowhere(`no endpoints available for service ${JSON.stringify(service)}`);
  }
  return picked;
}

function addressesOf({ bytes }: StoredObject, portName: string): Address[] {
  const { ports = [], endpoints = [] } = JSON.parse(bytes.toString("utf8")) as SliceFields;
  const port = ports.find(({ name = "" }) => name === portName)?.port;
  if (port === undefined) return [];
  return endpoints
    .filter(({ conditions }) => conditions?.ready !== false)
    .flatMap(({ addresses = [] }) => addresses.map((host) => ({ host, port })));
}

function nowhere(why: string): TransportError {
  return new TransportError("connection", why);
}
