/**
 * The Service by which clients in a cluster reach this API; its Endpoints and EndpointSlices list the live
 * replicas. Every replica renews its own lease and repairs these objects; a replica that shuts down
 * removes itself first, and others remove one that died (replica-lease.ts).
 */
import type { Clock } from "../../storage/base/clock.js";
import type { Logger } from "../../storage/base/logger.js";
import { deepEqual } from "../api/deep-equal.js";
import type { ApiObject } from "../api/meta.js";
import type { Naming } from "../api/naming.js";
import { eachInTurn } from "./each-in-turn.js";
import { isLostRace } from "./lost-race.js";
import type { ControlledResource, ObjectsApi } from "./objects-api.js";
import { RENEW_MS, type ReplicaAddress, ReplicaLease } from "./replica-lease.js";
import { runSyncLoop } from "./sync-loop.js";

export interface ApiEndpointsOptions {
  readonly objects: ObjectsApi;
  readonly naming: Naming;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The address of this replica. */
  readonly address: ReplicaAddress;
  /** The Service's IP: "10.0.0.1". */
  readonly serviceIp: string;
}

const NAMESPACE = "default";
const SERVICE_PORT = 443;
const PORT_NAME = "https";
/** The time limit for removing this replica on shutdown. */
const FAREWELL_MS = 3_000;

/**
 * Runs until `leaving` aborts, then removes this replica. Ends at once when `signal` aborts, because the
 * registry has stopped by then.
 */
export async function runApiEndpoints(
  options: ApiEndpointsOptions,
  leaving: AbortSignal,
  signal: AbortSignal,
): Promise<void> {
  const { naming, logger } = options;
  const lease = new ReplicaLease(options);
  const wanted = new WantedObjects(options);
  const own = ({ namespace, name }: { namespace: string; name: string }) =>
    namespace === NAMESPACE && name.startsWith(naming.vendor);
  const watches = wanted.resources.map((resource) => ({ resource, concerns: own }));
  const sync = async (until: AbortSignal): Promise<number> => {
    await lease.renew(until);
    await wanted.apply(lease.living(), until);
    await lease.bury(until);
    return RENEW_MS;
  };
  const name = "api-endpoints";
  const either = AbortSignal.any([leaving, signal]);
  await runSyncLoop({ ...options, name, watches, intervalMs: RENEW_MS, sync }, either);
  if (signal.aborted) return;
  const farewell = AbortSignal.any([signal, AbortSignal.timeout(FAREWELL_MS)]);
  try {
    await lease.release(farewell);
    await wanted.apply(lease.others(), farewell);
  } catch (error) {
    // The others will notice by the lease.
    if (!isLostRace(error)) logger.info({ err: error }, "left without saying so");
  }
}

/** The desired Service, Endpoints and EndpointSlices, one slice for each port and IP family. */
class WantedObjects {
  readonly #objects: ObjectsApi;
  readonly #options: ApiEndpointsOptions;
  readonly service: ControlledResource;
  readonly endpoints: ControlledResource;
  readonly slices: ControlledResource;

  constructor(options: ApiEndpointsOptions) {
    const { objects, naming } = options;
    this.#objects = objects;
    this.#options = options;
    this.service = objects.resource("", "services");
    this.endpoints = objects.resource("", "endpoints");
    this.slices = objects.resource(`discovery.${naming.groupDomain}`, "endpointslices");
  }

  get resources(): readonly ControlledResource[] {
    return [this.service, this.endpoints, this.slices];
  }

  /** @throws {StatusError} */
  async apply(replicas: readonly ReplicaAddress[], signal: AbortSignal): Promise<void> {
    const { naming } = this.#options;
    const slices = this.#slices(replicas);
    const wanted: readonly (readonly [ControlledResource, ApiObject, ...string[]])[] = [
      [this.service, this.#service()],
      [this.endpoints, this.#endpoints(replicas), "subsets"],
      ...slices.map((slice) => [this.slices, slice, "ports", "endpoints"] as const),
    ];
    const names = new Set(slices.map(({ metadata }) => metadata.name));
    const label = `${naming.labelDomain}/service-name`;
    const superfluous = this.#objects.list(this.slices, NAMESPACE).filter(({ metadata }) => {
      const { name = "", labels } = metadata;
      const isOfService = labels?.[label] === naming.vendor && name.startsWith(naming.vendor);
      return isOfService && !names.has(name) && labels?.[managedBy(naming)] === undefined;
    });
    await eachInTurn(
      [
        ...wanted.map(
          ([resource, object, ...fields]) =>
            () =>
              this.#ensure(resource, object, fields, signal),
        ),
        ...superfluous.map(({ metadata: { name = "" } }) => () => {
          const options = { propagationPolicy: "Background" as const };
          return this.#objects.remove(this.slices, { namespace: NAMESPACE, name }, options, signal);
        }),
      ],
      (work) => work(),
    );
  }

