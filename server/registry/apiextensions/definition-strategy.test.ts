import assert from "node:assert/strict";
import { test } from "node:test";
import { RE2JS } from "re2js";
import type { Steps } from "../../../storage/base/steps.js";
import { LongWork } from "../../api/long-work.js";
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

function withPatterns(count: number): Definition {
  const pattern = (at: number) => `(a|b${at}){1,300}x`;
  const texts = Array.from({ length: count }, (_, at) => [
    `p${at}`,
    { type: "string", pattern: pattern(at), default: "bx".replace("b", `b${at}`) },
  ]);
  const spec = { type: "object", properties: Object.fromEntries(texts), default: {} };
  const openAPIV3Schema = { type: "object", properties: { spec } };
  const names = { plural: "cars", kind: "Car", singular: "car", listKind: "CarList" };
  const versions = [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema } }];
  return {
    metadata: { name: "cars.example.com" },
    spec: { group: "example.com", scope: "Namespaced", names, versions },
    status: { storedVersions: ["v1"] },
  } as unknown as Definition;
}

test("39.3: a pattern of a definition is compiled in each step of a write, and none outside of them", (t) => {
  const compile = t.mock.method(RE2JS, "compile");
  const compiled = () => compile.mock.callCount();
  const [next, current] = [withPatterns(100), withPatterns(100)];
  let most = 0;
  const take = <Result>(steps: Steps<Result>): Result => {
    for (;;) {
      const before = compiled();
      const step = steps.next();
      most = Math.max(most, compiled() - before);
      if (step.done === true) return step.value;
    }
  };
  const ahead = strategy.readAhead?.(next, { subresource: "" });
  assert.ok(ahead !== undefined);
  take(ahead);
  assert.equal(compiled(), 100);
  strategy.prepareForCreate?.(next, context);
  strategy.prepareForUpdate?.(next, current, context);
  assert.equal(compiled(), 100, "what was read ahead is known");
  assert.equal(strategy.isCostly, true);
  for (const validate of [
    (long: LongWork) => strategy.validate?.(next, { ...context, long }),
    (long: LongWork) => strategy.validateUpdate?.(next, current, { ...context, long }),
  ]) {
    const [long, before] = [new LongWork(false), compiled()];
    assert.deepEqual(validate(long), []);
    assert.equal(compiled(), before, "all is left");
    assert.deepEqual([...take(long.finish())], []);
    assert.ok(compiled() >= before + 200, `${compiled() - before}`);
  }
  assert.equal(most, 1);
});

test("S1-META-18: a status write gives no definition the names of another, and takes none out of force", () => {
  const pears = {
    name: "pears.example.com",
    group: "example.com",
    acceptedNames: { kind: "Pear" },
  };
  const judged = definitionStrategy({ holders: () => [pears] }, naming);
  const status = { ...context, subresource: "status" };
  const of = (kind: string) => {
    const made = definition(undefined);
    Object.assign(made.spec ?? {}, { names: { plural: "cars", kind } });
    judged.prepareForCreate?.(made, context);
    return made;
  };
  const written = (current: Definition, change: object) => {
    const next = { ...current, status: { ...current.status, ...change } };
    judged.prepareForUpdate?.(next, current, status);
    return next.status;
  };
  const own = of("Car");
  const other = { type: "Mine", status: "True" };
  const change = { acceptedNames: { plural: "pears", kind: "Pear" }, conditions: [other] };
  const { acceptedNames, conditions } = written(own, change);
  assert.deepEqual(acceptedNames, { plural: "cars", kind: "Car" });
  assert.deepEqual(
    conditions?.map(({ type, status }) => `${type} ${status}`),
    ["Mine True", "Established True", "NamesAccepted True"],
  );
  assert.deepEqual(written(own, {}), own.status, "nothing is new");
  const waiting = of("Pear");
  const yes = ["NamesAccepted", "Established"].map((type) => ({ type, status: "True" }));
  const stolen = written(waiting, { acceptedNames: { kind: "Pear" }, conditions: yes });
  assert.deepEqual(stolen.acceptedNames, { plural: "cars" });
  assert.deepEqual(
    stolen.conditions?.map(({ type, status }) => `${type} ${status}`),
    ["NamesAccepted False", "Established False"],
  );
});
