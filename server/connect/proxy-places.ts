/** Resolves the pods and services that requests are proxied to; pods have global addresses. */
import { objectPath, partitionId } from "../../storage/objects/keys.js";
import type { Naming } from "../api/naming.js";
import { badRequest, serviceUnavailable } from "../api/status.js";
import { isGlobalUnicast } from "../client/judged-address.js";
import type { ServiceView } from "../client/service-address.js";
import { addressOf, type PodFields, parseStored, podNamed, serviceNamed } from "./targets.js";

/** `name`, `name:port` or `scheme:name:port`. */
export interface ProxyName {
  readonly scheme: "http" | "https";
  readonly name: string;
  /** A number or a name; "" = the first or unnamed one. */
  readonly port: string;
}

export interface ProxyPlace {
  readonly host: string;
  readonly port: number;
}

interface SliceFields {
  readonly ports?: readonly { readonly name?: string; readonly port?: number }[] | null;
  readonly endpoints?:
    | readonly {
        readonly addresses?: readonly string[];
        readonly conditions?: { readonly ready?: boolean };
        readonly targetRef?: TargetReference;
      }[]
    | null;
}

interface EndpointsFields {
  readonly subsets?:
    | readonly {
        readonly ports?: readonly { readonly name?: string; readonly port?: number }[];
        readonly addresses?: readonly {
          readonly ip: string;
          readonly targetRef?: TargetReference;
        }[];
      }[]
    | null;
}

interface TargetReference {
  readonly kind?: string;
  readonly namespace?: string;
  readonly name?: string;
}

const HTTP_PORT = { http: 80, https: 443 } as const;

export function parseProxyName(text: string): ProxyName | undefined {
  const parts = text.split(":");
  const [scheme = "", name = "", port = ""] = parts.length === 3 ? parts : ["", ...parts];
  const isKnown = scheme === "" || scheme === "http" || scheme === "https";
  if (parts.length > 3 || !isKnown || name === "") return undefined;
  return { scheme: scheme === "https" ? "https" : "http", name, port };
}

/** @throws {StatusError} 404; 400 if it has no permitted address */
export function locatePod(
  view: ServiceView,
  namespace: string,
  { scheme, name, port }: ProxyName,
): ProxyPlace {
  const pod = podNamed(view, namespace, name);
  const host = addressOf(pod);
  if (!isGlobalUnicast(host)) throw badRequest("address not allowed");
  const ports = (pod.spec?.containers ?? []).flatMap((container) => container.ports ?? []);
  if (port === "") return { host, port: ports[0]?.containerPort ?? HTTP_PORT[scheme] };
  const named = ports.find((one) => one.name === port)?.containerPort ?? Number(port);
  if (!Number.isInteger(named) || named < 1 || named > 65_535) {
    throw badRequest(`invalid pod request: unknown port ${JSON.stringify(port)}`);
  }
  return { host, port: named };
}

/**
 * Chooses a ready endpoint that belongs to a pod of this namespace with this address, so that a user who
 * may write endpoints cannot direct this server elsewhere.
 * @throws {StatusError} 404, 503
 */
export function locateService(
  { view, naming, random = Math.random }: LocateServices,
  namespace: string,
  { name, port }: ProxyName,
  asked: string,
): ProxyPlace {
  const { spec } = serviceNamed(view, namespace, name);
  let portName = port;
  if (/^\d+$/.test(port)) {
    const found = spec?.ports?.find((one) => String(one.port) === port);
    if (found === undefined) {
      throw serviceUnavailable(`no service port ${port} found for service ${JSON.stringify(name)}`);
    }
    portName = found.name ?? "";
  }
  const places = endpointsOf(view, naming, namespace, name, portName);
  const start = Math.floor(random() * places.length);
  for (let tries = 0; tries < places.length; tries++) {
    const { target, ...place } = places[(start + tries) % places.length] as Endpoint;
    if (isPodAt(view, namespace, target, place.host)) return place;
  }
  throw serviceUnavailable(`no endpoints available for service ${JSON.stringify(asked)}`);
}

export interface LocateServices {
  readonly view: ServiceView;
  readonly naming: Naming;
  readonly random?: () => number;
}

interface Endpoint extends ProxyPlace {
  readonly target: TargetReference | undefined;
}

/** From slices or, where there are none, from the older Endpoints. */
function endpointsOf(
  view: ServiceView,
  { groupDomain, labelDomain }: Naming,
  namespace: string,
  name: string,
  portName: string,
): Endpoint[] {
  const found: Endpoint[] = [];
  let slices = 0;
  const partition = partitionId(`discovery.${groupDomain}`, "endpointslices");
  view
    .partition(partition)
    .snapshot()
    .tree.visit(namespace, "", (object) => {
      if (object.labels?.[`${labelDomain}/service-name`] !== name) return undefined;
      slices++;
      const { ports, endpoints } = parseStored<SliceFields>(object);
      const port = ports?.find((one) => (one.name ?? "") === portName)?.port;
      if (port === undefined) return undefined;
      for (const { addresses = [], conditions, targetRef: target } of endpoints ?? []) {
        if (conditions?.ready === false) continue;
        for (const host of addresses) found.push({ host, port, target });
      }
      return undefined;
    });
  if (slices > 0) return found;
  const older = view.partition(partitionId("", "endpoints")).get(objectPath(namespace, name));
  if (older === undefined) return found;
  for (const { ports, addresses } of parseStored<EndpointsFields>(older).subsets ?? []) {
    const port = ports?.find((one) => (one.name ?? "") === portName)?.port;
    if (port === undefined) continue;
    for (const { ip: host, targetRef: target } of addresses ?? [])
      found.push({ host, port, target });
  }
  return found;
}

function isPodAt(
  view: ServiceView,
  namespace: string,
  target: TargetReference | undefined,
  host: string,
): boolean {
  const isHere = target?.kind === "Pod" && (target.namespace ?? namespace) === namespace;
  if (!isHere || target?.name === undefined || !isGlobalUnicast(host)) return false;
  const path = objectPath(namespace, target.name);
  const stored = view.partition(partitionId("", "pods")).get(path);
  if (stored === undefined || stored.corruption !== undefined) return false;
  const { status } = parseStored<PodFields>(stored);
  return status?.podIP === host || (status?.podIPs ?? []).some(({ ip }) => ip === host);
}
