/**
 * Strictness: the rules that apply to a definition. A new one must follow all of them. A changed one
 * is exempt from newer rules that the stored definition already breaks.
 */

export interface Strictness {
  /** Every version has a schema. */
  readonly requiresSchemas: boolean;
  readonly requiresStructural: boolean;
  /** Types must be OpenAPI types. */
  readonly requiresTypes: boolean;
  /** Defaults must contain nothing that would be pruned. */
  readonly requiresPrunedDefaults: boolean;
  /** Items of sets must be atomic. */
  readonly requiresAtomicSets: boolean;
  /** Keys of lists must be required or have defaults, and must not be nullable. */
  readonly requiresListKeys: boolean;
  /** The rules of a version with an unchanged schema were estimated when it was accepted. */
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
