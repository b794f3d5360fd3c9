/**
 * D11: integers of 64 bits keep every digit, in definitions (defaults, enums), in objects, in selectors, patches,
 * rules, messages and what is shown. Bodies and answers are text here, as JSON.parse would round them. The
 * answers are those of kube-apiserver to the same requests.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startServer } from "./harness/server-process.js";

const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const DIGITS = "/apis/digits.example.com/v1/digits";
const BIG = "9007199254740993";
const NEXT = "9007199254740992";
const MAX = "9223372036854775807";
/** Beyond 64 bits, where a number is a double. */
const HUGE = "12345678901234567890";

const PROPERTIES = `{
  "plain": {"type": "integer"},
  "filled": {"type": "integer", "default": ${BIG}},
  "one": {"type": "integer", "enum": [${BIG}, ${MAX}]},
  "huge": {"type": "number", "enum": [${HUGE}]},
  "upTo": {"type": "integer", "maximum": ${BIG}},
  "long": {"type": "integer", "format": "int64"},
  "any": {"type": "number"},
  "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "integer"}},
  "ruled": {"type": "integer", "x-kubernetes-validations":
    [{"rule": "self != ${BIG}", "messageExpression": "string(self)"}]}
}`;
const DEFINITION = `{
  "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
  "metadata": {"name": "digits.digits.example.com"},
  "spec": {
    "group": "digits.example.com", "scope": "Cluster", "names": {"plural": "digits", "kind": "Digit"},
    "versions": [{
      "name": "v1", "served": true, "storage": true,
      "selectableFields": [{"jsonPath": ".spec.plain"}],
      "additionalPrinterColumns": [{"name": "Plain", "type": "integer", "jsonPath": ".spec.plain"}],
      "schema": {"openAPIV3Schema": {"type": "object", "properties":
        {"spec": {"type": "object", "properties": ${PROPERTIES}}}}}
    }]
  }
}`;

const server = await startServer();
const digit = (name: string, spec: string) =>
  `{"apiVersion":"digits.example.com/v1","kind":"Digit","metadata":{"name":"${name}"},"spec":${spec}}`;

before(async () => {
  const defined = await server.client.post(DEFINITIONS, DEFINITION);
  const text = defined.expect(201).text.replaceAll(/\s/g, "");
  assert.match(text, new RegExp(`"default":${BIG}`));
  assert.match(text, new RegExp(`"enum":\\[${BIG},${MAX}\\]`));
  (await server.client.post(DIGITS, digit("kept", `{"plain":${BIG}}`))).expect(201);
});
after(() => server[Symbol.asyncDispose]());

const specOf = (text: string) => /"spec":(\{.*?\})/.exec(text.replaceAll(/\s/g, ""))?.[1];

/** What is sent as spec, and what is kept of it, or the causes. */
const CASES: readonly (readonly [sent: string, kept: string | readonly string[]])[] = [
  [`{"plain":${MAX}}`, `{"filled":${BIG},"plain":${MAX}}`],
  [`{"plain":-9223372036854775808}`, `{"filled":${BIG},"plain":-9223372036854775808}`],
  [`{"long":9223372036854775600}`, `{"filled":${BIG},"long":9223372036854775600}`],
  [`{"one":${BIG}}`, `{"filled":${BIG},"one":${BIG}}`],
  [`{"one":${MAX}}`, `{"filled":${BIG},"one":${MAX}}`],
  [`{"huge":${HUGE}}`, `{"filled":${BIG},"huge":12345678901234567000}`],
  [`{"any":${BIG}}`, `{"any":${BIG},"filled":${BIG}}`],
  [`{"set":[${BIG},${NEXT}]}`, `{"filled":${BIG},"set":[${BIG},${NEXT}]}`],
  [`{"upTo":${NEXT}}`, `{"filled":${BIG},"upTo":${NEXT}}`],
  [`{"one":${NEXT}}`, [`Unsupported value: ${NEXT}: supported values: \\"${BIG}\\", \\"${MAX}\\"`]],
  // A bound is a float, as it is there.
  [
    `{"upTo":${BIG}}`,
    [`Invalid value: ${BIG}: spec.upTo in body should be less than or equal to ${NEXT}`],
  ],
  [`{"set":[${BIG},${BIG}]}`, [`Duplicate value: ${BIG}`]],
  [`{"ruled":${BIG}}`, [`Invalid value: ${BIG}: ${BIG}`]],
  [
    `{"plain":9223372036854775808}`,
    [
      'Invalid value: \\"number\\": spec.plain in body must be of type integer: \\"number\\"',
      "Checked value must be of type integer (default format) in spec.plain",
    ],
  ],
  [
    `{"long":1e18}`,
    ['Invalid value: \\"float64\\": spec.long in body must be of type int64: \\"float64\\"'],
  ],
];

