/**
 * Allocates addresses, address families and node ports for Services that leave them open. It
 * guesses from the view what is free, starting at a random place so that replicas seldom collide.
 * The reservations in the Service's own transaction decide (write/reservations.ts).
 */

import { randomInt } from "node:crypto";
import type { PartitionId } from "../../../storage/objects/keys.js";
import { deepEqual } from "../../api/deep-equal.js";
import { invalidValue } from "../../api/field-errors.js";
import { formatIp, type IpBlock, isWithin, parseIp } from "../../api/ip-address.js";
import { Problems } from "../../api/problems.js";
import { type FieldError, internalError, invalid } from "../../api/status.js";
import type { Allocator, IsTaken } from "../generic/allocator.js";
import { NODE_PORT_PARTITION, PORT_TAKEN } from "./service.js";
import {
  hasNodePorts,
  type IpFamily,
  isHeadless,
  needsClusterIp,
  needsHealthCheckPort,
  needsNodePorts,
  type ServiceObject,
  type ServicePort,
  type ServiceSpec,
} from "./service-types.js";

export interface ServiceAllocation {
  /** One block, or one per family; the first one's family is the default. */
  readonly clusterIpRanges: readonly IpBlock[];
  /** Both ends are inclusive. */
  readonly nodePortRange: { readonly first: number; readonly last: number };
  /** Where IPAddress objects are stored. */
  readonly addressPartition: PartitionId;
}

/** Addresses scanned from the random start: a larger block is never full. */
const SCAN_MAX = 65_536;
/** The start of a range is reserved for explicitly requested addresses or ports. */
const RESERVED_MIN = 16;
const RESERVED_IPS_MAX = 256;
const RESERVED_PORTS_MAX = 128;

export function createServiceAllocator(options: ServiceAllocation): Allocator {
  const pools = new Map(options.clusterIpRanges.map((block) => [familyOf(block), block]));
  const [defaultFamily = "IPv4"] = pools.keys();
  return {
    assign(next: ServiceObject, current: ServiceObject | undefined, isTaken, isDryRun = false) {
      const { spec } = next;
      if (spec === undefined) return;
      const refuse = (errors: readonly FieldError[]) =>
        invalid({ group: "", kind: "Service" }, next.metadata.name ?? "", errors);
      if (needsClusterIp(spec)) {
        const errors = settleFamilies(spec, current?.spec, { pools, defaultFamily });
        if (errors.length > 0) throw refuse(errors);
        if (!isHeadless(spec)) {
          const problem = assignAddresses(spec, current?.spec, { ...options, pools, isTaken });
          if (problem !== undefined) throw refuse([problem]);
        }
      }
      const problem = assignPorts(spec, current?.spec, { ...options, isTaken, isDryRun });
      if (problem !== undefined) throw refuse([problem]);
    },
  };
}

function familyOf({ version }: { readonly version: 4 | 6 }): IpFamily {
  return version === 4 ? "IPv4" : "IPv6";
}

interface Families {
  readonly pools: ReadonlyMap<IpFamily, IpBlock>;
  readonly defaultFamily: IpFamily;
}

const POLICY_FIELD = "spec.ipFamilyPolicy";

/** Sets policy and families if the client left them open. @returns the unsatisfiable requests */
function settleFamilies(
  spec: ServiceSpec,
  before: ServiceSpec | undefined,
  { pools, defaultFamily }: Families,
): FieldError[] {
  const errors = new Problems();
  const isFree = spec.clusterIP === "None" && Object.keys(spec.selector ?? {}).length === 0;
  spec.ipFamilyPolicy ??= before?.ipFamilyPolicy ?? (isFree ? "RequireDualStack" : "SingleStack");
  const policy = spec.ipFamilyPolicy;
  if (before !== undefined) {
    if (policy === "SingleStack") keepFirst(spec, before);
    else refuseShorter(spec, before, errors);
  }
  const families = [...(spec.ipFamilies ?? [])];
  const ips = isHeadless(spec) ? [] : (spec.clusterIPs ?? []);
  if (policy === "SingleStack") {
    const why = "must be 'RequireDualStack' or 'PreferDualStack' when multiple";
    if (ips.length === 2) {
      errors.push(invalidValue(POLICY_FIELD, policy, `${why} cluster IPs are specified`));
    }
    if (families.length === 2) {
      errors.push(invalidValue(POLICY_FIELD, policy, `${why} IP families are specified`));
    }
  }
  ips.forEach((ip, index) => {
    const address = parseIp(ip);
    if (families[index] !== undefined || address === undefined) return;
    const family = familyOf(address);
    if (pools.has(family)) families.push(family);
    else {
      const why = `${family} is not configured on this cluster`;
      errors.push(invalidValue(`spec.clusterIPs[${index}]`, ips, why));
    }
  });
  if (errors.length > 0) return errors;
  // A name without pods behind it may declare families that the cluster does not allocate.
  if (!isFree) {
    if (policy === "RequireDualStack" && pools.size < 2) {
      const why = "this cluster is not configured for dual-stack services";
      errors.push(invalidValue(POLICY_FIELD, policy, why));
    }
    families.forEach((family, index) => {
      if (pools.has(family)) return;
      const why = "not configured on this cluster";
      errors.push(invalidValue(`spec.ipFamilies[${index}]`, family, why));
    });
    if (errors.length > 0) return errors;
  }
  if (families.length === 0) families.push(defaultFamily);
  if (families.length === 1 && policy !== "SingleStack" && (isFree || pools.size === 2)) {
    families.push(families[0] === "IPv4" ? "IPv6" : "IPv4");
  }
  spec.ipFamilies = families;
  return errors;
}

