/** The union of authenticators and its members. */
import assert from "node:assert/strict";
import { createHash, X509Certificate } from "node:crypto";
import { test } from "node:test";
import type { TLSSocket } from "node:tls";
import {
  TestAuthority,
  type TestIdentity,
  type TestLeaf,
} from "../../e2e/harness/test-authority.js";
import { StatusError, unauthorized } from "../api/status.js";
import { createUser, type UserInfo } from "../request/user-info.js";
import { AnonymousAuthenticator } from "./anonymous.js";
import { type Authenticator, type RequestFacts, UnionAuthenticator } from "./authenticator.js";
import { ClientCertificateAuthenticator } from "./client-certificate.js";
import { UnknownBearerAuthenticator } from "./unknown-bearer.js";

const FACTS: RequestFacts = { headers: {}, socket: undefined, path: "/x" };
const WAIT = { signal: new AbortController().signal };

function member(answer: UserInfo | undefined | Error, isSlow = false): Authenticator {
  const now = () => {
    if (answer instanceof Error) throw answer;
    return answer;
  };
  return { name: "test", authenticate: isSlow ? async () => now() : now };
}

const jane = createUser({ name: "jane", groups: ["dev"] });
const joe = createUser({ name: "joe" });
const refusal = unauthorized();

async function ask(members: readonly Authenticator[], lastResort?: Authenticator) {
  return (await new UnionAuthenticator(members, lastResort).authenticate(FACTS, WAIT))?.name;
}

const isUnauthorized = (error: unknown) => error instanceof StatusError && error.code === 401;

test("S2-REQ-06: the first success decides, at once or after waiting, also after a refusal", async () => {
  for (const isSlow of [false, true]) {
    assert.equal(await ask([member(undefined, isSlow), member(jane, isSlow), member(joe)]), "jane");
    assert.equal(await ask([member(refusal, isSlow), member(joe, isSlow)]), "joe");
  }
});

test("S2-REQ-02: anonymous is for requests that nobody refused", async () => {
  const anonymous = new AnonymousAuthenticator();
  for (const isSlow of [false, true]) {
    assert.equal(await ask([member(undefined, isSlow)], anonymous), "system:anonymous");
    await assert.rejects(
      async () => await ask([member(refusal, isSlow), member(undefined)], anonymous),
      isUnauthorized,
    );
  }
  assert.equal(await ask([member(undefined)]), undefined);
});

test("S2-REQ-06: a lost backend breaks no other member, and makes nobody anonymous", async () => {
  const lost = new Error("backend lost");
  for (const isSlow of [false, true]) {
    assert.equal(await ask([member(lost, isSlow), member(jane, isSlow)]), "jane");
    for (const others of [[], [member(refusal)]]) {
      await assert.rejects(
        async () => await ask([member(lost, isSlow), ...others], new AnonymousAuthenticator()),
        lost,
      );
    }
  }
});

test("S2-REQ-04: every user gets system:authenticated once, anonymous gets system:unauthenticated", async () => {
  const groupsOf = async (user: UserInfo) =>
    (await new UnionAuthenticator([member(user)]).authenticate(FACTS, WAIT))?.groups;
  assert.deepEqual(await groupsOf(jane), ["dev", "system:authenticated"]);
  const already = createUser({ name: "a", groups: ["system:authenticated"] });
  assert.deepEqual(await groupsOf(already), ["system:authenticated"]);
  // A user unknown to the front proxy is not authenticated by the proxy's certificate.
  const unknown = createUser({ name: "a", groups: ["system:unauthenticated"] });
  assert.deepEqual(await groupsOf(unknown), ["system:unauthenticated"]);
  assert.deepEqual(await groupsOf(createUser({ name: "system:anonymous" })), []);
  assert.deepEqual(new AnonymousAuthenticator().authenticate(FACTS)?.groups, [
    "system:unauthenticated",
  ]);
});

test("S2-ANON-03, S2-AUTHC-20: anonymous access can be limited to some paths", () => {
  const anonymous = new AnonymousAuthenticator({ enabled: true, conditions: [{ path: "/livez" }] });
  assert.equal(anonymous.authenticate({ ...FACTS, path: "/livez" })?.name, "system:anonymous");
  assert.equal(anonymous.authenticate({ ...FACTS, path: "/api" }), undefined);
});

