/**
 * Addresses that users' requests may be proxied to: global unicast, as kube-apiserver judges them, which is not this
 * machine, its neighbours by link, or groups of machines. Names are resolved first and all their addresses judged;
 * and once more where the connection is made, so that a name that changes its address meanwhile gains nothing.
 */
import { type LookupAddress, lookup } from "node:dns";
import { BlockList, isIP, type LookupFunction } from "node:net";

/** The user's choice of an address is at fault. */
export class RefusedAddress extends Error {
  override readonly name = "RefusedAddress";
}

/** What getaddrinfo would read as a number ("127.1", "0x7f000001", "127.0.0.1."), which no domain ends with. */
const NUMBER_AT_END = /(^|\.)(\d+|0x[\da-f]*)\.?$/i;
const NAME = /^[\w-]+(\.[\w-]+)*\.?$/;

const SPECIAL = specialAddresses();

function specialAddresses(): BlockList {
  const list = new BlockList();
  list.addAddress("0.0.0.0");
  list.addSubnet("127.0.0.0", 8);
  list.addSubnet("169.254.0.0", 16);
  list.addSubnet("224.0.0.0", 4);
  list.addAddress("255.255.255.255");
  list.addAddress("::", "ipv6");
  list.addAddress("::1", "ipv6");
  list.addSubnet("fe80::", 10, "ipv6");
  list.addSubnet("ff00::", 8, "ipv6");
  return list;
}

/** False for names. IPv4 addresses count in the form of IPv6, too. */
export function isGlobalUnicast(address: string): boolean {
  const family = isIP(address);
  const [plain = ""] = address.split("%", 1);
  return family !== 0 && !SPECIAL.check(plain, family === 6 ? "ipv6" : "ipv4");
}

/** Says of a host what needs no resolver. @throws {RefusedAddress} */
export function judgeSpelling(host: string): void {
  const isAddress = isIP(host) !== 0;
  if (isAddress && !isGlobalUnicast(host)) throw notAllowed();
  if (!isAddress && (!NAME.test(host) || NUMBER_AT_END.test(host))) throw unknownHost(host);
}

/** @throws {RefusedAddress} for a host without addresses or with a forbidden one; the signal's reason */
export async function judgeHost(host: string, signal: AbortSignal): Promise<void> {
  judgeSpelling(host);
  if (isIP(host) !== 0) return;
  signal.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const cancel = () => reject(signal.reason);
    signal.addEventListener("abort", cancel, { once: true });
    judgedLookup(host, { all: true }, (error) => {
      signal.removeEventListener("abort", cancel);
      if (error === null) resolve();
      else reject(error);
    });
  });
}

/** For connections to names: those with a forbidden address are not made. */
export const judgedLookup: LookupFunction = createJudgedLookup(lookup);

/** @param resolve looks a name up, as Node's own does */
export function createJudgedLookup(resolve: typeof lookup): LookupFunction {
  return (host, { all, ...options }, callback) => {
    resolve(host, { ...options, all: true }, (error, addresses: LookupAddress[]) => {
      const [first] = addresses ?? [];
      if (error !== null) return callback(toRefusal(host, error), []);
      if (first === undefined) return callback(new RefusedAddress("no addresses for hostname"), []);
      if (!addresses.every(({ address }) => isGlobalUnicast(address))) {
        return callback(notAllowed(), []);
      }
      if (all === true) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };
}

function notAllowed(): RefusedAddress {
  return new RefusedAddress("address not allowed");
}

function unknownHost(host: string): RefusedAddress {
  return new RefusedAddress(`lookup ${host}: no such host`);
}

function toRefusal(host: string, { code }: NodeJS.ErrnoException): RefusedAddress {
  if (code === "ENOTFOUND" || code === "ENODATA") return unknownHost(host);
  return new RefusedAddress(
    `lookup ${host}: ${code === "EAI_AGAIN" ? "server misbehaving" : code}`,
  );
}
