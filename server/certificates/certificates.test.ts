/** Certificates that a replica generates for itself. */
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { parse } from "yaml";
import { silentLogger } from "../../storage/base/logger.js";
import { ensureServingCertificates, serviceHosts } from "./certificates.js";
import { writeAdminKubeconfig } from "./kubeconfig.js";

const DAY_MS = 24 * 3_600_000;
const OPTIONS = {
  hosts: ["localhost", "127.0.0.1", "::1", ...serviceHosts("kubernetes")],
  adminName: "kubernetes-admin",
  adminGroup: "system:masters",
};

async function withDirectory(run: (directory: string) => Promise<void>): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), "keelson-pki-"));
  try {
    await run(directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

test("certificates name their hosts and owner, are for their purpose only, and only the owner reads them", async () => {
  await withDirectory(async (directory) => {
    const made = await ensureServingCertificates(directory, OPTIONS);
    const serving = new X509Certificate(made.serving.cert);
    for (const host of [
      "localhost",
      "kubernetes.default.svc",
      "kubernetes.default.svc.cluster.local",
    ]) {
      assert.equal(serving.checkHost(host), host);
    }
    for (const address of ["127.0.0.1", "::1"]) assert.ok(serving.checkIP(address), address);
    assert.deepEqual(serving.keyUsage, ["1.3.6.1.5.5.7.3.1"]);
    const admin = new X509Certificate(made.admin.cert);
    assert.equal(admin.subject, "O=system:masters\nCN=kubernetes-admin");
    assert.deepEqual(admin.keyUsage, ["1.3.6.1.5.5.7.3.2"]);
    const authority = new X509Certificate(made.servingAuthority);
    assert.ok(
      authority.ca && serving.verify(authority.publicKey) && !admin.verify(authority.publicKey),
    );
    assert.ok(Date.parse(authority.validTo) > Date.now() + 3_600 * DAY_MS);

    assert.equal((await stat(join(directory, "pki"))).mode & 0o777, 0o700);
    for (const file of await readdir(join(directory, "pki"))) {
      assert.equal((await stat(join(directory, "pki", file))).mode & 0o777, 0o600, file);
    }
  });
});

test("the next start uses them again; near expiry and for other hosts the leaves are new, the authorities not", async () => {
  await withDirectory(async (directory) => {
    const first = await ensureServingCertificates(directory, OPTIONS);
    assert.deepEqual(await ensureServingCertificates(directory, OPTIONS), first);

    const moved = await ensureServingCertificates(directory, { ...OPTIONS, hosts: ["10.0.0.1"] });
    assert.notEqual(moved.serving.cert, first.serving.cert);
    assert.equal(moved.servingAuthority, first.servingAuthority);
    assert.equal(moved.admin.cert, first.admin.cert);

    const now = new Date(Date.now() + 340 * DAY_MS);
    const later = await ensureServingCertificates(directory, { ...OPTIONS, now });
    assert.notEqual(later.admin.cert, first.admin.cert);
    assert.equal(later.clientAuthority, first.clientAuthority);
  });
});

test("replicas that start at the same time on one directory agree on the authorities", async () => {
  await withDirectory(async (directory) => {
    const all = await Promise.all(
      [1, 2, 3, 4].map(() => ensureServingCertificates(directory, OPTIONS)),
    );
    assert.equal(new Set(all.map(({ servingAuthority }) => servingAuthority)).size, 1);
    assert.equal(new Set(all.map(({ clientAuthority }) => clientAuthority)).size, 1);
  });
});

test("A4: what is handed out holds no key, and files of earlier releases are taken over", async () => {
  await withDirectory(async (directory) => {
    const made = await ensureServingCertificates(directory, OPTIONS);
    const pki = join(directory, "pki");
    const files = (await readdir(pki)).sort();
    const bases = ["admin", "client-ca", "serving", "serving-ca"];
    assert.deepEqual(files, bases.flatMap((base) => [`${base}.crt`, `${base}.key`]).sort());
    assert.equal(await readFile(join(pki, "serving-ca.crt"), "utf8"), made.servingAuthority);
    for (const base of bases) {
      assert.doesNotMatch(await readFile(join(pki, `${base}.crt`), "utf8"), /PRIVATE/);
      assert.equal((await stat(join(pki, `${base}.key`))).mode & 0o777, 0o600);
      await rename(join(pki, `${base}.key`), join(pki, `${base}.pem`));
      await rm(join(pki, `${base}.crt`));
    }
    assert.deepEqual(await ensureServingCertificates(directory, OPTIONS), made);
    assert.deepEqual((await readdir(pki)).sort(), files);
  });
});

test("a file that is damaged is made anew", async () => {
  await withDirectory(async (directory) => {
    await ensureServingCertificates(directory, OPTIONS);
    for (const name of ["serving-ca.key", "admin.key"]) {
      const file = join(directory, "pki", name);
      await writeFile(file, (await readFile(file, "utf8")).replace(/[A-Za-z]{5}/g, "AAAAA"));
    }
    const made = await ensureServingCertificates(directory, OPTIONS);
    const authority = new X509Certificate(made.servingAuthority);
    assert.ok(new X509Certificate(made.serving.cert).verify(authority.publicKey));
  });
});

test("P15: kubeconfigs of several instances can be merged: clusters, users and contexts have their names", async () => {
  await withDirectory(async (directory) => {
    const made = await ensureServingCertificates(directory, OPTIONS);
    const namesFor = async (server: string) => {
      const path = join(directory, "admin.kubeconfig");
      const { servingAuthority: authority, admin: user } = made;
      const access = { server, authority, user, userName: "admin" };
      await writeAdminKubeconfig(path, access, silentLogger);
      const { clusters, users, contexts } = parse(await readFile(path, "utf8"));
      return [clusters[0].name, users[0].name, contexts[0].name, contexts[0].context.user];
    };
    for (const [server, name] of [
      ["https://127.0.0.1:6443", "keelson"],
      ["https://localhost:7443", "keelson-7443"],
      ["https://api.example.com:6443", "keelson-api.example.com"],
      ["https://[2001:db8::1]:8443", "keelson-2001:db8::1-8443"],
    ] as const) {
      const user = `admin@${name}`;
      assert.deepEqual(await namesFor(server), [name, user, user, user]);
    }
  });
});

test("the administrator's kubeconfig embeds everything and only its owner reads it", async () => {
  await withDirectory(async (directory) => {
    const made = await ensureServingCertificates(directory, OPTIONS);
    const path = join(directory, "below", "admin.kubeconfig");
    const access = {
      server: "https://127.0.0.1:6443",
      authority: made.servingAuthority,
      user: made.admin,
      userName: "kubernetes-admin",
    };
    await writeAdminKubeconfig(path, access, silentLogger);
    const { mode, ino } = await stat(path);
    assert.equal(mode & 0o777, 0o600);
    // The disk may be full by now: what is there already is not written again.
    await writeAdminKubeconfig(path, access, silentLogger);
    assert.equal((await stat(path)).ino, ino);
    const config = parse(await readFile(path, "utf8"));
    assert.equal(config["current-context"], "kubernetes-admin@keelson");
    assert.equal(config.clusters[0].cluster.server, "https://127.0.0.1:6443");
    const [{ user }] = config.users;
    assert.equal(Buffer.from(user["client-key-data"], "base64").toString(), made.admin.key);
  });
});
