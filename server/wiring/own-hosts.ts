/** Wiring of addresses: this replica's own, for other machines and for its certificate. */
import { hostname, networkInterfaces } from "node:os";
import { formatIp, type IpBlock } from "../api/ip-address.js";
import { serviceHosts } from "../certificates/certificates.js";
import type { Config } from "../config/config.js";
import { parseControlPlaneDomain } from "../control-planes/control-plane-hosts.js";

const LOOPBACK = /^(127\.|::1$)/;
const UNSPECIFIED: readonly string[] = ["", "0.0.0.0", "::"];

/**
 * The address for other machines: the flag's, the one it listens on, or the machine's first. The
 * loopback address if there is no other.
 */
export function advertisedAddress({ advertiseAddress, bindAddress }: Config): string {
  if (advertiseAddress !== "") return advertiseAddress;
  if (!UNSPECIFIED.includes(bindAddress) && !LOOPBACK.test(bindAddress)) return bindAddress;
  return firstAddress() ?? "127.0.0.1";
}

export function isLoopback(address: string): boolean {
  return LOOPBACK.test(address);
}

/** The host names and addresses in the replica's own certificate. */
export function ownHosts(config: Config): string[] {
  const { naming, bindAddress, serviceRanges, servingNames } = config;
  const domain = parseControlPlaneDomain(config.controlPlaneDomain);
  const addresses = [bindAddress, advertisedAddress(config)];
  return [
    "localhost",
    "127.0.0.1",
    "::1",
    hostname(),
    ...serviceHosts(naming.vendor),
    ...serviceRanges.clusterIpRanges.map(firstServiceAddress),
    ...addresses.filter((address) => !UNSPECIFIED.includes(address)),
    ...servingNames,
    ...(domain === undefined ? [] : [`*.${domain.name}`]),
  ];
}

/** The API's own Service address: the block's first host address. */
export function firstServiceAddress({ version, first }: IpBlock): string {
  return formatIp({ version, value: first + 1n });
}

/** The first address of all interfaces, IPv4 first. */
function firstAddress(): string | undefined {
  const all = Object.values(readInterfaces()).flatMap((addresses) => addresses ?? []);
  const outside = all.filter(({ internal, address }) => !internal && !address.startsWith("fe80:"));
  const first = outside.find(({ family }) => family === "IPv4") ?? outside[0];
  return first?.address;
}

/** None where the process may not ask the kernel: a sandbox without netlink sockets, such as a unit's. */
function readInterfaces(): ReturnType<typeof networkInterfaces> {
  try {
    return networkInterfaces();
  } catch {
    return {};
  }
}
