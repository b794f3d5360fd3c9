import assert from "node:assert/strict";
import { test } from "node:test";
import { finishNow } from "../../../storage/base/steps.js";
import { createNaming } from "../../api/naming.js";
import type { Definition, DefinitionStatus } from "./definition.js";
import { statusOf, structureProblems } from "./definition-status.js";

const base64 = (text: string) => Buffer.from(text).toString("base64");
const CERTIFICATE =
  "MIIBcDCCARWgAwIBAgIUYDntupcd4Iqf8Oqdvrdl0sIbHM0wCgYIKoZIzj0EAwIwDDEKMAgGA1UEAwwBeDAgFw0yNjExMjcwOTI4NDdaGA8yMTI2MTEwMzA5Mjg0N1owDDEKMAgGA1UEAwwBeDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABNiBroUwjKaopUf9GsB8syP0JR9q9QqqsMOpzuLqrvrXJzHWXQojMIdwJVcOVeMAadotoWMssq1eEDf3vPxzAvSjUzBRMB0GA1UdDgQWBBRLOuW7pryurgOK+Iyc0IsCB96e0DAfBgNVHSMEGDAWgBRLOuW7pryurgOK+Iyc0IsCB96e0DAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0kAMEYCIQCki7wMJQRHlsRNXKWL1mgJhsdXBptMl0EUZKxlXnw4ogIhAOXZ7ICXPUGJ6EnkE1ZFzY75GWY+Otpfb6GSsVOziTew";
const pem = (body: string, type = "CERTIFICATE") =>
  `-----BEGIN ${type}-----\n${body}\n-----END ${type}-----\n`;
const READABLE = base64(pem(CERTIFICATE));

function definition(caBundle: string): Definition {
  const clientConfig = { url: "https://hook.example.com/", caBundle };
  return {
    metadata: { name: "cars.example.com" },
    spec: {
      group: "example.com",
      names: { plural: "cars", kind: "Car" },
      conversion: { strategy: "Webhook", webhook: { clientConfig } },
    },
  } as Definition;
}

const NOW = { naming: createNaming("k8s"), now: "2026-01-31T12:00:00Z", holders: [] };

function established(caBundle: string, current?: DefinitionStatus) {
  const status = statusOf(definition(caBundle), current, { ...NOW, structure: [] });
  const found = status.conditions?.find(({ type }) => type === "Established");
  return { status, told: [found?.status, found?.reason, found?.message] };
}

test("D16: a definition with an unreadable caBundle is established once it is replaced", () => {
  const served = ["True", "InitialNamesAccepted", "the initial names have been accepted"];
  const waiting = established(base64("no certificate"));
  const why = "The conversion webhook CABundle is invalid";
  assert.deepEqual(waiting.told, ["False", "InvalidCABundle", why]);
  assert.deepEqual(established(READABLE, waiting.status).told, served);
  assert.deepEqual(established("").told, served);
});

test("D16: a bundle has a certificate, and none that cannot be read", () => {
  const good = pem(CERTIFICATE);
  const garbage = pem(base64("garbage"));
  for (const bundle of [
    good,
    good + good,
    `text\n${good}trailing`,
    good + pem("YQ==", "PRIVATE KEY"),
  ]) {
    assert.equal(established(base64(bundle)).told[0], "True", bundle);
  }
  const withHeaders = pem(`X: y\n\n${CERTIFICATE}`);
  for (const bundle of [garbage, good + garbage, good.slice(0, 100), withHeaders, " \n"]) {
    assert.equal(established(base64(bundle)).told[0], "False", bundle);
  }
});

test("D16: a definition that is established stays so, whatever its caBundle", () => {
  const { status } = established(READABLE);
  assert.equal(established(base64("no certificate"), status).told[0], "True");
});

test("39.1: a schema with more mistakes than are told has the condition that says so", () => {
  const { spec } = definition("");
  const anyOf = Array.from({ length: 300 }, () => ({ type: "object", title: "a" }));
  const versions = [
    { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { anyOf } } },
  ];
  const made = { metadata: { name: "cars.example.com" }, spec: { ...spec, versions } };
  const next = made as unknown as Definition;
  const structure = finishNow(structureProblems(next));
  const { conditions } = statusOf(next, undefined, { ...NOW, structure });
  const found = conditions?.find(({ type }) => type === "NonStructuralSchema");
  assert.equal(found?.status, "True");
  assert.match(found?.message ?? "", /anyOf\[0\]\.type: .*omitting \d+ further errors\]$/s);
});
