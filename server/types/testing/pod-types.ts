/**
 * The types of a pod template and of all that is in it, as TypeScript: `server/registry/core/pod-types.ts`, which is written by
 * write-pod-types.js and which a test compares with the facts. A rule in code then reads no field that there is not.
 *
 *     2  hostPort  int32           oe    readonly hostPort?: Whole;
 *     1  name      string          ..    readonly name: string;
 *     7  env       []EnvVar        oe    readonly env?: Maybe<readonly EnvVar[]>;
 */
import type { Field, SchemaModel, StructType, TypeRef } from "../../schema/model.js";

/** From the emitted file in dist/server/types/testing. */
const SOURCES = new URL("../../../../", import.meta.url);

export const POD_TYPES_FILE = new URL("server/registry/core/pod-types.ts", SOURCES);

const ROOT = "core.v1.PodTemplateSpec";
/** They are at the head of the file, which stays as it is. */
const WRITTEN = new Set(["ObjectMeta", "LabelSelector", "ResourceList", "Volume"]);
const SCALARS: Readonly<Record<string, string>> = {
  bool: "boolean",
  string: "string",
  int32: "Whole",
  int64: "Whole",
  IntOrString: "Whole | string",
  Quantity: "string",
};
const LINE_CHARS_MAX = 100;
/** Shorter shapes are alike by chance. */
const LONG_FIELDS = 10;

/** @param current what the file holds */
export function podTypesText(model: SchemaModel, current: string): string {
  const found = new Set([ROOT]);
  const texts: string[] = [];
  /** The name of each long shape: one that another type has, too, is written once. */
  const names = new Map<string, string>();
  for (const id of found) {
    const type = model.type(id);
    if (type?.form !== "struct") throw new Error(`${id} is no struct`);
    const shape = shapeOf(model, type, found);
    const same = names.get(shape);
    if (type.fields.length >= LONG_FIELDS) names.set(shape, same ?? type.name);
    texts.push(
      same === undefined
        ? `export interface ${type.name}${shape}\n`
        : `export type ${type.name} = ${same};\n`,
    );
  }
  return current.slice(0, current.indexOf("export interface PodTemplateSpec")) + texts.join("\n");
}

/** @param found takes the types of its fields */
function shapeOf(model: SchemaModel, { fields }: StructType, found: Set<string>): string {
  const inline = fields.filter((field) => field.name === "<inline>");
  const bases = inline.map(({ type }) => typeText(model, type, found)).join(", ");
  const own = fields.filter((field) => field.name !== "<inline>");
  const lines = own.map((field) => lineOf(model, field, found));
  const head = bases === "" ? "" : ` extends ${bases}`;
  return `${head} {\n${lines.join("\n")}\n}`;
}

function lineOf(model: SchemaModel, { name, type, empty }: Field, found: Set<string>): string {
  const text = typeText(model, type, found);
  const isText = Object.values(SCALARS).includes(text);
  const isObject = type.kind === "named" && !isText && text !== "ResourceList";
  if (empty === "always" && !type.nullable && (isText || isObject)) {
    return `  readonly ${name}: ${text};`;
  }
  if (isText && !type.nullable && empty !== "struct") return `  readonly ${name}?: ${text};`;
  const line = `  readonly ${name}?: Maybe<${text}>;`;
  return line.length <= LINE_CHARS_MAX ? line : `  readonly ${name}?: Maybe<\n    ${text}\n  >;`;
}

function typeText(model: SchemaModel, type: TypeRef, found: Set<string>): string {
  if (type.kind === "list") return `readonly ${typeText(model, type.items, found)}[]`;
  if (type.kind === "map") return `Record<string, ${typeText(model, type.values, found)}>`;
  if (type.kind !== "named") return SCALARS[type.name] ?? "unknown";
  const name = type.id.slice(type.id.lastIndexOf(".") + 1);
  if (WRITTEN.has(name)) return name;
  const named = model.type(type.id);
  if (named?.form === "enum") return "string";
  if (named?.form === "alias") return typeText(model, named.target, found);
  found.add(type.id);
  return name;
}
