/** Writes DER for tests: certificates of every kind, good and bad, signed with given keys. */
import { type KeyObject, sign } from "node:crypto";

export function der(tag: number, ...contents: readonly Buffer[]): Buffer {
  const content = Buffer.concat(contents);
  const { length } = content;
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), content]);
  const bytes = length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...bytes]), content]);
}

export const sequence = (...contents: readonly Buffer[]): Buffer => der(0x30, ...contents);
export const text = (tag: number, value: string): Buffer => der(tag, Buffer.from(value, "latin1"));
export const boolean = (value: boolean): Buffer => der(0x01, Buffer.from([value ? 0xff : 0]));
/** From 0 to 127. */
export const integer = (value: number, tag = 0x02): Buffer => der(tag, Buffer.from([value]));

export function identifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...others] = dotted.split(".").map(Number);
  const bytes = [first * 40 + second, ...others].flatMap((part) => {
    const digits = [part & 0x7f];
    for (let rest = part >> 7; rest > 0; rest >>= 7) digits.unshift((rest & 0x7f) | 0x80);
    return digits;
  });
  return der(0x06, Buffer.from(bytes));
}

/** One attribute after the other: [type, tag, text]. */
export function name(attributes: readonly (readonly [string, number, string])[]): Buffer {
  return sequence(
    ...attributes.map(([type, tag, value]) =>
      der(0x31, sequence(identifier(type), text(tag, value))),
    ),
  );
}

export function time(date: Date): Buffer {
  const digits = date.toISOString().replace(/\.\d+|[-:T]/g, "");
  return text(0x18, digits);
}

export function extension(type: string, value: Buffer, isCritical = false): Buffer {
  const critical = isCritical ? [boolean(true)] : [];
  return sequence(identifier(type), ...critical, der(0x04, value));
}

export interface CertificateParts {
  readonly version: 1 | 3;
  readonly serial: number;
  /** Names in DER. */
  readonly issuer: Buffer;
  readonly subject: Buffer;
  readonly notBefore: Date;
  readonly notAfter: Date;
  readonly key: KeyObject;
  readonly extensions: readonly Buffer[];
  readonly signer: KeyObject;
  readonly hash?: "sha1" | "sha256" | "sha384";
  /** In DER, instead of the dates. */
  readonly validity?: Buffer;
}

const ALGORITHMS: Readonly<Record<string, string>> = {
  "rsa sha1": "1.2.840.113549.1.1.5",
  "rsa sha256": "1.2.840.113549.1.1.11",
  "rsa sha384": "1.2.840.113549.1.1.12",
  "ec sha1": "1.2.840.10045.4.1",
  "ec sha256": "1.2.840.10045.4.3.2",
  "ec sha384": "1.2.840.10045.4.3.3",
  ed25519: "1.3.101.112",
};

/** A certificate in DER. */
export function certificate(parts: CertificateParts): Buffer {
  const { version, serial, issuer, subject, notBefore, notAfter, key, extensions, signer } = parts;
  const kind = String(signer.asymmetricKeyType);
  const { hash = "sha256" } = parts;
  const oid = ALGORITHMS[kind === "ed25519" ? kind : `${kind} ${hash}`] ?? "";
  const algorithm = sequence(identifier(oid), ...(kind === "rsa" ? [der(0x05)] : []));
  const signed = sequence(
    ...(version === 3 ? [der(0xa0, integer(2))] : []),
    der(0x02, Buffer.from([0x40, serial >> 16, serial >> 8, serial])),
    algorithm,
    issuer,
    parts.validity ?? sequence(time(notBefore), time(notAfter)),
    subject,
    key.export({ type: "spki", format: "der" }),
    ...(version === 3 && extensions.length > 0 ? [der(0xa3, sequence(...extensions))] : []),
  );
  const signature = sign(kind === "ed25519" ? undefined : hash, signed, signer);
  return sequence(signed, algorithm, der(0x03, Buffer.from([0]), signature));
}

export function toPem(certificate: Buffer): string {
  const lines = certificate.toString("base64").replace(/.{1,64}/g, "$&\n");
  return `-----BEGIN CERTIFICATE-----\n${lines}-----END CERTIFICATE-----\n`;
}
