/** Files for etcd that are replaced while a replica runs. e2e/cluster has real members. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { makeTempDir } from "../../e2e/harness/temp-dir.js";
import { TestAuthority } from "../../e2e/harness/test-authority.js";
import { silentLogger } from "../../storage/base/logger.js";
import { followEtcdCredentials, followEtcdTls } from "./etcd-files.js";

test("P10: a new pair is used as soon as both of its files are there, a new authority at once", async () => {
  await using directory = await makeTempDir("etcd-files");
  const at = (name: string) => join(directory.path, name);
  const [one, two] = [await TestAuthority.create("one"), await TestAuthority.create("two")];
  const [old, next] = [await one.issue({ commonName: "a" }), await two.issue({ commonName: "b" })];
  await writeFile(at("ca"), one.certificate);
  await writeFile(at("cert"), old.cert);
  await writeFile(at("key"), old.key);
  const files = { etcdCaFile: at("ca"), etcdCertFile: at("cert"), etcdKeyFile: at("key") };
  const flags = { ...files, etcdUsername: "", etcdPasswordFile: "" };
  const tls = followEtcdTls(flags, silentLogger);
  assert.deepEqual({ ...tls }, { ca: one.certificate, ...old });
  await writeFile(at("cert"), next.cert);
  assert.deepEqual({ ...tls }, { ca: one.certificate, ...old });
  await writeFile(at("key"), next.key);
  assert.deepEqual({ ...tls }, { ca: one.certificate, ...next });
  await writeFile(at("ca"), two.certificate);
  assert.equal(tls?.ca, two.certificate);
});

test("P10: a new password is used, and one that is gone for a moment stays", async () => {
  await using directory = await makeTempDir("etcd-files");
  const file = join(directory.path, "password");
  await writeFile(file, "first\n");
  const flags = { etcdCaFile: "", etcdCertFile: "", etcdKeyFile: "" };
  const credentials = followEtcdCredentials(
    { ...flags, etcdUsername: "root", etcdPasswordFile: file },
    silentLogger,
  );
  assert.equal(credentials?.password, "first");
  await writeFile(file, "second");
  assert.equal(credentials?.password, "second");
  await directory[Symbol.asyncDispose]();
  assert.equal(credentials?.password, "second");
  assert.equal(
    followEtcdTls({ ...flags, etcdUsername: "", etcdPasswordFile: "" }, silentLogger),
    undefined,
  );
});
