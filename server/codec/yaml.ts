/**
 * YAML bodies to JSON values (S1-NEG-02). The dialect is YAML 1.1, as used by clients of kube-apiserver:
 * `yes` is true and `0644` is octal; dates stay text. Accepts only what JSON can express: one document, no
 * tags, no infinite numbers. Integers are lossless as in codec/json.ts.
 */

import {
  type Alias,
  Composer,
  type CST,
  type Document,
  type DocumentOptions,
  isAlias,
  isMap,
  isPair,
  isScalar,
  isSeq,
  type ParsedNode,
  type ParseOptions,
  Parser,
  type SchemaOptions,
  type Tags,
  type YAMLMap,
} from "yaml";
import type { JsonObject, JsonValue } from "../api/meta.js";
import { PROBLEMS_MAX } from "../api/problems.js";
import { cutPath } from "../api/shown-value.js";
import { JsonSyntaxError } from "../schema/json-parser.js";
import { parseJson } from "../schema/parse-json.js";
import { findRepeatedKeys, type RepeatedKey } from "./json.js";
import { parsePlainYaml } from "./plain-yaml.js";

export interface YamlResult {
  readonly value: JsonValue;
  /** Paths of duplicate keys; the last value wins (S1-FV-04). */
  readonly duplicateFields: readonly string[];
  /** The duplicates in the wording of YAML clients, with the line of each. */
  readonly repeatedKeys: readonly string[];
}

/** The text is not valid YAML or not expressible in JSON. The message has the first problem. */
export class YamlSyntaxError extends Error {
  override readonly name = "YamlSyntaxError";
  /** Where in the text, in UTF-16 units; undefined = not known. */
  readonly at: number | undefined;

  constructor(message: string, at?: number) {
    super(message);
    this.at = at;
  }
}

/** The limit of nodes expanded from aliases: more is an attack. */
const ALIASED_NODES_MAX = 10_000;
/** Levels of tokens; each level of the value takes two. */
const DEPTH_MAX = 400;
const MERGE_KEY = "<<";
/** Types of YAML 1.1 that JSON does not have. */
const LEFT_OUT = new Set(["timestamp", "binary", "omap", "pairs", "set"]);

/**
 * JSON text is parsed as JSON, and common texts by parsePlainYaml. Anything else takes about a millisecond per KiB:
 * clients' texts are read by YamlReader. @throws {YamlSyntaxError}
 */
export function parseYaml(text: string): YamlResult {
  const json = parseYamlAsJson(text);
  if (json !== undefined) return json;
  const value = parsePlainYaml(text);
  return value === undefined ? parseAnyYaml(text) : toResult(text, value, []);
}

/** By the library, whatever it is. @throws {YamlSyntaxError} */
export function parseAnyYaml(text: string): YamlResult {
  const tokens = [...new Parser().parse(text)];
  // Composing recurses, and V8 does not survive every stack overflow.
  refuseDepth(tokens);
  const composer = new Composer(OPTIONS);
  Object.assign(composer, { onError: firstRefused() });
  const [document, ...others] = composer.compose(tokens, true, text.length);
  if (document === undefined) return toResult(text, null, []);
  const [problem] = document.errors;
  if (problem !== undefined) throw new YamlSyntaxError(problem.message, problem.pos[0]);
  if (others.length > 0) throw new YamlSyntaxError("there is more than one document");
  refuseOtherVersion(document);
  const reader = new NodeReader();
  const value = reader.read(document.contents as ParsedNode | null, "", 0);
  return toResult(text, value, [...reader.repeated.values()]);
}

