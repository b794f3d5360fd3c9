/** Files for etcd that are replaced while a replica runs. e2e/cluster has real members. */
import assert from "node:assert/strict";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { eventually } from "../../e2e/harness/eventually.js";
import { makeTempDir } from "../../e2e/harness/temp-dir.js";
import { TestAuthority } from "../../e2e/harness/test-authority.js";
import { Lifecycle } from "../../storage/base/lifecycle.js";
import { silentLogger } from "../../storage/base/logger.js";
import { type EtcdFileFlags, openEtcdFiles } from "./etcd-files.js";

const NONE: EtcdFileFlags = {
  etcdCaFile: "",
  etcdCertFile: "",
  etcdKeyFile: "",
  etcdUsername: "",
  etcdPasswordFile: "",
};

test("P10: a new pair is used as soon as both of its files are there, a new authority at once", async () => {
  await using directory = await makeTempDir("etcd-files");
  const at = (name: string) => join(directory.path, name);
  const [one, two] = [await TestAuthority.create("one"), await TestAuthority.create("two")];
  const [old, next] = [await one.issue({ commonName: "a" }), await two.issue({ commonName: "b" })];
  await writeFile(at("ca"), one.certificate);
  await writeFile(at("cert"), old.cert);
  await writeFile(at("key"), old.key);
  const paths = { etcdCaFile: at("ca"), etcdCertFile: at("cert"), etcdKeyFile: at("key") };
  const files = openEtcdFiles({ ...NONE, ...paths }, silentLogger);
  assert.deepEqual({ ...files.tls }, { ca: one.certificate, ...old });
  // After it was read, and before it is looked at again.
  await writeFile(at("cert"), next.cert);
  await using followed = follow(files);
  await followed.tells([false]);
  assert.deepEqual({ ...files.tls }, { ca: one.certificate, ...old });
  await writeFile(at("key"), next.key);
  await followed.tells([false, true]);
  assert.deepEqual({ ...files.tls }, { ca: one.certificate, ...next });
  await writeFile(at("ca"), "no certificate");
  await followed.tells([false, true, false]);
  await writeFile(at("ca"), two.certificate);
  await followed.tells([false, true, false, true]);
  assert.deepEqual({ ...files.tls }, { ca: two.certificate, ...next });
});

test("P10: a new password is used, and one that is gone or empty for a moment stays", async () => {
  await using directory = await makeTempDir("etcd-files");
  const file = join(directory.path, "password");
  await writeFile(file, "first\n");
  const flags = { ...NONE, etcdUsername: "root", etcdPasswordFile: file };
  const files = openEtcdFiles(flags, silentLogger);
  assert.equal(files.credentials?.password, "first");
  await writeFile(file, "second");
  await using followed = follow(files);
  await followed.tells([true]);
  assert.equal(files.credentials?.password, "second");
  await rm(file);
  await followed.tells([true, false]);
  await writeFile(file, "\n");
  await followed.tells([true, false, false]);
  assert.equal(files.credentials?.password, "second");
  const none = openEtcdFiles(NONE, silentLogger);
  assert.deepEqual([none.tls, none.credentials], [undefined, undefined]);
});

function follow(files: ReturnType<typeof openEtcdFiles>) {
  const lifecycle = new Lifecycle(silentLogger);
  const reloads: boolean[] = [];
  files.spawn(lifecycle, { logger: silentLogger, onReload: (isGood) => reloads.push(isGood) });
  return {
    tells: (expected: readonly boolean[]) =>
      eventually("the changes are told", () => {
        assert.deepEqual(reloads, expected);
        return true;
      }),
    [Symbol.asyncDispose]: () => lifecycle[Symbol.asyncDispose](),
  };
}