/** A change to one family drops the second address, unless the client says otherwise. */
function keepFirst(spec: ServiceSpec, before: ServiceSpec): void {
  const { clusterIPs = [], ipFamilies = [] } = spec;
  if (clusterIPs.length > 1 && deepEqual(clusterIPs, before.clusterIPs)) {
    spec.clusterIPs = clusterIPs.slice(0, 1);
  }
  if (ipFamilies.length > 1 && deepEqual(ipFamilies, before.ipFamilies)) {
    spec.ipFamilies = ipFamilies.slice(0, 1);
  }
}

/** Only one who asks for a single family lets go of the second. */
function refuseShorter(spec: ServiceSpec, before: ServiceSpec, errors: FieldError[]): void {
  for (const [list, what] of [
    ["clusterIPs", "cluster IP"],
    ["ipFamilies", "IP family"],
  ] as const) {
    const count = spec[list]?.length ?? 0;
    if (count === 0 || count >= (before[list]?.length ?? 0)) continue;
    const why = `must be 'SingleStack' to release the secondary ${what}`;
    errors.push(invalidValue(POLICY_FIELD, spec.ipFamilyPolicy, why));
  }
}

interface AddressPools {
  readonly pools: ReadonlyMap<IpFamily, IpBlock>;
  readonly addressPartition: PartitionId;
  readonly isTaken: IsTaken;
}

/** @returns why a requested address can never be allocated */
function assignAddresses(
  spec: ServiceSpec,
  before: ServiceSpec | undefined,
  { pools, addressPartition, isTaken }: AddressPools,
): FieldError | undefined {
  const ips = [...(spec.clusterIPs ?? [])];
  const kept = new Set(before?.clusterIPs);
  for (const [index, family] of (spec.ipFamilies ?? []).entries()) {
    const block = pools.get(family);
    const wanted = ips[index];
    if (wanted === undefined) {
      const ip = block && freeAddress(block, (text) => isTaken(addressPartition, text));
      if (ip === undefined) {
        throw internalError("failed to allocate a serviceIP: range is full");
      }
      ips.push(ip);
    } else if (!kept.has(wanted)) {
      // A Service keeps its previous addresses, even if the ranges have changed.
      const problem = outOfRange(wanted, block);
      if (problem !== undefined) {
        const why = `failed to allocate IP ${wanted}: ${problem}`;
        return invalidValue("spec.clusterIPs", ips, why);
      }
    }
  }
  spec.clusterIPs = ips;
  spec.clusterIP = ips[0] ?? "";
  return undefined;
}

function outOfRange(ip: string, block: IpBlock | undefined): string | undefined {
  const address = parseIp(ip);
  if (address === undefined || block === undefined) return "it is not an address of this cluster";
  const offset = address.value - block.first;
  const { first, last } = usable(block);
  if (isWithin(address, block) && offset >= first && offset <= last) return undefined;
  const range = `${formatIp({ version: block.version, value: block.first })}/${block.bits}`;
  return `the provided IP (${ip}) is not in the valid range. The range of valid IPs is ${range}`;
}

/** Excludes the network address of a block and the broadcast address of IPv4. */
function usable({ version, size }: IpBlock): { first: bigint; last: bigint } {
  if (size <= 2n) return { first: 0n, last: size - 1n };
  return { first: 1n, last: version === 4 ? size - 2n : size - 1n };
}

