/** Authentication by bootstrap token: valid Secrets, expiration, and the resulting user. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ManualClock } from "../../storage/base/testing/manual-clock.js";
import { objectPath } from "../../storage/objects/keys.js";
import type { StoredObject } from "../../storage/objects/stored-object.js";
import { createNaming } from "../api/naming.js";
import { parseBootstrapToken } from "./bootstrap-secret.js";
import { BootstrapTokenAuthenticator } from "./bootstrap-token.js";

const naming = createNaming("kubernetes");
const TOKEN = "07401b.f395accd246ae52d";
const NAME = "bootstrap-token-07401b";
const NOW = "2030-01-01T00:00:00Z";

const GOOD = {
  "token-id": "07401b",
  "token-secret": "f395accd246ae52d",
  "usage-bootstrap-authentication": "true",
};

interface Given {
  readonly data?: Readonly<Record<string, string>>;
  readonly name?: string;
  readonly namespace?: string;
  readonly type?: string;
  readonly metadata?: object;
}

function storedSecret(given: Given): StoredObject {
  const { data = {}, name = NAME, type = "bootstrap.kubernetes.io/token", metadata } = given;
  const encoded = Object.entries({ ...GOOD, ...data }).map(([key, value]) => [
    key,
    Buffer.from(value).toString("base64"),
  ]);
  const object = { metadata: { name, ...metadata }, type, data: Object.fromEntries(encoded) };
  return { bytes: Buffer.from(JSON.stringify(object)) } as unknown as StoredObject;
}

/** Authenticates a token with one Secret in the store. */
function open(given: Given = {}, clock = new ManualClock(Date.parse(NOW))) {
  const path = objectPath(given.namespace ?? naming.systemNamespace, given.name ?? NAME);
  const objects = new Map([[path, storedSecret(given)]]);
  const authenticator = new BootstrapTokenAuthenticator({ secrets: objects, naming, clock });
  return {
    objects,
    path,
    ask: (token = TOKEN) =>
      authenticator.authenticate({
        headers: { authorization: `Bearer ${token}` },
        socket: undefined,
        path: "/",
      }),
  };
}

test("S2-BOOT-09: a bearer is system:bootstrap:<id> in system:bootstrappers and the extra groups", () => {
  const user = open({
    data: { "auth-extra-groups": "system:bootstrappers:b,system:bootstrappers:a:1" },
  }).ask();
  assert.deepEqual(user, {
    name: "system:bootstrap:07401b",
    uid: "",
    groups: ["system:bootstrappers", "system:bootstrappers:a:1", "system:bootstrappers:b"],
    extra: {},
  });
  assert.deepEqual(open().ask()?.groups, ["system:bootstrappers"]);
});

test("S2-BOOT-01, S2-BOOT-02, S2-BOOT-05: type, name, namespace, halves and usage must be right", () => {
  const refused: Readonly<Record<string, Given>> = {
    "wrong type": { type: "Opaque" },
    "another vendor's type": { type: "bootstrap.acme.io/token" },
    "wrong namespace": { namespace: "default" },
    "wrong name": { name: "token-07401b" },
    "id differs from the name": { data: { "token-id": "07401c" } },
    "short id": { data: { "token-id": "07401" } },
    "capitals in the secret": { data: { "token-secret": "F395accd246ae52d" } },
    "another secret": { data: { "token-secret": "f395accd246ae52e" } },
    "no usage": { data: { "usage-bootstrap-authentication": "" } },
    "usage True": { data: { "usage-bootstrap-authentication": "True" } },
    "signing only": {
      data: { "usage-bootstrap-authentication": "false", "usage-bootstrap-signing": "true" },
    },
    "S2-BOOT-07: a group of others": { data: { "auth-extra-groups": "system:masters" } },
    "S2-BOOT-07: one bad group": {
      data: { "auth-extra-groups": "system:bootstrappers:a,system:bootstrappers:" },
    },
    "S2-BOOT-07: spaces": {
      data: { "auth-extra-groups": "system:bootstrappers:a, system:bootstrappers:b" },
    },
    "S2-BOOT-11: being deleted": { metadata: { deletionTimestamp: NOW } },
  };
  for (const [what, given] of Object.entries(refused)) {
    assert.equal(open(given).ask(), undefined, what);
  }
});

