/**
 * withMembers: a copy of a record with more members, or others. The same as `{ ...base, ...members }`, for
 * code that runs with every request.
 *
 * V8 gives each object made by a literal that begins with a spread and adds members a hidden class of its
 * own (Node.js 20): that takes 0.5 to 1.5 µs, the class is old from the start, and whoever reads such
 * objects finds a new class each time. Rest and assign end in the same class each time, in 0.1 to 0.2 µs
 * (docs/dev/decisions/0059-requests-stay-young.md).
 */
export function withMembers<Base extends object, Members extends object>(
  base: Base,
  members: Members,
): Base & Members {
  // Rest defines a member "__proto__", where an assignment would set the prototype.
  const { ...copy } = base;
  return Object.assign(copy, members) as Base & Members;
}
