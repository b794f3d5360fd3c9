/**
 * Parses one file of facts (the notation of docs/dev/facts.md) into a ModelFile. Runs once per file at
 * start, so it works on whole lines and splits on blanks unless a quoted value is in the way. Structs are most of
 * it, and are parsed when somebody asks for them. An invalid line is a defect of the data: an error that names file and line.
 */

import type { JsonValue } from "../api/meta.js";
import type {
  AliasType,
  BuiltinName,
  BuiltinType,
  EmptyRule,
  EnumType,
  Field,
  ModelFile,
  ModelType,
  ScalarName,
  StructType,
  TypeRef,
} from "../schema/model.js";
import { LazyMap } from "./lazy-map.js";

/** A run of non-blanks in which a quoted JSON string may contain blanks. */
const TOKEN = /(?:[^\s"]|"(?:[^"\\]|\\.)*")+/g;

const SCALARS: ReadonlySet<string> = new Set<ScalarName>([
  "string",
  "bool",
  "int32",
  "int64",
  "float64",
  "bytes",
  "any",
]);

const BUILTINS: ReadonlySet<string> = new Set<BuiltinName>([
  "Time",
  "MicroTime",
  "Duration",
  "FieldsV1",
  "Quantity",
  "IntOrString",
  "RawExtension",
  "Unknown",
]);

const EMPTY_RULES: Readonly<Record<string, EmptyRule>> = {
  ".": "always",
  e: "omit",
  s: "struct",
  b: "omitZeroTime",
};

const REQUIREMENTS: Readonly<Record<string, Field["requirement"]>> = {
  o: "optional",
  r: "required",
  ".": "none",
};

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** @throws {SyntaxError} naming file and line */
export function parseTypes(base: string, text: string): ModelFile {
  return new TypesParser(base, text).parse();
}

/** The types with an encoding of their own, from the file of builtins. */
export function parseBuiltins(text: string): ReadonlyMap<string, BuiltinType> {
  const builtins = new Map<string, BuiltinType>();
  let fields: { name: string; number: number; type: TypeRef }[] = [];
  const parser = new TypesParser("builtins", "");
  for (const line of text.split("\n")) {
    const tokens = tokenize(line);
    if (line.startsWith("builtin ")) {
      const [, name = "", json = ""] = tokens;
      fields = [];
      builtins.set(name, { form: "builtin", name, json: json.slice("json=".length), fields });
    } else if (line.startsWith(" ")) {
      const [number, name = "", type = ""] = tokens;
      fields.push({ name, number: Number(number), type: parser.typeRef(type) });
    }
  }
  return builtins;
}

function tokenize(line: string): string[] {
  if (line.includes('"')) return line.match(TOKEN) ?? [];
  return line.trim().split(/\s+/);
}

function parseValue(token: string): string {
  return token.startsWith('"') ? (JSON.parse(token) as string) : token;
}

class TypesParser {
  readonly #base: string;
  readonly #lines: readonly string[];
  readonly #header = new Map<string, string>();
  readonly #types = new LazyMap<string, ModelType>();
  readonly #constants = new Map<string, JsonValue>();
  readonly #refs = new Map<string, TypeRef>();

  constructor(base: string, text: string) {
    this.#base = base;
    this.#lines = text.split("\n");
  }

  parse(): ModelFile {
    for (const [index, line] of this.#lines.entries()) {
      // The lines of a struct's fields.
      if (line.startsWith(" ")) continue;
      this.#at(index, () => {
        if (line.startsWith("type ")) this.#noteStruct(index, line);
        else this.#parseLine(line);
      });
    }
    const header = (key: string) => this.#header.get(key) ?? "";
    return {
      base: this.#base,
      group: header("group"),
      version: header("version"),
      stability: header("stability") as ModelFile["stability"],
      served: header("served") as ModelFile["served"],
      modelPrefix: header("model"),
      protoPackage: header("proto"),
      goPackage: header("package"),
      types: this.#types,
      constants: this.#constants,
    };
  }

  /** @throws {SyntaxError} naming file and line */
  #at<T>(index: number, parse: () => T): T {
    try {
      return parse();
    } catch (error) {
      const where = `${this.#base}.types:${index + 1}`;
      const line = JSON.stringify(this.#lines[index]);
      throw new SyntaxError(`${where}: ${String(error)} in ${line}`, { cause: error });
    }
  }

  #noteStruct(start: number, head: string): void {
    const [, name = ""] = tokenize(head);
    this.#types.setLazy(name, () => this.#parseStruct(start));
  }

  #parseLine(line: string): void {
    if (line === "") return;
    const tokens = tokenize(line);
    const [word = "", name = ""] = tokens;
    if (word.startsWith("@")) {
      this.#header.set(word.slice(1), parseValue(name));
    } else if (word === "enum" || word === "known") {
      this.#types.set(name, this.#enumType(word === "enum", name, tokens.slice(3)));
    } else if (word === "alias") {
      this.#types.set(name, this.#aliasType(name, tokens));
    } else if (word === "const") {
      this.#constants.set(name, JSON.parse(tokens[2] ?? "") as JsonValue);
    } else {
      throw new Error("unknown line");
    }
  }

  #enumType(closed: boolean, name: string, tokens: readonly string[]): EnumType {
    const bar = tokens.indexOf("|");
    const values = (bar === -1 ? tokens : tokens.slice(0, bar)).map(parseValue);
    return { form: "enum", ...this.#named(name), closed, values };
  }

  #aliasType(name: string, tokens: readonly string[]): AliasType {
    const attributes: Record<string, string> = {};
    const alias: Mutable<AliasType> = {
      form: "alias",
      ...this.#named(name),
      target: this.typeRef(tokens[3] ?? ""),
      wrapped: false,
      attributes,
    };
    for (const token of tokens.slice(4)) {
      const [key, value] = splitAttribute(token);
      if (key === "wrapped") alias.wrapped = true;
      else if (key === "list") alias.listType = value as "map" | "set" | "atomic";
      else attributes[key] = value;
    }
    return alias;
  }

  #named(name: string) {
    return { id: `${this.#base}.${name}`, name, file: this.#base };
  }

  /** Parses the struct whose head is at `start`. */
  #parseStruct(start: number): StructType {
    const [, name = "", ...attributes] = tokenize(this.#lines[start] ?? "");
    const fields: Field[] = [];
    const reserved: StructType["reserved"][number][] = [];
    for (let index = start + 1; this.#lines[index]?.startsWith(" "); index++) {
      const tokens = tokenize(this.#lines[index] ?? "");
      const [first = "", second = "", third = ""] = tokens;
      if (first === "method") continue; // a client's business
      if (first === "reserved") reserved.push({ number: fieldNumber(second), name: third });
      else fields.push(this.#at(index, () => this.#field(tokens)));
    }
    return this.#at(start, () => this.#structType(name, attributes, fields, reserved));
  }

  #structType(
    name: string,
    tokens: readonly string[],
    fields: readonly Field[],
    reserved: StructType["reserved"],
  ): StructType {
    const attributes: Record<string, string> = {};
    const rules: string[] = [];
    const shadowRules: string[] = [];
    const type: Mutable<StructType> = {
      form: "struct",
      ...this.#named(name),
      fields,
      isKind: false,
      isOptions: false,
      isUnion: false,
      customJson: false,
      noProtobuf: false,
      reserved,
      rules,
      shadowRules,
      attributes,
    };
    for (const token of tokens) {
      const [key, value] = splitAttribute(token);
      if (key === "kind") type.isKind = true;
      else if (key === "options") type.isOptions = true;
      else if (key === "union") type.isUnion = true;
      else if (key === "noproto") type.noProtobuf = true;
      else if (token === "json=custom") type.customJson = true;
      else if (key === "struct") type.structType = value as "atomic";
      else if (key === "map") type.mapType = value as "atomic";
      else if (token.startsWith("v:")) rules.push(token.slice(2));
      else if (isShadowRule(token)) shadowRules.push(token.slice(3));
      else attributes[key] = value;
    }
    return type;
  }

  #field(tokens: readonly string[]): Field {
    const [number = "", name = "", type = "", flags = ""] = tokens;
    const requirement = REQUIREMENTS[flags[0] ?? ""];
    const empty = EMPTY_RULES[flags[1] ?? ""];
    if (requirement === undefined || empty === undefined || flags.length !== 2) {
      throw new Error(`bad flags of ${name}`);
    }
    const rules: string[] = [];
    const shadowRules: string[] = [];
    const generatorRules: string[] = [];
    const field: Mutable<Field> = {
      name,
      number: fieldNumber(number),
      type: this.typeRef(type),
      requirement,
      empty,
      noJson: false,
      deprecated: false,
      gates: [],
      discriminator: false,
      rules,
      shadowRules,
      generatorRules,
    };
    for (let index = 4; index < tokens.length; index++) {
      const token = tokens[index] ?? "";
      if (token.startsWith("v:")) rules.push(token.slice(2));
      else if (isShadowRule(token)) shadowRules.push(token.slice(3));
      else if (token.startsWith("kb:")) generatorRules.push(token.slice(3));
      else setFieldAttribute(field, token);
    }
    return field;
  }

  /** Types are few and fields many, so equal references are one object. */
  typeRef(text: string): TypeRef {
    let ref = this.#refs.get(text);
    if (ref === undefined) {
      ref = this.#parseTypeRef(text);
      this.#refs.set(text, ref);
    }
    return ref;
  }

  #parseTypeRef(text: string): TypeRef {
    const nullable = text.startsWith("*");
    const bare = nullable ? text.slice(1) : text;
    if (bare.startsWith("[]")) {
      return { kind: "list", items: this.typeRef(bare.slice(2)), nullable };
    }
    if (bare.startsWith("map[")) {
      const end = bare.indexOf("]");
      return {
        kind: "map",
        keys: this.typeRef(bare.slice(4, end)),
        values: this.typeRef(bare.slice(end + 1)),
        nullable,
      };
    }
    if (SCALARS.has(bare)) return { kind: "scalar", name: bare as ScalarName, nullable };
    if (BUILTINS.has(bare)) return { kind: "builtin", name: bare as BuiltinName, nullable };
    return { kind: "named", id: bare.includes(".") ? bare : `${this.#base}.${bare}`, nullable };
  }
}

