/**
 * EtcdStore on an etcd that requires TLS with client certificates, and on one that requires a
 * log-in.
 */
import "reflect-metadata";
import assert from "node:assert/strict";
import { webcrypto } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import {
  BasicConstraintsExtension,
  SubjectAlternativeNameExtension,
  type X509Certificate,
  X509CertificateGenerator,
} from "@peculiar/x509";
import { Etcd3 } from "etcd3";
import { soon } from "../../e2e/harness/eventually.js";
import { etcdReleases, startEtcd } from "../../e2e/tools/etcd.js";
import { systemClock } from "../base/clock.js";
import { silentLogger } from "../base/logger.js";
import { StorageError } from "../kv/errors.js";
import type { Revision } from "../kv/store.js";
import { type EtcdStore, type EtcdStoreOptions, openEtcdStore } from "./etcd-store.js";

/** A low cost is enough for tests. */
const QUICK_LOG_IN = ["--bcrypt-cost=4"];

function openStore(endpoint: string, options: Partial<EtcdStoreOptions>) {
  const base = { endpoints: [endpoint], prefix: "/s", clock: systemClock, logger: silentLogger };
  return openEtcdStore({ ...base, ...options }, soon());
}

/**
 * Writes, reads, watches and leases: every call of the store except compaction.
 * @returns the last revision
 */
async function exercise(store: EtcdStore): Promise<Revision> {
  const lease = await store.lease(600, soon());
  const put = { type: "put", key: "/s/a", value: Buffer.from("x"), lease } as const;
  const { revision } = await store.commit({ compares: [], operations: [put] }, soon());
  assert.equal((await store.get("/s/a", {}, soon())).kv?.value.toString(), "x");
  const after = (revision - 1) as typeof revision;
  for await (const batch of store.watch({ prefix: "/s/", after }, soon())) {
    if (batch.revision >= revision) break;
  }
  return revision;
}

