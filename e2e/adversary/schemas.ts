/** Attacks by objects of a definition whose schema has what definitions in use have: patterns, alternatives, rules, resources within. */
import { type Attack, type Attacker, NAMESPACE } from "./attack.js";
import { DRY, numbers } from "./stray-places.js";

const STORED = `/apis/adversary.example.com/v1/namespaces/${NAMESPACE}/checkeds`;
const CHECKED = STORED + DRY;
const LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const DNS = `^${LABEL}(\\.${LABEL})*$`;
const QUANTITY =
  "^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$";
const TEXT = { type: "string" };
const rule = (text: string) => ({ rule: text });

/** What an administrator makes beforehand. */
export const CHECKED_DEFINITION = {
  metadata: { name: "checkeds.adversary.example.com" },
  spec: {
    group: "adversary.example.com",
    scope: "Namespaced",
    names: { plural: "checkeds", singular: "checked", kind: "Checked", listKind: "CheckedList" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        selectableFields: [{ jsonPath: ".color" }],
        additionalPrinterColumns: numbers(8).map((at) => ({
          name: `C${at}`,
          type: "string",
          jsonPath: at % 2 ? '.pairs[?(@.a=="b")].c' : ".pairs[*].c",
        })),
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              color: TEXT,
              pairs: { type: "array", items: { type: "object", properties: { a: TEXT, c: TEXT } } },
              host: { type: "string", pattern: DNS },
              loops: { type: "string", pattern: "^(.*a){8}$" },
              hosts: { type: "array", items: { type: "string", pattern: DNS } },
              amounts: {
                type: "array",
                items: {
                  "x-kubernetes-int-or-string": true,
                  anyOf: [{ type: "integer" }, { type: "string" }],
                  pattern: QUANTITY,
                },
              },
              waits: { type: "array", items: { type: "string", format: "duration" } },
              choices: {
                type: "array",
                items: {
                  type: "object",
                  properties: Object.fromEntries(numbers(10).map((at) => [`k${at}`, TEXT])),
                  oneOf: numbers(10).map((at) => ({ required: [`k${at}`] })),
                },
              },
              resources: {
                type: "array",
                items: {
                  type: "object",
                  "x-kubernetes-embedded-resource": true,
                  "x-kubernetes-preserve-unknown-fields": true,
                },
              },
              sums: {
                type: "array",
                maxItems: 10_000,
                items: { type: "integer" },
                "x-kubernetes-validations": numbers(10).map((at) =>
                  rule(`self.all(a, a + ${at} >= 0 && a * 3 < 100000000 && a - 1 < 10000000)`),
                ),
              },
              each: {
                type: "array",
                maxItems: 20_000,
                items: {
                  type: "string",
                  maxLength: 30,
                  "x-kubernetes-validations": [
                    rule("self.startsWith('s') && self.size() < 30"),
                    rule("self != 'x'"),
                  ],
                },
              },
              unique: {
                type: "array",
                maxItems: 300,
                items: { type: "object", properties: { n: { type: "string", maxLength: 30 } } },
                "x-kubernetes-validations": [rule("self.all(a, self.exists_one(b, a.n == b.n))")],
              },
            },
          },
        },
      },
    ],
  },
};

const list = (count: number, item: (at: number) => unknown) => numbers(count).map(item);

const OBJECTS: readonly (readonly [name: string, members: () => object, isShort?: true])[] = [
  ["a host of 2.9 MB", () => ({ host: `${"a".repeat(2_900_000)}!` }), true],
  ["a text of 2.9 MB for a pattern of loops", () => ({ loops: `${"a".repeat(2_900_000)}!` })],
  ["50,000 hosts", () => ({ hosts: list(50_000, () => "a".repeat(50)) })],
  ["59,000 amounts", () => ({ amounts: list(59_000, () => "100Mi") })],
  // A number too large for any unit: the text is none with names of units either.
  [
    "a text that is nearly a duration",
    () => ({ waits: [`${"11s".repeat(33)}99999999999999999999sx`] }),
    true,
  ],
  ["700 durations of 4,000 digits", () => ({ waits: list(700, () => "1".repeat(4_000)) })],
  [
    "29,000 choices among ten",
    () => ({ choices: list(29_000, (at) => ({ [`k${at % 10}`]: "v" })) }),
  ],
  [
    "7,000 resources within",
    () => ({
      resources: list(7_000, (at) => ({
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: `n${at}`, labels: { a: "b" } },
      })),
    }),
  ],
  ["ten rules over 10,000 numbers", () => ({ sums: list(10_000, (at) => at) }), true],
  ["two rules for each of 20,000 texts", () => ({ each: list(20_000, (at) => `s${at}`) })],
  [
    "a rule that compares 300 items with each other",
    () => ({ unique: list(300, (at) => ({ n: `n${at}` })) }),
  ],
];

/** Twenty objects of 400 KB, by whose fields is selected, and whose columns look through all that they have. */
async function storeLarge(attacker: Attacker): Promise<void> {
  const pairs = list(14_000, (at) => ({ a: "b", c: `d${at}` }));
  await attacker.many(20, 4, (at) => {
    const object = {
      apiVersion: "adversary.example.com/v1",
      kind: "Checked",
      metadata: { name: `large-${at}` },
      color: `c${at}`,
      pairs,
    };
    return attacker.post(STORED, JSON.stringify(object));
  });
}

