/**
 * An object as lines of YAML, each with the path of the field that it shows. What the lines say together is read
 * back as the same object, by parsers of YAML 1.1 and 1.2 alike: texts that any of them might take for something
 * else are quoted as JSON quotes them. Pure.
 */
import { memberPath } from "../../api/changed-fields.js";
import type { JsonObject, JsonValue } from "../../api/meta.js";
import { membersOf } from "./members.js";

export interface YamlLine {
  /** With its indentation. */
  readonly text: string;
  /** As compareObjects writes it: "spec.containers[0].image". */
  readonly path: string;
}

const INDENT = "  ";
const PLAIN = /^[A-Za-z_/][\w./@-]*(?:[: ][\w./@-]+)*$/;
const LOOKS_ELSE = /^(?:true|false|null|yes|no|on|off|y|n)$/i;
/** Parsers may refuse them, or take them for ends of lines. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: YAML forbids exactly these
const UNPRINTABLE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/;
const UNPRINTABLE_ALL = new RegExp(UNPRINTABLE, "g");

export function toYamlLines(object: JsonObject): YamlLine[] {
  const lines: YamlLine[] = [];
  writeMembers(object, "", "", "", lines);
  return lines;
}

/** @param first stands before the first member, in place of the indentation: "- " of a list */
function writeMembers(
  object: JsonObject,
  path: string,
  indent: string,
  first: string,
  lines: YamlLine[],
): void {
  let before = first === "" ? indent : first;
  for (const [name, value] of Object.entries(object)) {
    if (value === undefined) continue;
    writeValue(value, memberPath(path, name), indent, `${before}${scalar(name)}:`, lines);
    before = indent;
  }
}

/** @param head what the value's first line begins with, without a space behind it */
function writeValue(
  value: JsonValue,
  path: string,
  indent: string,
  head: string,
  lines: YamlLine[],
): void {
  if (Array.isArray(value) && value.length > 0) {
    lines.push({ text: head, path });
    for (const [index, item] of value.entries()) {
      writeItem(item, `${path}[${index}]`, indent, lines);
    }
    return;
  }
  const members = membersOf(value);
  if (members !== undefined && Object.keys(members).length > 0) {
    lines.push({ text: head, path });
    writeMembers(members, path, indent + INDENT, "", lines);
    return;
  }
  const block = typeof value === "string" ? blockOf(value) : undefined;
  if (block === undefined) {
    lines.push({ text: `${head} ${flat(value)}`, path });
    return;
  }
  lines.push({ text: `${head} ${block.indicator}`, path });
  for (const line of block.lines) {
    lines.push({ text: line === "" ? "" : indent + INDENT + line, path });
  }
}

function writeItem(item: JsonValue, path: string, indent: string, lines: YamlLine[]): void {
  const members = membersOf(item);
  if (members !== undefined && Object.keys(members).length > 0) {
    writeMembers(members, path, indent + INDENT, `${indent}- `, lines);
  } else if (Array.isArray(item) && item.length > 0) {
    lines.push({ text: `${indent}-`, path });
    for (const [index, inner] of item.entries()) {
      writeItem(inner, `${path}[${index}]`, indent + INDENT, lines);
    }
  } else {
    lines.push({ text: `${indent}- ${flat(item)}`, path });
  }
}

function flat(value: JsonValue): string {
  if (typeof value === "string") return scalar(value);
  if (typeof value === "bigint") return value.toString();
  if (Array.isArray(value)) return "[]";
  return JSON.stringify(value);
}

function scalar(text: string): string {
  if (PLAIN.test(text) && !LOOKS_ELSE.test(text)) return text;
  return JSON.stringify(text).replace(UNPRINTABLE_ALL, escaped);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** A text of several lines as it is; undefined = better quoted. */
function blockOf(text: string): { indicator: string; lines: readonly string[] } | undefined {
  if (!text.includes("\n") || UNPRINTABLE.test(text) || !text.isWellFormed()) return undefined;
  const endsLine = text.endsWith("\n");
  const lines = (endsLine ? text.slice(0, -1) : text).split("\n");
  const isOdd = lines.some((line) => line !== "" && line.trim() === "");
  if (isOdd || /^\s/.test(lines[0] ?? "") || lines[0] === "" || lines.at(-1) === "") {
    return undefined;
  }
  return { indicator: endsLine ? "|" : "|-", lines };
}
