/**
 * Declarative validation of writes. Enforced rules of the facts are added to the errors of
 * hand-written validation. Shadow rules are only compared with them, and differences are counted
 * (S1-FEAT-06, S1-FEAT-07). For a type without hand-written rules, shadow rules are enforced.
 */
import type { ApiObject } from "../../api/meta.js";
import { CAUSES_MAX, type FieldError } from "../../api/status.js";
import { asJson, type DeclarativeRules } from "../../kinds/kind-codec.js";
import type { StoredResource } from "../../kinds/served-resource.js";
import type { DeclarativeFindings } from "../../schema/declarative.js";
import { causeKey } from "./join-problems.js";

/** A disagreement between shadow rules and hand-written ones about one field. */
export interface Mismatch {
  readonly group: string;
  readonly resource: string;
  readonly field: string;
  readonly reason: FieldError["reason"];
  /** The side that found an error which the other did not. */
  readonly foundBy: "declarative" | "handwritten";
}

export interface DeclarativeOptions {
  /**
   * Two gates: DeclarativeValidation runs the shadow rules, DeclarativeValidationTakeover enforces
   * them. The codecs evaluate the gates of single rules.
   */
  isGateEnabled(gate: string): boolean;
  onMismatch(mismatch: Mismatch): void;
}

export interface DeclarativeValidation {
  /**
   * @param found the errors of hand-written validation
   * @returns the errors to refuse the write for
   */
  judge(
    resource: StoredResource,
    write: { readonly next: ApiObject; readonly current: ApiObject | undefined },
    found: readonly FieldError[],
  ): readonly FieldError[];
}

/**
 * Errors found and tolerated by the facts' rules, by `causeKey`: an object may have a million of
 * them.
 */
interface Known {
  readonly shadow: ReadonlySet<string>;
  readonly waived: ReadonlySet<string>;
}

interface Comparison {
  readonly findings: DeclarativeFindings;
  readonly known: Known;
  readonly found: readonly FieldError[];
}

export function createDeclarativeValidation(options: DeclarativeOptions): DeclarativeValidation {
  const isCompared = options.isGateEnabled("DeclarativeValidation");
  const isTakeover = isCompared && options.isGateEnabled("DeclarativeValidationTakeover");
  return {
    judge(resource, { next, current }, found) {
      // Stored objects are checked; all versions of a type have the same rules.
      const rules = resource.storedCodec.declarativeRules();
      // There are more errors than are reported: the write is refused anyway, and the list is
      // incomplete.
      if (rules === undefined || found.length >= CAUSES_MAX) return found;
      const findings = rules.check(asJson(next), current && asJson(current));
      const { inForce, shadow } = findings;
      const known = { shadow: keysOf(shadow), waived: keysOf(findings.waived) };
      const unopposed = resource.strategy.validate === undefined;
      if (!unopposed && isCompared) compare(resource, rules, { findings, known, found });
      const kept = isTakeover ? found.filter((error) => !isOutvoted(rules, known, error)) : found;
      const added = unopposed || isTakeover ? [...inForce, ...shadow] : inForce;
      const keptKeys = keysOf(kept);
      const more = added.filter((error) => !keptKeys.has(causeKey(error)));
      return more.length === 0 ? kept : [...kept, ...more];
    },
  };

  /** Reports the disagreements between shadow rules and hand-written ones. */
  function compare(
    { group, resource }: StoredResource,
    rules: DeclarativeRules,
    { findings, known, found }: Comparison,
  ): void {
    const foundKeys = keysOf(found);
    for (const error of findings.shadow) {
      if (foundKeys.has(causeKey(error))) continue;
      const { field, reason } = error;
      options.onMismatch({ group, resource, field, reason, foundBy: "declarative" });
    }
    for (const error of found) {
      if (!isMissedBy(rules, known, error)) continue;
      const { field, reason } = error;
      options.onMismatch({ group, resource, field, reason, foundBy: "handwritten" });
    }
  }
}

/** A shadow rule covers the field and has missed an error of hand-written validation. */
function isMissedBy(
  rules: DeclarativeRules,
  { shadow, waived }: Known,
  error: FieldError,
): boolean {
  const covering = COVERING[error.reason];
  const key = causeKey(error);
  if (covering === undefined || shadow.has(key) || waived.has(key)) return false;
  return rules.shadowRulesAt(error.field).some((rule) => covering.test(rule));
}

/** If declarative rules decide, an error on a covered field that they did not find is dropped. */
function isOutvoted(rules: DeclarativeRules, known: Known, error: FieldError): boolean {
  return known.waived.has(causeKey(error)) || isMissedBy(rules, known, error);
}

/** The rules that should find an error of a reason; other reasons have too many causes. */
const COVERING: Readonly<Partial<Record<FieldError["reason"], RegExp>>> = {
  FieldValueForbidden: /^(forbidden|immutable)$/,
  FieldValueRequired: /^required$/,
  FieldValueTooMany: /^maxItems=/,
  FieldValueTooLong: /^max(Length|Bytes)=/,
};

function keysOf(errors: readonly FieldError[]): ReadonlySet<string> {
  return new Set(errors.map(causeKey));
}