/** Most clients send JSON as YAML. @returns undefined for a text that is no object of JSON */
export function parseYamlAsJson(text: string): YamlResult | undefined {
  if (!/^\s*\{/.test(text)) return undefined;
  try {
    const value = parseJson(text);
    return toResult(text, value, findRepeatedKeys(text, value));
  } catch (error) {
    if (error instanceof JsonSyntaxError) return undefined;
    throw error;
  }
}

function toResult(text: string, value: JsonValue, repeated: readonly RepeatedKey[]): YamlResult {
  let [line, lineAt] = [1, 0];
  const repeatedKeys = [...repeated]
    .sort((a, b) => a.at - b.at)
    .map(({ key, at }) => {
      for (; lineAt < at; lineAt++) if (text.charCodeAt(lineAt) === NEWLINE) line++;
      return `line ${line}: key ${JSON.stringify(key)} already set in map`;
    });
  const duplicateFields = [...new Set(repeated.map(({ path }) => path))];
  return { value, duplicateFields, repeatedKeys };
}

const NEWLINE = 0x0a;

/** Integers with a prefix, octal ones of YAML 1.2 too: kube-apiserver reads them in either case (R11). */
const PREFIXED = /^([-+]?)(0(?:[xX][\da-fA-F]+|[oO][0-7]+|[bB][01]+))$/;

/** undefined where the text is no integer with a prefix */
function prefixedInteger(text: string): bigint | undefined {
  const [, sign, digits] = PREFIXED.exec(text.replaceAll("_", "")) ?? [];
  if (digits === undefined) return undefined;
  return sign === "-" ? -BigInt(digits) : BigInt(digits);
}

/** `%YAML 1.2` would switch the dialect within a request (R11). @throws {YamlSyntaxError} */
function refuseOtherVersion({ directives }: Document.Parsed): void {
  const { explicit, version } = directives.yaml;
  if (explicit === true && version !== OPTIONS.version) {
    throw new YamlSyntaxError("found incompatible YAML document");
  }
}

/**
 * Replaces the composer's own handler, which would create 100,000 errors before reporting the first. If
 * it is no longer called, the document still has its errors.
 */
function firstRefused() {
  // The library catches what is thrown and tells it again, as of the node around it.
  let first: number | undefined;
  return (
    source: number | readonly number[] | { readonly offset: number },
    _code: unknown,
    message: string,
    isWarning?: boolean,
  ): void => {
    if (isWarning === true) return;
    first ??= typeof source === "number" ? source : "offset" in source ? source.offset : source[0];
    throw new YamlSyntaxError(message, first);
  };
}

const OPTIONS: ParseOptions & DocumentOptions & SchemaOptions = {
  version: "1.1",
  intAsBigInt: true,
  uniqueKeys: false,
  customTags: (tags: Tags) => tags.filter((tag) => typeof tag === "string" || !isLeftOut(tag)),
};

function isLeftOut({ tag, format }: { readonly tag: string; readonly format?: string }): boolean {
  // "22:22" is a port mapping here, not a sexagesimal number.
  return LEFT_OUT.has(tag.slice(TAG_PREFIX.length)) || format === "TIME";
}

/** Checks the tokens' depth without recursion. @throws {YamlSyntaxError} */
function refuseDepth(tokens: readonly CST.Token[]): void {
  let level: readonly unknown[] = tokens;
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > DEPTH_MAX) throw new YamlSyntaxError("exceeded max depth");
    const next: unknown[] = [];
    for (const token of level) {
      const { items, value, key } = token as { items?: unknown[]; value?: unknown; key?: unknown };
      for (const item of items ?? []) next.push(item);
      if (isToken(value)) next.push(value);
      if (isToken(key)) next.push(key);
    }
    level = next;
  }
}