test("a bearer token that nobody knew is refused, other authorization headers are not ours", () => {
  const bearer = new UnknownBearerAuthenticator();
  const headers = (authorization: string) => ({ ...FACTS, headers: { authorization } });
  assert.throws(() => bearer.authenticate(headers("Bearer abc")), isUnauthorized);
  assert.throws(() => bearer.authenticate(headers("bearer  abc")), isUnauthorized);
  assert.equal(bearer.authenticate(headers("Basic abc")), undefined);
  assert.equal(bearer.authenticate(FACTS), undefined);
});

/** The part of a connection that the authenticator uses. server/http/front.test.ts has real ones. */
function socketOf({ cert }: TestIdentity): TLSSocket {
  const certificate = new X509Certificate(cert);
  return { getPeerX509Certificate: () => certificate } as unknown as TLSSocket;
}

const authority = await TestAuthority.create("clients");

function certificateAuthenticator(): ClientCertificateAuthenticator {
  const authenticator = new ClientCertificateAuthenticator({ credentialIdKey: "id" });
  authenticator.replaceAuthorities(authority.certificate);
  return authenticator;
}

test("S2-X509-02: the user is the common name, the groups are all organisations", async () => {
  const authenticator = certificateAuthenticator();
  const userOf = async (leaf: TestLeaf) =>
    authenticator.authenticate({ ...FACTS, socket: socketOf(await authority.issue(leaf)) });
  const authenticated = "system:authenticated";
  const groupsOf = async (...organizations: string[]) =>
    (await userOf({ commonName: "a", organizations }))?.groups;
  assert.deepEqual(await groupsOf(), [authenticated]);
  assert.deepEqual(await groupsOf("x"), ["x", authenticated]);
  const identity = await authority.issue({ commonName: "a", organizations: ["x", "y", "z"] });
  const digest = createHash("sha256").update(new X509Certificate(identity.cert).raw).digest("hex");
  assert.deepEqual(authenticator.authenticate({ ...FACTS, socket: socketOf(identity) }), {
    name: "a",
    uid: "",
    groups: ["x", "y", "z", authenticated],
    extra: { id: [`X509SHA256=${digest}`] },
  });
  assert.equal(await userOf({ organizations: ["x"] }), undefined);
});

test("A23: for how long a client's certificate is valid still is told of each request, a refused one's too", async (context) => {
  context.mock.timers.enable({ apis: ["Date"], now: Date.now() });
  const told: number[] = [];
  const noteRemaining = (seconds: number) => told.push(Math.round(seconds));
  const authenticator = new ClientCertificateAuthenticator({
    credentialIdKey: "id",
    noteRemaining,
  });
  authenticator.replaceAuthorities(authority.certificate);
  const ask = (socket: TLSSocket | undefined) => authenticator.authenticate({ ...FACTS, socket });
  const identity = await authority.issue({ commonName: "a" });
  const known = socketOf(identity);
  const remaining = (Date.parse(new X509Certificate(identity.cert).validTo) - Date.now()) / 1000;
  ask(known);
  context.mock.timers.tick(60_000);
  ask(known);
  ask(undefined);
  const stranger = await (await TestAuthority.create("others")).issue({ commonName: "b" });
  assert.throws(() => ask(socketOf(stranger)), isUnauthorized);
  assert.deepEqual(told.slice(0, 2), [Math.round(remaining), Math.round(remaining - 60)]);
  assert.equal(told.length, 3);
});

test("S2-X509-03: a certificate that expires on an open connection is refused from then on", async (context) => {
  const period = { notBefore: new Date("2029-12-31"), notAfter: new Date("2030-01-01T00:01:00Z") };
  const old = await TestAuthority.create("old", {
    period: { ...period, notAfter: new Date("2031-01-01") },
  });
  const identity = await old.issue({ commonName: "a", ...period });
  context.mock.timers.enable({ apis: ["Date"], now: Date.parse("2030-01-01T00:00:00Z") });
  const authenticator = certificateAuthenticator();
  authenticator.replaceAuthorities(old.certificate);
  const facts = { ...FACTS, socket: socketOf(identity) };
  assert.equal(authenticator.authenticate(facts)?.name, "a");
  context.mock.timers.setTime(Date.parse("2030-01-01T00:02:00Z"));
  assert.throws(() => authenticator.authenticate(facts), isUnauthorized);
});
