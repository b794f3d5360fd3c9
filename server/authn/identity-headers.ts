/**
 * The headers that identify a user. Only authenticators may see them: forwarded, above all to an
 * aggregated API, they would let a client speak in a proxy's name (S2-PROXY-06).
 */

/** The headers of a front proxy, in lower case. */
export interface FrontProxyHeaders {
  /** The first one with a value names the user (S2-PROXY-01). */
  readonly username: readonly string[];
  readonly uid: readonly string[];
  readonly group: readonly string[];
  /** The rest of a header name after the prefix is a key of `extra`. */
  readonly extraPrefix: readonly string[];
}

/** The defaults that clients of kube-apiserver know. */
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
