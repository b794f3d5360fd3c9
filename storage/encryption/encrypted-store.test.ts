/** An encrypted store fulfils the contract, and its values have the format of existing clusters. */
import assert from "node:assert/strict";
import { createCipheriv, createDecipheriv, createHash } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import { systemClock } from "../base/clock.js";
import { silentLogger } from "../base/logger.js";
import { temporaryDirectory } from "../base/testing/temporary-directory.js";
import { openEmbeddedStore } from "../embedded/embedded-store.js";
import { runStoreContract } from "../kv/contract/run-store-contract.js";
import type { RevisionedStore } from "../kv/store.js";
import { unreadableReason } from "../kv/unreadable.js";
import { EncryptedStore } from "./encrypted-store.js";
import { EncryptionRules } from "./encryption-rules.js";
import { type CipherName, createCipher, identityCipher } from "./value-cipher.js";

const PREFIX = "k8s:enc:";
const ALL = [{ group: "*", resource: "*" }];
const signal = new AbortController().signal;
const secretOf = (name: string) => createHash("sha256").update(name).digest();

/** "aesgcm/key1" or "identity". */
function cipherOf(name: string) {
  if (name === "identity") return identityCipher(PREFIX);
  const [kind = "", key = ""] = name.split("/");
  const prefix = Buffer.from(`${PREFIX}${kind}:v1:${key}:`);
  return createCipher(kind as CipherName, prefix, secretOf(key));
}

function rulesOf(...ciphers: readonly string[]): EncryptionRules {
  const rule = { patterns: ALL, ciphers: ciphers.map(cipherOf) };
  return new EncryptionRules([rule], identityCipher(PREFIX));
}

async function openStore(test: Pick<TestContext, "after">): Promise<RevisionedStore> {
  const directory = await mkdtemp(join(tmpdir(), "keelson-encryption-"));
  const store = await openEmbeddedStore({ directory, clock: systemClock, logger: silentLogger });
  test.after(async () => {
    await store[Symbol.asyncDispose]();
    await rm(directory, { recursive: true, force: true });
  });
  return store;
}

function encrypted(store: RevisionedStore, ...ciphers: readonly string[]): EncryptedStore {
  return new EncryptedStore({
    store,
    rules: rulesOf(...ciphers),
    partitionOf: () => "core/secrets",
  });
}

async function put(store: RevisionedStore, key: string, text: string): Promise<void> {
  const operations = [{ type: "put", key, value: Buffer.from(text) } as const];
  const result = await store.commit({ compares: [], operations }, signal);
  assert.equal(result.succeeded, true);
}

async function read(store: RevisionedStore, key: string): Promise<Buffer> {
  const { kv } = await store.get(key, {}, signal);
  assert.ok(kv);
  return kv.value;
}

runStoreContract("encrypted", async ({ test: context }) => {
  const directory = await temporaryDirectory(context);
  const options = { directory, clock: systemClock, logger: silentLogger };
  return encrypted(await openEmbeddedStore(options), "aesgcm/key1");
});

for (const cipher of ["aescbc", "aesgcm", "secretbox"]) {
  test(`${cipher}: what is stored names cipher and key and shows nothing of the value`, async (t) => {
    const inner = await openStore(t);
    const store = encrypted(inner, `${cipher}/key1`);
    await put(store, "/registry/core/secrets/a/b", "attack at dawn");
    const stored = await read(inner, "/registry/core/secrets/a/b");
    assert.ok(stored.toString("latin1").startsWith(`k8s:enc:${cipher}:v1:key1:`));
    assert.equal(stored.includes("attack"), false);
    assert.equal((await read(store, "/registry/core/secrets/a/b")).toString(), "attack at dawn");
    await put(store, "/registry/core/secrets/a/c", "attack at dawn");
    assert.notDeepEqual(stored, await read(inner, "/registry/core/secrets/a/c"));
  });

  test(`${cipher}: any value of any length comes back, and none with another secret`, () => {
    const rules = rulesOf(`${cipher}/key1`);
    const other = new EncryptionRules(
      [
        {
          patterns: ALL,
          ciphers: [
            createCipher(
              cipher as CipherName,
              Buffer.from(`${PREFIX}${cipher}:v1:key1:`),
              secretOf("other"),
            ),
          ],
        },
      ],
      identityCipher(PREFIX),
    );
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (value) => {
        const sealed = Buffer.from(rules.seal("core/secrets", "/k", value));
        const opened = rules.open("core/secrets", "/k", sealed);
        assert.deepEqual([...opened.value], [...value]);
        assert.equal(opened.isStale, false);
        if (cipher === "aescbc") return;
        assert.throws(() => other.open("core/secrets", "/k", sealed), /does not open/);
        sealed[sealed.length - 1] = (sealed.at(-1) ?? 0) ^ 1;
        assert.throws(() => rules.open("core/secrets", "/k", sealed), /does not open/);
      }),
      { numRuns: 200 },
    );
  });
}

