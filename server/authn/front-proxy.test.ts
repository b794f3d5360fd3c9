/** Random headers against a naive model of the rules: only the right ones name a user. */
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { test } from "node:test";
import type { TLSSocket } from "node:tls";
import fc from "fast-check";
import { TestAuthority } from "../../e2e/harness/test-authority.js";
import { StatusError } from "../api/status.js";
import { FrontProxyAuthenticator } from "./front-proxy.js";
import { identityHeaders, STANDARD_HEADERS } from "./identity-headers.js";

const authority = await TestAuthority.create("proxies");
const { cert } = await authority.issue({ commonName: "front-proxy" });

/** The part of a connection that the authenticator uses. server/http/front-proxy.test.ts has real ones. */
function socketOf(pem: string | undefined): TLSSocket {
  const certificate = pem === undefined ? undefined : new X509Certificate(pem);
  return {
    getPeerX509Certificate: () => certificate,
  } as unknown as TLSSocket;
}

const authenticator = new FrontProxyAuthenticator({
  headers: { ...STANDARD_HEADERS, username: ["X-Remote-User", "x-second-user"] },
  allowedNames: [],
  authorities: authority.certificate,
});

const NAMES = [
  "x-remote-user",
  "X-Remote-User",
  "x_remote_user",
  "x-remote-user-",
  "x-second-user",
  "X-REMOTE-GROUP",
  "x-remote-group",
  "x_remote_group",
  "x-remote-uid",
  "x-remote-extra-a",
  "X-Remote-Extra-A",
  "x-remote-extra-",
  "x-remote-extra",
  "x-remote-extra-b%2Fc",
];
const headers = fc.array(
  fc.tuple(fc.constantFrom(...NAMES), fc.constantFrom("", "a", "b", "a, b", "system:masters")),
  { maxLength: 8 },
);
type Sent = readonly (readonly [string, string])[];

test("S2-PROXY-01..03: with a proxy's certificate the headers say what the rules say, and no more", () => {
  const valuesOf = (sent: Sent, name: string) =>
    sent.filter(([one]) => one.toLowerCase() === name).map(([, value]) => value);
  fc.assert(
    fc.property(headers, (sent) => {
      const only = (name: string) => new Set(valuesOf(sent, name).filter((value) => value !== ""));
      const [first, second, uid] = [
        only("x-remote-user"),
        only("x-second-user"),
        only("x-remote-uid"),
      ];
      const user = first.size > 0 ? first : second;
      const isAmbiguous = user.size > 1 || (user.size === 1 && uid.size > 1);
      const facts = { headers: {}, rawHeaders: sent.flat(), socket: socketOf(cert), path: "/" };
      if (isAmbiguous) {
        assert.throws(
          () => authenticator.authenticate(facts),
          (error) => error instanceof StatusError && error.code === 401,
        );
        return;
      }
      const answer = authenticator.authenticate(facts);
      if (user.size === 0) return assert.equal(answer, undefined);
      assert.equal(answer?.name, [...user][0]);
      assert.equal(answer?.uid, [...uid][0] ?? "");
      const groups = valuesOf(sent, "x-remote-group").filter((value) => value !== "");
      assert.deepEqual(answer?.groups, groups);
      for (const [key, values] of Object.entries(answer?.extra ?? {})) {
        const encoded = key.replace("/", "%2f");
        assert.deepEqual(values, valuesOf(sent, `x-remote-extra-${encoded}`));
      }
    }),
  );
});

test("S2-PROXY-04: without one they say nothing", () => {
  fc.assert(
    fc.property(headers, (sent) => {
      for (const socket of [socketOf(undefined), undefined]) {
        const facts = { headers: {}, rawHeaders: sent.flat(), socket, path: "/" };
        assert.equal(authenticator.authenticate(facts), undefined);
      }
    }),
  );
});

test("S2-PROXY-06: configured and standard names are hidden from what comes after", () => {
  const isHidden = identityHeaders({
    username: ["X-Custom-User"],
    uid: ["X-Custom-Uid"],
    group: ["X-Custom-Group"],
    extraPrefix: ["X-Custom-Extra-", ""],
  });
  const hidden = ["x-custom-user", "x-custom-uid", "x-custom-group", "x-custom-extra-a"];
  const standard = ["x-remote-user", "x-remote-uid", "x-remote-group", "x-remote-extra-a"];
  for (const name of [...hidden, ...standard, "authorization"]) assert.ok(isHidden(name), name);
  for (const name of [
    "accept",
    "x-remote",
    "x-custom-extra",
    "impersonate-user",
    "x-remote-users",
  ]) {
    assert.ok(!isHidden(name), name);
  }
});
