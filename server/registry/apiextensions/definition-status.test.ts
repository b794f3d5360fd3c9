import assert from "node:assert/strict";
import { test } from "node:test";
import { createNaming } from "../../api/naming.js";
import type { Definition, DefinitionStatus } from "./definition.js";
import { statusOf } from "./definition-status.js";

const base64 = (text: string) => Buffer.from(text).toString("base64");
const READABLE = base64("-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n");

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

function established(caBundle: string, current?: DefinitionStatus) {
  const options = { naming: createNaming("k8s"), now: "2026-01-31T12:00:00Z", holders: [] };
  const status = statusOf(definition(caBundle), current, options);
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

test("D16: a definition that is established stays so, whatever its caBundle", () => {
  const { status } = established(READABLE);
  assert.equal(established(base64("no certificate"), status).told[0], "True");
});