for (const { binary, title, skip } of await etcdReleases()) {
  for (const transport of ["lean", "grpc"] as const) {
    const open = (endpoint: string, options: Partial<EtcdStoreOptions> = {}) =>
      openStore(endpoint, { transport, ...options });

    describe(`EtcdStore and the security of ${title}, over ${transport}`, { skip }, () => {
      test("TLS: certificates on both sides", async (t) => {
        const folder = await mkdtemp(join(tmpdir(), "keelson-tls-"));
        t.after(() => rm(folder, { recursive: true }));
        const ca = await makeCertificate("ca");
        const server = await makeCertificate("server", ca);
        const client = await makeCertificate("client", ca);
        const file = async (name: string, content: string) => {
          const path = join(folder, name);
          await writeFile(path, content);
          return path;
        };
        await using etcd = await startEtcd({
          binary,
          tls: {
            caFile: await file("ca.pem", ca.pem),
            certFile: await file("server.pem", server.pem),
            keyFile: await file("server.key", server.keyPem),
          },
        });
        const tls = { ca: ca.pem, cert: client.pem, key: client.keyPem };
        {
          await using store = await open(etcd.endpoint, { tls });
          await store.compact(await exercise(store), soon());
        }
        {
          await using store = await open(new URL(etcd.endpoint).host, { tls });
          await store.currentRevision(soon());
        }
        // Without our certificate, and with an authority that did not sign etcd's.
        await assert.rejects(open(etcd.endpoint, { tls: { ca: ca.pem } }), { code: "Unavailable" });
        const foreign = await makeCertificate("foreign");
        const wrong = { ...tls, ca: foreign.pem };
        await assert.rejects(open(etcd.endpoint, { tls: wrong }), { code: "Unavailable" });
      });

      test("log-in: right and wrong passwords, and a token that etcd has forgotten", async () => {
        await using etcd = await startEtcd({ binary, args: QUICK_LOG_IN });
        const admin = new Etcd3({ hosts: etcd.endpoint });
        const root = admin.user("root");
        await root.create("secret");
        await admin.role("root").create();
        await root.addRole("root");
        const guest = admin.user("guest");
        await guest.create("guest");
        await admin.auth.authEnable();
        admin.close();

        const credentials = { username: "root", password: "secret" };
        await using store = await open(etcd.endpoint, { credentials });
        await store.compact(await exercise(store), soon());

        const start = await store.currentRevision(soon());
        const watch = store.watch({ prefix: "/s/", after: start }, soon());
        const iterator = watch[Symbol.asyncIterator]();
        const next = iterator.next();
        // Tokens live in etcd's memory: a restart invalidates ours.
        await etcd.restart();
        const operations = [{ type: "put", key: "/s/b", value: Buffer.from("x") }] as const;
        const { revision } = await store.commit({ compares: [], operations }, soon());
        const { done, value } = await next;
        assert.ok(done !== true);
        assert.equal(value.revision, revision);
        await iterator.return?.();

        const refused = { code: "Refused" };
        const wrong = { username: "root", password: "guess" };
        await assert.rejects(open(etcd.endpoint, { credentials: wrong }), (error: Error) => {
          assert.ok(!JSON.stringify(error).includes("guess") && !error.message.includes("guess"));
          return "code" in error && error.code === "Refused";
        });
        await assert.rejects(open(etcd.endpoint), refused);
        // A user who may log in but has no rights.
        const nobody = { username: "guest", password: "guest" };
        await assert.rejects(open(etcd.endpoint, { credentials: nobody }), refused);
      });

      test("a user with rights on the prefix alone is all that the store needs", async () => {
        await using etcd = await startEtcd({ binary, args: QUICK_LOG_IN });
        const admin = new Etcd3({ hosts: etcd.endpoint });
        const root = admin.user("root");
        await root.create("secret");
        await admin.role("root").create();
        await root.addRole("root");
        const role = admin.role("tenant");
        await role.create();
        await role.grant({ permission: "Readwrite", range: admin.range({ prefix: "/s" }) });
        const tenant = admin.user("tenant");
        await tenant.create("tenant");
        await tenant.addRole("tenant");
        await admin.auth.authEnable();
        admin.close();

        const credentials = { username: "tenant", password: "tenant" };
        const warnings: string[] = [];
        const warn = (_fields: unknown, text: string) => warnings.push(text);
        await using store = await open(etcd.endpoint, {
          credentials,
          logger: { ...silentLogger, warn },
        });
        const revision = await exercise(store);
        // From 3.5.28 on etcd requires an administrator for this.
        const compacted = await store.compact(revision, soon()).catch((error: unknown) => error);
        if (compacted instanceof StorageError)
          assert.match(compacted.message, /administrators alone/);
        else assert.equal(compacted, undefined);
        // The version check for progress works all the same.
        const clockKeys = warnings.filter((text) => text.includes("clock key"));
        assert.equal(clockKeys.length, binary === "oldest" ? 1 : 0);

        await assert.rejects(
          open(etcd.endpoint, { credentials, prefix: "/foreign" }),
          (error: Error) => {
            assert.match(
              error.message,
              /permission denied.*\/foreign|\/foreign.*permission denied/,
            );
            return "code" in error && error.code === "Refused";
          },
        );
      });
    });
  }
}

interface MadeCertificate {
  readonly pem: string;
  readonly keyPem: string;
  readonly certificate: X509Certificate;
  readonly keys: webcrypto.CryptoKeyPair;
}

/** A certificate for 127.0.0.1, signed by `issuer` or by itself. */
async function makeCertificate(name: string, issuer?: MadeCertificate): Promise<MadeCertificate> {
  const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const certificate = await X509CertificateGenerator.create({
    subject: `CN=${name}`,
    issuer: issuer?.certificate.subject ?? `CN=${name}`,
    notBefore: new Date(Date.now() - 60_000),
    notAfter: new Date(Date.now() + 3_600_000),
    signingAlgorithm: algorithm,
    publicKey: keys.publicKey,
    signingKey: (issuer?.keys ?? keys).privateKey,
    extensions: [
      new BasicConstraintsExtension(issuer === undefined),
      new SubjectAlternativeNameExtension([{ type: "ip", value: "127.0.0.1" }]),
    ],
  });
  const exported = await webcrypto.subtle.exportKey("pkcs8", keys.privateKey);
  const body = Buffer.from(exported).toString("base64").replace(/.{64}/g, "$&\n");
  const keyPem = `-----BEGIN PRIVATE KEY-----\n${body}\n-----END PRIVATE KEY-----\n`;
  return { pem: certificate.toString("pem"), keyPem, certificate, keys };
}
