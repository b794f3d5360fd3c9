/**
 * Certificate policies (RFC 5280, section 6.1, as RFC 9618 mends it): whether a chain still has a valid policy where
 * one of its authorities requires one. Every policy is acceptable to us, so only the policies that are valid at one
 * depth need to be known, never the tree above them.
 */
import { context, DerReader, MalformedDer, TAG } from "./der.js";

export interface Policies {
  /** Dotted. */
  readonly identifiers: readonly string[];
  /** From the issuer's policy to the subject's. */
  readonly mappings: readonly (readonly [string, string])[];
  /** How many certificates below may lack this; undefined = no limit. */
  readonly requireExplicit: number | undefined;
  readonly inhibitMapping: number | undefined;
  readonly inhibitAny: number | undefined;
}

export const NO_POLICIES: Policies = Object.freeze({
  identifiers: [],
  mappings: [],
  requireExplicit: undefined,
  inhibitMapping: undefined,
  inhibitAny: undefined,
});

const ANY_POLICY = "2.5.29.32.0";

/** @throws {MalformedDer} also if a policy is there twice */
export function parsePolicies(value: Buffer): string[] {
  const found = new Set<string>();
  const policies = new DerReader(value).inside(TAG.sequence);
  while (!policies.isEmpty) {
    const identifier = policies.inside(TAG.sequence).objectIdentifier();
    if (found.has(identifier)) throw new MalformedDer("a policy twice");
    found.add(identifier);
  }
  return [...found];
}

/** @throws {MalformedDer} */
export function parseMappings(value: Buffer): [string, string][] {
  const found: [string, string][] = [];
  const mappings = new DerReader(value).inside(TAG.sequence);
  while (!mappings.isEmpty) {
    const mapping = mappings.inside(TAG.sequence);
    found.push([mapping.objectIdentifier(), mapping.objectIdentifier()]);
  }
  return found;
}

/** @throws {MalformedDer} */
export function parsePolicyConstraints(
  value: Buffer,
): Pick<Policies, "requireExplicit" | "inhibitMapping"> {
  const constraints = new DerReader(value).inside(TAG.sequence);
  const limit = (number: number) =>
    constraints.nextIs(context(number)) ? toLimit(constraints.integer(context(number))) : undefined;
  return { requireExplicit: limit(0), inhibitMapping: limit(1) };
}

/** @throws {MalformedDer} */
export function parseInhibitAny(value: Buffer): number | undefined {
  return toLimit(new DerReader(value).integer());
}

function toLimit(skipped: number): number | undefined {
  return skipped < 0 ? undefined : skipped;
}

interface Link {
  readonly subject: string;
  readonly issuer: string;
  readonly policies: Policies;
}

/** From the certificate's own to the trusted one, which is not looked at. */
export function arePoliciesValid(chain: readonly Link[]): boolean {
  const count = chain.length - 1;
  if (count === 0) return true;
  let [explicit, mapping, any] = [count + 1, count + 1, count + 1];
  /** The valid policies, each with what the next certificate may call it; undefined once a certificate has none. */
  let valid: Map<string, readonly string[]> | undefined = new Map([[ANY_POLICY, [ANY_POLICY]]]);

  for (let index = count - 1; index >= 0; index--) {
    const { subject, issuer, policies } = chain[index] as Link;
    const isSelfIssued = subject === issuer;
    const isLast = index === 0;
    if (policies.identifiers.length === 0) valid = undefined;
    if (explicit === 0 && valid === undefined) return false;
    if (valid !== undefined) {
      const allowsAny = any > 0 || (!isLast && isSelfIssued);
      valid = nextPolicies(valid, policies.identifiers, allowsAny);
      if (!isLast && !applyMappings(valid, policies.mappings, mapping > 0)) return false;
    }
    if (isLast) {
      if (explicit > 0) explicit--;
      if (policies.requireExplicit === 0) explicit = 0;
      break;
    }
    if (!isSelfIssued) {
      explicit = Math.max(0, explicit - 1);
      mapping = Math.max(0, mapping - 1);
      any = Math.max(0, any - 1);
    }
    explicit = Math.min(explicit, policies.requireExplicit ?? explicit);
    mapping = Math.min(mapping, policies.inhibitMapping ?? mapping);
    any = Math.min(any, policies.inhibitAny ?? any);
  }
  return explicit > 0 || (valid !== undefined && valid.size > 0);
}

function nextPolicies(
  above: ReadonlyMap<string, readonly string[]>,
  identifiers: readonly string[],
  allowsAny: boolean,
): Map<string, readonly string[]> {
  const expected = new Set([...above.values()].flat());
  const next = new Map<string, readonly string[]>();
  for (const identifier of identifiers) {
    if (identifier === ANY_POLICY) continue;
    if (expected.has(identifier) || above.has(ANY_POLICY)) next.set(identifier, [identifier]);
  }
  if (allowsAny && identifiers.includes(ANY_POLICY)) {
    for (const identifier of expected)
      if (!next.has(identifier)) next.set(identifier, [identifier]);
  }
  return next;
}

/** False for a mapping from or to every policy. */
function applyMappings(
  valid: Map<string, readonly string[]>,
  mappings: Policies["mappings"],
  isAllowed: boolean,
): boolean {
  const targets = new Map<string, string[]>();
  for (const [from, to] of mappings) {
    if (!isAllowed) valid.delete(from);
    else if (from === ANY_POLICY || to === ANY_POLICY) return false;
    else {
      const known = targets.get(from);
      if (known === undefined) targets.set(from, [to]);
      else known.push(to);
    }
  }
  for (const [from, to] of targets) {
    if (valid.has(from) || valid.has(ANY_POLICY)) valid.set(from, to);
  }
  return true;
}
