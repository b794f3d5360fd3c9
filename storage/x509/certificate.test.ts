/** What certificates may say in rare forms: each row is what Go's crypto/x509 answered to the same certificate. */
import assert from "node:assert/strict";
import { generateKeyPairSync, type KeyObject, X509Certificate } from "node:crypto";
import { test } from "node:test";
import type { TLSSocket } from "node:tls";
import { parseCertificate } from "./certificate.js";
import { CertificatePool } from "./certificate-pool.js";
import { MalformedDer } from "./der.js";
import { peerChain } from "./peer-chain.js";
import { certificate, der, extension, name, sequence, text, time } from "./testing/der-writer.js";
import { verifyPath } from "./verify-path.js";

const KEY = generateKeyPairSync("ec", { namedCurve: "P-256" });
const NOW = Date.now();
const DAY_MS = 86_400_000;

function leaf(
  extensions: readonly Buffer[] = [],
  subject = name([["2.5.4.3", 0x0c, "jane"]]),
  validity?: Buffer,
  key: KeyObject = KEY.publicKey,
) {
  return certificate({
    version: 3,
    serial: 1,
    issuer: subject,
    subject,
    notBefore: new Date(NOW - DAY_MS),
    notAfter: new Date(NOW + DAY_MS),
    key,
    signer: KEY.privateKey,
    extensions,
    ...(validity !== undefined && { validity }),
  });
}

const names = (...all: Buffer[]) => extension("2.5.29.17", sequence(...all));
const uri = (value: string) => text(0x86, value);
const address = (hex: string) => der(0x87, Buffer.from(hex, "hex"));
const constraint = (tag: number, base: Buffer) =>
  extension("2.5.29.30", sequence(der(tag, sequence(base))), true);

const MAPPED = "00000000000000000000ffff0a000001";
const MAPPED_NETWORK = "00000000000000000000ffff0a000000ffffffffffffffffffffffffff000000";

function isRead(raw: Buffer): boolean {
  try {
    parseCertificate(raw);
    return true;
  } catch (error) {
    assert.ok(error instanceof MalformedDer);
    return false;
  }
}

for (const [tag, isGood] of [
  [0x0c, true],
  [0x13, true],
  [0x16, true],
  [0x02, false],
  [0x04, false],
  [0x19, false],
  [0x1a, false],
  [0x1c, false],
] as const) {
  test(`A1: a subject of tag ${tag} is ${isGood ? "read" : "malformed: it would be a name without it"}`, () => {
    const subject = name([
      ["2.5.4.3", tag, "jane"],
      ["2.5.4.10", 0x0c, "system:masters"],
    ]);
    assert.equal(isRead(leaf([], subject)), isGood);
  });
}

for (const [value, isGood] of [
  ["https://a.example:8443/x", true],
  ["spiffe://a.example/%2f", true],
  ["urn:a:%zz", true],
  ["/path", true],
  ["postgres://a:1:2", true],
  ["postgres://a.example,b.example:2/", true],
  ["https://[fd00::1]:80/", true],
  ["https://[fd00::1%25eth0]/", true],
  ["https://[10.0.0.1]/", false],
  ["https://a.example:1:2/", false],
  ["https://a.example\\b", false],
  ["https://a{b}/", false],
  ["https://a.example#%zz", false],
  ["https://user%zz@a.example/", false],
  ["https://us[er@a.example/", false],
  ["https://a.example/%zz", false],
  ["https://a.example./", false],
  ["first:/segment", true],
  ["1st:/segment", false],
] as const) {
  test(`A1: the alternative name ${value} is ${isGood ? "read" : "malformed"}`, () => {
    assert.equal(isRead(leaf([names(uri(value))])), isGood);
  });
}

for (const [from, isGood] of [
  ["250101000000Z", true],
  ["250101000000+0100", true],
  ["250101000000+0000", false],
  ["250101000000-0000", false],
] as const) {
  test(`A1: a validity from ${from} is ${isGood ? "read" : "malformed"}`, () => {
    const validity = sequence(text(0x17, from), time(new Date(NOW + DAY_MS)));
    assert.equal(isRead(leaf([], undefined, validity)), isGood);
  });
}

