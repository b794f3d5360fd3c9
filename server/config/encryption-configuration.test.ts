/** Which EncryptionConfiguration files are taken, for what, and how others are refused. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createNaming } from "../api/naming.js";
import { parseEncryptionConfiguration } from "./encryption-configuration.js";

const naming = createNaming("kubernetes");
const SECRET = Buffer.alloc(32, 1).toString("base64");
const KEYS = `keys: [{name: key1, secret: ${SECRET}}]`;

function file(resources: string, extra = ""): string {
  return `apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\n${extra}resources:\n${resources}`;
}

function prefixesOf(text: string, partition: string): readonly string[] {
  const rules = parseEncryptionConfiguration(text, naming);
  return rules.ciphersOf(partition).map(({ prefix }) => prefix.toString());
}

test("providers and keys are taken in their order, by the first entry that names the resource", () => {
  const text = file(`
- resources: [secrets, deployments.apps]
  providers:
  - aesgcm: {keys: [{name: new, secret: ${SECRET}}, {name: old, secret: ${SECRET}}]}
  - secretbox: {${KEYS}}
  - identity: {}
- resources: ["*.apps"]
  providers: [{aescbc: {${KEYS}}}]
- resources: ["*."]
  providers: [{identity: {}}, {aescbc: {${KEYS}}}]
`);
  const first = [
    "k8s:enc:aesgcm:v1:new:",
    "k8s:enc:aesgcm:v1:old:",
    "k8s:enc:secretbox:v1:key1:",
    "",
  ];
  assert.deepEqual(prefixesOf(text, "core/secrets"), first);
  assert.deepEqual(prefixesOf(text, "apps/deployments"), first);
  assert.deepEqual(prefixesOf(text, "apps/daemonsets"), ["k8s:enc:aescbc:v1:key1:"]);
  assert.deepEqual(prefixesOf(text, "core/configmaps"), ["", "k8s:enc:aescbc:v1:key1:"]);
  assert.deepEqual(prefixesOf(text, "batch/jobs"), [""]);
  const all = file(`- resources: ["*.*"]\n  providers: [{secretbox: {${KEYS}}}]`);
  assert.deepEqual(prefixesOf(all, "example.com/foos"), ["k8s:enc:secretbox:v1:key1:"]);
});

test("another vendor has another prefix and another group", () => {
  const text = file(`- resources: [secrets]\n  providers: [{aesgcm: {${KEYS}}}]`);
  assert.throws(
    () => parseEncryptionConfiguration(text, createNaming("acme")),
    /apiserver.config.acme.io\/v1/,
  );
  const acme = text.replace("k8s.io", "acme.io");
  const rules = parseEncryptionConfiguration(acme, createNaming("acme"));
  assert.equal(rules.ciphersOf("core/secrets")[0]?.prefix.toString(), "acme:enc:aesgcm:v1:key1:");
});

test("a bad file is refused with its place and without its secrets", () => {
  const secret = Buffer.from("0123456789").toString("base64");
  const entry = (providers: string) => file(`- resources: [secrets]\n  providers: ${providers}`);
  const good = `[{aesgcm: {${KEYS}}}]`;
  const table: readonly (readonly [string, RegExp])[] = [
    ["", /must be an object/],
    ["a: [", /not YAML/],
    [file(" []").replace("Encryption", "Decryption"), /expected kind EncryptionConfiguration/],
    [file(" []"), /resources: at least one/],
    [file(" []", "extra: 1\n"), /unknown field "extra"/],
    [entry("[]"), /resources\[0\]\.providers: at least one/],
    [entry("[{}]"), /exactly one provider/],
    [entry("[{identity: {}, aesgcm: {}}]"), /exactly one provider/],
    [entry("[{rot13: {}}]"), /there is no provider rot13/],
    [entry("[{kms: {name: x}}]"), /kms: key management services are not supported/],
    [entry("[{aesgcm: {keys: []}}]"), /keys: at least one/],
    [entry(`[{aesgcm: {keys: [{secret: ${SECRET}}]}}]`), /keys\[0\]\.name: a name is needed/],
    [entry(`[{aesgcm: {keys: [{name: "a:b", secret: ${SECRET}}]}}]`), /a colon is not allowed/],
    [entry("[{aesgcm: {keys: [{name: a}]}}]"), /keys\[0\]\.secret: a secret is needed/],
    [
      entry(`[{aesgcm: {keys: [{name: a, secret: ${secret}}]}}]`),
      /one of 16, 24, 32 bytes, has 10/,
    ],
    [entry(`[{secretbox: {keys: [{name: a, secret: ${secret}}]}}]`), /must have 32 bytes, has 10/],
    [entry("[{aescbc: {keys: [{name: a, secret: '?!'}]}}]"), /must be base64/],
    [
      entry(`[{aesgcm: {keys: [{name: a, secret: ${SECRET}}, {name: a, secret: ${SECRET}}]}}]`),
      /a is there twice/,
    ],
    [entry(`[{aesgcm: {${KEYS}, other: 1}}]`), /unknown field "other"/],
    [file(`- resources: []\n  providers: ${good}`), /resources\[0\]\.resources: at least one/],
    [file(`- resources: ["*"]\n  providers: ${good}`), /use "\*\."/],
    [file(`- resources: [Secrets]\n  providers: ${good}`), /capital letters/],
    [file(`- resources: ["pods.*"]\n  providers: ${good}`), /is no resource/],
    [
      file(
        `- resources: ["*.*"]\n  providers: ${good}\n- resources: [secrets]\n  providers: ${good}`,
      ),
      /resources\[1\]\.resources\[0\]: secrets is covered/,
    ],
    [`x: &a [1]\n${entry(good)}\ny: *a`, /aliases are not allowed|unknown field/],
  ];
  for (const [text, problem] of table) {
    assert.throws(
      () => parseEncryptionConfiguration(text, naming),
      (error: Error) => {
        assert.match(error.message, problem, text);
        assert.equal(error.message.includes("\n"), false, text);
        assert.equal(error.message.includes(secret) || error.message.includes(SECRET), false, text);
        return true;
      },
    );
  }
});