function fieldNumber(token: string): number | undefined {
  return token === "-" ? undefined : Number(token);
}

function isShadowRule(token: string): boolean {
  return token.startsWith("va:") || token.startsWith("vb:");
}

function splitAttribute(token: string): readonly [key: string, value: string] {
  const equals = token.indexOf("=");
  if (equals === -1) return [token, ""];
  return [token.slice(0, equals), parseValue(token.slice(equals + 1))];
}

function setFieldAttribute(field: Mutable<Field>, token: string): void {
  if (token.startsWith("default=")) {
    field.default = JSON.parse(token.slice("default=".length)) as JsonValue;
    return;
  }
  const [key, value] = splitAttribute(token);
  switch (key) {
    case "list":
      field.listType = value as "map" | "set" | "atomic";
      return;
    case "keys":
      field.listMapKeys = value.split(",");
      return;
    case "map":
      field.mapType = value as "atomic" | "granular";
      return;
    case "struct":
      field.structType = value as "atomic" | "granular";
      return;
    case "patch":
      field.patchStrategies = value.split(",") as ("merge" | "replace" | "retainKeys")[];
      return;
    case "mergeKey":
      field.patchMergeKey = value;
      return;
    case "oneOf":
      field.oneOf = value;
      return;
    case "zeroOrOneOf":
      field.zeroOrOneOf = value;
      return;
    case "gate":
      field.gates = value.split(",");
      return;
    case "deprecated":
      field.deprecated = true;
      return;
    case "discriminator":
      field.discriminator = true;
      return;
    case "nojson":
      field.noJson = true;
      return;
    default:
      throw new Error(`unknown attribute ${token}`);
  }
}
