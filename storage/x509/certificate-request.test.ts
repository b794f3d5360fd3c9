/** Requests for certificates: who reads one here must read the one that its signer reads. */
import assert from "node:assert/strict";
import { generateKeyPairSync, sign } from "node:crypto";
import { test } from "node:test";
import { readCertificateRequest } from "./certificate-request.js";
import { MalformedDer } from "./der.js";
import { der, identifier, integer, name, sequence } from "./testing/der-writer.js";

const KEY = generateKeyPairSync("ec", { namedCurve: "P-256" });
const SMALL = generateKeyPairSync("rsa", { modulusLength: 512 });
const [ECDSA_SHA256, ECDSA_SHA1] = ["1.2.840.10045.4.3.2", "1.2.840.10045.4.1"];
const RSA_SHA256 = "1.2.840.113549.1.1.11";

type Attributes = Parameters<typeof name>[0];

function make(
  subject: Attributes,
  { keys = KEY, hash = "sha256", algorithm = ECDSA_SHA256, isForged = false } = {},
): string {
  const signed = sequence(
    integer(0),
    name(subject),
    keys.publicKey.export({ type: "spki", format: "der" }),
    der(0xa0),
  );
  const signature = sign(hash, isForged ? Buffer.from("other") : signed, keys.privateKey);
  const request = sequence(
    signed,
    sequence(identifier(algorithm)),
    der(0x03, Buffer.from([0]), signature),
  );
  const lines = request.toString("base64").replace(/.{1,64}/g, "$&\n");
  return `-----BEGIN CERTIFICATE REQUEST-----\n${lines}-----END CERTIFICATE REQUEST-----\n`;
}

const cn = (value: string): Attributes[number] => ["2.5.4.3", 0x0c, value];
const read = (pem: string) => readCertificateRequest(Buffer.from(pem));
const jane = make([cn("jane")]);
const masters = make([["2.5.4.10", 0x0c, "system:masters"], cn("eve")]);

test("A1: of several common names the last one counts, as in the certificate", () => {
  const { commonName, organizations } = read(
    make([cn("system:node:n1"), ["2.5.4.10", 0x13, "system:nodes"], cn("system:node:n2")]),
  );
  assert.equal(commonName, "system:node:n2");
  assert.deepEqual(organizations, ["system:nodes"]);
});

test("A1: attributes that are no text are no names", () => {
  const { commonName } = read(make([cn("jane"), ["2.5.4.3", 0x02, "\x01"]]));
  assert.equal(commonName, "jane");
});

test("A1: the signature has to be the key's", () => {
  assert.equal(read(jane).signatureProblem, undefined);
  const forged = make([cn("jane")], { isForged: true });
  assert.equal(read(forged).signatureProblem, "x509: ECDSA verification failure");
  const withSha1 = make([cn("jane")], { hash: "sha1", algorithm: ECDSA_SHA1 });
  assert.equal(read(withSha1).signatureProblem, undefined);
  const small = make([cn("jane")], { keys: SMALL as typeof KEY, algorithm: RSA_SHA256 });
  assert.match(read(small).signatureProblem ?? "", /^crypto\/rsa: 512-bit keys are insecure/);
});

for (const [what, pem] of [
  ["blanks behind its beginning", masters.replace("-----\n", "----- \t\r\n") + jane],
  ["a header", masters.replace("-----\n", "-----\nName: value\n\n") + jane],
] as const) {
  test(`A1: a first block with ${what} is the one that counts`, () => {
    assert.deepEqual(read(pem).organizations, ["system:masters"]);
  });
}

test("A1: text around a block does not count", () => {
  assert.equal(read(`text\n${jane}more`).commonName, "jane");
});

for (const [what, pem] of [
  ["digits that are no base64", jane.replace("\nMI", "\nM!I") + masters],
  ["something behind its end", jane.replace(/-----\n$/, "-----x\n") + masters],
  ["its end within a line", jane.replace("\n-----END", "-----END") + masters],
  ["a beginning that is not at a line's", ` ${masters}${jane}`],
  [
    "a beginning within a line before it",
    `x-----BEGIN CERTIFICATE REQUEST-----\n${masters}${jane}`,
  ],
  ["another type", jane.replaceAll("CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST") + masters],
] as const) {
  test(`A1: a first block with ${what} is refused, not skipped`, () => {
    assert.throws(() => read(pem), new MalformedDer("PEM block type must be CERTIFICATE REQUEST"));
  });
}

test("A1: what is no request, or has something behind it, is malformed", () => {
  const no = (content: Buffer) =>
    `-----BEGIN CERTIFICATE REQUEST-----\n${content.toString("base64")}\n-----END CERTIFICATE REQUEST-----\n`;
  for (const content of [sequence(), sequence(sequence(integer(0)), sequence(), der(0x03))]) {
    assert.throws(() => read(no(content)), /^MalformedDer: asn1: structure error/);
  }
});
