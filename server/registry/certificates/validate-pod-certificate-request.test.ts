/** Rules for requests of pods' certificates: the proof of the key, and what becomes of a request. */
import assert from "node:assert/strict";
import { constants, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import * as write from "../../../storage/x509/testing/der-writer.js";
import { changeProblems, checkProblems, type TestObject } from "../testing/problems.js";

const KIND = "certificates.k8s.io/v1beta1/podcertificaterequests";
const UID = "7f3a";
/** The clock of changeProblems. */
const NOW_MS = Date.parse("2030-01-02T03:04:05Z");
const MINUTE_MS = 60_000;

const edwards = generateKeyPairSync("ed25519");
const curve = (namedCurve: string) => generateKeyPairSync("ec", { namedCurve });
const rsa = (modulusLength: number) => generateKeyPairSync("rsa", { modulusLength });

interface Keys {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

function proof({ publicKey, privateKey }: Keys, text = UID): Record<string, string> {
  const isRsa = privateKey.asymmetricKeyType === "rsa";
  const hash = privateKey.asymmetricKeyType === "ed25519" ? null : "sha256";
  const key = isRsa ? { key: privateKey, padding: constants.RSA_PKCS1_PSS_PADDING } : privateKey;
  return {
    pkixPublicKey: publicKey.export({ type: "spki", format: "der" }).toString("base64"),
    proofOfPossession: sign(hash, Buffer.from(text), key).toString("base64"),
  };
}

/** From the emitted file: dist/server/registry/certificates. */
const stub = readFileSync(
  new URL("../../../../e2e/fixtures/request.csr.pem", import.meta.url),
  "utf8",
).replace(/-----[^-]+-----|\n/g, "");
const altered = Buffer.from(stub, "base64");
altered.writeUInt8(altered.readUInt8(altered.length - 3) ^ 1, altered.length - 3);

const request = (parts: object = proof(edwards)): TestObject => ({
  spec: {
    signerName: "a.b/c",
    podName: "web",
    podUID: UID,
    serviceAccountName: "default",
    serviceAccountUID: "8",
    nodeName: "one",
    nodeUID: "9",
    maxExpirationSeconds: 86_400,
    ...parts,
  },
});
const proven = (parts: object) => request({ ...proof(edwards), ...parts });

test("a request for a pod's certificate proves that who asks has the key", () => {
  const unproven =
    "spec.proofOfPossession: Invalid value: could not verify proof-of-possession signature";
  const one =
    "spec: Invalid value: exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set";
  const { pkixPublicKey, proofOfPossession } = proof(edwards);
  checkProblems(KIND, [
    [request()],
    ...["prime256v1", "secp384r1", "secp521r1"].map((name): [TestObject] => [
      request(proof(curve(name))),
    ]),
    [request(proof(rsa(3072)))],
    [request({ stubPKCS10Request: stub })],
    [request(proof(edwards, "another")), unproven],
    [request(proof(curve("prime256v1"), "another")), unproven],
    [
      request({ ...proof(edwards), pkixPublicKey: proof(curve("prime256v1")).pkixPublicKey }),
      unproven,
    ],
    [
      request(proof(rsa(2048))),
      'spec.pkixPublicKey: Invalid value: "2048-bit modulus": RSA keys must have modulus size 3072 or 4096',
    ],
    [
      request({ pkixPublicKey: "AAAA", proofOfPossession }),
      'spec.pkixPublicKey: Invalid value: "AAAA": must be a valid PKIX-serialized public key',
    ],
    [request({}), one],
    [request({ pkixPublicKey }), one],
    [request({ proofOfPossession, stubPKCS10Request: stub }), one],
    [request({ ...proof(edwards), stubPKCS10Request: stub }), one],
    [
      request({ stubPKCS10Request: "AAAA" }),
      "spec.stubPKCS10Request: Invalid value: must be a valid PKCS#10 CSR",
    ],
    [
      request({ stubPKCS10Request: altered.toString("base64") }),
      "spec.stubPKCS10Request: Invalid value: invalid signature",
    ],
  ]);
});

test("a request for a pod's certificate says for whom, by whom and for how long", () => {
  checkProblems(KIND, [
    [proven({ signerName: "" }), "spec.signerName: Required value"],
    [
      proven({ signerName: "c" }),
      "spec.signerName: Invalid value: \"c\": must be a fully qualified domain and path of the form 'example.com/signer-name'",
    ],
    [proven({ nodeUID: "" }), 'spec.nodeUID: Invalid value: "": must not be empty'],
    [
      proven({ serviceAccountUID: "x".repeat(129) }),
      "spec.serviceAccountUID: Too long: may not be more than 128 bytes",
    ],
    [proven({ maxExpirationSeconds: 3_600 })],
    [
      proven({ maxExpirationSeconds: 3_599 }),
      "spec.maxExpirationSeconds: Invalid value: 3599: must be in the range [3600, 7862400]",
    ],
    [proven({ maxExpirationSeconds: 7_862_400 })],
    [
      proven({ signerName: "x.kubernetes.io/c", maxExpirationSeconds: 86_401 }),
      "spec.maxExpirationSeconds: Invalid value: 86401: must be in the range [3600, 86400]",
    ],
    [proven({ unverifiedUserAnnotations: { "Acme.io/foo": "x" } })],
    [
      proven({ unverifiedUserAnnotations: { foo: "x" } }),
      'spec.unverifiedUserAnnotations: Invalid value: "foo": must be a domain-prefixed key (such as "acme.io/foo")',
    ],
  ]);
  const [problem = ""] = changeProblems(KIND, request(), proven({ podName: "other" }));
  assert.match(problem, /^spec: Invalid value: \{.*: field is immutable$/);
});

interface Issued {
  readonly keys?: Keys;
  readonly signer?: Keys;
  readonly fromMs?: number;
  readonly minutes?: number;
  readonly dns?: string;
}

function chainOf({ keys = edwards, fromMs = NOW_MS, minutes = 60, dns = "web.example" }: Issued) {
  const name = write.name([["2.5.4.3", 0x0c, "web"]]);
  const alternative = write.sequence(write.text(0x82, dns));
  return write.toPem(
    write.certificate({
      version: 3,
      serial: 1,
      issuer: name,
      subject: name,
      notBefore: new Date(fromMs),
      notAfter: new Date(fromMs + minutes * MINUTE_MS),
      key: keys.publicKey,
      signer: edwards.privateKey,
      extensions: [write.extension("2.5.29.17", alternative)],
    }),
  );
}

const condition = (type: string, status = "True") => ({
  type,
  status,
  reason: "Because",
  message: "",
  lastTransitionTime: "2030-01-02T03:04:05Z",
});
const at = (ms: number) => new Date(ms).toISOString().replace(".000Z", "Z");

function issued(parts: Issued = {}, status: object = {}): object {
  const { fromMs = NOW_MS, minutes = 60 } = parts;
  return {
    conditions: [condition("Issued")],
    certificateChain: chainOf(parts),
    notBefore: at(fromMs),
    beginRefreshAt: at(fromMs + 30 * MINUTE_MS),
    notAfter: at(fromMs + minutes * MINUTE_MS),
    ...status,
  };
}

test("the status of a request is a certificate for its key, or that there will be none", () => {
  const becomes = (status: object, before: object = {}) =>
    changeProblems(KIND, { ...request(), status: before }, { ...request(), status }, "status");
  const accepted: object[] = [
    {},
    { conditions: [condition("Denied")] },
    { conditions: [condition("Failed")] },
    issued(),
    issued({ fromMs: NOW_MS - 5 * MINUTE_MS }),
  ];
  for (const status of accepted) assert.deepEqual(becomes(status), [], JSON.stringify(status));
  const refused: [object, RegExp][] = [
    [{ certificateChain: "x" }, /^status: Invalid value: status is immutable unless/],
    [
      { conditions: [condition("Denied")], certificateChain: "x" },
      /^status: Invalid value: non-condition status fields must be empty/,
    ],
    [
      { conditions: [condition("Other")] },
      /^status\.conditions\.\[0\]\.type: Unsupported value: "Other": supported values: "Issued", "Denied", "Failed"$/,
    ],
    [
      { conditions: [condition("Denied", "False")] },
      /^status\.conditions\.\[0\]\.status: Unsupported value: "False": supported values: "True"$/,
    ],
    [
      { conditions: [condition("Denied"), condition("Failed")] },
      /\.\[1\]\.type: Invalid value: "Failed": There may be at most one condition/,
    ],
    [{ conditions: [{ type: "Denied", status: "True" }] }, /lastTransitionTime: Required value/],
    [issued({}, { certificateChain: "x" }), /must contain at least one certificate$/],
    [
      issued({}, { certificateChain: `${chainOf({})}-----BEGIN X-----\nAAAA\n-----END X-----\n` }),
      /entirely of CERTIFICATE PEM blocks$/,
    ],
    [issued({ keys: curve("prime256v1") }), /not issued to the requested public key$/],
    [issued({ dns: "a..b" }), /DNSName should not contain '\.\.'$/],
    [issued({ fromMs: NOW_MS + 6 * MINUTE_MS }), /^status\.notBefore: .*within 5 minutes of/],
    [issued({}, { notAfter: at(NOW_MS) }), /^status\.notAfter: .*encoded in the leaf certificate$/],
    [issued({}, { beginRefreshAt: undefined }), /^status\.beginRefreshAt: Required value/],
    [issued({}, { beginRefreshAt: at(NOW_MS) }), /at least 10 minutes after status\.notBefore$/],
    [issued({ minutes: 59 }), /lifetime must be >= 1 hour$/],
    [issued({ minutes: 24 * 60 + 1 }), /lifetime must be <= spec\.maxExpirationSeconds \(86400\)$/],
  ];
  for (const [status, why] of refused) {
    assert.match(becomes(status).join("\n"), why, JSON.stringify(status));
  }
  // What is decided stays.
  const denied = { conditions: [condition("Denied")] };
  assert.deepEqual(becomes(denied, denied), []);
  assert.match(becomes(issued(), denied).join(), /immutable after PodCertificateRequest is issued/);
  assert.match(becomes({}, issued()).join(), /immutable after PodCertificateRequest is issued/);
});