for (const [index, [sent, kept]] of CASES.entries()) {
  test(`D11: ${sent} is ${typeof kept === "string" ? "kept" : "refused"} with every digit`, async () => {
    const answer = await server.client.post(`${DIGITS}?dryRun=All`, digit(`case-${index}`, sent));
    if (typeof kept === "string") {
      assert.equal(specOf(answer.expect(201).text), kept);
      return;
    }
    const { text } = answer.expect(422);
    for (const cause of kept) assert.ok(text.includes(cause), text);
  });
}

test("D11: a field selector finds what it asks for, and not its neighbour", async () => {
  const count = async (operator: string, value: string) => {
    const selector = encodeURIComponent(`spec.plain${operator}${value}`);
    const { object } = await server.client.get(`${DIGITS}?fieldSelector=${selector}`);
    return (object.items as unknown[]).length;
  };
  assert.deepEqual(
    [
      await count("=", BIG),
      await count("!=", BIG),
      await count("=", NEXT),
      await count("!=", NEXT),
    ],
    [1, 0, 0, 1],
  );
});

/** Each kind of patch with its content, and the spec that it makes. */
const PATCHES: readonly (readonly [type: string, body: string, spec: string])[] = [
  [
    "merge-patch+json",
    `{"spec":{"long":${MAX}}}`,
    `{"filled":${BIG},"long":${MAX},"plain":${BIG}}`,
  ],
  [
    "json-patch+json",
    `[{"op":"test","path":"/spec/plain","value":${BIG}},{"op":"copy","from":"/spec/plain","path":"/spec/any"}]`,
    `{"any":${BIG},"filled":${BIG},"plain":${BIG}}`,
  ],
  [
    "apply-patch+yaml",
    digit("kept", `{"set":[${BIG},${NEXT}]}`),
    `{"filled":${BIG},"plain":${BIG},"set":[${BIG},${NEXT}]}`,
  ],
];

for (const [type, body, spec] of PATCHES) {
  test(`D11: ${type} keeps every digit`, async () => {
    const answer = await server.client.patch(
      `${DIGITS}/kept?dryRun=All&fieldManager=digits&force=true`.replace(
        type === "apply-patch+yaml" ? "" : "&force=true",
        "",
      ),
      body,
      `application/${type}`,
    );
    const { text } = answer.expect(200);
    assert.equal(specOf(text), spec);
    if (type !== "apply-patch+yaml") return;
    // Owned items are in the order of their values.
    const [first, second] = [text.indexOf(`"v:${NEXT}"`), text.indexOf(`"v:${BIG}"`)];
    assert.ok(first > 0 && first < second, text);
  });
}

test("D11: tests of a JSON Patch tell neighbours apart", async () => {
  const answer = await server.client.patch(
    `${DIGITS}/kept?dryRun=All`,
    `[{"op":"test","path":"/spec/plain","value":${NEXT}}]`,
    "application/json-patch+json",
  );
  answer.expect(422);
});

test("D11: Tables, YAML and published schemas show every digit", async () => {
  const get = async (path: string, accept: string) =>
    (await server.client.get(path, accept)).expect(200).text;
  const table = await get(`${DIGITS}/kept`, "application/json;as=Table;g=meta.k8s.io;v=v1");
  assert.match(table, new RegExp(`"cells":\\["kept",${BIG}\\]`));
  assert.match(await get(`${DIGITS}/kept`, "application/yaml"), new RegExp(`plain: ${BIG}`));
  const schemas = await get("/openapi/v3/apis/digits.example.com/v1", "application/json");
  assert.match(schemas.replaceAll(/\s/g, ""), new RegExp(`"default":${BIG}`));
});
