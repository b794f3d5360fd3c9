/**
 * The query parameters of writes (S1-QP-10..13, S1-DRY, S1-FV): what they may be, and what each one
 * that is not answers.
 */
import {
  forbiddenField,
  invalidValue,
  tooLongValue,
  unsupportedValue,
} from "../../api/field-errors.js";
import type { Naming } from "../../api/naming.js";
import { type FieldError, invalidOptions } from "../../api/status.js";
import type { FieldValidation, WriteOptions } from "../../registry/generic/registry.js";
import type { Query } from "../../request/query.js";
import type { RequestContext } from "../../request/request-state.js";

const FIELD_MANAGER_CHARS_MAX = 128;
const FIELD_VALIDATIONS: readonly FieldValidation[] = ["Ignore", "Strict", "Warn"];
const CONTROL_CHARACTER = /\p{C}/u;

export type OptionsKind = "CreateOptions" | "UpdateOptions" | "PatchOptions";

/** @throws {StatusError} 422 naming every parameter that is wrong */
export function parseWriteOptions(
  ctx: RequestContext,
  naming: Naming,
  kind: OptionsKind,
): WriteOptions {
  const { state } = ctx;
  const { query } = state.info;
  const options = {
    user: state.user,
    warn: (text: string) => state.addWarning(text),
  };
  if (query.isEmpty) {
    return {
      ...options,
      isDryRun: false,
      fieldValidation: "Warn",
      get fieldManager() {
        return managerOfUserAgent(ctx);
      },
    };
  }
  const errors: FieldError[] = [];
  const isDryRun = parseDryRun(query.getAll("dryRun"), errors);
  const manager = query.get("fieldManager") ?? "";
  checkManager(manager, errors);
  const validation = query.get("fieldValidation") ?? "";
  const fieldValidation = FIELD_VALIDATIONS.find((known) => known === validation);
  if (validation !== "" && fieldValidation === undefined) {
    errors.push(unsupportedValue("fieldValidation", validation, ["", ...FIELD_VALIDATIONS]));
  }
  if (kind === "PatchOptions" && query.has("force")) {
    errors.push(forbiddenField("force", "may not be specified for non-apply patch"));
  }
  if (errors.length > 0) throw invalidOptions(naming, kind, errors);
  return {
    ...options,
    isDryRun,
    fieldValidation: fieldValidation ?? "Warn",
    fieldManager: manager === "" ? managerOfUserAgent(ctx) : manager,
  };
}

/** "All", or nothing at all after the name (C-03): nothing is stored. */
export function parseDryRun(values: readonly string[], errors: FieldError[]): boolean {
  for (const value of values) {
    if (value !== "" && value !== "All") {
      errors.push(unsupportedValue("dryRun", value, ["All"]));
    }
  }
  return values.length > 0;
}

function checkManager(manager: string, errors: FieldError[]): void {
  if (manager.length > FIELD_MANAGER_CHARS_MAX) {
    errors.push(tooLongValue("fieldManager", FIELD_MANAGER_CHARS_MAX));
  }
  if (CONTROL_CHARACTER.test(manager)) {
    errors.push(invalidValue("fieldManager", manager, "should only contain printable characters"));
  }
}

/** What stands before the slash of "kubectl/v1.36.0 (linux/amd64)" (S1-SSA-17). */
function managerOfUserAgent(ctx: RequestContext): string {
  return (ctx.get("user-agent").split("/")[0] ?? "").slice(0, FIELD_MANAGER_CHARS_MAX);
}

/** Whether a parameter that was given is true; undefined when it was not. */
export function optionalBoolean(query: Query, name: string): boolean | undefined {
  const value = query.get(name);
  if (value === undefined) return undefined;
  return value !== "0" && value.toLowerCase() !== "false";
}
