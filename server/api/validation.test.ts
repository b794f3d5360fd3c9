/** Names, labels, annotations, owners and finalizers: what is wrong with them, in known words. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ObjectMeta } from "./meta.js";
import { collectProblems } from "./problems.js";
import {
  ANNOTATIONS_BYTES_MAX,
  validateMetadata,
  validateMetadataUpdate,
} from "./validation-metadata.js";
import {
  checkDns1035LabelName,
  checkDnsLabelName,
  checkDnsSubdomainName,
  checkLabelValue,
  checkPathSegmentName,
  checkQualifiedName,
} from "./validation-names.js";

test("S1-META-01: names by kind of name", () => {
  const table: [typeof checkDnsSubdomainName, string, boolean, boolean][] = [
    [checkDnsSubdomainName, "web.example-1.com", false, true],
    [checkDnsSubdomainName, "Web", false, false],
    [checkDnsSubdomainName, "web-", false, false],
    [checkDnsSubdomainName, "web-", true, true],
    [checkDnsSubdomainName, "a".repeat(253), false, true],
    [checkDnsSubdomainName, "a".repeat(254), false, false],
    [checkDnsLabelName, "a.b", false, false],
    [checkDnsLabelName, "1a", false, true],
    [checkDns1035LabelName, "1a", false, false],
    [checkDns1035LabelName, "a1", false, true],
    [checkPathSegmentName, "system:node:Reader", false, true],
    [checkPathSegmentName, "a/b", false, false],
    [checkPathSegmentName, "..", false, false],
    [checkPathSegmentName, "100%", false, false],
  ];
  for (const [check, name, isPrefix, isRight] of table) {
    assert.equal(check(name, isPrefix).length === 0, isRight, `${check.name} ${name}`);
  }
  assert.deepEqual(checkDnsLabelName("a.b", false), ["must not contain dots"]);
});

test("S1-META-17: keys and values of labels", () => {
  for (const key of ["app", "example.com/app", "a_b.C-1"]) {
    assert.deepEqual(checkQualifiedName(key), [], key);
  }
  for (const key of ["", "/app", "example.com/", "a/b/c", "Example.com/x", "-a", "a".repeat(64)]) {
    assert.notEqual(checkQualifiedName(key).length, 0, key);
  }
  for (const value of ["", "a", "A_b.c-1"]) assert.deepEqual(checkLabelValue(value), [], value);
  for (const value of ["-", "a b", "a".repeat(64)]) {
    assert.notEqual(checkLabelValue(value).length, 0, value);
  }
});

const rules = { isNamespaced: false, namespaceFinalizer: "kubernetes" };
const problems = (meta: ObjectMeta) =>
  collectProblems(() => validateMetadata({ name: "x", ...meta }, rules)).map(
    ({ field, message }) => `${field}: ${message}`,
  );

test("S1-META-17: annotations may add up to 256 KiB", () => {
  const value = "x".repeat(ANNOTATIONS_BYTES_MAX - 1);
  assert.deepEqual(problems({ annotations: { a: value } }), []);
  assert.deepEqual(problems({ annotations: { a: `${value}y` } }), [
    "metadata.annotations: Too long: may not be more than 262144 bytes",
  ]);
  assert.equal(problems({ annotations: { "Upper.example.com/A": "" } }).length, 0);
  assert.equal(problems({ annotations: { "not a key": "" } }).length, 1);
});

test("S1-META-18: owners say completely who they are", () => {
  const owner = { apiVersion: "v1", kind: "Pod", name: "p", uid: "u" };
  assert.deepEqual(problems({ ownerReferences: [owner] }), []);
  assert.deepEqual(problems({ ownerReferences: [owner, { ...owner, name: "", uid: "" }] }), [
    'metadata.ownerReferences.name: Invalid value: "": must not be empty',
    'metadata.ownerReferences.uid: Invalid value: "": must not be empty',
  ]);
  for (const apiVersion of ["", "apps/", "a/b/c"]) {
    assert.deepEqual(problems({ ownerReferences: [{ ...owner, apiVersion, kind: "" }] }), [
      `metadata.ownerReferences.apiVersion: Invalid value: "${apiVersion}": version must not be empty`,
      'metadata.ownerReferences.kind: Invalid value: "": must not be empty',
    ]);
  }
});

test("S1-META-18: every controller after the first is reported", () => {
  const owner = { apiVersion: "v1", kind: "Pod", uid: "u", controller: true };
  const ownerReferences = ["a", "b", "c"].map((name) => ({ ...owner, name }));
  const list = JSON.stringify(ownerReferences);
  assert.deepEqual(
    problems({ ownerReferences }),
    ["b", "c"].map(
      (name) =>
        `metadata.ownerReferences: Invalid value: ${list}: Only one reference can have Controller set to true. Found "true" in references for Pod/a and Pod/${name}`,
    ),
  );
  const many = Array.from({ length: 1000 }, (_, index) => ({ ...owner, name: `p${index}` }));
  assert.equal(problems({ ownerReferences: many }).length, 2, "the second fills the list");
});

test("S1-META-14: finalizers are qualified names", () => {
  const finalizers = ["example.com/a", "orphan", "kubernetes"];
  assert.deepEqual(problems({ finalizers }), []);
  assert.deepEqual(problems({ finalizers: ["mine"] }), [
    'metadata.finalizers[0]: Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified',
  ]);
  assert.equal(problems({ finalizers: ["orphan", "foregroundDeletion"] }).length, 1);
  assert.deepEqual(
    problems({ finalizers: ["-a", "x/y/z"] }).map((one) => one.slice(0, one.indexOf(" must"))),
    [
      'metadata.finalizers: Invalid value: "-a": name part',
      'metadata.finalizers: Invalid value: "x/y/z": a valid label key',
      'metadata.finalizers[0]: Invalid value: "-a": name is neither a standard finalizer name nor is it fully qualifie',
    ],
  );
});

test("S1-META-15: an object in deletion gets no new finalizers, only fewer", () => {
  const current = { name: "x", deletionTimestamp: "t", finalizers: ["a/b", "c/d"] };
  assert.equal(
    validateMetadataUpdate({ ...current, finalizers: ["c/d", "a/b"] }, current).length,
    0,
  );
  assert.equal(validateMetadataUpdate({ ...current, finalizers: ["c/d"] }, current).length, 0);
  const [error] = validateMetadataUpdate({ ...current, finalizers: ["c/d", "e/f"] }, current);
  assert.equal(
    error?.message,
    'Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"e/f"}',
  );
});
