/**
 * Impersonation: an authenticated client asks by headers to act as another user for this request. If
 * it may (server/authz/impersonation.ts), the request continues as that user; the real user stays in
 * the request's state, for audit. The headers are removed after this step.
 *
 *   Impersonate-User: jane               Impersonate-Uid: 1001
 *   Impersonate-Group: dev   (any number of times)
 *   Impersonate-Extra-acme.com%2fproject: one   (any number of times)
 */
import { inSpan } from "../../storage/base/trace.js";
import { badRequest } from "../api/status.js";
import type { Impersonation } from "../authz/impersonation.js";
import {
  decodeExtraKey,
  decodeHeaderText,
  type HeaderList,
  headerValues,
  prefixedHeaderValues,
  removeHeaders,
} from "../request/header-list.js";
import { gate, type RequestStep } from "../request/step.js";
import { createUser, type UserInfo } from "../request/user-info.js";

const PREFIX = "impersonate-";
const USER = "impersonate-user";
const UID = "impersonate-uid";
const GROUP = "impersonate-group";
const EXTRA_PREFIX = "impersonate-extra-";

/** Reads `state.user`; replaces it and sets `state.impersonator` if the client asks for it. */
export function withImpersonation(impersonation: Impersonation): RequestStep {
  return gate(function impersonate(ctx) {
    const { req, state } = ctx;
    if (!hasAny(req.headers)) return undefined;
    const wanted = parseImpersonation(req.rawHeaders);
    removeHeaders(req, isOurs);
    if (wanted === undefined) return undefined;
    const { user: requestor, info } = state;
    const check = () => impersonation.check({ user: requestor, info }, wanted, state);
    const checked =
      state.trace?.isDetailed === true ? inSpan(state.trace, "impersonation", check) : check();
    return checked.then(({ user, constraint }) => {
      state.impersonator = requestor;
      state.impersonationConstraint = constraint;
      state.user = user;
    });
  });
}

function hasAny(headers: object): boolean {
  for (const name in headers) if (name.startsWith(PREFIX)) return true;
  return false;
}

function isOurs(name: string): boolean {
  return (
    name.startsWith(PREFIX) &&
    (name === USER || name === UID || name === GROUP || name.startsWith(EXTRA_PREFIX))
  );
}

/**
 * The identity in the headers, unverified; undefined when there is none.
 * @throws {StatusError} 400 for other identity headers without a user name, and for ambiguous headers
 */
export function parseImpersonation(headers: HeaderList): UserInfo | undefined {
  const names = headerValues(headers, USER);
  const name = onlyValue("Impersonate-User", names);
  const uid = onlyValue("Impersonate-Uid", headerValues(headers, UID));
  const groups = headerValues(headers, GROUP).map(decodeHeaderText);
  const extra = new Map<string, string[]>();
  for (const [encoded, values] of prefixedHeaderValues(headers, EXTRA_PREFIX)) {
    const key = decodeExtraKey(encoded);
    extra.set(key, [...(extra.get(key) ?? []), ...values.map(decodeHeaderText)]);
  }
  if (name !== "") return createUser({ name, uid, groups, extra: Object.fromEntries(extra) });
  if (uid !== "" || groups.length > 0 || extra.size > 0) {
    const parts = [
      ...groups.map((group) => `Group ${JSON.stringify(group)}`),
      ...[...extra].flatMap(([key, values]) =>
        values.map((value) => `UserExtra ${JSON.stringify(key)}: ${JSON.stringify(value)}`),
      ),
      ...(uid === "" ? [] : [`UID ${JSON.stringify(uid)}`]),
    ];
    throw badRequest(`requested [${parts.join(", ")}] without impersonating a user`);
  }
  // A request that names no user must not act as its own user instead.
  if (names.length > 0) throw badRequest("Impersonate-User is empty");
  return undefined;
}

/** @throws {StatusError} 400 for several values: the authorized one might not be the one used */
function onlyValue(header: string, sent: readonly string[]): string {
  const values = new Set(sent);
  if (values.size > 1) throw badRequest(`${header} was sent with several values`);
  for (const value of values) return decodeHeaderText(value);
  return "";
}
