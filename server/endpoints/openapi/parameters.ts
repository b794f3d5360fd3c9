/**
 * Parameters of operations: query parameters from the facts of the option types (ListOptions,
 * PatchOptions, PodLogOptions, ...), path parameters from the path. Pure functions.
 */
import type { Field, SchemaModel, StructType } from "../../schema/model.js";
import { sharedType } from "./body-type.js";
import { describeParameter } from "./descriptions.js";
import { spreadFields } from "./schemas.js";

export interface Parameter {
  readonly name: string;
  readonly in: "query" | "path";
  readonly type: "string" | "integer" | "boolean";
  readonly description?: string;
  /** Whether the parameter is the same in every operation, so that v2 can share it. */
  readonly isShared: boolean;
}

export interface ParameterOptions {
  readonly omitted?: readonly string[];
  readonly isShared?: boolean;
}

/**
 * Written out in every operation, because older kubectls look there and follow no references:
 * otherwise they lack dry run up to 1.26 and strict validation up to 1.27.
 */
const NEVER_SHARED = ["dryRun", "fieldValidation"];

/** Shared parameters that are not fields of an options type. */
const SHARED_EXTRA = ["name", "namespace", "path"] as const;

/** The options of the verbs. */
const VERB_OPTIONS = [
  "ListOptions",
  "CreateOptions",
  "UpdateOptions",
  "PatchOptions",
  "DeleteOptions",
] as const;

export const prettyParameter: Parameter = {
  name: "pretty",
  in: "query",
  type: "string",
  description: describeParameter("pretty") ?? "",
  isShared: true,
};

export function pathParameter(name: (typeof SHARED_EXTRA)[number]): Parameter {
  return {
    name,
    in: "path",
    type: "string",
    description: describeParameter(name) ?? "",
    isShared: true,
  };
}

/** The parameters of the verbs, sorted by name. */
export function verbParameters(
  model: SchemaModel,
  options: readonly (typeof VERB_OPTIONS)[number][],
  omitted: readonly string[] = [],
): Parameter[] {
  const types = options.map((name) => sharedType(model, name));
  return optionParameters(model, types, { omitted, isShared: true });
}

/** All that are shared. */
export function allShared(model: SchemaModel): Parameter[] {
  const ofVerbs = verbParameters(model, VERB_OPTIONS).filter(({ isShared }) => isShared);
  return [prettyParameter, ...SHARED_EXTRA.map(pathParameter), ...ofVerbs];
}

/** The query parameters for the fields of option types, sorted by name. */
export function optionParameters(
  model: SchemaModel,
  types: readonly StructType[],
  { omitted = [], isShared = false }: ParameterOptions,
): Parameter[] {
  const parameters = new Map<string, Parameter>();
  for (const type of types) {
    for (const { owner, field } of spreadFields(model, type)) {
      if (owner.name === "TypeMeta" || omitted.includes(field.name)) continue;
      // A gated option is off by default and must not be advertised.
      if (field.gates.length > 0) continue;
      const parameterType = parameterTypeOf(model, field);
      if (parameterType === undefined) continue;
      const description = describeParameter(field.name);
      parameters.set(field.name, {
        name: field.name,
        in: "query",
        type: parameterType,
        ...(description === undefined || !isShared ? {} : { description }),
        isShared: isShared && !NEVER_SHARED.includes(field.name),
      });
    }
  }
  return [...parameters.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** A list becomes a repeated string; structs cannot be sent in a query. */
function parameterTypeOf(model: SchemaModel, { type }: Field): Parameter["type"] | undefined {
  const item = type.kind === "list" ? type.items : type;
  if (item.kind === "builtin") return "string";
  if (item.kind === "named") {
    const form = model.type(item.id)?.form;
    return form === "enum" || form === "alias" ? "string" : undefined;
  }
  if (item.kind !== "scalar") return undefined;
  switch (item.name) {
    case "bool":
      return "boolean";
    case "int32":
    case "int64":
      return "integer";
    case "string":
      return "string";
    default:
      return undefined;
  }
}
