/**
 * Services of the cluster as places that this server connects to: webhooks, servers behind APIServices and proxied
 * services. Reads the view for each request, so it is always current. Knows only the fields that it needs.
 *
 *   services.ts          where a Service is             connection-pools.ts   kept connections to places
 *   judged-address.ts    which addresses are refused    tls-connections.ts    whose certificates are believed
 */
import { objectPath, type PartitionId, partitionId } from "../../storage/objects/keys.js";
import type { StoredObject } from "../../storage/objects/stored-object.js";
import type { Naming } from "../api/naming.js";

export interface ServiceReference {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
}

export interface Address {
  readonly host: string;
  readonly port: number;
  /** Whether users of a namespace have chosen the host, as they do with endpoints. */
  readonly isJudged?: true;
}

/** Nowhere to connect to, in kube-apiserver's words. */
export class UnreachableService extends Error {
  override readonly name = "UnreachableService";
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

export interface Services {
  readonly view: ServiceView;
  readonly naming: Naming;
}

export interface ServiceRoutes extends Services {
  /** Bypasses cluster IPs and uses endpoints, for servers outside the cluster's network. */
  readonly usesEndpoints: boolean;
  readonly random?: () => number;
}

export interface ServiceFields {
  readonly type?: string;
  readonly clusterIP?: string;
  readonly externalName?: string;
  readonly ipFamilies?: readonly string[];
  readonly ports?: readonly PortFields[];
}

export interface PortFields {
  readonly name?: string;
  readonly port?: number;
}

/** An address of an EndpointSlice that is ready for connections. */
export interface Endpoint extends Address {
  /** "IPv4", "IPv6". */
  readonly family: string;
  readonly target: EndpointTarget | undefined;
}

/** The object that an endpoint says to be. */
export interface EndpointTarget {
  readonly kind?: string;
  readonly namespace?: string;
  readonly name?: string;
}

interface SliceFields {
  readonly addressType?: string;
  readonly ports?: readonly PortFields[] | null;
  readonly endpoints?:
    | readonly {
        readonly addresses?: readonly string[];
        readonly conditions?: { readonly ready?: boolean };
        readonly targetRef?: EndpointTarget;
      }[]
    | null;
}

const CLUSTER_IP = "ClusterIP";
const EXTERNAL_NAME = "ExternalName";

/**
 * Where webhooks and servers behind APIServices are: at the cluster IP or the external name, or else at a ready
 * endpoint.
 * @throws {UnreachableService}
 */
export function resolveService(
  routes: ServiceRoutes,
  { namespace, name, port }: ServiceReference,
): Address {
  const spec = serviceSpec(routes.view, namespace, name);
  if (spec === undefined) throw new UnreachableService(`service ${JSON.stringify(name)} not found`);
  const { type = CLUSTER_IP, clusterIP = "", externalName = "" } = spec;
  const isAlias = type === EXTERNAL_NAME;
  if (isAlias && routes.usesEndpoints) {
    throw new UnreachableService(`unsupported service type ${JSON.stringify(type)}`);
  }
  if (isAlias) return { host: externalName, port };
  const isHeadless = clusterIP === "" || clusterIP === "None";
  if (isHeadless && !routes.usesEndpoints) {
    const why = `cannot route to service with ClusterIP ${JSON.stringify(clusterIP)}`;
    throw new UnreachableService(why);
  }
  const portName = nameOfPort(spec, name, port);
  if (!routes.usesEndpoints) return { host: clusterIP, port };
  return pickEndpoint(routes, spec.ipFamilies?.[0], { namespace, name, portName });
}

/** undefined = there is none that can be read. */
export function serviceSpec(
  view: ServiceView,
  namespace: string,
  name: string,
): ServiceFields | undefined {
  const stored = view.partition(partitionId("", "services")).get(objectPath(namespace, name));
  if (stored === undefined || stored.corruption !== undefined) return undefined;
  return fieldsOf<{ readonly spec?: ServiceFields }>(stored).spec ?? {};
}

/** Whether connections to it are spread over endpoints at one address of the cluster. */
export function isClusterService({ type = CLUSTER_IP }: ServiceFields): boolean {
  return type === CLUSTER_IP;
}

/** The ready endpoints of a Service's port; undefined = it has no slices. */
export function endpointsOf(
  { view, naming }: Services,
  namespace: string,
  service: string,
  portName: string,
): Endpoint[] | undefined {
  let hasSlices = false;
  const found: Endpoint[] = [];
  const label = `${naming.labelDomain}/service-name`;
  view
    .partition(partitionId(`discovery.${naming.groupDomain}`, "endpointslices"))
    .snapshot()
    .tree.visit(namespace, "", (stored) => {
      if (stored.labels[label] !== service || stored.corruption !== undefined) return undefined;
      hasSlices = true;
      const { addressType: family = "", ports, endpoints } = fieldsOf<SliceFields>(stored);
      const port = ports?.find(({ name = "" }) => name === portName)?.port;
      if (port === undefined) return undefined;
      for (const { addresses = [], conditions, targetRef: target } of endpoints ?? []) {
        const [host] = addresses;
        if (host === undefined || conditions?.ready === false) continue;
        found.push({ host, port, family, target });
      }
      return undefined;
    });
  return hasSlices ? found : undefined;
}

/** @throws {UnreachableService} */
function nameOfPort({ ports }: ServiceFields, service: string, port: number): string {
  const found = ports?.find((one) => one.port === port);
  if (found !== undefined) return found.name ?? "";
  const why = `no service port ${port} found for service ${JSON.stringify(service)}`;
  throw new UnreachableService(why);
}

interface ServicePort {
  readonly namespace: string;
  readonly name: string;
  readonly portName: string;
}

/** One of the preferred family, as long as there is one. @throws {UnreachableService} */
function pickEndpoint(
  { random = Math.random, ...services }: ServiceRoutes,
  preferred: string | undefined,
  { namespace, name, portName }: ServicePort,
): Address {
  const all = endpointsOf(services, namespace, name, portName) ?? [];
  const first = all.filter(({ family }) => family === preferred);
  const choices = first.length > 0 ? first : all;
  const picked = choices[Math.floor(random() * choices.length)];
  if (picked !== undefined) return { host: picked.host, port: picked.port, isJudged: true };
  throw new UnreachableService(`no endpoints available for service ${JSON.stringify(name)}`);
}

function fieldsOf<T>({ bytes }: StoredObject): T {
  return JSON.parse(bytes.toString("utf8")) as T;
}
