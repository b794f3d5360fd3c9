/**
 * Strictness: what a definition is held to. A new one to everything; one that replaces another not to
 * rules that were made after that one was stored, if it does not keep them either.
 */

export interface Strictness {
  /** Every version has a schema. */
  readonly requiresSchemas: boolean;
  readonly requiresStructural: boolean;
  /** Types are those of OpenAPI. */
  readonly requiresTypes: boolean;
  /** Defaults hold nothing that would be pruned. */
  readonly requiresPrunedDefaults: boolean;
  /** Items of sets are owned as a whole. */
  readonly requiresAtomicSets: boolean;
  /** Keys of lists are required or have defaults, and nothing of them is null. */
  readonly requiresListKeys: boolean;
  /** Rules of a version whose schema has not changed were estimated when it was accepted. */
  readonly skipsRuleCost: boolean;
}

export const STRICT: Strictness = Object.freeze({
  requiresSchemas: true,
  requiresStructural: true,
  requiresTypes: true,
  requiresPrunedDefaults: true,
  requiresAtomicSets: true,
  requiresListKeys: true,
  skipsRuleCost: false,
});
