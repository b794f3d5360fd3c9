/** Load balancers: Services that ask for one, and Ingresses, get an address that nobody answers at. */
import type { ApiObject } from "../api/meta.js";
import type { ControlledResource, ObjectKey } from "../controllers/objects-api.js";
import { fractionOf } from "./chance.js";
import { runKeyedLoop, type Simulation, textOf } from "./keyed-loop.js";
import { isDeleted } from "./owned-objects.js";

interface Balanced extends ApiObject {
  readonly spec?: {
    readonly type?: string;
    readonly loadBalancerClass?: string | null;
    readonly loadBalancerIP?: string;
  };
  readonly status?: { readonly loadBalancer?: { readonly ingress?: readonly unknown[] } };
}

/** 198.18.0.0/15 is for tests of networks (RFC 2544). */
const ADDRESSES = 2 ** 17;

/** Runs until the signal aborts. */
export async function runLoadBalancers(simulation: Simulation, signal: AbortSignal): Promise<void> {
  const { objects, naming } = simulation;
  const services = objects.resource("", "services");
  const ingresses = objects.resource(`networking.${naming.groupDomain}`, "ingresses");
  const isMeant = ({ spec = {} }: Balanced) =>
    spec.type === "LoadBalancer" && spec.loadBalancerClass == null;
  await Promise.all([
    runBalanced(simulation, services, isMeant, signal),
    runBalanced(simulation, ingresses, () => true, signal),
  ]);
}

async function runBalanced(
  simulation: Simulation,
  resource: ControlledResource,
  isMeant: (object: Balanced) => boolean,
  signal: AbortSignal,
): Promise<void> {
  const { objects } = simulation;
  const watches = [{ resource, keysOf: (key: ObjectKey) => [textOf(key)] }];
  const sync = async (key: ObjectKey, until: AbortSignal) => {
    const object = objects.get(resource, key) as Balanced | undefined;
    if (object === undefined || isDeleted(object)) return undefined;
    const has = (object.status?.loadBalancer?.ingress?.length ?? 0) > 0;
    if (isMeant(object) === has) return undefined;
    const loadBalancer = has ? {} : { ingress: [{ ip: addressOf(simulation, object, resource) }] };
    await objects.update(
      resource,
      { ...object, status: { ...object.status, loadBalancer } },
      "status",
      until,
    );
    return undefined;
  };
  await runKeyedLoop(
    simulation,
    { name: `load balancers of ${resource.resource}`, watches, sync },
    signal,
  );
}

function addressOf(
  { settings }: Simulation,
  { metadata, spec }: Balanced,
  { resource }: ControlledResource,
): string {
  if (spec?.loadBalancerIP) return spec.loadBalancerIP;
  const { namespace = "", name = "" } = metadata;
  const number = Math.floor(fractionOf(settings.seed, resource, namespace, name) * ADDRESSES);
  return `198.${18 + (number >> 16)}.${(number >> 8) & 0xff}.${number & 0xff}`;
}