const READS: readonly Attack[] = [
  {
    name: "schema: lists by a field of large objects",
    async run(attacker) {
      await storeLarge(attacker);
      await attacker.many(50, 10, (at) => attacker.send(`${STORED}?fieldSelector=color%3Dc${at}`));
    },
  },
  {
    name: "schema: lists as Tables whose columns look through large objects",
    async run(attacker) {
      await storeLarge(attacker);
      const accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
      await attacker.many(10, 5, () => attacker.send(STORED, { headers: { accept } }));
    },
  },
];

const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/** A definition of so many texts, each with a pattern of 4 KB that takes some milliseconds to compile. */
function patterned(plural: string, count: number): object {
  const pattern = (at: number) =>
    `^${`(?:a${at}|[bc]?)*`
      .repeat(400)
      .slice(0, 4_050)
      .replace(/[^*]*$/, "")}$`;
  const properties = Object.fromEntries(
    numbers(count).map((at) => [`p${at}`, { type: "string", pattern: pattern(at) }]),
  );
  return definitionOf(plural, { schema: { openAPIV3Schema: { type: "object", properties } } });
}

/** @param version what stands in its only version */
function definitionOf(plural: string, version: object): object {
  const kind = plural.replace(/^./, (first) => first.toUpperCase()).replace(/s$/, "");
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.adversary.example.com` },
    spec: {
      group: "adversary.example.com",
      scope: "Namespaced",
      names: { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` },
      versions: [{ name: "v1", served: true, storage: true, ...version }],
    },
  };
}

const PATTERNS: readonly Attack[] = [
  {
    name: "schema: a definition of 190 patterns",
    async run(attacker) {
      const body = JSON.stringify(patterned("patterns", 190));
      await attacker.many(3, 2, () => attacker.post(DEFINITIONS + DRY, body));
      await attacker.post(DEFINITIONS, body);
      const patch = JSON.stringify({ metadata: { annotations: { a: "b" } } });
      const headers = { "content-type": "application/merge-patch+json" };
      const at = `${DEFINITIONS}/patterns.adversary.example.com${DRY}`;
      await attacker.many(2, 2, () => attacker.send(at, { method: "PATCH", headers, body: patch }));
    },
  },
  {
    name: "schema: the first object of a definition of 190 patterns",
    async run(attacker) {
      await attacker.post(DEFINITIONS, JSON.stringify(patterned("patterneds", 190)));
      const object = {
        apiVersion: "adversary.example.com/v1",
        kind: "Patterned",
        metadata: { name: "x" },
        ...Object.fromEntries(numbers(190).map((at) => [`p${at}`, `a${at}`.repeat(100)])),
      };
      const place = `/apis/adversary.example.com/v1/namespaces/${NAMESPACE}/patterneds${DRY}`;
      // Until it is served there is nothing to hold.
      await attacker.many(40, 1, () => attacker.post(place, JSON.stringify(object)));
    },
  },
];

/** So many columns of the path, and one object that is shown three times. */
function columnsAttack(plural: string, count: number, jsonPath: string, any: object): Attack {
  return {
    name: `schema: ${count} columns ${jsonPath}`,
    async run(attacker) {
      const definition = definitionOf(plural, {
        additionalPrinterColumns: numbers(count).map((at) => ({
          name: `c${at}`,
          type: "string",
          jsonPath,
        })),
        schema: {
          openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
        },
      });
      await attacker.post(DEFINITIONS, JSON.stringify(definition));
      const place = `/apis/adversary.example.com/v1/namespaces/${NAMESPACE}/${plural}`;
      const kind = plural.replace(/^./, (first) => first.toUpperCase()).replace(/s$/, "");
      const object = { apiVersion: "adversary.example.com/v1", kind, metadata: { name: "a" }, any };
      // Until it is served there is nothing to show.
      await attacker.many(40, 1, () => attacker.post(place, JSON.stringify(object)));
      const accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
      await attacker.many(3, 3, () => attacker.send(`${place}/a`, { headers: { accept } }));
    },
  };
}

const COLUMNS: readonly Attack[] = [
  columnsAttack(
    "walks",
    9_000,
    ".any[*]",
    list(50_000, () => 1),
  ),
  columnsAttack(
    "filters",
    300,
    ".any[?(@.a==1)].a",
    list(29_000, () => ({ a: 1 })),
  ),
  columnsAttack(
    "texts",
    1_000,
    ".any",
    list(100, () => "x".repeat(10_000)),
  ),
];

const BODIES: readonly Attack[] = OBJECTS.map(([name, members, isShort = false]) => ({
  name: `schema: ${name}`,
  isShort,
  run: async (attacker) => {
    const object = {
      apiVersion: "adversary.example.com/v1",
      kind: "Checked",
      metadata: { name: "x" },
      ...members(),
    };
    const body = JSON.stringify(object);
    await attacker.many(3, 3, () => attacker.post(CHECKED, body));
  },
}));

export const SCHEMA_ATTACKS: readonly Attack[] = [...BODIES, ...READS, ...PATTERNS, ...COLUMNS];
