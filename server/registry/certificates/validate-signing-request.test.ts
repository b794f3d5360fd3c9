/** Rules for certificate requests: what is accepted, what is refused and how. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import {
  changeProblems,
  checkChanges,
  checkProblems,
  type TestObject,
} from "../testing/problems.js";

/** From the emitted file: dist/server/registry/certificates. */
const request = readFileSync(
  new URL("../../../../e2e/fixtures/request.csr.pem", import.meta.url),
).toString("base64");
/** With a bit of its signature changed. */
const altered = (() => {
  const pem = Buffer.from(request, "base64").toString();
  const der = Buffer.from(pem.replace(/-----[^-]+-----/g, ""), "base64");
  der.writeUInt8(der.readUInt8(der.length - 3) ^ 1, der.length - 3);
  const [begin, end] = ["BEGIN", "END"].map((word) => `-----${word} CERTIFICATE REQUEST-----`);
  return Buffer.from(`${begin}\n${der.toString("base64")}\n${end}\n`).toString("base64");
})();
const signing = (parts: object): TestObject => ({
  spec: { request, signerName: "a.b/c", usages: ["client auth"], ...parts },
});

/** A signer with a namespace and a name of the most that they may have. @param tail of its domain, in bytes */
const longSigner = (tail: number) =>
  `${`${"d".repeat(63)}.`.repeat(3)}${"d".repeat(tail)}/${"n".repeat(63)}.${"x".repeat(253)}`;

test("certificate requests are accepted or refused by their rules, field by field", () => {
  checkProblems("certificates.k8s.io/v1/certificatesigningrequests", [
    [signing({ expirationSeconds: 600 })],
    [
      signing({ request: Buffer.from("no").toString("base64") }),
      'spec.request: Invalid value: "bm8=": PEM block type must be CERTIFICATE REQUEST',
    ],
    [
      signing({ request: altered }),
      `spec.request: Invalid value: ${JSON.stringify(altered)}: x509: ECDSA verification failure`,
    ],
    [signing({ usages: [] }), "spec.usages: Required value"],
    [signing({ signerName: longSigner(61) })],
    [
      signing({ signerName: longSigner(62) }),
      "spec.signerName: Too long: may not be more than 571 bytes",
    ],
    [
      signing({ signerName: "signer" }),
      "spec.signerName: Invalid value: \"signer\": must be a fully qualified domain and path of the form 'example.com/signer-name'",
    ],
    [
      signing({ expirationSeconds: 599 }),
      "spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 600 seconds (10 minutes)",
    ],
    [
      signing({ usages: ["client auth", "client auth"] }),
      'spec.usages[1]: Duplicate value: "client auth"',
    ],
    [
      signing({ usages: ["flying"] }),
      'spec.usages[0]: Unsupported value: "flying": supported values: "any", "cert sign", "client auth", "code signing", "content commitment", "crl sign", "data encipherment", "decipher only", "digital signature", "email protection", "encipher only", "ipsec end system", "ipsec tunnel", "ipsec user", "key agreement", "key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing", "s/mime", "server auth", "signing", "timestamping"',
    ],
    [
      signing({ signerName: "A/b" }),
      "spec.signerName: Invalid value: \"A\": validating label \"A\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
      'spec.signerName: Invalid value: "A": should be a domain with at least two segments separated by dots',
    ],
    [
      signing({ signerName: "host/x" }),
      'spec.signerName: Invalid value: "host": should be a domain with at least two segments separated by dots',
    ],
    [
      signing({ signerName: "a.b/" }),
      "spec.signerName: Invalid value: \"\": validating label \"\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    ],
    [signing({ signerName: "" }), "spec.signerName: Required value"],
    [
      signing({ request: "" }),
      'spec.request: Invalid value: "": PEM block type must be CERTIFICATE REQUEST',
    ],
  ]);
});

test("a certificate request is what it was, whatever an update says", () => {
  checkChanges("certificates.k8s.io/v1/certificatesigningrequests", [
    [signing({}), signing({ signerName: "a.b/d" })],
  ]);
});

test("a status keeps one condition of each type", () => {
  const decided = (...types: readonly string[]): TestObject => ({
    ...signing({}),
    status: { conditions: types.map((type) => ({ type, status: "True", reason: "r" })) },
  });
  assert.deepEqual(
    changeProblems(
      "certificates.k8s.io/v1/certificatesigningrequests",
      decided("Approved"),
      decided("Failed", "Failed"),
      "status",
    ),
    [
      'status.conditions[1].type: Duplicate value: "Failed"',
      'status.conditions: Forbidden: updates may not remove a condition of type "Approved"',
    ],
  );
});

test("R33: a status reports, and does neither approve nor take back nor replace", () => {
  const CSR = "certificates.k8s.io/v1/certificatesigningrequests";
  const change = (before: object, status: object, part: string) =>
    changeProblems(CSR, { ...signing({}), status: before }, { ...signing({}), status }, part);
  const of = (...conditions: object[]) => ({ conditions });
  const is = (type: string, status = "True") => ({ type, status, reason: "r" });
  const FIELD = "status.conditions";
  const rows: readonly [before: object, after: object, ...problems: string[]][] = [
    [{}, of(is("Failed"))],
    [{}, of(is("Other", "Unknown"))],
    [
      {},
      of(is("Approved")),
      `${FIELD}: Forbidden: updates may not add a condition of type "Approved"`,
    ],
    [{}, of(is("Denied")), `${FIELD}: Forbidden: updates may not add a condition of type "Denied"`],
    [
      of(is("Failed")),
      of(),
      `${FIELD}: Forbidden: updates may not remove a condition of type "Failed"`,
    ],
    [
      {},
      of(is("Failed", "False")),
      `${FIELD}[0].status: Unsupported value: "False": supported values: "True"`,
    ],
    [{}, of(is("")), `${FIELD}[0].type: Required value`],
    [{}, of(is("Other", "")), `${FIELD}[0].status: Required value`],
    [
      {},
      { certificate: Buffer.from("x").toString("base64") },
      'status.certificate: Invalid value: "<certificate data>": must contain at least one CERTIFICATE PEM block',
    ],
    [
      { certificate: "eA==" },
      { certificate: "" },
      "status.certificate: Forbidden: updates may not modify existing certificate content",
    ],
  ];
  for (const [before, after, ...expected] of rows) {
    assert.deepEqual(change(before, after, "status"), expected, JSON.stringify(after));
  }
  const legacy = signing({ signerName: "kubernetes.io/legacy-unknown" });
  checkProblems(CSR, [
    [
      legacy,
      'spec.signerName: Invalid value: "kubernetes.io/legacy-unknown": the legacy signerName is not allowed via this API version',
    ],
  ]);
});
