/**
 * Strategy of core/v1 Service. A Service keeps its addresses and node ports through updates that do
 * not mention them, and loses them when its type no longer uses them. They are reserved under
 * separate keys, in the transaction that writes the Service.
 */

import { deepEqual } from "../../api/deep-equal.js";
import { invalidValue } from "../../api/field-errors.js";
import { canonicalIp, parseIp } from "../../api/ip-address.js";
import { formatTime } from "../../api/time.js";
import { checkDnsLabelName } from "../../api/validation-names.js";
import type { Reservation } from "../../kinds/reservation.js";
import type { ResourceStrategy, StrategyContext } from "../../kinds/strategy.js";
import { balancerWarnings } from "../generic/address-warnings.js";
import { selectable } from "../generic/fields.js";
import { validated } from "../generic/validated.js";
import {
  hasNodePorts,
  isExternal,
  isHeadless,
  needsClusterIp,
  needsHealthCheckPort,
  needsNodePorts,
  type ServiceObject,
  type ServiceSpec,
} from "./service-types.js";
import { serviceWarnings } from "./service-warnings.js";
import { serviceRules } from "./validate-service.js";

/** The partition of node port reservations; no resource is served from it. */
export const NODE_PORT_PARTITION = "internal/nodeports";

/** Said of a node port that another port has, of this or another Service. */
export const PORT_TAKEN = "provided port is already allocated";

export const serviceStrategy: ResourceStrategy = {
  prepareForCreate(next: ServiceObject) {
    delete next.status;
    const { spec } = next;
    if (spec === undefined) return;
    dropUnused(spec);
    if ((spec.clusterIP ?? "") !== "" && (spec.clusterIPs?.length ?? 0) === 0) {
      spec.clusterIPs = [spec.clusterIP ?? ""];
    }
  },
  prepareForUpdate(next: ServiceObject, current: ServiceObject, { subresource }) {
    if (subresource !== "" || next.spec === undefined) return;
    const before = current.spec ?? {};
    keepGiven(next.spec, before);
    syncAddresses(next.spec, before);
    dropOutdated(next.spec, before);
    dropUnused(next.spec);
    // The address of a balancer that it has no more.
    if (next.spec.type !== "LoadBalancer" && next.status) next.status.loadBalancer = {};
  },
  ...validated(serviceRules),
  reservations: reservationsOf,
  reservationPartitions: ({ naming }) => [
    `networking.${naming.groupDomain}/ipaddresses`,
    NODE_PORT_PARTITION,
  ],
  allowCreateOnUpdate: true,
  returnsDeletedObject: true,
  // Names that begin with a digit are allowed since release 1.36.
  validateName: checkDnsLabelName,
  warnings: serviceWarnings,
  statusWarnings: balancerWarnings,
  ...selectable(["spec.clusterIP", "spec.type"]),
};

/** Fields that an update leaves open keep their values. */
function keepGiven(spec: ServiceSpec, before: ServiceSpec): void {
  if (needsClusterIp(spec) && needsClusterIp(before)) {
    if ((spec.clusterIP ?? "") === "") setOrDelete(spec, "clusterIP", before.clusterIP);
    if ((spec.clusterIPs?.length ?? 0) === 0 && spec.clusterIP === before.clusterIP) {
      setOrDelete(spec, "clusterIPs", before.clusterIPs && [...before.clusterIPs]);
    }
  }
  if (needsNodePorts(spec) && needsNodePorts(before)) keepNodePorts(spec, before);
  if (needsHealthCheckPort(spec) && needsHealthCheckPort(before)) {
    if ((spec.healthCheckNodePort ?? 0) === 0) {
      setOrDelete(spec, "healthCheckNodePort", before.healthCheckNodePort);
    }
  }
}

function setOrDelete<K extends keyof ServiceSpec>(
  spec: ServiceSpec,
  member: K,
  value: ServiceSpec[K] | undefined,
): void {
  if (value === undefined) delete spec[member];
  else spec[member] = value;
}

/** A port is known by its name, whatever else of it changes. */
function keepNodePorts(spec: ServiceSpec, before: ServiceSpec): void {
  const old = new Map((before.ports ?? []).map(({ name, nodePort }) => [name ?? "", nodePort]));
  const used = new Set((spec.ports ?? []).map(({ nodePort }) => nodePort ?? 0));
  for (const port of spec.ports ?? []) {
    const nodePort = old.get(port.name ?? "") ?? 0;
    if ((port.nodePort ?? 0) === 0 && !used.has(nodePort)) port.nodePort = nodePort;
  }
}

/** `clusterIP` is the first of `clusterIPs`, whichever of the two a client has changed. */
function syncAddresses(spec: ServiceSpec, before: ServiceSpec): void {
  const [ip, ips] = [spec.clusterIP ?? "", spec.clusterIPs ?? []];
  const isSameIp = ip === (before.clusterIP ?? "");
  const isSameList = deepEqual(ips, before.clusterIPs ?? []);
  if (ip === "" && !isSameIp && isSameList) delete spec.clusterIPs;
  else if (ips.length === 0 && !isSameList && isSameIp) delete spec.clusterIP;
  else if (ip !== "" && !isSameIp && (isSameList || ips.length === 0))
    spec.clusterIPs = [ip, ...ips.slice(1)];
}

