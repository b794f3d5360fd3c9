/** Rules for trust bundles: their names, and what is in them. */
import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import * as write from "../../../storage/x509/testing/der-writer.js";
import { changeProblems, checkProblems, resourceOf, type TestObject } from "../testing/problems.js";

const KIND = "certificates.k8s.io/v1beta1/clustertrustbundles";
const { publicKey, privateKey } = generateKeyPairSync("ed25519");

function pemOf(serial: number, isAuthority: boolean): string {
  const name = write.name([["2.5.4.3", 0x0c, `root ${serial}`]]);
  const constraints = write.sequence(...(isAuthority ? [write.boolean(true)] : []));
  return write.toPem(
    write.certificate({
      version: 3,
      serial,
      issuer: name,
      subject: name,
      notBefore: new Date("2026-01-01"),
      notAfter: new Date("2036-01-01"),
      key: publicKey,
      signer: privateKey,
      extensions: [write.extension("2.5.29.19", constraints, true)],
    }),
  );
}

const [root, other, leaf] = [pemOf(1, true), pemOf(2, true), pemOf(3, false)];
const key = root.replaceAll("CERTIFICATE", "PRIVATE KEY");

const bundle = (name: string, signerName: string | undefined, trustBundle: string): TestObject => ({
  metadata: { name },
  spec: { ...(signerName !== undefined && { signerName }), trustBundle },
});
const of = (trustBundle: string) => bundle("a.b:c:x", "a.b/c", trustBundle);
const wrong = (why: string) => `spec.trustBundle: Invalid value: "<value omitted>": ${why}`;

test("trust bundles hold certificates of authorities alone, each once", () => {
  checkProblems(KIND, [
    [of(root)],
    [of(`first\n${root}between\n${other}last`)],
    [of(`-----BEGIN CERTIFICATE-----\nno base64!\n-----END CERTIFICATE-----\n${root}`)],
    [of(leaf), wrong("entry 0 does not have the CA bit set")],
    [
      of(root + key + leaf),
      wrong("entry 1 has bad block type: PRIVATE KEY"),
      wrong("entry 2 does not have the CA bit set"),
    ],
    [of(root.replace("-----\n", "-----\nA: b\n\n")), wrong("entry 0 has PEM block headers")],
    [
      of("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
      wrong("entry 0 does not parse as X.509"),
    ],
    [of(""), wrong("at least one trust anchor must be provided")],
    [of("text"), wrong("at least one trust anchor must be provided")],
    [of(root + other + root), wrong("duplicate trust anchor (indices [0 2])")],
    [of(root.repeat(4_000)), "spec.trustBundle: Too long: may not be more than 1048576 bytes"],
  ]);
});

test("the name of a trust bundle begins with its signer's", () => {
  const dotted =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
  const named = (name: string, why: string) =>
    `metadata.name: Invalid value: ${JSON.stringify(name)}: ${why}`;
  checkProblems(KIND, [
    [bundle("plain", undefined, root)],
    [
      bundle("a.b:c:x", undefined, root),
      named("a.b:c:x", 'ClusterTrustBundle without signer name must not have ":" in its name'),
    ],
    [bundle("A", undefined, root), named("A", dotted)],
    [
      bundle("plain", "a.b/c", root),
      named("plain", "ClusterTrustBundle for signerName a.b/c must be named with prefix a.b:c:"),
    ],
    [bundle("a.b:c:", "a.b/c", root), named("a.b:c:", dotted)],
    [bundle("a.b:c:x:y", "a.b/c", root), named("a.b:c:x:y", dotted)],
    [
      bundle("a:c:x", "a/c", root),
      'spec.signerName: Invalid value: "a": should be a domain with at least two segments separated by dots',
    ],
  ]);
});

test("a trust bundle keeps its signer, and what is stored is not read again", () => {
  assert.deepEqual(changeProblems(KIND, of(root), of(root + other)), []);
  assert.deepEqual(changeProblems(KIND, of(root), of(leaf)), [
    wrong("entry 0 does not have the CA bit set"),
  ]);
  assert.deepEqual(changeProblems(KIND, of(leaf), of(leaf)), []);
  assert.deepEqual(changeProblems(KIND, of(root), bundle("a.b:c:x", "a.b/d", root)), [
    'metadata.name: Invalid value: "a.b:c:x": ClusterTrustBundle for signerName a.b/d must be named with prefix a.b:d:',
    'spec.signerName: Invalid value: "a.b/d": field is immutable',
  ]);
  assert.equal(resourceOf(KIND).strategy.allowUnconditionalUpdate, false);
});