function freeAddress(block: IpBlock, isTaken: (ip: string) => boolean): string | undefined {
  const { first, last } = usable(block);
  const count = Number(min(last - first + 1n, BigInt(2 ** 31)));
  const reserved = Math.min(Math.max(RESERVED_MIN, Math.floor(count / 16)), RESERVED_IPS_MAX);
  for (const offset of offsets(count, reserved)) {
    const value = block.first + first + BigInt(offset);
    const ip = formatIp({ version: block.version, value });
    if (!isTaken(ip)) return ip;
  }
  return undefined;
}

function min(left: bigint, right: bigint): bigint {
  return left < right ? left : right;
}

/** All numbers below `count` in random order, the reserved ones at the start last. */
function* offsets(count: number, reserved: number): Generator<number> {
  const open = count - reserved;
  if (open > 0) {
    const start = randomInt(open);
    const steps = Math.min(open, SCAN_MAX);
    for (let step = 0; step < steps; step++) yield reserved + ((start + step) % open);
  }
  for (let offset = 0; offset < Math.min(reserved, count); offset++) yield offset;
}

interface PortPool {
  readonly nodePortRange: ServiceAllocation["nodePortRange"];
  readonly isTaken: IsTaken;
  readonly isDryRun: boolean;
}

/** @returns why a requested port can never be allocated */
function assignPorts(
  spec: ServiceSpec,
  before: ServiceSpec | undefined,
  pool: PortPool,
): FieldError | undefined {
  if (!hasNodePorts(spec)) return undefined;
  const ports = spec.ports ?? [];
  const old = new Set((before?.ports ?? []).map(({ nodePort }) => nodePort ?? 0));
  const { first, last } = pool.nodePortRange;
  const isOutside = (port: number) => port !== 0 && !pool.isDryRun && (port < first || port > last);
  const why = `provided port is not in the valid range. The range of valid ports is ${first}-${last}`;
  const health = needsHealthCheckPort(spec) ? (spec.healthCheckNodePort ?? 0) : 0;
  for (const [index, { nodePort = 0 }] of ports.entries()) {
    if (nodePort === 0 || old.has(nodePort)) continue;
    const field = `spec.ports[${index}].nodePort`;
    if (isOutside(nodePort)) return invalidValue(field, nodePort, why);
    if (nodePort === health) return invalidValue(field, nodePort, PORT_TAKEN);
  }
  const own = new Set(ports.map(({ nodePort }) => nodePort ?? 0));
  if (health !== 0 && health !== before?.healthCheckNodePort) {
    const field = "spec.healthCheckNodePort";
    if (isOutside(health)) return invalidValue(field, health, why);
    if (own.has(health)) return invalidValue(field, health, PORT_TAKEN);
  }
  const take = () => {
    const port = freePort(pool, own);
    own.add(port);
    return port;
  };
  if (needsNodePorts(spec)) {
    const shared = new SharedPorts();
    for (const [index, port] of ports.entries()) shared.note(port, index);
    for (const [index, port] of ports.entries()) {
      if ((port.nodePort ?? 0) !== 0) continue;
      port.nodePort = shared.find(port) ?? take();
      shared.note(port, index);
    }
  }
  if (needsHealthCheckPort(spec) && health === 0) {
    spec.healthCheckNodePort = take();
  }
  return undefined;
}

/** The same port number for several protocols shares one node port: the one that comes first in the list. */
class SharedPorts {
  /** By port number and protocol. */
  readonly #first = new Map<
    ServicePort["port"],
    Map<string | undefined, { nodePort: number; index: number }>
  >();

  note({ port, protocol, nodePort = 0 }: ServicePort, index: number): void {
    if (nodePort === 0) return;
    const protocols = this.#first.get(port) ?? new Map();
    this.#first.set(port, protocols);
    const before = protocols.get(protocol);
    if (before === undefined || index < before.index) protocols.set(protocol, { nodePort, index });
  }

  find({ port, protocol }: ServicePort): number | undefined {
    let found: { nodePort: number; index: number } | undefined;
    for (const [other, noted] of this.#first.get(port) ?? []) {
      const isEarlier = found === undefined || noted.index < found.index;
      if (other !== protocol && isEarlier) found = noted;
    }
    return found?.nodePort;
  }
}

function freePort({ nodePortRange, isTaken }: PortPool, own: ReadonlySet<number>): number {
  const { first, last } = nodePortRange;
  const count = last - first + 1;
  const reserved = Math.min(Math.max(RESERVED_MIN, Math.floor(count / 32)), RESERVED_PORTS_MAX);
  for (const offset of offsets(count, count <= RESERVED_MIN ? 0 : reserved)) {
    const port = first + offset;
    if (!own.has(port) && !isTaken(NODE_PORT_PARTITION, String(port))) return port;
  }
  throw internalError("failed to allocate a nodePort: range is full");
}
