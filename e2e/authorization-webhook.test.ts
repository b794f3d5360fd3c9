/**
 * Webhooks that decide, in two replicas over one etcd and one Redis: what one replica was told the
 * other knows, Redis may die at any time without letting anybody in, and a changed configuration is in
 * force within a minute.
 */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { Redis } from "ioredis";
import {
  openWebhookStub,
  type StubCall,
  type WebhookStub,
  withStatus,
} from "../server/client/testing/webhook-stub.js";
import { eventually } from "./harness/eventually.js";
import { type Answer, HttpsClient } from "./harness/https-client.js";
import { Kubectl } from "./harness/kubectl.js";
import { refusalAtStart } from "./harness/refusal-at-start.js";
import { type ServerProcess, startServer } from "./harness/server-process.js";
import { makeTempDir, type TempDir } from "./harness/temp-dir.js";
import { TestAuthority } from "./harness/test-authority.js";
import { type EtcdProcess, startEtcd } from "./tools/etcd.js";
import { freePort } from "./tools/free-port.js";
import { type RedisProcess, startRedis } from "./tools/redis.js";

const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const SECRET_REASON = "because-of-the-moon";

function configText(webhooks: readonly object[], others = ["RBAC"]): string {
  return JSON.stringify({
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "AuthorizationConfiguration",
    authorizers: [...webhooks, ...others.map((type) => ({ type, name: type.toLowerCase() }))],
  });
}

function webhook(name: string, kubeConfigFile: string, options: object = {}): object {
  return {
    type: "Webhook",
    name,
    webhook: {
      timeout: "30s",
      subjectAccessReviewVersion: "v1",
      matchConditionSubjectAccessReviewVersion: "v1",
      failurePolicy: "Deny",
      connectionInfo: { type: "KubeConfigFile", kubeConfigFile },
      matchConditions: [{ expression: "'dev' in request.groups" }],
      ...options,
    },
  };
}

/** What the stub says: developers may read config maps; one name is denied, the rest is not known. */
function decide({ body }: StubCall) {
  const { resource, name } = (body.spec.resourceAttributes ?? {}) as Record<string, string>;
  if (name === "forbidden") return withStatus(body, { denied: true, reason: SECRET_REASON });
  return withStatus(body, { allowed: resource === "configmaps" });
}

