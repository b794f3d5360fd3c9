/** Resolves the pods and services that requests are proxied to; pods have global addresses. */
import { objectPath, partitionId } from "../../storage/objects/keys.js";
import { badRequest, serviceUnavailable } from "../api/status.js";
import { isGlobalUnicast } from "../outbound/judged-address.js";
import {
  type Address,
  type Endpoint,
  type EndpointTarget,
  endpointsOf,
  type PortFields,
  type Services,
  type ServiceView,
} from "../outbound/services.js";
import { addressOf, type PodFields, parseStored, podNamed, serviceNamed } from "./targets.js";

/** `name`, `name:port` or `scheme:name:port`. */
export interface ProxyName {
  readonly scheme: "http" | "https";
  readonly name: string;
  /** A number or a name; "" = the first or unnamed one. */
  readonly port: string;
}

interface EndpointsFields {
  readonly subsets?:
    | readonly {
        readonly ports?: readonly PortFields[];
        readonly addresses?: readonly {
          readonly ip: string;
          readonly targetRef?: EndpointTarget;
        }[];
      }[]
    | null;
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
): Address {
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
  services: Services & { readonly random?: () => number },
  namespace: string,
  { name, port }: ProxyName,
  asked: string,
): Address {
  const { view, random = Math.random } = services;
  const { spec } = serviceNamed(view, namespace, name);
  let portName = port;
  if (/^\d+$/.test(port)) {
    const found = spec?.ports?.find((one) => String(one.port) === port);
    if (found === undefined) {
      throw serviceUnavailable(`no service port ${port} found for service ${JSON.stringify(name)}`);
    }
    portName = found.name ?? "";
  }
  const places = readyAt(services, namespace, name, portName);
  const start = Math.floor(random() * places.length);
  for (let tries = 0; tries < places.length; tries++) {
    const place = places[(start + tries) % places.length] as Endpoint;
    const { target, host, port } = place;
    if (isPodAt(view, namespace, target, host)) return { host, port };
  }
  throw serviceUnavailable(`no endpoints available for service ${JSON.stringify(asked)}`);
}

/** From slices or, where there are none, from the older Endpoints. */
function readyAt(
  services: Services,
  namespace: string,
  name: string,
  portName: string,
): readonly Pick<Endpoint, "host" | "port" | "target">[] {
  const { view } = services;
  const ready = endpointsOf(services, namespace, name, portName);
  if (ready !== undefined) return ready;
  const older = view.partition(partitionId("", "endpoints")).get(objectPath(namespace, name));
  if (older === undefined) return [];
  return (parseStored<EndpointsFields>(older).subsets ?? []).flatMap(({ ports, addresses }) => {
    const port = ports?.find((one) => (one.name ?? "") === portName)?.port;
    if (port === undefined) return [];
    return (addresses ?? []).map(({ ip: host, targetRef: target }) => ({ host, port, target }));
  });
}

function isPodAt(
  view: ServiceView,
  namespace: string,
  target: EndpointTarget | undefined,
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
