/** TokenReview and SelfSubjectReview. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLogger } from "../../../storage/base/logger.js";
import { ManualClock } from "../../../storage/base/testing/manual-clock.js";
import { objectPath } from "../../../storage/objects/keys.js";
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import type { ApiObject } from "../../api/meta.js";
import { createNaming } from "../../api/naming.js";
import { StatusError, unauthorized } from "../../api/status.js";
import { AnonymousAuthenticator } from "../../authn/anonymous.js";
import { type Authenticator, UnionAuthenticator } from "../../authn/authenticator.js";
import { bearerTokenOf } from "../../authn/bearer-token.js";
import { BootstrapTokenAuthenticator } from "../../authn/bootstrap-token.js";
import { ClientCertificateAuthenticator } from "../../authn/client-certificate.js";
import { FrontProxyAuthenticator } from "../../authn/front-proxy.js";
import { parseTokenFile, TokenFileAuthenticator } from "../../authn/token-file.js";
import { UnknownBearerAuthenticator } from "../../authn/unknown-bearer.js";
import { createUser, type UserInfo } from "../../request/user-info.js";
import { createAuthenticationReviews } from "./reviews.js";

const signal = new AbortController().signal;
const naming = createNaming("kubernetes");
const clock = new ManualClock(Date.parse("2030-01-01T00:00:00Z"));
const API = "https://api";

/** Supports audiences: "vault-token" is for "vault" and for this API. */
const aware: Authenticator = {
  name: "aware",
  authenticate({ headers, audiences = [API] }) {
    if (bearerTokenOf(headers) !== "vault-token") return undefined;
    const shared = audiences.filter((audience) => ["vault", API].includes(audience));
    if (shared.length === 0) throw unauthorized("no audience of the token is asked for");
    return createUser({ name: "robot", audiences: shared });
  },
};

const data = {
  "token-id": "07401b",
  "token-secret": "f395accd246ae52d",
  "usage-bootstrap-authentication": "true",
};
const secret = {
  metadata: { name: "bootstrap-token-07401b" },
  type: "bootstrap.kubernetes.io/token",
  data: Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString("base64")]),
  ),
};
const stored = { bytes: Buffer.from(JSON.stringify(secret)) } as unknown as StoredObject;

const authenticator = new UnionAuthenticator(
  [
    new ClientCertificateAuthenticator({ credentialIdKey: "id" }),
    new FrontProxyAuthenticator({
      headers: { username: ["x-remote-user"], uid: [], group: [], extraPrefix: [] },
      allowedNames: [],
      authorities: "",
    }),
    new TokenFileAuthenticator(parseTokenFile("f", 't1,jane,7,"dev"\nt\u00e9,max,8', silentLogger)),
    new BootstrapTokenAuthenticator({
      secrets: new Map([[objectPath(naming.systemNamespace, "bootstrap-token-07401b"), stored]]),
      naming,
      clock: new ManualClock(),
    }),
    aware,
    new UnknownBearerAuthenticator(),
  ],
  new AnonymousAuthenticator(),
);

async function create(
  resource: string,
  spec: object,
  options: { user?: UserInfo; apiAudiences?: readonly string[] } = {},
): Promise<unknown> {
  const { user = createUser({ name: "asker" }), apiAudiences } = options;
  const reviews = createAuthenticationReviews({
    authenticator,
    clock,
    ...(apiAudiences === undefined ? {} : { apiAudiences }),
  });
  const object = { kind: "x", apiVersion: "y", metadata: {}, spec } as ApiObject;
  const handler = reviews[`authentication/${resource}`];
  assert.ok(handler);
  return (await handler.create({ object, namespace: "", user }, signal)).status;
}

const review = (token: string, audiences?: readonly string[], apiAudiences?: readonly string[]) =>
  create(
    "tokenreviews",
    { token, ...(audiences && { audiences }) },
    apiAudiences === undefined ? {} : { apiAudiences },
  );

test("S2-TR-11: tokens of every kind are known to a review as they are to requests", async () => {
  assert.deepEqual(await review("t1"), {
    authenticated: true,
    user: { username: "jane", uid: "7", groups: ["dev", "system:authenticated"] },
  });
  assert.deepEqual(await review("07401b.f395accd246ae52d"), {
    authenticated: true,
    user: {
      username: "system:bootstrap:07401b",
      groups: ["system:bootstrappers", "system:authenticated"],
    },
  });
  const max = (await review("t\u00e9")) as { user?: { username: string } };
  assert.equal(max.user?.username, "max");
});

test("S2-TR-11: a token that is no good is an answer; none at all is an error", async () => {
  const refused = { authenticated: false, error: "invalid bearer token" };
  for (const token of ["unknown", "07401b.0000000000000000", "t1 more", " t1", "t1\n", "t1\tx"]) {
    assert.deepEqual(await review(token), refused, token);
  }
  await assert.rejects(review(""), (error) => error instanceof StatusError && error.code === 400);
});

test("S2-TR-07: audiences are those that both sides name; who names none is for this server", async () => {
  const statusOf = async (...asked: Parameters<typeof review>) => {
    const { authenticated, audiences } = (await review(...asked)) as Record<string, unknown>;
    return [authenticated, audiences];
  };
  assert.deepEqual(await statusOf("vault-token", ["vault", "other"], [API]), [true, ["vault"]]);
  assert.deepEqual(await statusOf("vault-token", undefined, [API]), [true, [API]]);
  assert.deepEqual(await statusOf("vault-token", ["other"], [API]), [false, undefined]);
  // A static token has no audience: it is valid for the API only.
  assert.deepEqual(await statusOf("t1", [API, "vault"], [API]), [true, [API]]);
  assert.deepEqual(await statusOf("t1", undefined, [API]), [true, [API]]);
  assert.deepEqual(await statusOf("t1", [], [API]), [true, [API]]);
  const refused = { authenticated: false, error: "invalid bearer token" };
  assert.deepEqual(await review("t1", ["vault"], [API]), refused);
  assert.deepEqual(await review("t1", ["vault"]), refused);
});

test("S2-SSR-01, S2-SSR-02: a self review shows the user of the request, with what there is", async () => {
  const user = createUser({ name: "jane", uid: "7", groups: ["dev"], extra: { k: ["v"] } });
  assert.deepEqual(await create("selfsubjectreviews", {}, { user }), {
    userInfo: { username: "jane", uid: "7", groups: ["dev"], extra: { k: ["v"] } },
  });
  assert.deepEqual(await create("selfsubjectreviews", {}, { user: createUser({ name: "joe" }) }), {
    userInfo: { username: "joe", groups: [] },
  });
});

test("S2-SSR-01: a self review has no fields: only its kind, its time and the user are answered", async () => {
  const reviews = createAuthenticationReviews({ authenticator, clock });
  const object = {
    kind: "SelfSubjectReview",
    apiVersion: "authentication.k8s.io/v1",
    metadata: { name: "n", labels: { a: "b" } },
    spec: { a: 1 },
  } as ApiObject;
  const request = { object, namespace: "", user: createUser({ name: "joe" }) };
  assert.deepEqual(await reviews["authentication/selfsubjectreviews"]?.create(request, signal), {
    kind: "SelfSubjectReview",
    apiVersion: "authentication.k8s.io/v1",
    metadata: { creationTimestamp: "2030-01-01T00:00:00Z" },
    status: { userInfo: { username: "joe", groups: [] } },
  });
});
