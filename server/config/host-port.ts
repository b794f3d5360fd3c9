/** "127.0.0.1:10257", "[::1]:10257", ":10257": an address to listen on, as flags write it. */
import { isIP } from "node:net";

export interface HostPort {
  readonly host: string;
  readonly port: number;
}

const PORT_MAX = 65_535;

/** @returns undefined for "" @throws {RangeError} with one line */
export function parseHostPort(flag: string, text: string): HostPort | undefined {
  if (text === "") return undefined;
  const [, bracketed, plain, digits = ""] = /^(?:\[(.+)\]|([^[\]:]*)):(\d{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  const port = Number(digits);
  const isAddress =
    bracketed === undefined ? host === "" || isIP(host ?? "") === 4 : isIP(bracketed) === 6;
  if (host === undefined || !isAddress || port > PORT_MAX) {
    throw new RangeError(`${flag}: ${JSON.stringify(text)} is not address:port`);
  }
  return { host: host || "0.0.0.0", port };
}
