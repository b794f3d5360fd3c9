import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parse } from "yaml";
import type { JsonObject } from "../../api/meta.js";
import { toYamlLines } from "./yaml-lines.js";

const textOf = (object: JsonObject) =>
  toYamlLines(object)
    .map(({ text }) => `${text}\n`)
    .join("");

test("an object is written as people write YAML, each line with the path of its field", () => {
  const object = {
    metadata: { name: "web", labels: { "example.com/a b": "true" }, uid: 12345678901234567890n },
    spec: { args: ["-c", "echo hi\necho ho\n"], ports: [{ port: 80, names: [["a"]] }, {}] },
  };
  assert.deepEqual(
    toYamlLines(object).map(({ text, path }) => `${text.padEnd(36)}| ${path}`),
    [
      "metadata:                           | metadata",
      "  name: web                         | metadata.name",
      "  labels:                           | metadata.labels",
      '    example.com/a b: "true"         | metadata.labels["example.com/a b"]',
      "  uid: 12345678901234567890         | metadata.uid",
      "spec:                               | spec",
      "  args:                             | spec.args",
      '  - "-c"                            | spec.args[0]',
      '  - "echo hi\\necho ho\\n"            | spec.args[1]',
      "  ports:                            | spec.ports",
      "  - port: 80                        | spec.ports[0].port",
      "    names:                          | spec.ports[0].names",
      "    -                               | spec.ports[0].names[0]",
      "      - a                           | spec.ports[0].names[0][0]",
      "  - {}                              | spec.ports[1]",
    ],
  );
  assert.equal(
    textOf({ script: "a\n  b\n", cut: "a\nb" }),
    "script: |\n  a\n    b\ncut: |-\n  a\n  b\n",
  );
});

test("what is written is read back as the same by parsers of both versions of YAML", () => {
  const text = fc.oneof(
    fc.string({ unit: "binary", maxLength: 12 }),
    fc.stringMatching(/^[-a-z0-9:#{}[\],&*?|<>=!%@`'"\\ \n\t~.+_]{0,9}$/),
    fc.constantFrom(
      "no",
      "0x1f",
      "1e3",
      "1_000",
      "12:30:00",
      "2026-01-01",
      "<<",
      "=",
      "null",
      ".inf",
    ),
  );
  const { object } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      text,
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.boolean(),
      fc.constant(null),
      tie("object"),
      fc.array(tie("value"), { maxLength: 3 }),
    ),
    object: fc.dictionary(text, tie("value"), { maxKeys: 4, noNullPrototype: true }),
  }));
  fc.assert(
    fc.property(object, (value) => {
      const plain = JSON.parse(JSON.stringify(value)) as JsonObject;
      const written = textOf(plain);
      for (const version of ["1.1", "1.2"] as const) {
        const options = {
          version,
          schema: version === "1.1" ? "yaml-1.1" : "core",
          maxAliasCount: 0,
        } as const;
        assert.deepEqual(parse(written === "" ? "{}" : written, options), plain, written);
      }
    }),
    { numRuns: 500 },
  );
});
