/** Declarative rules over a small model: each kind of rule, and unchanged values in updates. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "../api/meta.js";
import { parseTypes } from "../types/parse-types.js";
import { createDeclarativeChecks, shadowRulesAt } from "./declarative.js";
import type { SchemaModel, StructType } from "./model.js";

const file = parseTypes(
  "shop.v1",
  `@group "shop.example"
@version v1
@stability ga
@served yes
@package p
@model m
@proto q

type Order  kind
    1  spec    OrderSpec    ..
    2  status  OrderStatus  os

type OrderStatus
    1  note  string  oe  v:maxLength=1

type OrderSpec
    1  name      string             oe  v:required v:format=k8s-short-name
    2  count     int32              oe  v:optional v:minimum=1 v:maximum=5
    3  least     *int32             oe  v:minimum=0
    4  text      string             oe  v:maxLength=3 v:maxBytes=4
    5  tags      []string           oe  list=set v:listType=set v:maxItems=2
    6  lines     []Line             oe  list=map keys=sku v:listType=map v:listMapKey=sku
    7  parcels   []Parcel           oe  list=atomic
    8  notes     map[string]string  oe  v:eachKey>format=k8s-label-key
    9  fixed     *Parcel            oe  v:immutable
   10  alpha     string             oe  v:ifDisabled(New)>forbidden v:ifEnabled(New)>maxLength=2
   11  payment   *Payment           oe
   12  choice    Choice             os
   13  ref       Reference          os  v:subfield(name)>format=k8s-short-name
   14  shadow    string             oe  va:required va:maxLength=2
   15  shelves   map[string]Parcel  oe
   16  self      *OrderSpec         oe

type Line
    1  sku    string  r.  v:required
    2  price  int64   oe  v:immutable v:minimum=1

type Parcel
    1  weight  int32  oe  v:minimum=1
    2  seal    string oe  v:immutable

type Payment
    1  type  string  r.  discriminator
    2  card  *Card   oe  v:member(Card)>required v:member(Cash)>forbidden

type Card
    1  number  string  oe

type Choice
    1  left   *Card   oe  zeroOrOneOf=side v:unionMember
    2  right  *Card   oe  zeroOrOneOf=side v:unionMember

type Reference
    1  name  string  oe
`,
);

const model: SchemaModel = {
  words: { ofType: () => undefined, ofField: () => undefined },
  files: new Map([["shop.v1", file]]),
  builtins: new Map(),
  type: (id) => file.types.get(id.slice("shop.v1.".length)),
  kind: () => undefined,
};
const order = file.types.get("Order") as StructType;
const check = createDeclarativeChecks(model, () => false)(order);
const checkWithGate = createDeclarativeChecks(model, (gate) => gate === "New")(order);

const GOOD = { name: "a", ref: { name: "b" }, shadow: "ok" };

function problems(spec: JsonObject, before?: JsonObject, run = check): string[] {
  const findings = run?.(
    { spec: { ...GOOD, ...spec } },
    before && { spec: { ...GOOD, ...before } },
  );
  return (findings?.inForce ?? []).map(({ field, message }) => `${field}: ${message}`);
}

test("S1-FEAT-06: each rule finds what it is about, and nothing in what is right", () => {
  const rows: readonly (readonly [spec: JsonObject, ...expected: string[]])[] = [
    [{}],
    [{ count: 5, least: 0, text: "äb", tags: ["a", "b"], notes: { "a.b/c": "" } }],
    [{ name: "" }, "spec.name: Required value"],
    [{ count: 0 }],
    [{ count: -1 }, "spec.count: Invalid value: -1: must be greater than or equal to 1"],
    [{ count: 6 }, "spec.count: Invalid value: 6: must be less than or equal to 5"],
    [{ least: -1 }, "spec.least: Invalid value: -1: must be greater than or equal to 0"],
    [{ text: "abcd" }, "spec.text: Too long: may not be more than 3 bytes"],
    [{ text: "äöü" }, "spec.text: Too long: may not be more than 4 bytes"],
    [{ tags: ["a", "b", "c"] }, "spec.tags: Too many: 3: must have at most 2 items"],
    [{ tags: ["a", "a"] }, 'spec.tags[1]: Duplicate value: "a"'],
    [{ lines: [{ sku: "x" }, { sku: "x" }] }, 'spec.lines[1]: Duplicate value: {"sku":"x"}'],
    [{ lines: [{ sku: "" }] }, "spec.lines[0].sku: Required value"],
    [
      { lines: [{ sku: "x", price: -2n as unknown as number }] },
      "spec.lines[0].price: Invalid value: -2: must be greater than or equal to 1",
    ],
    [
      { parcels: [{ weight: 1 }, { weight: -1 }] },
      "spec.parcels[1].weight: Invalid value: -1: must be greater than or equal to 1",
    ],
    [
      { shelves: { top: { weight: -1 } } },
      "spec.shelves[top].weight: Invalid value: -1: must be greater than or equal to 1",
    ],
    [{ alpha: "x" }, "spec.alpha: Forbidden: "],
    [{ payment: { type: "Card" } }, "spec.payment.card: Required value"],
    [{ payment: { type: "Cash" } }],
    [{ payment: { type: "Cash", card: {} } }, "spec.payment.card: Forbidden: "],
    [{ choice: {} }],
    [{ choice: { left: {} } }],
    [
      { choice: { left: {}, right: {} } },
      'spec.choice: Invalid value: "{left, right}": must specify exactly one of: `left`, `right`',
    ],
    [{ ref: {} }],
    [{ self: {} }, "spec.self.name: Required value"],
  ];
  for (const [spec, ...expected] of rows) {
    assert.deepEqual(
      problems(spec),
      expected,
      JSON.stringify(spec, (_, value) => String(value)),
    );
  }
  assert.deepEqual(problems({ notes: { "a b": "" } }).length, 1);
  assert.deepEqual(problems({ name: "A" }).length, 1);
  assert.deepEqual(problems({ ref: { name: "B" } }).length, 1);
});

test("S1-FEAT-06: gates choose between rules, and a status is not looked into", () => {
  assert.deepEqual(problems({ alpha: "x" }, undefined, checkWithGate), []);
  assert.deepEqual(problems({ alpha: "xyz" }, undefined, checkWithGate), [
    "spec.alpha: Too long: may not be more than 2 bytes",
  ]);
  assert.deepEqual(check?.({ spec: GOOD, status: { note: "long" } }).inForce, []);
});

test("S1-FEAT-06: what may not change is held to what it was; what is new has no past", () => {
  const fixed = (seal: string) => ({ fixed: { seal } });
  assert.deepEqual(problems(fixed("b"), fixed("a")), [
    'spec.fixed: Invalid value: {"seal":"b"}: field is immutable',
    'spec.fixed.seal: Invalid value: "b": field is immutable',
  ]);
  assert.deepEqual(problems(fixed("a"), fixed("a")), []);
  const line = (sku: string, price: number) => ({ lines: [{ sku, price }] });
  assert.deepEqual(problems(line("x", 2), line("x", 1)).length, 1);
  assert.deepEqual(problems(line("y", 2), line("x", 1)), []);
  assert.deepEqual(problems({ parcels: [{ seal: "b" }] }, { parcels: [{ seal: "a" }] }), []);
});

test("S1-FEAT-06: what was stored and stays is no reason to refuse an update", () => {
  const bad: JsonObject = {
    name: "NOT A NAME",
    count: -1,
    tags: ["a", "a", "b"],
    lines: [{ sku: "x", price: -1 }],
    parcels: [{ weight: -1 }, { weight: -2 }],
    shelves: { top: { weight: -1 } },
    alpha: "x",
    payment: { type: "Card" },
    choice: { left: {}, right: {} },
    ref: { name: "B" },
    shadow: "too long",
  };
  assert.equal(problems(bad).length, 12);
  assert.deepEqual(problems({ ...bad, text: "new" }, bad), []);
  // Items move, the chosen member changes, and the rest of the list may be corrected.
  const moved = {
    ...bad,
    parcels: [{ weight: -2 }, { weight: 3 }],
    lines: [
      { sku: "new", price: 3 },
      { sku: "x", price: -1 },
    ],
    choice: { left: { number: "1" }, right: {} },
  };
  assert.deepEqual(problems(moved, bad), []);
  const worse = { ...bad, count: -2, parcels: [{ weight: -1 }, { weight: -3 }] };
  assert.deepEqual(problems(worse, bad), [
    "spec.count: Invalid value: -2: must be greater than or equal to 1",
    "spec.parcels[1].weight: Invalid value: -3: must be greater than or equal to 1",
  ]);
  const findings = check?.({ spec: bad }, { spec: bad });
  assert.deepEqual([findings?.shadow, findings?.inForce], [[], []]);
  assert.equal(findings?.waived.length, 12);
});

test("S1-FEAT-06: rules in shadow are reported apart, and found by the path of a problem", () => {
  const findings = check?.({ spec: { ...GOOD, shadow: "long" } });
  assert.deepEqual(findings?.inForce, []);
  assert.deepEqual(
    findings?.shadow.map(({ field }) => field),
    ["spec.shadow"],
  );
  assert.deepEqual(shadowRulesAt(model, order, "spec.shadow"), ["required", "maxLength=2"]);
  assert.deepEqual(shadowRulesAt(model, order, "spec.self.shadow"), ["required", "maxLength=2"]);
  assert.deepEqual(shadowRulesAt(model, order, "spec.lines[0].nothing"), []);
});