  /** Creates the object, or sets these fields of it where they differ. One of another family of addresses is made anew. */
  async #ensure(
    resource: ControlledResource,
    object: ApiObject,
    fields: readonly string[],
    signal: AbortSignal,
  ): Promise<void> {
    const { name = "" } = object.metadata;
    const current = this.#objects.get(resource, { namespace: NAMESPACE, name });
    if (current === undefined) {
      await this.#objects.create(resource, object, signal);
      return;
    }
    const wanted: Record<string, unknown> = { ...object };
    const stored: Record<string, unknown> = { ...current };
    if (stored.addressType !== wanted.addressType) {
      const { uid = "" } = current.metadata;
      const options = { uid, propagationPolicy: "Background" } as const;
      await this.#objects.remove(resource, { namespace: NAMESPACE, name }, options, signal);
      await this.#objects.create(resource, object, signal);
      return;
    }
    const different = fields.filter(
      (field) => !deepEqual(wanted[field] ?? [], stored[field] ?? []),
    );
    if (different.length === 0) return;
    for (const field of different) stored[field] = wanted[field];
    await this.#objects.update(resource, stored as unknown as ApiObject, "", signal);
  }

  #service(): ApiObject {
    const { naming, serviceIp, address } = this.#options;
    const port = { name: PORT_NAME, protocol: "TCP", port: SERVICE_PORT, targetPort: address.port };
    const object = {
      kind: "Service",
      apiVersion: "v1",
      metadata: {
        namespace: NAMESPACE,
        name: naming.vendor,
        labels: { component: "apiserver", provider: naming.vendor },
      },
      spec: { clusterIP: serviceIp, ports: [port], sessionAffinity: "None", type: "ClusterIP" },
    };
    return object;
  }

  #endpoints(replicas: readonly ReplicaAddress[]): ApiObject {
    const { naming } = this.#options;
    const object = {
      kind: "Endpoints",
      apiVersion: "v1",
      metadata: {
        namespace: NAMESPACE,
        name: naming.vendor,
        labels: { [`endpointslice.${naming.labelDomain}/skip-mirror`]: "true" },
      },
      subsets: [...byPort(replicas)].map(([port, ips]) => ({
        addresses: ips.map((ip) => ({ ip })),
        ports: [{ name: PORT_NAME, port, protocol: "TCP" }],
      })),
    };
    return object;
  }

  #slices(replicas: readonly ReplicaAddress[]): ApiObject[] {
    const { naming } = this.#options;
    const families = [
      { addressType: "IPv4", of: replicas.filter(({ ip }) => !ip.includes(":")) },
      { addressType: "IPv6", of: replicas.filter(({ ip }) => ip.includes(":")) },
    ];
    const groups = families.flatMap(({ addressType, of }) =>
      [...byPort(of)].map(([port, ips]) => ({ addressType, port, ips })),
    );
    // Without replicas one empty slice remains.
    if (groups.length === 0) groups.push({ addressType: "IPv4", port: SERVICE_PORT, ips: [] });
    return groups.map(({ addressType, port, ips }, index) => {
      // Nearly always there is one, with the Service's name.
      const suffix = index === 0 ? "" : `-${addressType.toLowerCase()}-${port}`;
      const object = {
        kind: "EndpointSlice",
        apiVersion: `${this.slices.group}/${this.slices.version}`,
        metadata: {
          namespace: NAMESPACE,
          name: `${naming.vendor}${suffix}`,
          labels: { [`${naming.labelDomain}/service-name`]: naming.vendor },
        },
        addressType,
        endpoints: ips.map((ip) => ({ addresses: [ip], conditions: { ready: true } })),
        ports: [{ name: PORT_NAME, port, protocol: "TCP" }],
      };
      return object;
    });
  }
}

function byPort(replicas: readonly ReplicaAddress[]): Map<number, string[]> {
  const ports = new Map<number, string[]>();
  for (const { ip, port } of replicas) ports.set(port, [...(ports.get(port) ?? []), ip]);
  return new Map([...ports].sort(([a], [b]) => a - b));
}

/** The label that identifies the slice's controller; the mirroring controller sets its own. */
function managedBy(naming: Naming): string {
  return `endpointslice.${naming.labelDomain}/managed-by`;
}
