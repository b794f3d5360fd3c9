/** EndpointSlices: where the pods of Services are. One slice for each Service, of its IPv4 addresses. */
import { deepEqual } from "../api/deep-equal.js";
import type { ApiObject } from "../api/meta.js";
import type { ObjectKey } from "../controllers/objects-api.js";
import { suffixOf } from "./chance.js";
import { runKeyedLoop, type Simulation, textOf } from "./keyed-loop.js";
import type { Pod } from "./kinds.js";
import { controlled, isDeleted, ownerReference, selectsLabels } from "./owned-objects.js";
import { isReady } from "./pod-status.js";

interface ServicePort {
  readonly name?: string;
  readonly protocol?: string;
  readonly port: number;
  readonly targetPort?: number | string;
  readonly appProtocol?: string;
}

interface Service extends ApiObject {
  readonly spec?: {
    readonly type?: string;
    readonly selector?: Readonly<Record<string, string>> | null;
    readonly ports?: readonly ServicePort[];
    readonly publishNotReadyAddresses?: boolean;
  };
}

/** The API takes no more in one slice. */
const ENDPOINTS_MAX = 1_000;
const MANAGER = "keelson-simulation";

/** Runs until the signal aborts. */
export async function runEndpointSlices(
  simulation: Simulation,
  signal: AbortSignal,
): Promise<void> {
  const { objects, naming } = simulation;
  const services = objects.resource("", "services");
  const slices = objects.resource(`discovery.${naming.groupDomain}`, "endpointslices");
  const ofNamespace = ({ namespace }: ObjectKey) =>
    objects
      .list(services, namespace)
      .map(({ metadata }) => textOf({ namespace, name: metadata.name ?? "" }));
  const watches = [
    { resource: services, keysOf: (key: ObjectKey) => [textOf(key)] },
    { resource: objects.resource("", "pods"), keysOf: ofNamespace },
  ];
  const sync = async (key: ObjectKey, until: AbortSignal) => {
    const service = objects.get(services, key) as Service | undefined;
    if (service === undefined || isDeleted(service)) return undefined;
    const { selector, type } = service.spec ?? {};
    if (Object.keys(selector ?? {}).length === 0 || type === "ExternalName") return undefined;
    const [current] = controlled(objects, slices, service).filter(
      ({ metadata }) => metadata.labels?.[managedBy(naming.labelDomain)] === MANAGER,
    );
    const slice = sliceOf(simulation, service, current);
    if (current === undefined) await objects.create(slices, slice, until);
    else if (
      !deepEqual([slice.endpoints, slice.ports ?? []], [current.endpoints, current.ports ?? []])
    ) {
      await objects.update(slices, slice, "", until);
    }
    return undefined;
  };
  await runKeyedLoop(simulation, { name: "endpointslices", watches, sync }, signal);
}

function managedBy(labelDomain: string): string {
  return `endpointslice.${labelDomain}/managed-by`;
}

function sliceOf(
  { objects, naming, settings }: Simulation,
  service: Service,
  current: ApiObject | undefined,
): ApiObject & { readonly endpoints?: unknown; readonly ports?: unknown } {
  const { namespace = "", name = "" } = service.metadata;
  const { selector, ports = [], publishNotReadyAddresses = false } = service.spec ?? {};
  const pods = (objects.list(objects.resource("", "pods"), namespace) as Pod[])
    .filter(
      (pod) => selectsLabels({ matchLabels: selector ?? {} }, pod.metadata) && isReachable(pod),
    )
    .slice(0, ENDPOINTS_MAX);
  const resource = objects.resource(`discovery.${naming.groupDomain}`, "endpointslices");
  const labels = {
    [`${naming.labelDomain}/service-name`]: name,
    [managedBy(naming.labelDomain)]: MANAGER,
  };
  const metadata = current?.metadata ?? {
    ...{ namespace, name: `${name}-${suffixOf(5, settings.seed, namespace, name)}`, labels },
    ownerReferences: [ownerReference(service)],
  };
  return {
    ...{ apiVersion: `${resource.group}/${resource.version}`, kind: resource.kind },
    ...{ metadata, addressType: "IPv4" },
    endpoints: pods.map((pod) => endpointOf(pod, name, publishNotReadyAddresses)),
    ports: ports.flatMap((port) => portOf(port, pods)),
  };
}

/** One that has ended serves nobody. */
function isReachable({ status }: Pod): boolean {
  const { phase, podIP = "" } = status ?? {};
  return podIP !== "" && phase !== "Succeeded" && phase !== "Failed";
}

function endpointOf(pod: Pod, service: string, isAlwaysReady: boolean) {
  const { metadata, spec = {}, status } = pod;
  const { namespace, name, uid } = metadata;
  const terminating = isDeleted(pod);
  const serving = isReady(pod);
  return {
    addresses: [status?.podIP],
    conditions: { ready: isAlwaysReady || (serving && !terminating), serving, terminating },
    ...(spec.hostname && spec.subdomain === service && { hostname: spec.hostname }),
    targetRef: { kind: "Pod", namespace, name, uid },
    nodeName: spec.nodeName,
  };
}

/** A port by name is what the first pod has under it. */
function portOf(
  { name = "", protocol = "TCP", port, targetPort, appProtocol }: ServicePort,
  pods: readonly Pod[],
) {
  const named = pods
    .flatMap(({ spec }) => spec?.containers ?? [])
    .flatMap(({ ports }) => ports ?? [])
    .find((one) => one.name === targetPort);
  const number = typeof targetPort === "string" ? named?.containerPort : (targetPort ?? port);
  if (number === undefined) return [];
  return [
    { name, protocol, port: number === 0 ? port : number, ...(appProtocol && { appProtocol }) },
  ];
}
