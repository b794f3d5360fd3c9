/**
 * Checks a definition's version except for its schema: printer columns, subresources, selectable
 * fields, and the deprecation warning.
 */
import {
  duplicateValue,
  invalidValue,
  invalidValues,
  requiredValue,
  tooManyItems,
} from "../../api/field-errors.js";
import type { FieldError } from "../../api/status.js";
import { FieldPathError, parseFieldPath } from "../field-path.js";
import type { Structural } from "../structural.js";

export interface ColumnDefinition {
  readonly name?: string;
  readonly type?: string;
  readonly format?: string;
  readonly description?: string;
  readonly priority?: number;
  readonly jsonPath?: string;
}

export interface Subresources {
  readonly status?: object | null;
  readonly scale?: ScaleDefinition | null;
}

export interface ScaleDefinition {
  readonly specReplicasPath?: string;
  readonly statusReplicasPath?: string;
  readonly labelSelectorPath?: string | null;
}

const COLUMN_TYPES = ["boolean", "date", "integer", "number", "string"];
const COLUMN_FORMATS = [
  "byte",
  "date",
  "date-time",
  "double",
  "float",
  "int32",
  "int64",
  "password",
];

export function checkColumns(
  columns: readonly ColumnDefinition[],
  path: string,
  errors: FieldError[],
): void {
  columns.forEach((column, index) => {
    const at = `${path}[${index}]`;
    const { name = "", type = "", format = "", jsonPath = "" } = column;
    if (name === "") errors.push(requiredValue(`${at}.name`));
    const types = `must be one of ${COLUMN_TYPES.join(",")}`;
    if (type === "") errors.push(requiredValue(`${at}.type`, types));
    else if (!COLUMN_TYPES.includes(type)) errors.push(invalidValue(`${at}.type`, type, types));
    if (format !== "" && !COLUMN_FORMATS.includes(format)) {
      const why = `must be one of ${COLUMN_FORMATS.join(",")}`;
      errors.push(invalidValue(`${at}.format`, format, why));
    }
    // kube-apiserver reports the internal name of this field.
    if (jsonPath === "") errors.push(requiredValue(`${at}.JSONPath`));
    else checkSimplePath(jsonPath, `${at}.JSONPath`, errors);
  });
}

function checkSimplePath(text: string, path: string, errors: FieldError[]): boolean {
  if (text.startsWith(".")) return true;
  errors.push(invalidValue(path, text, "must be a simple json path starting with ."));
  return false;
}

export function checkSubresources(
  { scale }: Subresources,
  path: string,
  errors: FieldError[],
): void {
  if (!scale) return;
  const paths = [
    ["specReplicasPath", [".spec."], "should be a json path under .spec", true],
    ["statusReplicasPath", [".status."], "should be a json path under .status", true],
    [
      "labelSelectorPath",
      [".spec.", ".status."],
      "should be a json path under either .spec or .status",
      false,
    ],
  ] as const;
  for (const [member, roots, why, isRequired] of paths) {
    const at = `${path}.scale.${member}`;
    const text = scale[member] ?? "";
    if (text === "") {
      if (isRequired) errors.push(requiredValue(at));
    } else if (checkSimplePath(text, at, errors)) {
      if (!roots.some((root) => text.startsWith(root))) errors.push(invalidValue(at, text, why));
    }
  }
}

const SELECTABLE_FIELDS_MAX = 8;
const SELECTABLE_TYPES = ["string", "boolean", "integer"];

export function checkSelectableFields(
  fields: readonly { readonly jsonPath?: string }[],
  root: Structural,
  path: string,
  errors: FieldError[],
): void {
  const seen = new Set<string>();
  fields.forEach(({ jsonPath = "" }, index) => {
    const at = `${path}[${index}].jsonPath`;
    if (jsonPath === "") {
      errors.push(requiredValue(at));
      return;
    }
    let found: ReturnType<typeof parseFieldPath>;
    try {
      found = parseFieldPath(jsonPath, root, false);
    } catch (error) {
      if (!(error instanceof FieldPathError)) throw error;
      errors.push(invalidValue(at, jsonPath, `is an invalid path: ${error.message}`));
      return;
    }
    if (found.steps[0] === "metadata") {
      errors.push(invalidValue(at, jsonPath, "must not point to fields in metadata"));
    }
    if (!SELECTABLE_TYPES.includes(found.node?.type ?? "")) {
      const why =
        "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.";
      errors.push(invalidValue(at, jsonPath, why));
    }
    if (seen.has(found.text)) errors.push(duplicateValue(at, jsonPath));
    seen.add(found.text);
  });
  if (seen.size > SELECTABLE_FIELDS_MAX) {
    errors.push(tooManyItems(path, seen.size, SELECTABLE_FIELDS_MAX));
  }
}

const WARNING_LENGTH_MAX = 256;
const UNPRINTABLE = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u;

/** @param warning undefined or null = no custom warning */
export function checkDeprecation(
  isDeprecated: boolean,
  warning: string | null | undefined,
  path: string,
  errors: FieldError[],
): void {
  if (warning === undefined || warning === null) return;
  const problems: string[] = [];
  if (!isDeprecated) problems.push("can only be set for deprecated versions");
  else {
    if (warning.length > WARNING_LENGTH_MAX) problems.push("must be <= 256 characters long");
    if (warning === "") problems.push("must not be an empty string");
    const at = UNPRINTABLE.exec(warning)?.index;
    if (at !== undefined) {
      problems.push(
        `must only contain printable UTF-8 characters; non-printable character found at index ${at}`,
      );
    }
  }
  errors.push(...invalidValues(path, warning, problems));
}
