import assert from "node:assert/strict";
import { test } from "node:test";
import { createNaming } from "../../api/naming.js";
import type { StrategyContext } from "../../kinds/strategy.js";
import type { Definition } from "./definition.js";
import { definitionStrategy } from "./definition-strategy.js";

const naming = createNaming("k8s");
const strategy = definitionStrategy({ holders: () => [] }, naming);
const context = { subresource: "", naming, nowMs: 0 } as unknown as StrategyContext;

function definition(webhook: unknown): Definition {
  const names = { plural: "cars", kind: "Car" };
  const spec = { group: "example.com", names, conversion: { strategy: "None", webhook } };
  return { metadata: { name: "cars.example.com" }, spec } as unknown as Definition;
}

test("D16: a conversion webhook without members is none, in creates and updates", () => {
  const rows: readonly (readonly [webhook: unknown, isKept: boolean])[] = [
    [{}, false],
    [{ conversionReviewVersions: [] }, false],
    [{ conversionReviewVersions: ["v1"] }, true],
    [{ clientConfig: {} }, true],
  ];
  for (const [webhook, isKept] of rows) {
    const [created, updated] = [definition(webhook), definition(webhook)];
    strategy.prepareForCreate?.(created, context);
    strategy.prepareForUpdate?.(updated, definition(undefined), context);
    for (const { spec } of [created, updated]) {
      const kept = isKept ? { strategy: "None", webhook } : { strategy: "None" };
      assert.deepEqual(spec?.conversion, kept, JSON.stringify(webhook));
    }
  }
});
