/** The pod of the chart's backup, as it is rendered: it takes a snapshot of an etcd that runs, and keeps it. */
import assert from "node:assert/strict";
import { readdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { Etcd3 } from "etcd3";
import { eventually } from "../harness/eventually.js";
import { makeTempDir } from "../harness/temp-dir.js";
import { TestAuthority, type TestIdentity } from "../harness/test-authority.js";
import { etcdReleases, startEtcd, startEtcdCluster } from "../tools/etcd.js";
import { etcdTls, requireLogIn } from "../tools/etcd-access.js";
import { etcdAdmin } from "../tools/etcd-admin.js";
import { missingHelm, renderChart, type Values } from "./chart.js";
import { findRendered } from "./release-pods.js";
import { type PodPlan, runPod } from "./run-pod.js";

const skip = await missingHelm("helm-4");

test("CARD-06: a backup is of a member that is in touch with the others, whoever is down; and it is restored", {
  skip,
}, async () => {
  await using volume = await makeTempDir("backup");
  await using cluster = await startEtcdCluster(3);
  const [first, second, third] = cluster.members;
  const client = new Etcd3({ hosts: [...cluster.endpoints].reverse() });
  // More than what comes in one piece.
  for (let index = 0; index < 40; index++) {
    await client.put(`/registry/kept-${index}`).value(`${index}`.repeat(20_000));
  }
  const backup = () => runBackup(cluster.endpoints, volume.path);
  assert.deepEqual(lines(await backup()), [0, "NAME: SIZE"]);
  // Both may be taken within a second.
  const [earlier = ""] = await readdir(volume.path);
  await rename(join(volume.path, earlier), join(volume.path, "etcd-20200101T000000Z.db"));
  await first?.kill();
  const withoutFirst = await backup();
  assert.equal(withoutFirst.code, 0, withoutFirst.output);
  assert.ok(withoutFirst.output.startsWith(`${first?.endpoint}: is not healthy: `));
  assert.match(
    withoutFirst.output,
    /^.* connect ECONNREFUSED .*\n(?:.*: leader changed\n)?etcd-\w+\.db: \d+ bytes$/,
  );
  await client.put("/registry/lost").value("after the backup");
  // Neither has a majority, so what they have may be old.
  await second?.kill();
  const alone = await backup();
  assert.equal(alone.code, 1, alone.output);
  assert.match(alone.output, /is not healthy: .*\nnone of 3 endpoints gave a snapshot$/);
  assert.ok(alone.output.includes(`${third?.endpoint}: is not healthy`), alone.output);
  const names = (await readdir(volume.path)).sort();
  assert.equal(names.length, 2, "what failed leaves nothing");
  await etcdAdmin(cluster).restore(join(volume.path, names[1] ?? ""), { bumpRevision: true });
  assert.equal(await client.get("/registry/kept-39"), "39".repeat(20_000));
  assert.equal(await client.get("/registry/lost").string(), null);
  client.close();
});

test("P13: the newest snapshots stay, and nothing else is touched; without a new one none goes", {
  skip,
}, async () => {
  await using volume = await makeTempDir("backup");
  await using etcd = await startEtcd();
  const old = ["etcd-20200101T000000Z.db", "etcd-20210101T000000Z.db", "etcd-20220101T000000Z.db"];
  for (const name of [...old, "taken", "notes"]) await writeFile(join(volume.path, name), name);
  const values = { "backup.keep": 2 };
  const { code, output } = await runBackup([etcd.endpoint], volume.path, { values });
  assert.equal(code, 0, output);
  const [taken = "", ...removed] = output.split("\n");
  assert.deepEqual(
    removed,
    old.slice(0, 2).map((name) => `${name}: removed`),
  );
  const names = (await readdir(volume.path)).sort();
  assert.deepEqual(names, [old[2], taken.replace(/:.*/, ""), "notes"]);
  await etcd.kill();
  assert.equal((await runBackup([etcd.endpoint], volume.path, { values })).code, 1);
  assert.deepEqual((await readdir(volume.path)).sort(), names);
});

test("CARD-06: an endpoint that accepts connections and says nothing is passed over", {
  skip,
}, async () => {
  await using volume = await makeTempDir("backup");
  await using cluster = await startEtcdCluster(3);
  cluster.members[0]?.pause();
  const taken = await runBackup(cluster.endpoints, volume.path);
  cluster.members[0]?.resume();
  assert.equal(taken.code, 0, taken.output);
  assert.match(taken.output, /: no answer within 20 s\netcd-\w+\.db: \d+ bytes$/);
});

test("CARD-06: the backup shows etcd the release's certificate, and is refused with another one", {
  skip,
}, async () => {
  await using volume = await makeTempDir("backup");
  await using folder = await makeTempDir("etcd-tls");
  const authority = await TestAuthority.create("etcd");
  await using etcd = await startEtcd({ tls: await etcdTls(folder.path, authority) });
  const backup = (client: TestIdentity) => {
    const secret = {
      "ca.crt": authority.certificate,
      "tls.crt": client.cert,
      "tls.key": client.key,
    };
    const values = { "etcd.tls.secretName": "etcd-client" };
    // By name, as releases are: of an address grpc-js makes Node.js warn.
    const endpoint = etcd.endpoint.replace("127.0.0.1", "localhost");
    return runBackup([endpoint], volume.path, { values, secrets: { "etcd-client": secret } });
  };
  const good = await backup(await authority.issue({ commonName: "keelson" }));
  assert.deepEqual(lines(good), [0, "NAME: SIZE"]);
  const other = await TestAuthority.create("other");
  const stranger = await backup(await other.issue({ commonName: "keelson" }));
  assert.equal(stranger.code, 1, stranger.output);
  assert.match(stranger.output, /none of 1 endpoints gave a snapshot/);
});

for (const { binary, title, skip: missing } of await etcdReleases()) {
  test(`CARD-06: the backup logs in with the release's password (${title})`, {
    skip: skip || missing,
  }, async () => {
    await using volume = await makeTempDir("backup");
    await using etcd = await startEtcd({ binary });
    await requireLogIn({ hosts: etcd.endpoint });
    const values = {
      "etcd.auth.username": "root",
      "etcd.auth.passwordSecretName": "etcd-password",
    };
    const backup = (password: string) =>
      runBackup([etcd.endpoint], volume.path, {
        values,
        secrets: { "etcd-password": { password } },
      });
    assert.deepEqual(lines(await backup("secret")), [0, "NAME: SIZE"]);
    const wrong = await backup("guess");
    assert.equal(wrong.code, 1, wrong.output);
    assert.match(wrong.output, /gives no log-in: etcdserver: authentication failed/);
    assert.ok(!wrong.output.includes("guess"), wrong.output);
  });
}

interface Ended {
  readonly code: number | null;
  readonly output: string;
}

async function runBackup(
  endpoints: readonly string[],
  volume: string,
  { values = {}, secrets = {} }: { values?: Values; secrets?: PodPlan["secrets"] } = {},
): Promise<Ended> {
  const objects = await renderChart("helm-4", {
    "backup.enabled": true,
    "etcd.endpoints": endpoints,
    ...values,
  });
  const job = findRendered(objects, "CronJob", "demo-keelson-backup");
  const { spec } = job.spec.jobTemplate.spec.template;
  assert.equal(spec.containers.length, 1);
  const folders = { "/backup": volume };
  await using pod = await runPod({
    ...{ spec, folders, name: "backup", ip: "127.0.0.1", names: {}, secrets },
  });
  await eventually("it ends", () => pod.child.hasEnded);
  return { code: pod.child.exitCode, output: pod.child.output.trim() };
}

/** Its code and its lines, without time and size. */
function lines({ code, output }: Ended): unknown[] {
  const text = output.replace(/^etcd-\d{8}T\d{6}Z\.db: \d+ bytes$/gm, "NAME: SIZE");
  return [code, ...text.split("\n")];
}
