/**
 * The query parameters of writes (S1-QP-10..13, S1-DRY, S1-FV): parsing, and the errors for invalid
 * values.
 */

import {
  forbiddenField,
  invalidValue,
  requiredValue,
  tooLongValue,
  unsupportedValue,
} from "../../api/field-errors.js";
import type { Naming } from "../../api/naming.js";
import { Problems } from "../../api/problems.js";
import { type FieldError, invalidOptions } from "../../api/status.js";
import { MANAGER_NAME_BYTES_MAX, managerNameOf } from "../../apply/writers.js";
import type { FieldValidation } from "../../registry/generic/decode-input.js";
import type { AdmissionRemarks, WriteOptions } from "../../registry/registry.js";
import type { Query } from "../../request/query.js";
import type { RequestContext } from "../../request/request-state.js";
import type { WriteNotes } from "../../request/write-notes.js";
import { wantsExplanation } from "./explanation.js";

const FIELD_VALIDATIONS: readonly FieldValidation[] = ["Ignore", "Strict", "Warn"];
/** All but what Go takes for printable: of spaces only the plain one. */
const UNPRINTABLE = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu;

export type OptionsKind = "CreateOptions" | "UpdateOptions" | "PatchOptions";

/** @throws {StatusError} 422 naming every invalid parameter */
export function parseWriteOptions(
  ctx: RequestContext,
  naming: Naming,
  kind: OptionsKind,
): WriteOptions {
  return parseOptions(ctx, naming, kind, false);
}

/** Options of a server-side apply. @throws {StatusError} 422 naming every invalid parameter */
export function parseApplyOptions(
  ctx: RequestContext,
  naming: Naming,
): { readonly options: WriteOptions; readonly force: boolean } {
  const options = parseOptions(ctx, naming, "PatchOptions", true);
  return { options, force: optionalBoolean(ctx.state.info.query, "force") === true };
}

function parseOptions(
  ctx: RequestContext,
  naming: Naming,
  kind: OptionsKind,
  isApply: boolean,
): WriteOptions {
  const { state } = ctx;
  const { query } = state.info;
  const { user } = state;
  const warn = (text: string) => state.addWarning(text);
  const remarks = remarksOf(ctx, naming);
  const { notes } = state;
  if (query.isEmpty && !isApply) {
    const fieldManager = managerOfUserAgent(ctx);
    if (notes !== undefined) notes.fieldManager = fieldManager;
    return {
      user,
      warn,
      remarks,
      request: state,
      decoded: decodedFor(notes),
      isDryRun: false,
      fieldValidation: "Warn",
      // No getter: V8 makes a hidden class for each object literal with one, and keeps the request in it.
      fieldManager,
    };
  }
  const errors = new Problems();
  const isDryRun = parseDryRun(query.getAll("dryRun"), errors);
  const manager = query.get("fieldManager") ?? "";
  checkManager(manager, errors);
  if (isApply && manager === "") {
    errors.push(requiredValue("fieldManager", "is required for apply patch"));
  }
  const validation = query.get("fieldValidation") ?? "";
  const fieldValidation = FIELD_VALIDATIONS.find((known) => known === validation);
  if (validation !== "" && fieldValidation === undefined) {
    errors.push(unsupportedValue("fieldValidation", validation, ["", ...FIELD_VALIDATIONS]));
  }
  if (kind === "PatchOptions" && !isApply && query.has("force")) {
    errors.push(forbiddenField("force", "may not be specified for non-apply patch"));
  }
  if (errors.length > 0) throw invalidOptions(naming, kind, errors);
  const fieldManager = manager === "" ? managerOfUserAgent(ctx) : manager;
  if (notes !== undefined) {
    notes.fieldManager = fieldManager;
    notes.isApply = isApply;
  }
  return {
    user,
    warn,
    remarks,
    request: state,
    decoded: decodedFor(notes),
    isDryRun,
    fieldValidation: fieldValidation ?? "Warn",
    fieldManager,
    said: {
      isDryRun,
      ...(manager !== "" && { fieldManager: manager }),
      ...(fieldValidation !== undefined && { fieldValidation }),
    },
  };
}

function decodedFor(notes: WriteNotes | undefined): WriteOptions["decoded"] {
  return notes && ((sent, object) => notes.noteDefaults(sent, object));
}

/**
 * Receivers of audit annotations and, if requested, of each rule's finding.
 * @param naming for a record of the write; absent = it is none
 */
export function remarksOf(ctx: RequestContext, naming?: Naming): AdmissionRemarks {
  const { state } = ctx;
  const annotate = (key: string, value: string, showing?: "objects") => {
    const { audit } = state;
    if (showing === undefined || audit?.wantsRequest === true) audit?.annotations.set(key, value);
  };
  const told =
    state.notes === undefined || naming === undefined
      ? { annotate }
      : { annotate, ...actedOn(state.notes, naming) };
  if (!wantsExplanation(ctx)) return told;
  const { findings } = state;
  if (findings !== undefined) return { ...told, explain: (finding) => findings.push(finding) };
  return {
    ...told,
    explain({ plugin, configuration, rule, outcome, why, milliseconds }) {
      const name = rule === "" ? configuration : `${configuration}/${rule}`;
      const reason = why === "" ? "" : `: ${why}`;
      state.addWarning(`${plugin} ${name} ${outcome} (${milliseconds.toFixed(2)} ms)${reason}`);
    },
  };
}

/** Names the rules that had a hand in the write. */
function actedOn(notes: WriteNotes, naming: Naming): Pick<AdmissionRemarks, "acted"> {
  return {
    acted({ plugin, configuration, rule, outcome }) {
      const isWebhook = plugin.endsWith("Webhook");
      const by = isWebhook ? "admission-webhook" : "admission-policy";
      const name = rule === "" ? configuration : `${configuration}/${rule}`;
      const kind = isWebhook ? "webhookconfigurations" : "admissionpolicies";
      const isMutating = plugin.startsWith("Mutating");
      const resource = `${isMutating ? "mutating" : "validating"}${kind}`;
      const group = `admissionregistration.${naming.groupDomain}`;
      const object = { group, resource, namespace: "", name: configuration, uid: "" };
      notes.add({ by, name: outcome === "refused" ? `${name} refused it` : name, object });
    },
  };
}

/** "All" or an empty value (C-03) means dry run. */
export function parseDryRun(values: readonly string[], errors: FieldError[]): boolean {
  for (const value of values) {
    if (value !== "" && value !== "All") {
      errors.push(unsupportedValue("dryRun", value, ["All"]));
    }
  }
  return values.length > 0;
}

function checkManager(manager: string, errors: FieldError[]): void {
  if (Buffer.byteLength(manager) > MANAGER_NAME_BYTES_MAX) {
    errors.push(tooLongValue("fieldManager", MANAGER_NAME_BYTES_MAX));
  }
  for (const { index, 0: character } of manager.matchAll(UNPRINTABLE)) {
    const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
    const position = Buffer.byteLength(manager.slice(0, index));
    const why = `invalid character U+${code} (at position ${position})`;
    errors.push(invalidValue("fieldManager", manager, why));
  }
}

/** The part before the slash of "kubectl/v1.36.0 (linux/amd64)" (S1-SSA-17). */
function managerOfUserAgent(ctx: RequestContext): string {
  return managerNameOf("", ctx.get("user-agent"));
}

/** The boolean value of a parameter; undefined if absent. */
export function optionalBoolean(query: Query, name: string): boolean | undefined {
  const value = query.get(name);
  if (value === undefined) return undefined;
  return value !== "0" && value.toLowerCase() !== "false";
}
