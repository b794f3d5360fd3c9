/**
 * Three replicas over one etcd, of which one has a clock that is ten minutes behind and one a clock that is as much ahead: who they
 * believe, and in the long run who leads and what each knows of the others.
 */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { eventually } from "./harness/eventually.js";
import { Follower } from "./harness/follower.js";
import { HttpsClient } from "./harness/https-client.js";
import { isLong } from "./harness/is-long.js";
import { type ServerProcess, startServer } from "./harness/server-process.js";
import { makeTempDir } from "./harness/temp-dir.js";
import { startEtcd } from "./tools/etcd.js";
import { findTool, requireTool } from "./tools/find-tool.js";

const OFF_SECONDS = 600;
const ACCOUNT = "/api/v1/namespaces/default/serviceaccounts/default";
const MAPS = "/api/v1/namespaces/default/configmaps";
const ENDPOINTS = "/api/v1/namespaces/default/endpoints/kubernetes";
const LEADER = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/keelson-controllers";

const skip = (await findTool("faketime")) === undefined && "the library faketime is not to be had";

test("P11: replicas whose clocks are ten minutes off share authorities, certificates, watches, leases and endpoints, and tokens as far as they are in time", {
  skip,
}, async (t) => {
  await using etcd = await startEtcd();
  await using folder = await makeTempDir("clocks");
  const start = async (name: string, ip: string, seconds = 0) =>
    startServer({
      etcdEndpoints: [etcd.endpoint],
      flags: [`--advertise-address=${ip}`],
      ...(seconds !== 0 && { node: await nodeAt(seconds, join(folder.path, name)) }),
    });
  // The first one makes the authorities, and leads.
  await using ahead = await start("ahead", "192.0.2.1", OFF_SECONDS);
  await using right = await start("right", "192.0.2.2");
  await using behind = await start("behind", "192.0.2.3", -OFF_SECONDS);
  const replicas = { ahead, right, behind };
  const offOf = (text: string) => (Date.parse(text) - Date.now()) / 1_000;

  await t.test("each believes what each has issued, and the authorities stay", async () => {
    for (const [name, issuer] of Object.entries(replicas)) {
      assert.equal(issuer.credentials.ca, ahead.credentials.ca, name);
      for (const [other, { url }] of Object.entries(replicas)) {
        const client = new HttpsClient(url, issuer.credentials);
        assert.equal((await client.get(MAPS)).status, 200, `${name} at ${other}`);
        client.close();
      }
    }
  });

  await t.test(
    "a token is believed from half a minute before it was issued until it ends, by the clock of who is asked",
    async () => {
      const tokens = new Map<string, string>();
      for (const [name, { client }] of Object.entries(replicas)) {
        const wish = { spec: { expirationSeconds: OFF_SECONDS } };
        const { status } = (await client.post(`${ACCOUNT}/token`, wish)).expect(201).object;
        tokens.set(name, (status as { token: string }).token);
      }
      const answers = Object.entries(replicas).map(async ([name, { url, credentials }]) => {
        const client = new HttpsClient(url, { ca: credentials.ca });
        const at: Record<string, number> = {};
        for (const [issuer, token] of tokens) {
          const headers = { authorization: `Bearer ${token}` };
          at[issuer] = (await client.request(MAPS, { headers })).status;
        }
        client.close();
        return [name, at];
      });
      // 403: known, and without rights. 401: the token of ten minutes has ended, or has not begun.
      assert.deepEqual(Object.fromEntries(await Promise.all(answers)), {
        ahead: { ahead: 403, right: 401, behind: 401 },
        right: { ahead: 401, right: 403, behind: 401 },
        behind: { ahead: 401, right: 401, behind: 403 },
      });
    },
  );

  await t.test("what one writes all others show, with its own time", async () => {
    await using follower = await Follower.open(right.client, MAPS);
    for (const [name, { client }] of Object.entries(replicas)) {
      const made = (await client.post(MAPS, { metadata: { name } })).expect(201).object;
      const { resourceVersion = "", creationTimestamp = "" } = made.metadata;
      await follower.hasSeen(name, resourceVersion);
      const off = { ahead: OFF_SECONDS, right: 0, behind: -OFF_SECONDS }[name] ?? 0;
      assert.ok(Math.abs(offOf(creationTimestamp) - off) < OFF_SECONDS / 2, creationTimestamp);
    }
  });

  // Takes as long as leases last.
  if (!isLong) return;
  await t.test(
    "all are listed, one leads, and another takes over from it when it is killed",
    async () => {
      await eventually("all are listed", async () => (await listed(right)).length === 3);
      const before = await leaderSeen(right);
      assert.ok(offOf(before.renewTime) > OFF_SECONDS / 2, before.renewTime);
      // Nobody takes it for ended because its time is another one.
      await eventually("it has renewed for longer than a lease lasts", async () => {
        const { renewTime } = await leaderSeen(right);
        return Date.parse(renewTime) - Date.parse(before.renewTime) > LEASE_MS;
      });
      assert.equal((await leaderSeen(right)).leaseTransitions, before.leaseTransitions);
      await ahead.kill();
      await eventually(
        "another leads",
        async () => (await leaderSeen(right)).leaseTransitions > before.leaseTransitions,
      );
      await eventually(
        "it is not listed any more",
        async () => (await listed(behind)).join() === "192.0.2.2,192.0.2.3",
      );
    },
  );
});

const LEASE_MS = 15_000;

/** @returns the path of a Node.js whose clock is so much off */
async function nodeAt(seconds: number, path: string): Promise<string> {
  const library = await requireTool("faketime");
  const settings = `LD_PRELOAD=${library} FAKETIME=${seconds < 0 ? "" : "+"}${seconds}s FAKETIME_DONT_FAKE_MONOTONIC=1`;
  const script = `#!/bin/sh\n${settings} exec ${process.execPath} "$@"\n`;
  await writeFile(path, script, { mode: 0o755 });
  return path;
}

/** Addresses that clients inside the cluster are told. */
async function listed({ client }: ServerProcess): Promise<string[]> {
  const { subsets = [] } = (await client.get(ENDPOINTS)).object as {
    subsets?: { addresses?: { ip: string }[] }[];
  };
  return subsets.flatMap(({ addresses = [] }) => addresses.map(({ ip }) => ip)).sort();
}

interface LeaderSpec {
  readonly renewTime: string;
  readonly leaseTransitions: number;
}

async function leaderSeen({ client }: ServerProcess): Promise<LeaderSpec> {
  return (await client.get(LEADER)).expect(200).object.spec as LeaderSpec;
}
