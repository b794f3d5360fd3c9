/** Token requests: the answers, and the refusals with their messages. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { JsonObject } from "../../api/meta.js";
import { StatusError } from "../../api/status.js";
import { parseCompactToken } from "../../authn/service-account/compact-token.js";
import { openAccounts } from "../../authn/service-account/testing/account-fixtures.js";
import { decodeInput } from "../generic/decode-input.js";
import type { WriteOptions } from "../registry.js";
import { plainWrites } from "../testing/plain-writes.js";
import {
  inputOf,
  noSignal,
  openRegistryHarness,
  writeOptions,
} from "../testing/registry-harness.js";
import { serviceAccountToken } from "./service-account-token.js";

const ISSUER = "https://kubernetes.default.svc.cluster.local";
const DAY_SECONDS = 24 * 3600;

const { issuer, clock } = openAccounts({
  flags: { serviceAccountMaxTokenExpirationMs: 30 * DAY_SECONDS * 1000 },
});
const action = serviceAccountToken(issuer);
const harness = await openRegistryHarness({
  clock,
  actions: ["/serviceaccounts/token"],
});
const writes = plainWrites(harness);
const uids = new Map<string, string>();

before(async () => {
  await create("namespaces", { metadata: { name: "shop" } }, "");
  await create("serviceaccounts", { metadata: { name: "web" } });
  await create("nodes", { metadata: { name: "n1" } }, "");
  await create("secrets", { metadata: { name: "s" } });
  const containers = [{ name: "c", image: "i" }];
  const pod = (name: string, spec: JsonObject) =>
    create("pods", { metadata: { name }, spec: { containers, ...spec } });
  await pod("p", { serviceAccountName: "web", nodeName: "n1" });
  await pod("lost", { serviceAccountName: "web", nodeName: "n2" });
  await pod("alien", { serviceAccountName: "other" });
});
after(() => harness[Symbol.asyncDispose]());

async function create(resource: string, value: JsonObject, namespace = "shop") {
  const { metadata } = await writes.create("", resource, value, namespace);
  uids.set(`${resource}/${metadata.name}`, metadata.uid ?? "");
}

async function ask(spec: JsonObject, changes: Partial<WriteOptions> & JsonObject = {}) {
  const { name = "web", metadata = {} } = changes as { name?: string; metadata?: JsonObject };
  const resource = harness.action("", "v1", "serviceaccounts", "token");
  const options = writeOptions(changes as Partial<WriteOptions>);
  const object = decodeInput(resource, inputOf({ metadata, spec }), options);
  const request = { resource, object, namespace: "shop", name, options };
  const { status, bytes } = await action.run(harness.registry, request, noSignal);
  assert.equal(status, 201);
  const answer = JSON.parse(bytes.toString());
  const claims = parseCompactToken(answer.status.token)?.claims ?? {};
  return { answer, claims, own: claims["kubernetes.io"], warnings: options.warnings };
}

async function refused(code: number, message: RegExp, asking: Promise<unknown>): Promise<void> {
  await assert.rejects(asking, (error) => {
    assert.ok(error instanceof StatusError, String(error));
    assert.equal(error.code, code);
    assert.match(error.message, message);
    return true;
  });
}

test("S2-SA-07: a plain request gets an hour's token for this API", async () => {
  const { answer, claims, own } = await ask({});
  const { token, ...status } = answer.status;
  assert.match(token, /^[\w-]+\.[\w-]+\.[\w-]+$/);
  assert.match(answer.metadata.uid, /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/);
  assert.deepEqual(
    { ...answer, status },
    {
      kind: "TokenRequest",
      apiVersion: "authentication.k8s.io/v1",
      metadata: {
        name: "web",
        namespace: "shop",
        uid: answer.metadata.uid,
        creationTimestamp: "2030-01-01T00:00:00Z",
      },
      spec: { audiences: [ISSUER], expirationSeconds: 3600, boundObjectRef: null },
      status: { expirationTimestamp: "2030-01-01T01:00:00Z" },
    },
  );
  assert.deepEqual(claims.aud, [ISSUER]);
  assert.deepEqual(own, {
    namespace: "shop",
    serviceaccount: { name: "web", uid: uids.get("serviceaccounts/web") },
  });
});

test("S2-SA-07: audiences and lifetime are those of the request, up to the operator's limit", async () => {
  const asked = { audiences: ["vault", "x"], expirationSeconds: 600 };
  const { answer, claims, warnings } = await ask(asked);
  assert.deepEqual(claims.aud, ["vault", "x"]);
  assert.equal(answer.status.expirationTimestamp, "2030-01-01T00:10:00Z");
  assert.deepEqual(warnings, []);

  const long = await ask({ expirationSeconds: 31 * DAY_SECONDS });
  assert.equal(long.answer.spec.expirationSeconds, 30 * DAY_SECONDS);
  assert.equal(long.answer.status.expirationTimestamp, "2030-01-31T00:00:00Z");
  assert.deepEqual(long.warnings, [
    "requested expiration of 2678400 seconds shortened to 2592000 seconds",
  ]);
});

for (const expirationSeconds of [0, -1, 599, 2 ** 32 + 1]) {
  test(`S2-SA-07: a lifetime of ${expirationSeconds} seconds is a 422`, async () => {
    const why = expirationSeconds < 600 ? "less than 10 minutes" : "larger than 2\\^32 seconds";
    const message = new RegExp(`spec.expirationSeconds: .*may not specify a duration ${why}`);
    await refused(422, message, ask({ expirationSeconds }));
  });
}

const ref = (kind: string, name: string, uid?: string): JsonObject => ({
  boundObjectRef: { apiVersion: "v1", kind, name, ...(uid === undefined ? {} : { uid }) },
});

test("S2-SA-07: a token may be bound to a pod, whose node it names, a Secret or a node", async () => {
  const { own: pod } = await ask(ref("Pod", "p", uids.get("pods/p")));
  const account = { name: "web", uid: uids.get("serviceaccounts/web") };
  const base = { namespace: "shop", serviceaccount: account };
  const node = { name: "n1", uid: uids.get("nodes/n1") };
  assert.deepEqual(pod, { ...base, pod: { name: "p", uid: uids.get("pods/p") }, node });
  const { own: lost } = await ask(ref("Pod", "lost"));
  assert.deepEqual((lost as { node: unknown }).node, { name: "n2" });
  const { own: secret } = await ask(ref("Secret", "s"));
  assert.deepEqual(secret, { ...base, secret: { name: "s", uid: uids.get("secrets/s") } });
  const { own: bare } = await ask(ref("Node", "n1"));
  assert.deepEqual(bare, { ...base, node });
});

test("S2-SA-07: the volume that admission adds asks for 3607 seconds; its token lasts, with a warning inside", async () => {
  const asked = { ...ref("Pod", "p"), expirationSeconds: 3607 };
  const { answer, claims, own } = await ask(asked);
  const now = clock.now() / 1000;
  assert.equal(claims.exp, now + 365 * DAY_SECONDS);
  assert.equal((own as { warnafter: number }).warnafter, now + 3607);
  assert.equal(answer.status.expirationTimestamp, "2030-01-01T01:00:07Z");
  for (const other of [{ expirationSeconds: 3607 }, { ...asked, audiences: ["vault"] }]) {
    assert.equal((await ask(other)).claims.exp, now + 3607);
  }
});

test("S2-SA-07: a binding that does not hold is refused", async () => {
  await refused(404, /^pods "none" not found$/, ask(ref("Pod", "none")));
  await refused(
    400,
    /^cannot bind token for serviceaccount "web" to pod running with different serviceaccount name\.$/,
    ask(ref("Pod", "alien")),
  );
  await refused(
    409,
    /the UID in the bound object reference \(u\) does not match the UID in record/,
    ask(ref("Secret", "s", "u")),
  );
  await refused(
    400,
    /^cannot bind token to object of type \/v1, Kind=ConfigMap$/,
    ask(ref("ConfigMap", "c")),
  );
  await refused(400, /^Name parameter required\.$/, ask(ref("Pod", "")));
});

test("S2-SA-07: a binding is to the core group, in whatever version", async () => {
  for (const apiVersion of ["", "v2"]) {
    const { own } = await ask({ boundObjectRef: { kind: "Secret", apiVersion, name: "s" } });
    assert.equal((own as { secret: { name: string } }).secret.name, "s");
  }
  const elsewhere = { boundObjectRef: { kind: "Secret", apiVersion: "apps/v1", name: "s" } };
  await refused(400, /^cannot bind token to object of type apps\/v1, Kind=Secret$/, ask(elsewhere));
});

test("S2-SA-07: the account must be there, and the body must not name another", async () => {
  await refused(404, /^serviceaccounts "none" not found$/, ask({}, { name: "none" }));
  await refused(
    422,
    /metadata.name: .*must match the service account name if specified/,
    ask({}, { metadata: { name: "other" } }),
  );
});
