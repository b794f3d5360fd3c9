/** Every field of every served type has a description, and no description is unused. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { createNaming, DEFAULT_VENDOR } from "../api/naming.js";
import type { StructType, TypeRef } from "../schema/model.js";
import { loadFacts } from "./load-facts.js";
import { parseWords } from "./words.js";

const facts = loadFacts(createNaming(DEFAULT_VENDOR));
const { model } = facts;
/** Members whose meaning follows from the kind; see endpoints/openapi/descriptions.ts. */
const ENVELOPE = ["metadata", "items", "spec", "status"];

test("every field of every type that is served by default is described", () => {
  const silent = servedTypes().flatMap((type) =>
    type.customJson
      ? []
      : type.fields
          .filter(({ name }) => name !== "<inline>" && !(type.isKind && ENVELOPE.includes(name)))
          .filter(({ name }) => model.words.ofField(type, name) === undefined)
          .map(({ name }) => `${type.id}.${name}`),
  );

  assert.deepEqual(silent, []);
});

test("every type that is served by default is described", () => {
  const silent = servedTypes().filter((type) => model.words.ofType(type) === undefined);

  assert.deepEqual(
    silent.map(({ id }) => id).filter((id) => !id.startsWith("meta.v1.") && !id.endsWith("List")),
    [],
  );
});

test("words are written of known types and fields only", () => {
  const folder = new URL("./facts/words/", import.meta.url);
  const unknown = readdirSync(folder).flatMap((name) => {
    const { types, fields } = parseWords(name, readFileSync(new URL(name, folder), "utf8"));
    const group = name.replace(".words", "");
    const structs = group === "common" ? structsOf() : structsOf(group);
    /** The structs that a heading refers to. */
    const meant = (heading: string) =>
      structs.filter(({ name: type }) =>
        heading.startsWith("*") ? type.endsWith(heading.slice(1)) : type === heading,
      );
    const lostTypes = [...types.keys(), ...fields.keys()].filter(
      (type) => meant(type).length === 0,
    );
    const isMeant = (field: string, prose: string) =>
      [...fields].some(
        ([heading, texts]) =>
          texts.get(field) === prose &&
          meant(heading).some((type) => type.fields.some(({ name }) => name === field)),
      );
    const lostFields = [...fields].flatMap(([heading, texts]) =>
      [...texts]
        .filter(([field, prose]) => !isMeant(field, prose))
        .map(([field]) => `${heading}.${field}`),
    );
    return [...lostTypes, ...lostFields].map((what) => `${name}: ${what}`);
  });

  assert.deepEqual(unknown, []);
});

test("a line that is neither a type nor a field is refused with its number", () => {
  assert.throws(() => parseWords("a.words", "Pod: A pod.\nnonsense"), /a\.words:2: neither/);
});

test("a field that is described twice is refused", () => {
  const text = "Pod:\n  spec: One.\nPod:\n  spec: Two.";

  assert.throws(() => parseWords("a.words", text), /a\.words:4: described twice/);
});

function structsOf(group?: string): StructType[] {
  return [...model.files].flatMap(([base, { types }]) =>
    group === undefined || base.startsWith(`${group}.`)
      ? [...types.values()].filter((type) => type.form === "struct")
      : [],
  );
}

/** The kinds served by default, and all types that they consist of. */
function servedTypes(): StructType[] {
  const found = new Map<string, StructType>();
  const visit = (ref: TypeRef): void => {
    if (ref.kind === "list") visit(ref.items);
    if (ref.kind === "map") visit(ref.values);
    if (ref.kind !== "named" || found.has(ref.id)) return;
    const type = model.type(ref.id);
    if (type?.form === "alias") visit(type.target);
    if (type?.form !== "struct") return;
    found.set(ref.id, type);
    for (const field of type.fields) visit(field.type);
  };
  for (const fact of facts.resources.filter(({ onByDefault }) => onByDefault)) {
    const { group, version } = fact.kindGroupVersion ?? fact;
    const kind = model.kind(group, version, fact.kind);
    if (kind !== undefined) visit({ kind: "named", id: kind.id, nullable: false });
  }
  return [...found.values()];
}
