/**
 * The headers that say who somebody is. They are for authenticators only: what comes after
 * authentication, an aggregated API above all, must not see them, or a client could speak to it in
 * a proxy's name (S2-PROXY-06).
 */

/** What a front proxy sends, by header name in lower case. */
export interface FrontProxyHeaders {
  /** The first of them that has a value names the user (S2-PROXY-01). */
  readonly username: readonly string[];
  readonly uid: readonly string[];
  readonly group: readonly string[];
  /** What follows such a prefix is a key of `extra`. */
  readonly extraPrefix: readonly string[];
}

/** As every client of the existing API knows them. */
export const STANDARD_HEADERS: FrontProxyHeaders = Object.freeze({
  username: ["x-remote-user"],
  uid: ["x-remote-uid"],
  group: ["x-remote-group"],
  extraPrefix: ["x-remote-extra-"],
});

/** Recognizes the standard headers, those of this configuration, and the bearer's. */
export function identityHeaders(configured?: FrontProxyHeaders): (name: string) => boolean {
  const sets = configured === undefined ? [STANDARD_HEADERS] : [STANDARD_HEADERS, configured];
  const names = new Set(["authorization"]);
  for (const { username, uid, group } of sets) {
    for (const name of [...username, ...uid, ...group]) names.add(name.toLowerCase());
  }
  const prefixes = [
    ...new Set(sets.flatMap(({ extraPrefix }) => extraPrefix.map((one) => one.toLowerCase()))),
  ].filter((prefix) => prefix !== "");
  return (name) => names.has(name) || prefixes.some((prefix) => name.startsWith(prefix));
}
