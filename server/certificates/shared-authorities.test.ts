/** The authorities that replicas share through the store. */
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { makeTempDir } from "../../e2e/harness/temp-dir.js";
import type { SharedValueStore } from "../../storage/kv/shared-value.js";
import { type KeyValue, toRevision } from "../../storage/kv/store.js";
import { unreadableValue } from "../../storage/kv/unreadable.js";
import { type Certificate, parseCertificate } from "../../storage/x509/certificate.js";
import { CertificatePool, pemBlocks, poolOf } from "../../storage/x509/certificate-pool.js";
import { verifyPath } from "../../storage/x509/verify-path.js";
import { ensureServingCertificates } from "./certificates.js";
import { openSharedAuthorities } from "./shared-authorities.js";

const KEY = "/registry/.certificate-authorities";
const YEAR_MS = 365 * 24 * 3_600_000;
const signal = new AbortController().signal;

/** One key, with the compare-and-swap of a real store. */
function openStore() {
  let kv: KeyValue | undefined;
  let writes = 0;
  const store: SharedValueStore = {
    get: async () => ({ kv, revision: toRevision(writes) }),
    commit: async ({ compares, operations }) => {
      const [compare] = compares;
      const [operation] = operations;
      assert.ok(operation?.type === "put");
      if (compare?.modRevision !== (kv?.modRevision ?? 0)) {
        return { succeeded: false, revision: toRevision(writes), current: [kv] };
      }
      const revision = toRevision(++writes);
      const value = Buffer.from(operation.value);
      kv = { key: KEY, value, modRevision: revision, createRevision: revision };
      return { succeeded: true, revision };
    },
  };
  return {
    store,
    writes: () => writes,
    replace(value: Buffer) {
      assert.ok(kv);
      kv = { ...kv, value };
    },
  };
}

test("replicas that start at the same time on a fresh store end with the same authorities", async () => {
  const { store, writes } = openStore();
  const now = new Date();
  const all = await Promise.all(
    [1, 2, 3].map(() => openSharedAuthorities(store, KEY, now, signal)),
  );
  assert.equal(writes(), 1);
  assert.equal(new Set(all.map((authorities) => JSON.stringify(authorities))).size, 1);
  const [first] = all;
  assert.ok(first && new X509Certificate(first.serving.cert).ca);
  assert.notEqual(first.serving.cert, first.client.cert);
  assert.deepEqual(await openSharedAuthorities(store, KEY, now, signal), first);
});

test("authorities are replaced before they end, once, and not when they cannot be read", async () => {
  const { store, writes, replace } = openStore();
  const now = new Date();
  const first = await openSharedAuthorities(store, KEY, now, signal);
  const later = new Date(now.getTime() + 9.99 * YEAR_MS);
  const [second, third] = await Promise.all(
    [1, 2].map(() => openSharedAuthorities(store, KEY, later, signal)),
  );
  assert.notEqual(second?.serving.cert, first.serving.cert);
  assert.deepEqual(second, third);
  assert.equal(writes(), 2);
  replace(unreadableValue("no key opens it"));
  await assert.rejects(openSharedAuthorities(store, KEY, now, signal), {
    name: "UnreadableValueError",
    message:
      /the certificate authorities that the store holds at .* cannot be read: no key opens it$/,
  });
  assert.equal(writes(), 2);
});

test("A5, P11: renewal overlaps: old and new trust lead to old and new certificates until the old authority ends", async () => {
  const { store } = openStore();
  await using directory = await makeTempDir("renewal");
  const ownAt = async (now: Date) =>
    await ensureServingCertificates(directory.path, {
      authorities: await openSharedAuthorities(store, KEY, now, signal),
      hosts: ["localhost"],
      adminName: "admin",
      adminGroup: "system:masters",
      now,
    });
  const start = new Date();
  const firstAuthorities = await openSharedAuthorities(store, KEY, start, signal);
  const old = await ownAt(start);
  const later = new Date(start.getTime() + 3_630 * 24 * 3_600_000);
  const renewed = await ownAt(later);
  assert.notEqual(renewed.servingAuthority, old.servingAuthority);
  const leads = (cert: string, trusted: string, usage: "clients" | "servers", now: Date) => {
    const [leaf, ...intermediates] = pemBlocks(cert).map(parseCertificate);
    const sent = new CertificatePool(intermediates);
    const options = { roots: poolOf(trusted), intermediates: sent, usage, nowMs: now.getTime() };
    return verifyPath(leaf as Certificate, options).length;
  };
  // What was made a month before the renewal.
  const before = new Date(later.getTime() - 20 * 24 * 3_600_000);
  await rm(join(directory.path, "pki"), { recursive: true });
  const { serving, admin } = await ensureServingCertificates(directory.path, {
    authorities: firstAuthorities,
    hosts: ["localhost"],
    adminName: "admin",
    adminGroup: "system:masters",
    now: before,
  });
  assert.equal(leads(renewed.serving.cert, old.servingAuthority, "servers", later), 3);
  assert.equal(leads(renewed.serving.cert, renewed.servingAuthority, "servers", later), 2);
  assert.equal(leads(renewed.admin.cert, old.clientAuthority, "clients", later), 3);
  assert.equal(leads(renewed.admin.cert, renewed.clientAuthority, "clients", later), 2);
  assert.equal(leads(serving.cert, renewed.servingAuthority, "servers", later), 2);
  assert.equal(leads(admin.cert, renewed.clientAuthority, "clients", later), 2);
  // Once it has ended nothing of the first authority is handed out any more.
  const end = new Date(later.getTime() + 40 * 24 * 3_600_000);
  const alone = await ownAt(end);
  assert.equal(pemBlocks(alone.servingAuthority).length, 1);
  assert.throws(() => leads(renewed.serving.cert, old.servingAuthority, "servers", end));
});

test("A5: a replica whose clock is behind keeps authorities that are not valid yet", async () => {
  const { store, writes } = openStore();
  const now = new Date();
  const first = await openSharedAuthorities(store, KEY, now, signal);
  const behind = new Date(now.getTime() - 3 * YEAR_MS);
  assert.deepEqual(await openSharedAuthorities(store, KEY, behind, signal), first);
  assert.equal(writes(), 1);
});
