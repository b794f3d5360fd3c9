/**
 * Quotas from outside: what people see of them with kubectl, and that three replicas over one etcd
 * never give out more than there is.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { eventually } from "./harness/eventually.js";
import { furnished } from "./harness/furnished-namespace.js";
import type { Answer, HttpsClient } from "./harness/https-client.js";
import { Kubectl } from "./harness/kubectl.js";
import { startServer } from "./harness/server-process.js";
import { openStore, STORE_NAMES } from "./harness/stores.js";
import { startEtcd } from "./tools/etcd.js";

const REPLICAS = 3;
const CREATES = 200;
const HARD = 50;

const OVERRIDES = JSON.stringify({
  apiVersion: "v1",
  spec: {
    containers: [
      {
        name: "c",
        image: "example.com/i:1",
        resources: { requests: { cpu: "300m" }, limits: { cpu: "400m" } },
      },
    ],
  },
});

for (const storeName of STORE_NAMES) {
  test(`kubectl and a quota (${storeName})`, async () => {
    await using store = await openStore(storeName);
    await using server = await startServer(store.etcd);
    await using kubectl = await Kubectl.open(server);
    const run = ["run", "--image=example.com/i:1", "--restart=Never"];
    await kubectl.ok(["create", "namespace", "shop"]);
    const shop = ["--namespace=shop"];
    await furnished(server.client, "shop");
    await kubectl.ok(["create", "quota", "q", "--hard=pods=2,limits.cpu=2,services=0", ...shop]);
    await eventually("the quota is counted", async () => {
      const status = await kubectl.ok(["get", "quota", "q", "-o", "jsonpath={.status}", ...shop]);
      return status.includes('"used"');
    });

    assert.match(
      await kubectl.fails([...run, "bare", ...shop]),
      /pods "bare" is forbidden: failed quota: q: must specify limits\.cpu for: bare/,
    );
    for (const name of ["a", "b"]) {
      await kubectl.ok([...run, name, `--overrides=${OVERRIDES}`, ...shop]);
    }
    assert.match(
      await kubectl.fails([...run, "c", `--overrides=${OVERRIDES}`, ...shop]),
      /Error from server \(Forbidden\): pods "c" is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2/,
    );
    assert.match(
      await kubectl.fails(["create", "service", "clusterip", "s", "--tcp=80", ...shop]),
      /exceeded quota: q, requested: services=1, used: services=0, limited: services=0/,
    );
    const described = await kubectl.ok(["describe", "quota", "q", ...shop]);
    assert.match(described, /limits\.cpu\s+800m\s+2\n/);
    assert.match(described, /pods\s+2\s+2\n/);
    assert.match(await kubectl.ok(["get", "quota", ...shop]), /limits\.cpu: 800m\/2/);

    await kubectl.ok(["delete", "pod", "a", "--now", "--wait=false", ...shop]);
    await eventually("a deletion makes room", async () => {
      const { code } = await kubectl.run([...run, "c", `--overrides=${OVERRIDES}`, ...shop]);
      return code === 0;
    });
    await server.stop();
  });
}

describe("quotas under contention", () => {
  test("200 creates through three replicas end in 50 objects, and deletion makes room", async () => {
    const etcd = await startEtcd();
    const replicas = await Promise.all(
      Array.from({ length: REPLICAS }, () => startServer({ etcdEndpoints: [etcd.endpoint] })),
    );
    try {
      await fillAndFree(replicas.map(({ client }) => client));
    } finally {
      await Promise.all(replicas.map((replica) => replica[Symbol.asyncDispose]()));
      await etcd.stop();
    }
  });
});

async function fillAndFree(clients: readonly HttpsClient[]): Promise<void> {
  const clientOf = (index: number) => clients[index % clients.length] as HttpsClient;
  const namespace = "/api/v1/namespaces/race";
  const maps = `${namespace}/configmaps`;
  // Every namespace gets a map with the authority of the API, which the quota counts too.
  const used = async (index: number) => {
    const { status } = (await clientOf(index).get(`${namespace}/resourcequotas/q`)).object;
    return (status as { used?: Record<string, string> }).used?.["count/configmaps"];
  };
  (await clientOf(0).post("/api/v1/namespaces", { metadata: { name: "race" } })).expect(201);
  await furnished(clientOf(0), "race");
  const spec = { hard: { "count/configmaps": String(HARD) } };
  const quota = { metadata: { name: "q" }, spec };
  (await clientOf(0).post(`${namespace}/resourcequotas`, quota)).expect(201);
  await eventually("the quota is counted", async () => (await used(1)) === "1");

  const answers = await Promise.all(
    Array.from({ length: CREATES }, (_, index) =>
      clientOf(index).post(maps, { metadata: { name: `m${index}` } }),
    ),
  );
  const made = answers.flatMap(({ status }, index) => (status === 201 ? [`m${index}`] : []));
  assert.equal(made.length, HARD - 1);
  for (const answer of answers) if (answer.status !== 201) expectExceeded(answer);
  assert.equal((await clientOf(0).get(maps)).items.length, HARD);
  for (const index of clients.keys()) assert.equal(await used(index), String(HARD));

  await Promise.all(made.map((name, index) => clientOf(index).delete(`${maps}/${name}`)));
  await eventually("the deletions are counted", async () => (await used(2)) === "1");
  (await clientOf(1).post(maps, { metadata: { name: "again" } })).expect(201);
  assert.equal(await used(2), "2");
}

function expectExceeded(answer: Answer): void {
  const { message } = answer.expect(403).object as { message?: string };
  assert.match(
    String(message),
    /exceeded quota: q, requested: count\/configmaps=1, used: count\/configmaps=50, limited: count\/configmaps=50$/,
  );
}
