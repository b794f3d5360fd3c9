/**
 * kube-apiserver's costs of nodes, and its factors for functions. Costs are counted three times:
 *
 *   frame.ts         as an expression runs, against its budget    cost/call-costs.ts   what a call costs,
 *   estimate.ts      at most, when a definition is written          running and estimated
 *   least-cost.ts    at least, whatever the values are            over-budget.ts       how it is refused
 */

/** Of making a list, a map and an object. */
export const LIST_COST = 10;
export const MAP_COST = 30;
export const STRUCT_COST = 40;

/** Per character of a string or bytes that is gone through. */
export const TRAVERSAL_FACTOR = 0.1;
/** Per character of a regular expression. */
export const REGEX_FACTOR = 0.25;
