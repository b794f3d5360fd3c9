/**
 * Declarative validation of writes: rules of the facts that are in force are added to what
 * hand-written validation has found; rules in shadow are only compared with it, and what differs is
 * counted (S1-FEAT-06, S1-FEAT-07). A type without hand-written rules has nobody else to decide, so
 * there the rules in shadow do.
 */
import type { ApiObject } from "../../api/meta.js";
import { CAUSES_MAX, type FieldError } from "../../api/status.js";
import { asJson, type DeclarativeRules } from "../../kinds/kind-codec.js";
import type { StoredResource } from "../../kinds/served-resource.js";
import type { DeclarativeFindings } from "../../schema/declarative.js";
import { causeKey } from "./join-problems.js";

/** Where shadow rules and hand-written ones disagree about one field. */
export interface Mismatch {
  readonly group: string;
  readonly resource: string;
  readonly field: string;
  readonly reason: FieldError["reason"];
  /** Who has found something that the other has not. */
  readonly foundBy: "declarative" | "handwritten";
}

export interface DeclarativeOptions {
  /**
   * Two gates: DeclarativeValidation lets the rules in shadow run, DeclarativeValidationTakeover lets
   * them decide. Those that single rules depend on are the codecs'.
   */
  isGateEnabled(gate: string): boolean;
  onMismatch(mismatch: Mismatch): void;
}

export interface DeclarativeValidation {
  /**
   * @param found what hand-written validation has found
   * @returns what the write is to be refused for
   */
  judge(
    resource: StoredResource,
    write: { readonly next: ApiObject; readonly current: ApiObject | undefined },
    found: readonly FieldError[],
  ): readonly FieldError[];
}

/** What the facts' rules found and let be, by `causeKey`: an object may have a million mistakes. */
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
      // Objects are looked at as they are stored; all versions of a type are held to the same.
      const rules = resource.storedCodec.declarativeRules();
      // More mistakes than are told: it is refused anyhow, and not all were looked for.
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

  /** Reports where shadow rules and hand-written ones disagree. */
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

/** A rule in shadow covers the field and has not found what hand-written validation has. */
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

/** Where declarative rules decide, what they cover and do not find is no reason. */
function isOutvoted(rules: DeclarativeRules, known: Known, error: FieldError): boolean {
  return known.waived.has(causeKey(error)) || isMissedBy(rules, known, error);
}

/** Rules that ought to find what is refused for a reason; other reasons have too many causes. */
const COVERING: Readonly<Partial<Record<FieldError["reason"], RegExp>>> = {
  FieldValueForbidden: /^(forbidden|immutable)$/,
  FieldValueRequired: /^required$/,
  FieldValueTooMany: /^maxItems=/,
  FieldValueTooLong: /^max(Length|Bytes)=/,
};

function keysOf(errors: readonly FieldError[]): ReadonlySet<string> {
  return new Set(errors.map(causeKey));
}
