/**
 * The status of a signing request: who may write what of it. A decision is made at the `approval` subresource alone, a
 * certificate is set once at `status` alone, and neither is taken back: otherwise who may report could also grant (R33).
 * What an object of an older release has already is tolerated.
 */
import { X509Certificate } from "node:crypto";
import { isRecord } from "../../../storage/base/is-record.js";
import { pemTexts } from "../../../storage/x509/pem-texts.js";
import { deepEqual } from "../../api/deep-equal.js";
import {
  duplicateValue,
  forbiddenField,
  invalidValue,
  requiredValue,
} from "../../api/field-errors.js";
import type { ApiObject } from "../../api/meta.js";
import { Problems } from "../../api/problems.js";
import type { FieldError } from "../../api/status.js";
import { validateChoice } from "../../api/validation-values.js";
import { valueAt } from "../generic/fields.js";

/** Conditions that are always true: they are there, or they are not. */
const FINAL = ["Approved", "Denied", "Failed"] as const;
const DECISIONS = ["Approved", "Denied"] as const;
const STATES = ["False", "True", "Unknown"];
const FIELD = "status.conditions";

export type Conditions = readonly Record<string, unknown>[];

export function conditionsOf(object: ApiObject | undefined): Conditions {
  const conditions = object && valueAt(object, ["status", "conditions"]);
  return Array.isArray(conditions) ? conditions.filter(isRecord) : [];
}

/** Which part of the object a write is about. */
export type SigningPart = "" | "status" | "approval";

/** @param current undefined for a new object */
export function validateSigningStatus(
  next: ApiObject,
  current: ApiObject | undefined,
  part: SigningPart,
): FieldError[] {
  const errors = new Problems();
  validateConditions(conditionsOf(next), conditionsOf(current), errors);
  const [certificate, before] = [certificateOf(next), certificateOf(current)];
  if (certificate !== before && certificateProblem(before) === undefined) {
    const why = certificateProblem(certificate);
    if (why !== undefined) {
      errors.push(invalidValue("status.certificate", "<certificate data>", why));
    }
  }
  if (current === undefined) return errors;
  validateKept(conditionsOf(next), conditionsOf(current), { part, errors });
  if (certificate === before) return errors;
  if (part !== "status") {
    errors.push(forbiddenField("status.certificate", "updates may not set certificate content"));
  } else if (before !== "") {
    const why = "updates may not modify existing certificate content";
    errors.push(forbiddenField("status.certificate", why));
  }
  return errors;
}

function certificateOf(object: ApiObject | undefined): string {
  const certificate = object && valueAt(object, ["status", "certificate"]);
  return typeof certificate === "string" ? certificate : "";
}

function validateConditions(next: Conditions, before: Conditions, errors: FieldError[]): void {
  const typesBefore = before.map(({ type }) => type);
  const hadEmpty = typesBefore.some((type) => (type ?? "") === "");
  const hadTwice = new Set(typesBefore).size < typesBefore.length;
  const hadBoth = typesBefore.includes("Approved") && typesBefore.includes("Denied");
  const seen = new Set<unknown>();
  next.forEach(({ type: named, status: state }, index) => {
    const [type, status] = [String(named ?? ""), String(state ?? "")];
    const at = `${FIELD}[${index}]`;
    if (!hadEmpty && type === "") errors.push(requiredValue(`${at}.type`));
    const allowed = FINAL.some((final) => final === type) ? ["True"] : STATES;
    if (status === "") errors.push(requiredValue(`${at}.status`));
    else validateChoice(status, `${at}.status`, allowed, errors);
    const other = type === "Approved" ? "Denied" : type === "Denied" ? "Approved" : undefined;
    if (!hadBoth && other !== undefined && seen.has(other)) {
      const why = "Approved and Denied conditions are mutually exclusive";
      errors.push(invalidValue(FIELD, type, why));
    }
    if (!hadTwice && seen.has(type)) errors.push(duplicateValue(`${at}.type`, type));
    seen.add(type);
  });
}

/** What is decided stays, and only who may approve decides. */
function validateKept(
  next: Conditions,
  before: Conditions,
  { part, errors }: { part: SigningPart; errors: FieldError[] },
): void {
  for (const type of FINAL) {
    if (ofType(next, type).length >= ofType(before, type).length) continue;
    errors.push(forbiddenField(FIELD, `updates may not remove a condition of type "${type}"`));
  }
  if (part === "approval") return;
  for (const type of DECISIONS) {
    const [now, were] = [ofType(next, type), ofType(before, type)];
    if (now.length > were.length) {
      errors.push(forbiddenField(FIELD, `updates may not add a condition of type "${type}"`));
    } else if (now.length === were.length && !deepEqual(now, were)) {
      errors.push(forbiddenField(FIELD, `updates may not modify a condition of type "${type}"`));
    }
  }
}

function ofType(conditions: Conditions, type: string): Conditions {
  return conditions.filter((condition) => condition.type === type);
}

/** Decisions as they were made, where a report repeats them. */
export function withDecisionsOf(next: Conditions, before: Conditions): Conditions {
  let kept = next;
  for (const type of DECISIONS) {
    const were = ofType(before, type);
    if (ofType(kept, type).length !== were.length) continue;
    let at = 0;
    kept = kept.map((one) => (one.type === type ? (were[at++] ?? one) : one));
  }
  return kept;
}

function stateOf({ type, status }: Conditions[number]): string {
  return JSON.stringify([type, status]);
}

/** Sets the times of a condition's update and of its status's last change. */
export function withTimes(next: Conditions, before: Conditions, now: string): Conditions {
  // Of several the first.
  const known = new Map(
    before
      .filter(({ lastTransitionTime }) => lastTransitionTime)
      .toReversed()
      .map((condition) => [stateOf(condition), condition.lastTransitionTime]),
  );
  return next.map((condition) => ({
    ...condition,
    lastUpdateTime: condition.lastUpdateTime ?? now,
    lastTransitionTime: condition.lastTransitionTime ?? known.get(stateOf(condition)) ?? now,
  }));
}

/** Why the bytes are no certificates in PEM; nothing is a value too. */
function certificateProblem(base64: string): string | undefined {
  if (base64 === "") return undefined;
  const text = Buffer.from(base64, "base64").toString("latin1");
  let blocks = 0;
  for (const { type, body } of pemTexts(text)) {
    if (!/^\r?\n/.test(body)) continue;
    if (type !== "CERTIFICATE") {
      return `only CERTIFICATE PEM blocks are allowed, found ${JSON.stringify(type)}`;
    }
    if (body.includes(":")) return "no PEM block headers are permitted";
    blocks++;
    const der = Buffer.from(body, "base64");
    if (der.length === 0) return "found CERTIFICATE PEM block containing 0 certificates";
    if (!isCertificate(der)) return "x509: malformed certificate";
  }
  return blocks === 0 ? "must contain at least one CERTIFICATE PEM block" : undefined;
}

function isCertificate(der: Buffer): boolean {
  try {
    new X509Certificate(der);
    return true;
  } catch {
    return false;
  }
}