function isToken(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** Of "tag:yaml.org,2002:set", which is written "!!set". */
const TAG_PREFIX = "tag:yaml.org,2002:";

/** Tags that say what a scalar has to be. Any other is left out, as in the library that kube-apiserver uses. */
const SCALAR_TAGS = new Set(["str", "bool", "int", "float", "null", "timestamp"]);
/** Nothing else is read as a number, a boolean, nothing or a time. */
const MAY_MEAN = /^(?!-+$|\.+$)[-+.\w~:]*$/;
const TIME = /^\d{4}-\d\d?-\d\d?(?:[Tt ]\d\d?:\d\d?:\d.*)?$/;

/** A scalar with a tag, as kube-apiserver reads it. @throws {YamlSyntaxError} it is something else */
function readTagged(tag: string, source: string): JsonValue {
  if (tag === "binary") return textOfBase64(source);
  if (tag === "str" || !SCALAR_TAGS.has(tag)) return source;
  const value = MAY_MEAN.test(source) ? parseAnyYaml(source).value : source;
  const meant = TIME.test(source) ? "timestamp" : tagOf(value, source);
  // What is beyond 64 bits with a sign is no float to it.
  const isFloat = tag === "float" && meant === "int" && BigInt(Number(value)) < 2n ** 63n;
  if (meant === tag || isFloat) return value;
  throw new YamlSyntaxError(`cannot decode !!${meant} \`${source}\` as a !!${tag}`);
}

function tagOf(value: JsonValue, source: string): string {
  switch (typeof value) {
    case "boolean":
      return "bool";
    case "number":
    case "bigint":
      return /^[-+]?(?:0[xXoObB])?[\da-fA-F_]+$/.test(source) && !/^[-+]?[\d_]+[eE]/.test(source)
        ? "int"
        : "float";
    default:
      return value === null ? "null" : "str";
  }
}

const BASE64 = /^[A-Za-z\d+/]*={0,2}$/;

/** JSON has texts only: bytes that are none become replacement characters. @throws {YamlSyntaxError} */
function textOfBase64(source: string): string {
  const plain = source.replaceAll(/[\r\n]/g, "");
  if (plain.length % 4 !== 0 || !BASE64.test(plain)) {
    throw new YamlSyntaxError("!!binary value contains invalid base64 data");
  }
  return Buffer.from(plain, "base64").toString("utf8");
}

/** Converts the nodes of one document to values. */
class NodeReader {
  /** By position, because aliased nodes are read repeatedly. */
  readonly repeated = new Map<number, RepeatedKey>();
  /** The node that an anchor stands for here; the same name may stand for another one later. */
  readonly #anchored = new Map<string, ParsedNode>();
  /** What each alias stood for where it was first read: the library would look through the whole document for each. */
  readonly #targets = new Map<Alias, ParsedNode>();
  #aliasDepth = 0;
  #aliasedNodes = 0;

  read(node: ParsedNode | null | undefined, path: string, depth: number): JsonValue {
    if (node === null || node === undefined) return null;
    if (depth > DEPTH_MAX) throw new YamlSyntaxError("exceeded max depth");
    if (this.#aliasDepth > 0 && ++this.#aliasedNodes > ALIASED_NODES_MAX) {
      throw new YamlSyntaxError("aliases stand for too much");
    }
    if (isAlias(node)) {
      this.#aliasDepth++;
      const value = this.read(this.#targetOf(node), path, depth + 1);
      this.#aliasDepth--;
      return value;
    }
    // What an alias stands for was here before.
    if (node.anchor !== undefined && this.#aliasDepth === 0) this.#anchored.set(node.anchor, node);
    if (isSeq(node)) {
      return node.items.map((item, index) =>
        this.read(item as ParsedNode, `${path}[${index}]`, depth + 1),
      );
    }
    if (isMap(node)) return this.#readMap(node, path, depth);
    if (!isScalar(node)) return null;
    const { source = "" } = node;
    const tag = node.tag?.startsWith(TAG_PREFIX) ? node.tag.slice(TAG_PREFIX.length) : undefined;
    if (tag !== undefined && node.type !== undefined) return readTagged(tag, source);
    const mayHavePrefix =
      node.type === "PLAIN" && node.tag === undefined && /^[-+]?0\D/.test(source);
    const prefixed = mayHavePrefix ? prefixedInteger(source) : undefined;
    return toJson(prefixed ?? node.value, source);
  }

  #targetOf(alias: Alias): ParsedNode {
    const target = this.#targets.get(alias) ?? this.#anchored.get(alias.source);
    if (target === undefined) throw new YamlSyntaxError(`unknown anchor ${alias.source}`);
    this.#targets.set(alias, target);
    return target;
  }

  #readMap(map: YAMLMap, path: string, depth: number): JsonValue {
    const members = new Map<string, JsonValue>();
    const merged: JsonObject = {};
    for (const pair of map.items) {
      if (!isPair(pair)) continue;
      const isMerge = isScalar(pair.key) && typeof pair.key.value === "symbol";
      const key = isMerge ? MERGE_KEY : this.#keyOf(pair.key as ParsedNode | null, depth);
      const field = cutPath(path === "" ? key : `${path}.${key}`);
      const value = this.read(pair.value as ParsedNode | null, field, depth + 1);
      if (isMerge) {
        mergeInto(merged, value);
        continue;
      }
      if (members.has(key) && this.repeated.size < PROBLEMS_MAX) {
        const at = (pair.key as ParsedNode | null)?.range?.[0] ?? 0;
        this.repeated.set(at, { path: field, key, at });
      }
      members.set(key, value);
    }
    // fromEntries defines "__proto__" like any other key.
    return Object.fromEntries([...Object.entries(merged), ...members]);
  }

  #keyOf(node: ParsedNode | null, depth: number): string {
    const key = this.read(node, "", depth + 1);
    if (typeof key === "object") throw new YamlSyntaxError("a key must be text");
    return String(key);
  }
}

/** The first merged value wins. */
function mergeInto(target: JsonObject, value: JsonValue): void {
  for (const source of Array.isArray(value) ? value : [value]) {
    if (typeof source !== "object" || source === null || Array.isArray(source)) {
      throw new YamlSyntaxError("only maps can be merged");
    }
    for (const [key, item] of Object.entries(source)) {
      if (!Object.hasOwn(target, key)) {
        Object.defineProperty(target, key, {
          value: item,
          enumerable: true,
          configurable: true,
          writable: true,
        });
      }
    }
  }
}

const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;

/** A float without a fraction is an integer, as in kube-apiserver, which writes it as JSON without an exponent. */
function toWhole(value: number): number | bigint {
  const isLong = Number.isInteger(value) && !Number.isSafeInteger(value);
  return isLong && Math.abs(value) < 2 ** 63 ? BigInt(String(value)) : value;
}

const INFINITE = /^[-+]?(?:\.(?:inf|nan)$|\.?\d)/i;

const NOT_FINITE = "a number must be finite";

function toJson(value: unknown, source: string): JsonValue {
  switch (typeof value) {
    case "bigint": {
      const number = Number(value);
      if (!Number.isFinite(number)) throw new YamlSyntaxError(NOT_FINITE);
      return Number.isSafeInteger(number) || value < INT64_MIN || value > INT64_MAX
        ? number
        : value;
    }
    case "number":
      if (Number.isFinite(value)) return toWhole(value);
      if (INFINITE.test(source)) throw new YamlSyntaxError(NOT_FINITE);
      // Names such as "E1", which the library parses as numbers without digits.
      return source;
    case "boolean":
    case "string":
      return value;
    default:
      return null;
  }
}