const rsa = (modulusLength: number) => generateKeyPairSync("rsa", { modulusLength }).publicKey;

for (const [what, key, isGood] of [
  ["RSA of 512 bits", rsa(512), false],
  ["RSA of 1023 bits", rsa(1023), false],
  ["RSA of 1024 bits", rsa(1024), true],
  ["Ed25519", generateKeyPairSync("ed25519").publicKey, true],
  ["Ed448", generateKeyPairSync("ed448").publicKey, false],
  ["RSA for PSS alone", generateKeyPairSync("rsa-pss", { modulusLength: 2048 }).publicKey, false],
] as const) {
  test(`A1: a peer with a key of ${what} is ${isGood ? "read" : "refused"}`, () => {
    const shown = new X509Certificate(leaf([], undefined, undefined, key));
    const socket = { getPeerX509Certificate: () => shown } as unknown as TLSSocket;
    if (isGood) assert.equal(peerChain(socket).length, 1);
    else assert.throws(() => peerChain(socket), MalformedDer);
  });
}

test("A3: a host with a zone is no address that a certificate names", () => {
  const raw = leaf([names(address("fe800000000000000000000000000001"))]);
  assert.equal(verdict(raw, "fe80::1"), "ok");
  assert.match(verdict(raw, "fe80::1%eth0"), /not valid for any names, but wanted to match/);
});

test("A3: IPv4 in the form of IPv6 names the IPv4 address", () => {
  const raw = leaf([names(address(MAPPED))]);
  assert.equal(verdict(raw, "10.0.0.1"), "ok");
  assert.equal(verdict(raw, "::ffff:10.0.0.1"), "ok");
  assert.match(verdict(raw, "10.0.0.2"), /certificate is valid for 10\.0\.0\.1, not 10\.0\.0\.2/);
});

for (const [what, tag, base, isGood] of [
  ["permitted IPv4", 0xa0, "0a000000ff000000", false],
  ["permitted IPv6", 0xa0, "00".repeat(32), false],
  ["permitted of the same form", 0xa0, MAPPED_NETWORK, true],
  ["excluded IPv4", 0xa1, "0a000000ff000000", false],
  ["excluded of the same form", 0xa1, MAPPED_NETWORK, false],
  ["excluded elsewhere", 0xa1, "0b000000ff000000", true],
] as const) {
  test(`A1: IPv4 in the form of IPv6 under a constraint, ${what}: ${isGood ? "good" : "refused"}`, () => {
    const authority = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const subject = name([["2.5.4.3", 0x0c, "authority"]]);
    const common = {
      version: 3,
      serial: 1,
      issuer: subject,
      notBefore: new Date(NOW - DAY_MS),
      notAfter: new Date(NOW + DAY_MS),
      signer: authority.privateKey,
    } as const;
    const root = certificate({
      ...common,
      subject,
      key: authority.publicKey,
      extensions: [
        extension("2.5.29.19", sequence(der(0x01, Buffer.from([0xff]))), true),
        constraint(tag, address(base)),
      ],
    });
    const below = certificate({
      ...common,
      subject: name([["2.5.4.3", 0x0c, "web"]]),
      key: KEY.publicKey,
      extensions: [names(address(MAPPED))],
    });
    const found = verdict(below, undefined, root);
    if (isGood) assert.equal(found, "ok");
    else assert.match(found, /not authorized to sign for this name: IP address/);
  });
}

function verdict(raw: Buffer, host: string | undefined, trusted = raw): string {
  try {
    verifyPath(parseCertificate(raw), {
      roots: new CertificatePool([parseCertificate(trusted)]),
      intermediates: new CertificatePool([]),
      usage: "servers",
      nowMs: NOW,
      ...(host !== undefined && { host }),
    });
    return "ok";
  } catch (error) {
    return (error as Error).message;
  }
}