test("aesgcm and aescbc write the bytes of the published layout", () => {
  const key = "/registry/secrets/default/db";
  const gcm = Buffer.from(rulesOf("aesgcm/key1").seal("core/secrets", key, Buffer.from("plain")));
  const body = gcm.subarray("k8s:enc:aesgcm:v1:key1:".length);
  const decipher = createDecipheriv("aes-256-gcm", secretOf("key1"), body.subarray(0, 12));
  decipher.setAAD(Buffer.from(key));
  decipher.setAuthTag(body.subarray(-16));
  const text = Buffer.concat([decipher.update(body.subarray(12, -16)), decipher.final()]);
  assert.equal(text.toString(), "plain");

  const cipher = createCipheriv("aes-256-cbc", secretOf("key1"), Buffer.alloc(16, 7));
  const cbc = Buffer.concat([
    Buffer.from("k8s:enc:aescbc:v1:key1:"),
    Buffer.alloc(16, 7),
    cipher.update("plain"),
    cipher.final(),
  ]);
  assert.equal(rulesOf("aescbc/key1").open("core/secrets", key, cbc).value.toString(), "plain");
});

test("secretbox reads what NaCl's secretbox writes", () => {
  // The example in the NaCl documentation (tests/secretbox.c).
  const secret = Buffer.from(
    "1b27556473e985d462cd51197a9a46c76009549eac6474f206c4ee0844f68389",
    "hex",
  );
  const nonce = "69696ee955b62b73cd62bda875fc73d68219e0036b7a0b37";
  const boxed =
    "f3ffc7703f9400e52a7dfb4b3d3305d98e993b9f48681273c29650ba32fc76ce48332ea7164d96a4476fb8c531a1186ac0dfc17c98dce87b4da7f011ec48c97271d2c20f9b928fe2270d6fb863d51738b48eeee314a7cc8ab932164548e526ae90224368517acfeabd6bb3732bc0e9da99832b61ca01b6de56244a9e88d5f9b37973f622a43d14a6599b1f654cb45a74e355a5";
  const prefix = Buffer.from(`${PREFIX}secretbox:v1:nacl:`);
  const cipher = createCipher("secretbox", prefix, secret);
  const opened = cipher.open(Buffer.from(nonce + boxed, "hex"), "/k");
  assert.equal(opened.length, 131);
  assert.equal(opened.toString("hex").slice(0, 32), "be075fc53c81f2d5cf141316ebeb0c7b");
});

test("aesgcm: a value that was moved to another key is unreadable there", async (t) => {
  const inner = await openStore(t);
  const store = encrypted(inner, "aesgcm/key1");
  await put(store, "/registry/core/secrets/a/b", "{}");
  const stored = await read(inner, "/registry/core/secrets/a/b");
  const operations = [{ type: "put", key: "/registry/core/secrets/a/c", value: stored } as const];
  await inner.commit({ compares: [], operations }, signal);
  const reason = unreadableReason(await read(store, "/registry/core/secrets/a/c"));
  assert.equal(reason, "the value does not open with k8s:enc:aesgcm:v1:key1");
});

