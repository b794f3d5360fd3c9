/**
 * Rules with what kube-apiserver of release 1.36 answers to each: the estimated cost, and the cost of evaluating
 * it on `self`; or why it is refused. Facts, measured with rules of our own: the objects are here, the rules in rule-costs.tsv.
 */
import type { JsonObject, JsonValue } from "../../api/meta.js";
import { readTable } from "../../api/testing/read-table.js";

interface Judged {
  readonly name: string;
  readonly isResource: boolean;
  readonly schema: JsonObject;
  readonly self: JsonValue;
}

interface RuleCosts extends Judged {
  /** Without a cost where the rule fails, or where it depends on the order of a map's entries. */
  readonly accepted: readonly (readonly [rule: string, estimate: number, running: number | null])[];
  /** "" = the words differ. */
  readonly refused: readonly (readonly [rule: string, problem: string])[];
}

const JUDGED: readonly Judged[] = [
  {
    name: "wide",
    isResource: false,
    schema: {
      type: "object",
      properties: {
        s: { type: "string" },
        t: { type: "string", maxLength: 20 },
        e: { type: "string", enum: ["one", "three", "größe"] },
        by: { type: "string", format: "byte" },
        bm: { type: "string", format: "byte", maxLength: 9 },
        i: { type: "integer" },
        j: { type: "integer" },
        d: { type: "number" },
        b: { type: "boolean" },
        ts: { type: "string", format: "date-time" },
        dt: { type: "string", format: "date" },
        du: { type: "string", format: "duration" },
        is: { "x-kubernetes-int-or-string": true },
        im: { "x-kubernetes-int-or-string": true, maxLength: 5 },
        l: { type: "array", items: { type: "integer" } },
        lm: { type: "array", items: { type: "integer" }, maxItems: 10 },
        ls: { type: "array", items: { type: "string" }, maxItems: 8 },
        lt: { type: "array", items: { type: "string", maxLength: 16 }, maxItems: 5 },
        lb: { type: "array", items: { type: "boolean" }, maxItems: 3 },
        ld: { type: "array", items: { type: "number" }, maxItems: 4 },
        ldu: { type: "array", items: { type: "string", format: "duration" }, maxItems: 4 },
        lts: { type: "array", items: { type: "string", format: "date-time" }, maxItems: 4 },
        ll: {
          type: "array",
          items: { type: "array", items: { type: "integer" }, maxItems: 3 },
          maxItems: 4,
        },
        lls: {
          type: "array",
          items: { type: "array", items: { type: "string", maxLength: 4 } },
          maxItems: 4,
        },
        lo: {
          type: "array",
          items: {
            type: "object",
            properties: {
              n: { type: "string", maxLength: 10 },
              v: { type: "string" },
              k: { type: "integer" },
              sub: { type: "array", items: { type: "string", maxLength: 7 }, maxItems: 6 },
            },
          },
          maxItems: 12,
        },
        lu: {
          type: "array",
          items: {
            type: "object",
            properties: { n: { type: "string", maxLength: 10 }, v: { type: "string" } },
            required: ["n"],
          },
        },
        m: { type: "object", additionalProperties: { type: "string" } },
        mm: {
          type: "object",
          additionalProperties: { type: "string", maxLength: 9 },
          maxProperties: 16,
        },
        mi: { type: "object", additionalProperties: { type: "integer" }, maxProperties: 6 },
        mo: {
          type: "object",
          additionalProperties: {
            type: "object",
            properties: {
              p: { type: "string", maxLength: 5 },
              q: { type: "array", items: { type: "string", maxLength: 6 }, maxItems: 4 },
            },
          },
          maxProperties: 7,
        },
        ml: {
          type: "object",
          additionalProperties: {
            type: "array",
            items: { type: "string", maxLength: 3 },
            maxItems: 3,
          },
          maxProperties: 5,
        },
        mmm: {
          type: "object",
          additionalProperties: {
            type: "object",
            additionalProperties: { type: "string", maxLength: 4 },
            maxProperties: 4,
          },
          maxProperties: 4,
        },
        set: {
          type: "array",
          items: { type: "string", maxLength: 8 },
          maxItems: 6,
          "x-kubernetes-list-type": "set",
        },
        lmap: {
          type: "array",
          items: {
            type: "object",
            properties: {
              key: { type: "string", maxLength: 8 },
              val: { type: "string", maxLength: 8 },
            },
            required: ["key"],
          },
          maxItems: 6,
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["key"],
        },
        o: {
          type: "object",
          properties: {
            a: { type: "string", maxLength: 12 },
            b: {
              type: "object",
              properties: {
                c: {
                  type: "object",
                  properties: {
                    d: { type: "string", maxLength: 6 },
                    e: { type: "array", items: { type: "string", maxLength: 5 }, maxItems: 3 },
                  },
                },
              },
            },
          },
        },
        "x-y": { type: "string", maxLength: 4 },
        namespace: { type: "string", maxLength: 4 },
        "a.b": { type: "string", maxLength: 4 },
        pct: { type: "string", maxLength: 8 },
      },
    },
    self: {
      s: "hello wörld",
      t: "abc-def",
      e: "three",
      by: "aGVsbG8=",
      bm: "aGk=",
      i: 7,
      j: 3,
      d: 2.5,
      b: true,
      ts: "2024-05-06T07:08:09.5Z",
      dt: "2024-05-06",
      du: "1h30m",
      is: 80,
      im: "50%",
      l: [5, 3, 9, 3],
      lm: [1, 2, 3],
      ls: ["x", "yy", "zzz"],
      lt: ["b", "a", "c"],
      lb: [true, false],
      ld: [1.5, 0.5],
      ldu: ["1s", "2m"],
      lts: ["2024-01-01T00:00:00Z", "2024-01-02T00:00:00Z"],
      ll: [[1, 2], [3]],
      lls: [["a"], ["b", "c"]],
      lo: [
        { n: "first", v: "1", k: 1, sub: ["p", "q"] },
        { n: "second", v: "22", k: 2, sub: [] },
        { n: "third", v: "333", k: 3, sub: ["r"] },
      ],
      lu: [{ n: "u", v: "w" }],
      m: { k1: "v1", key2: "value2" },
      mm: { a: "x", b: "yy" },
      mi: { one: 1, two: 2 },
      mo: { x: { p: "pp", q: ["a", "b"] }, y: { p: "p", q: [] } },
      ml: { r: ["a"], s: ["b", "c"] },
      mmm: { o: { i: "z" } },
      set: ["one", "two"],
      lmap: [
        { key: "a", val: "1" },
        { key: "b", val: "2" },
      ],
      o: { a: "alpha", b: { c: { d: "deep", e: ["e1", "e2"] } } },
      "x-y": "dash",
      namespace: "ns",
      "a.b": "dot",
      pct: "75%",
    },
  },
  {
    name: "text",
    isResource: false,
    schema: { type: "string", maxLength: 30 },
    self: "10.1.2.3",
  },
  {
    name: "long",
    isResource: false,
    schema: { type: "string" },
    self: "2001:db8::1",
  },
  {
    name: "count",
    isResource: false,
    schema: { type: "integer" },
    self: 42,
  },
  {
    name: "names",
    isResource: false,
    schema: { type: "array", items: { type: "string", maxLength: 63 }, maxItems: 32 },
    self: ["web", "db", "cache"],
  },
  {
    name: "open",
    isResource: false,
    schema: { type: "array", items: { type: "string" } },
    self: ["a", "b", "c"],
  },
  {
    name: "labels",
    isResource: false,
    schema: {
      type: "object",
      additionalProperties: { type: "string", maxLength: 63 },
      maxProperties: 16,
    },
    self: { app: "web", tier: "front" },
  },
  {
    name: "free",
    isResource: false,
    schema: { type: "object", additionalProperties: { type: "string" } },
    self: { app: "web", tier: "front" },
  },
  {
    name: "things",
    isResource: false,
    schema: {
      type: "array",
      items: {
        type: "object",
        properties: {
          name: { type: "string", maxLength: 63 },
          ports: {
            type: "array",
            items: {
              type: "object",
              properties: { p: { type: "integer" }, n: { type: "string", maxLength: 15 } },
            },
            maxItems: 16,
          },
          tags: {
            type: "object",
            additionalProperties: { type: "string", maxLength: 20 },
            maxProperties: 8,
          },
        },
      },
      maxItems: 16,
    },
    self: [
      {
        name: "a",
        ports: [
          { p: 80, n: "http" },
          { p: 443, n: "https" },
        ],
        tags: { x: "y" },
      },
      { name: "b", ports: [{ p: 53, n: "dns" }], tags: {} },
    ],
  },
  {
    name: "root",
    isResource: true,
    schema: {
      type: "object",
      properties: {
        spec: {
          type: "object",
          properties: { host: { type: "string", maxLength: 253 }, n: { type: "integer" } },
          required: ["host"],
        },
        status: { type: "object", properties: { ready: { type: "boolean" } } },
      },
      required: ["spec"],
    },
    self: {
      apiVersion: "x.io/v1",
      kind: "Thing",
      metadata: { name: "my-thing" },
      spec: { host: "a.example.com", n: 3 },
    },
  },
  {
    name: "rooted",
    isResource: true,
    schema: {
      type: "object",
      properties: {
        apiVersion: { type: "string" },
        kind: { type: "string" },
        metadata: {
          type: "object",
          properties: { name: { type: "string", maxLength: 63 }, generateName: { type: "string" } },
        },
        spec: { type: "object", properties: { n: { type: "integer" } } },
      },
    },
    self: { apiVersion: "x.io/v1", kind: "Thing", metadata: { name: "my-thing" }, spec: { n: 3 } },
  },
];

const ROWS = readTable("server/structural/testing/rule-costs.tsv");

export const RULE_COSTS: readonly RuleCosts[] = JUDGED.map((judged) => {
  const rows = ROWS.filter(([name]) => name === judged.name);
  const accepted = rows.filter(([, , estimate]) => estimate !== "refused");
  const refused = rows.filter(([, , estimate]) => estimate === "refused");
  return {
    ...judged,
    accepted: accepted.map(([, rule = "", estimate, running]) => [
      rule,
      Number(estimate),
      running === "-" ? null : Number(running),
    ]),
    refused: refused.map(([, rule = "", , problem = ""]) => [rule, problem]),
  };
});