test("S2-BOOT-03, S2-BOOT-11: a token ends when its time is up, or when nobody can read its time", () => {
  const clock = new ManualClock(Date.parse(NOW));
  const { ask } = open({ data: { expiration: "2030-01-01T00:01:00Z" } }, clock);
  assert.ok(ask() !== undefined);
  clock.advance(59_999);
  assert.ok(ask() !== undefined);
  clock.advance(1);
  assert.equal(ask(), undefined);
  for (const good of [
    "2030-01-01T02:00:00+01:00",
    "2030-01-01T00:00:00.5Z",
    "9999-12-31T23:59:59Z",
  ]) {
    assert.ok(open({ data: { expiration: good } }).ask() !== undefined, good);
  }
  const over = ["tomorrow", "2031-01-01", "2031-02-30T00:00:00Z", "2031-01-01T24:00:00Z", "1", " "];
  for (const bad of [...over, "2030-01-01T00:00:00+01:00", "2030-01-01T00:00:00Z"]) {
    assert.equal(open({ data: { expiration: bad } }).ask(), undefined, bad);
  }
});

test("S2-BOOT-11: a changed, deleted or unreadable Secret counts for the next request", () => {
  const { ask, objects, path } = open();
  assert.ok(ask() !== undefined);
  objects.set(path, storedSecret({ data: { "token-secret": "0000000000000000" } }));
  assert.equal(ask(), undefined);
  assert.ok(ask("07401b.0000000000000000") !== undefined);
  objects.set(path, { corruption: "x", bytes: Buffer.alloc(0) } as unknown as StoredObject);
  assert.equal(ask("07401b.0000000000000000"), undefined);
  objects.delete(path);
  assert.equal(ask(), undefined);
});

test("S2-BOOT-10: what has not the form of a token is not looked up", () => {
  const secrets = {
    get(path: string): undefined {
      assert.fail(`looked up ${path}`);
    },
  };
  const clock = new ManualClock();
  const authenticator = new BootstrapTokenAuthenticator({ secrets, naming, clock });
  const ask = (token: string) =>
    authenticator.authenticate({
      headers: { authorization: `Bearer ${token}` },
      socket: undefined,
      path: "/",
    });
  const others = [
    "07401b",
    "07401b.",
    "07401B.f395accd246ae52d",
    "07401b.f395accd246ae52",
    "../../x",
  ];
  for (const other of [...others, `${TOKEN}0`, `0${TOKEN}`, TOKEN.replace(".", "-")]) {
    assert.equal(ask(other), undefined, other);
  }
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom("a", "0", ".", "A", "\n"), maxLength: 30 }),
      (text) => {
        const token = parseBootstrapToken(text);
        assert.equal(
          token !== undefined,
          /^[a-z0-9]{6}\.[a-z0-9]{16}$/.test(text) && text.length === 23,
        );
      },
    ),
  );
});

test("S2-BOOT-01: another vendor's names are its own", () => {
  const acme = createNaming("acme");
  const stored = storedSecret({ type: "bootstrap.acme.io/token" });
  const secrets = new Map([[objectPath("acme-system", NAME), stored]]);
  const clock = new ManualClock();
  const facts = { headers: { authorization: `Bearer ${TOKEN}` }, socket: undefined, path: "/" };
  const ask = (names: typeof naming) =>
    new BootstrapTokenAuthenticator({ secrets, naming: names, clock }).authenticate(facts)?.name;
  assert.equal(ask(acme), "system:bootstrap:07401b");
  assert.equal(ask(naming), undefined);
});
