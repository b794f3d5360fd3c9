/**
 * Definitions with many rules are accepted, and refused without one of their bounds, with the factors that
 * kube-apiserver of release 1.36 names.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { problemsOf } from "../../server/registry/testing/problems.js";
import type { JsonSchema } from "../../server/structural/json-schema.js";
import type { Definition } from "./definition.js";
import { gateway, generating } from "./shaped-definitions.js";

const DEFINITIONS = "apiextensions.k8s.io/v1/customresourcedefinitions";

/** A bound that is taken away: the members on the way to it from the schema of the spec, then its name. */
type Bound = readonly string[];

const REFUSED: readonly (readonly [Definition, bound: Bound, factors: readonly string[]])[] = [
  [
    gateway.definition,
    ["properties", "listeners", "maxItems"],
    ["15.3x", "10.3x", "1.363149x", "more than 100x", "more than 100x", "more than 100x"],
  ],
  [
    gateway.definition,
    ["properties", "listeners", "items", "properties", "name", "maxLength"],
    ["more than 100x", "12.9x"],
  ],
  [
    gateway.definition,
    ["properties", "listeners", "items", "properties", "hostname", "maxLength"],
    ["more than 100x", "12.9x"],
  ],
  [
    gateway.definition,
    [
      "properties",
      "listeners",
      "items",
      "properties",
      "tls",
      "properties",
      "options",
      "maxProperties",
    ],
    ["22.6x", "15.1x", "3.8x"],
  ],
  [
    gateway.definition,
    ["properties", "addresses", "maxItems"],
    ["41.4x", "more than 100x", "more than 100x", "more than 100x"],
  ],
  [
    gateway.definition,
    ["properties", "addresses", "items", "properties", "value", "maxLength"],
    ["9.1x", "8.1x", "8.1x", "2.5x"],
  ],
  [generating.definition, ["properties", "rules", "maxItems"], ["11.0x", "1.164249x"]],
  [
    generating.definition,
    [
      "properties",
      "rules",
      "items",
      "properties",
      "generate",
      "properties",
      "cloneList",
      "properties",
      "kinds",
      "maxItems",
    ],
    ["40.3x", "4.0x"],
  ],
  [
    generating.definition,
    ["properties", "variables", "maxItems"],
    ["more than 100x", "more than 100x"],
  ],
  [
    generating.definition,
    ["properties", "variables", "items", "properties", "name", "maxLength"],
    ["32.2x", "3.2x"],
  ],
];

/** The factors by which budgets are exceeded, in the order of the paths. */
function factorsOf(definition: Definition): readonly string[] {
  const problems = problemsOf(DEFINITIONS, { ...definition });
  return problems
    .sort()
    .filter((problem) => !/contributed to/.test(problem))
    .map((problem) => / by factor of (.*?) \(/.exec(problem)?.[1] ?? problem);
}

function without(definition: Definition, bound: Bound): Definition {
  const changed = structuredClone(definition);
  for (const { schema } of changed.spec.versions) {
    let part = schema.openAPIV3Schema.properties?.spec as Record<string, unknown>;
    for (const name of bound.slice(0, -1)) part = part[name] as Record<string, unknown>;
    delete part[bound.at(-1) as keyof JsonSchema];
  }
  return changed;
}

for (const { definition } of [gateway, generating]) {
  test(`D1: ${definition.metadata.name} is accepted`, () => {
    assert.deepEqual(factorsOf(definition), []);
  });
}

for (const [definition, bound, factors] of REFUSED) {
  const { name } = definition.metadata;
  test(`D1: ${name} without ${bound.join(".")} is refused by ${factors.length} factors`, () => {
    assert.deepEqual(factorsOf(without(definition, bound)), factors);
  });
}