test("S1-UNS-08: a value whose key is gone is unreadable, and those beside it are not", async (t) => {
  const inner = await openStore(t);
  await put(encrypted(inner, "aesgcm/lost"), "/r/core/secrets/a", "1");
  await put(encrypted(inner, "aesgcm/key1"), "/r/core/secrets/b", "2");
  await put(inner, "/r/core/secrets/c", "3");
  const store = encrypted(inner, "aesgcm/key1", "identity");
  const { kvs } = await store.range({ prefix: "/r/" }, signal);
  assert.deepEqual(
    kvs.map(({ value }) => unreadableReason(value) ?? value.toString()),
    ["the value is encrypted and no key for it is configured", "2", "3"],
  );
  const plain = encrypted(inner, "identity");
  const all = await plain.range({ prefix: "/r/" }, signal);
  assert.deepEqual(
    all.kvs.map(({ value }) => unreadableReason(value) !== undefined),
    [true, true, false],
  );
});

test("keys are rotated: the first seals, all open, and what is sealed with another is stale", async (t) => {
  const inner = await openStore(t);
  const store = encrypted(inner, "aescbc/old");
  await put(store, "/r/core/secrets/a", "1");
  assert.equal(await store.isStale("/r/core/secrets/a", signal), false);
  store.use(rulesOf("aesgcm/new", "aescbc/old"));
  assert.equal((await read(store, "/r/core/secrets/a")).toString(), "1");
  assert.equal(await store.isStale("/r/core/secrets/a", signal), true);
  await put(store, "/r/core/secrets/a", "1");
  assert.equal(await store.isStale("/r/core/secrets/a", signal), false);
  store.use(rulesOf("aesgcm/new"));
  assert.equal((await read(store, "/r/core/secrets/a")).toString(), "1");
  assert.equal(await store.isStale("/r/core/secrets/none", signal), false);
  // Rolled back: values are written unencrypted from now on, and the encrypted ones are stale.
  store.use(rulesOf("identity", "aesgcm/new"));
  assert.equal(await store.isStale("/r/core/secrets/a", signal), true);
  await put(store, "/r/core/secrets/a", "1");
  assert.equal((await read(inner, "/r/core/secrets/a")).toString(), "1");
});

test("watches and refused writes give plain values, before and after", async (t) => {
  const inner = await openStore(t);
  const store = encrypted(inner, "secretbox/key1");
  const after = await store.currentRevision(signal);
  await put(store, "/r/core/secrets/a", "1");
  await put(store, "/r/core/secrets/a", "2");
  const compares = [{ key: "/r/core/secrets/a", modRevision: 0 } as const];
  const refused = await store.commit({ compares, operations: [] }, signal);
  assert.equal(refused.succeeded, false);
  if (!refused.succeeded) assert.equal(refused.current[0]?.value.toString(), "2");
  const seen: string[] = [];
  const ended = new AbortController();
  for await (const batch of store.watch(
    { prefix: "/r/", after, withPrevious: true },
    ended.signal,
  )) {
    for (const event of batch.events) {
      assert.equal(event.type, "put");
      if (event.type === "put") seen.push(`${event.previous?.value ?? ""}>${event.kv.value}`);
    }
    if (seen.length === 2) break;
  }
  ended.abort();
  assert.deepEqual(seen, [">1", "1>2"]);
});

test("keys that are no objects keep their values as they are", async (t) => {
  const inner = await openStore(t);
  const store = new EncryptedStore({
    store: inner,
    rules: rulesOf("aesgcm/key1"),
    partitionOf: () => undefined,
  });
  await put(store, "/registry/.compaction", "12");
  assert.equal((await read(inner, "/registry/.compaction")).toString(), "12");
});

test("a rule without a cipher stores nothing, and no plain value that looks encrypted is stored", () => {
  const none = new EncryptionRules([{ patterns: ALL, ciphers: [] }], identityCipher(PREFIX));
  const value = Buffer.from("attack at dawn");
  assert.throws(() => none.seal("core/secrets", "/k", value), /RulesHaveCiphers/);
  const sealed = rulesOf("aesgcm/key1").seal("core/secrets", "/k", value);
  assert.throws(() => rulesOf("identity").seal("core/secrets", "/k", sealed), /PlainLooksPlain/);
});