/** Removes the fields of the former type, unless the client has changed them. */
function dropOutdated(spec: ServiceSpec, before: ServiceSpec): void {
  const isSame = (member: keyof ServiceSpec) =>
    deepEqual(spec[member] ?? null, before[member] ?? null);
  if (needsClusterIp(before) && !needsClusterIp(spec)) {
    if (isSame("clusterIPs")) {
      delete spec.clusterIP;
      delete spec.clusterIPs;
    }
    if (isSame("ipFamilies")) delete spec.ipFamilies;
    if (isSame("ipFamilyPolicy")) delete spec.ipFamilyPolicy;
    if (isSame("internalTrafficPolicy")) delete spec.internalTrafficPolicy;
  }
  if (hasNodePorts(before) && !hasNodePorts(spec)) {
    const old = new Set((before.ports ?? []).map(({ nodePort }) => nodePort));
    const ports = spec.ports ?? [];
    if (ports.every(({ nodePort }) => nodePort === undefined || old.has(nodePort))) {
      for (const port of ports) delete port.nodePort;
    }
  }
  if (needsHealthCheckPort(before) && !needsHealthCheckPort(spec)) {
    if (isSame("healthCheckNodePort")) delete spec.healthCheckNodePort;
  }
  if (before.type === "LoadBalancer" && spec.type !== "LoadBalancer") {
    if (isSame("allocateLoadBalancerNodePorts")) delete spec.allocateLoadBalancerNodePorts;
    if (isSame("loadBalancerClass")) delete spec.loadBalancerClass;
  }
  if (isExternal(before) && !isExternal(spec) && isSame("externalTrafficPolicy")) {
    delete spec.externalTrafficPolicy;
  }
}

/** What a name of another domain has no use for. */
function dropUnused(spec: ServiceSpec): void {
  if (spec.type === "ExternalName") delete spec.internalTrafficPolicy;
}

/** The addresses and node ports that a Service holds exclusively. */
function reservationsOf(
  service: ServiceObject,
  context: Pick<StrategyContext, "naming">,
): Reservation[] {
  const spec = service.spec ?? {};
  const claims: Reservation[] = [];
  if (needsClusterIp(spec) && !isHeadless(spec)) {
    for (const ip of spec.clusterIPs ?? []) {
      const name = canonicalIp(ip);
      if (name !== undefined) claims.push(addressClaim(service, name, context));
    }
  }
  if (!hasNodePorts(spec)) return claims;
  const held = new Set<number>();
  const hold = (port: number, field: string) => {
    // One port serves several protocols of the same Service.
    if (port === 0 || held.has(port)) return;
    held.add(port);
    claims.push(portClaim(service, port, field));
  };
  spec.ports?.forEach(({ nodePort = 0 }, index) => {
    hold(nodePort, `spec.ports[${index}].nodePort`);
  });
  if (needsHealthCheckPort(spec)) hold(spec.healthCheckNodePort ?? 0, "spec.healthCheckNodePort");
  return claims;
}

/** An IPAddress object that clients can see, as in kube-apiserver. */
function addressClaim(
  { metadata, spec }: ServiceObject,
  ip: string,
  { naming }: Pick<StrategyContext, "naming">,
): Reservation {
  const group = `networking.${naming.groupDomain}`;
  const why = `failed to allocate IP ${ip}: provided IP is already allocated`;
  return {
    partition: `${group}/ipaddresses`,
    path: ip,
    problem: invalidValue("spec.clusterIPs", spec?.clusterIPs, why),
    object: ({ uid, nowMs }) => ({
      kind: "IPAddress",
      apiVersion: `${group}/v1`,
      metadata: {
        name: ip,
        uid,
        creationTimestamp: formatTime(nowMs),
        labels: {
          [`ipaddress.${naming.labelDomain}/ip-family`]: `IPv${parseIp(ip)?.version}`,
          [`ipaddress.${naming.labelDomain}/managed-by`]: `ipallocator.${naming.groupDomain}`,
        },
      },
      spec: { parentRef: parentOf(metadata) },
    }),
  };
}

function parentOf({ namespace, name }: ServiceObject["metadata"]) {
  return { resource: "services", namespace: namespace ?? "", name: name ?? "" };
}

function portClaim({ metadata }: ServiceObject, port: number, field: string): Reservation {
  return {
    partition: NODE_PORT_PARTITION,
    path: String(port),
    problem: invalidValue(field, port, PORT_TAKEN),
    object: ({ uid, nowMs }) => ({
      kind: "NodePort",
      apiVersion: "internal/v1",
      metadata: { name: String(port), uid, creationTimestamp: formatTime(nowMs) },
      spec: { parentRef: parentOf(metadata) },
    }),
  };
}