describe("webhooks that decide", () => {
  let dir: TempDir;
  let etcd: EtcdProcess;
  let redis: RedisProcess;
  let stub: WebhookStub;
  let replicas: ServerProcess[] = [];
  let jane: HttpsClient[] = [];
  let joe: HttpsClient[] = [];
  let config: string;
  let kubeconfig: string;

  before(async () => {
    dir = await makeTempDir("authorization-webhook");
    [etcd, redis, stub] = await Promise.all([startEtcd(), startRedis(), openWebhookStub(decide)]);
    const clients = await TestAuthority.create();
    kubeconfig = await dir.write("kubeconfig", stub.kubeconfig);
    config = await dir.write("authorization.yaml", configText([webhook("first", kubeconfig)]));
    const flags = [
      `--client-ca-file=${await dir.write("clients.pem", clients.certificate)}`,
      `--authorization-config=${config}`,
      `--authorization-webhook-cache-redis=${redis.url}`,
    ];
    const etcdEndpoints = [etcd.endpoint];
    const starts = Array.from({ length: 2 }, () => startServer({ etcdEndpoints, flags }));
    replicas = await Promise.all(starts);
    const connect = async (name: string, organization: string) => {
      const identity = await clients.issueClient(name, [organization]);
      return replicas.map(({ url, credentials }) => {
        return new HttpsClient(url, { ca: credentials.ca, ...identity });
      });
    };
    jane = await connect("jane", "dev");
    joe = await connect("joe", "sales");
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "shared" } };
    (await replicas[0]?.client.request(CONFIG_MAPS, { method: "POST", body }))?.expect(201);
  });

  after(async () => {
    for (const client of [...jane, ...joe]) client.close();
    for (const replica of replicas) await replica[Symbol.asyncDispose]();
    await stub?.[Symbol.asyncDispose]();
    await redis?.[Symbol.asyncDispose]();
    await etcd?.[Symbol.asyncDispose]();
    await dir?.[Symbol.asyncDispose]();
  });

  const get = async (clients: HttpsClient[], replica: number, name: string): Promise<Answer> => {
    const client = clients[replica];
    assert.ok(client !== undefined);
    return await client.get(`${CONFIG_MAPS}/${name}`);
  };
  const metric = async (replica: number, line: string): Promise<number> => {
    const text = (await replicas[replica]?.client.get("/metrics"))?.expect(200).text ?? "";
    const found = text.split("\n").find((row) => row.startsWith(`${line} `));
    return Number(found?.split(" ").at(-1) ?? 0);
  };
  const hits = (replica: number, layer: string) =>
    metric(replica, `apiserver_authorization_webhook_cache_hits_total{layer="${layer}"}`);
  const isWritten = async (keys: number) => {
    const admin = new Redis(redis.url);
    await eventually("written to Redis", async () => (await admin.dbsize()) >= keys);
    admin.disconnect();
  };

  test("S2-AZC-22, S2-AZC-23: replica A asks, replica B knows", async () => {
    (await get(jane, 0, "shared")).expect(200);
    (await get(jane, 0, "shared")).expect(200);
    await isWritten(1);
    assert.equal(stub.calls.length, 1);
    (await get(jane, 1, "shared")).expect(200);
    (await get(jane, 1, "shared")).expect(200);
    assert.equal(stub.calls.length, 1);
    assert.deepEqual([await hits(0, "process"), await hits(0, "redis")], [1, 0]);
    assert.deepEqual([await hits(1, "process"), await hits(1, "redis")], [1, 1]);
    const evaluations = `apiserver_authorization_webhook_evaluations_total{name="first",result="success"}`;
    assert.equal(await metric(0, evaluations), 1);
    const decisions = `apiserver_authorization_decisions_total{type="Webhook",name="first",decision="allowed"}`;
    assert.equal(await metric(0, decisions), 2);
  });

  test("S2-AZC-22: a denial says why, no opinion is a denial when nobody else has one", async () => {
    const denied = (await get(jane, 0, "forbidden")).expect(403);
    assert.match(String(denied.object.message), new RegExp(`cannot get .*: ${SECRET_REASON}$`));
    await isWritten(2);
    const remembered = (await get(jane, 1, "forbidden")).expect(403);
    assert.match(String(remembered.object.message), /cannot get resource "configmaps"/);
    (await jane[0]?.get("/api/v1/namespaces/default/secrets"))?.expect(403);
  });

  test("S2-AZC-17: whom the conditions leave out is not asked about, and RBAC decides", async () => {
    const before = stub.calls.length;
    (await get(joe, 0, "shared")).expect(403);
    assert.equal(stub.calls.length, before);
    const exclusions = `apiserver_authorization_match_condition_exclusions_total{type="Webhook",name="first"}`;
    assert.ok((await metric(0, exclusions)) >= 1);
  });

  test("S2-AZ-19: a list's selectors reach the webhook", async () => {
    (await jane[0]?.get(`${CONFIG_MAPS}?labelSelector=tier%3Dweb`))?.expect(200);
    assert.deepEqual(stub.calls.at(-1)?.body.spec.resourceAttributes, {
      namespace: "default",
      verb: "list",
      version: "v1",
      resource: "configmaps",
      labelSelector: { requirements: [{ key: "tier", operator: "In", values: ["web"] }] },
    });
  });

  test("S2-SAR-08: access reviews ask the webhook like requests do", async () => {
    await using kubectl = await Kubectl.open(replicas[0] as ServerProcess);
    const as = ["--as=jane", "--as-group=dev"];
    const can = async (...what: string[]) =>
      (await kubectl.run(["auth", "can-i", ...what, ...as])).stdout.trim();
    assert.equal(await can("get", "configmaps/whatever"), "yes");
    assert.match(await can("get", "configmaps/forbidden"), /^no/);
    assert.match(await can("delete", "nodes"), /^no/);
  });

  test("nothing secret and nothing readable is in Redis", async () => {
    const admin = new Redis(redis.url);
    const keys = await admin.keys("*");
    assert.ok(keys.length >= 3);
    for (const key of keys) {
      assert.match(key, /^keelson:authorization:[0-9a-f]{64}$/);
      assert.match(String(await admin.get(key)), /^1:(allow|deny|no-opinion)$/);
    }
    admin.disconnect();
  });

  test("S2-AZC-23: garbage, a stopped and a killed Redis change no decision", async () => {
    const admin = new Redis(redis.url, { maxRetriesPerRequest: null });
    admin.on("error", () => {});
    for (const key of await admin.keys("*")) await admin.set(key, "1:allow for all");
    const check = async (round: string) => {
      for (const replica of [0, 1]) {
        (await get(jane, replica, `${round}-${replica}`)).expect(404);
        (await get(jane, replica, "forbidden")).expect(403);
        (await get(joe, replica, `${round}-${replica}`)).expect(403);
      }
    };
    await check("garbage");
    redis.pause();
    await check("stopped");
    redis.resume();
    await redis.kill();
    await check("killed");
    assert.ok((await metric(1, "apiserver_authorization_webhook_cache_fallbacks_total")) >= 1);
    await redis.restart();
    await check("restarted");
    await eventually("shared again", async () => {
      (await get(jane, 0, `again-${stub.calls.length}`)).expect(404);
      return (await admin.dbsize()) > 0;
    });
    admin.disconnect();
  });

  test("S2-AZC-11, S2-AZC-12: without the webhook, and with Redis dead, nobody gets in by mistake", async () => {
    stub.answer = () => ({ body: "<html>" });
    (await get(jane, 0, "unasked-1")).expect(500);
    await redis.kill();
    (await get(jane, 1, "unasked-1")).expect(500);
    stub.answer = decide;
    (await get(jane, 0, "unasked-1")).expect(404);
    (await get(jane, 1, "unasked-1")).expect(404);
    await redis.restart();
  });

  test("S2-AZC-19, S2-AZC-20: a changed configuration is in force on all replicas, a bad one changes nothing", async () => {
    const reloads = (replica: number, status: string) =>
      // The hash of the replica's name follows.
      metricStarting(
        replica,
        `apiserver_authorization_config_controller_automatic_reloads_total{status="${status}"`,
      );
    const metricStarting = async (replica: number, start: string) => {
      const text = (await replicas[replica]?.client.get("/metrics"))?.text ?? "";
      const found = text.split("\n").find((row) => row.startsWith(start));
      return Number(found?.split(" ").at(-1) ?? 0);
    };
    const everywhere = async (what: string, probe: (replica: number) => Promise<boolean>) => {
      for (const replica of [0, 1]) await eventually(what, () => probe(replica));
    };
    await writeFile(config, configText([]));
    await everywhere("nobody but RBAC decides", async (replica) => {
      return (await get(jane, replica, "shared")).status === 403;
    });
    await writeFile(config, configText([webhook("first", kubeconfig)], ["RBAC", "AlwaysAllow"]));
    await everywhere("the bad one is counted", async (replica) => {
      return (await reloads(replica, "failure")) === 1;
    });
    for (const replica of [0, 1]) (await get(jane, replica, "shared")).expect(403);
    await writeFile(config, configText([webhook("first", kubeconfig, { timeout: "3s" })]));
    await everywhere("the webhook decides again", async (replica) => {
      return (await get(jane, replica, "shared")).status === 200;
    });
    assert.equal(await reloads(0, "success"), 2);
  });

  test("no log line holds the reason, a token or a key", async () => {
    const text = replicas.map(({ logs }) => logs).join();
    const key = (await readFile(kubeconfig, "utf8")).match(/client-key-data":"([^"]+)/)?.[1];
    assert.ok(key !== undefined && !text.includes(key));
    assert.ok(!text.includes("PRIVATE KEY"));
  });
});

describe("webhooks by flags", () => {
  test("S2-AZ-06, S2-AZ-07: --authorization-mode=Webhook,RBAC asks in v1beta1 without conditions", async () => {
    await using dir = await makeTempDir("authorization-flags");
    await using stub = await openWebhookStub(({ body }) =>
      withStatus(body, { allowed: body.spec.user === "jane" }),
    );
    const kubeconfig = join(dir.path, "kubeconfig");
    await writeFile(kubeconfig, stub.kubeconfig);
    const clients = await TestAuthority.create();
    await dir.write("clients.pem", clients.certificate);
    await using server = await startServer({
      flags: [
        "--authorization-mode=Webhook,RBAC",
        `--authorization-webhook-config-file=${kubeconfig}`,
        `--client-ca-file=${join(dir.path, "clients.pem")}`,
      ],
    });
    const { ca } = server.credentials;
    const identity = await clients.issueClient("jane", ["dev"]);
    const jane = new HttpsClient(server.url, { ca, ...identity });
    (await jane.get("/api/v1/nodes")).expect(200);
    jane.close();
    const sent = stub.calls.find(({ body }) => body.spec.user === "jane")?.body;
    assert.equal(sent?.apiVersion, "authorization.k8s.io/v1beta1");
    assert.deepEqual(sent?.spec.group, ["dev", "system:authenticated"]);
  });

  test("S2-AZC-23: a replica starts, works and ends without the Redis that it was told of", async () => {
    await using dir = await makeTempDir("authorization-flags");
    await using stub = await openWebhookStub();
    const kubeconfig = join(dir.path, "kubeconfig");
    await writeFile(kubeconfig, stub.kubeconfig);
    await dir.write("password", "open sesame");
    const clients = await TestAuthority.create();
    await dir.write("clients.pem", clients.certificate);
    await using server = await startServer({
      flags: [
        "--authorization-mode=Webhook",
        `--authorization-webhook-config-file=${kubeconfig}`,
        `--client-ca-file=${join(dir.path, "clients.pem")}`,
        `--authorization-webhook-cache-redis=redis://127.0.0.1:${await freePort()}`,
        `--authorization-webhook-cache-redis-password-file=${join(dir.path, "password")}`,
      ],
    });
    const { ca } = server.credentials;
    const jane = new HttpsClient(server.url, { ca, ...(await clients.issueClient("jane")) });
    (await jane.get("/api/v1/nodes")).expect(200);
    jane.close();
    assert.ok(!server.logs.includes("open sesame"));
    await server.stop();
  });

  test("S2-AZ-08, S2-AZC-08, S2-AZC-15: what cannot be is one clear line", async () => {
    await using dir = await makeTempDir("authorization-flags");
    const kubeconfig = await dir.write("kubeconfig", "{}");
    const good = await dir.write("good.yaml", configText([]));
    const late = webhook("w", kubeconfig, { timeout: "31s" });
    const inside = { type: "InClusterConfig" };
    const own = webhook("w", kubeconfig, { connectionInfo: inside });
    const cases: readonly (readonly [readonly string[], RegExp])[] = [
      [
        [`--authorization-config=${good}`, "--authorization-mode=RBAC"],
        /--authorization-mode can not be specified when --authorization-config/,
      ],
      [
        [`--authorization-config=${await dir.write("late.yaml", configText([late]))}`],
        /authorizers\[0\].timeout: Invalid value: "31s": must be > 0s and <= 30s/,
      ],
      [
        [`--authorization-config=${await dir.write("own.yaml", configText([own]))}`],
        /connectionInfo.type: Invalid value: "InClusterConfig": not allowed/,
      ],
      [
        [
          `--authorization-config=${await dir.write("abac.yaml", configText([{ type: "ABAC", name: "abac" }]))}`,
        ],
        /authorization-mode ABAC's authorization policy file not passed/,
      ],
      [[`--authorization-config=${join(dir.path, "none")}`], /none/],
      [["--authorization-mode=Webhook"], /authorization config file not passed/],
      [["--authorization-mode=Sometimes"], /Sometimes/],
      [
        ["--authorization-webhook-cache-redis=http://:pw@x"],
        /address of Redis must be redis:\/\/host:port/,
      ],
      // Refused after connections were opened.
      [
        [
          `--authorization-webhook-cache-redis=redis://127.0.0.1:${await freePort()}`,
          `--authorization-config=${await dir.write("torn.yaml", "{")}`,
        ],
        /torn\.yaml/,
      ],
    ];
    for (const [flags, expected] of cases) {
      const refusal = await refusalAtStart(flags);
      assert.match(refusal, expected);
      assert.ok(!refusal.includes(":pw@"), refusal);
      assert.equal(refusal.split("\n").length, 1, refusal);
    }
  });
});
