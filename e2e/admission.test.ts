/**
 * Rules that users bring, with real clients on three replicas over one etcd: a rule that is changed through one
 * replica judges the next write through the other.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import {
  type AdmissionHook,
  openAdmissionHook,
} from "../server/admission/testing/admission-webhook.js";
import {
  binding,
  CONFIG_MAPS,
  configMap,
  policy,
  RULES,
  rule,
  webhook,
} from "./harness/admission-rules.js";
import { eventually } from "./harness/eventually.js";
import type { HttpsClient } from "./harness/https-client.js";
import { isLong } from "./harness/is-long.js";
import { OWN_ADDRESS } from "./harness/node-cluster.js";
import { type ServerProcess, startServer } from "./harness/server-process.js";
import { type EtcdProcess, startEtcd } from "./tools/etcd.js";

const ROUNDS = isLong ? 10_000 : 40;
/** Cluster addresses that something can listen at. */
const CLUSTER_IPS = "--service-cluster-ip-range=127.0.7.0/24";

describe("rules that users bring", () => {
  const servers: ServerProcess[] = [];
  let etcd: EtcdProcess | undefined;
  let hook: AdmissionHook | undefined;

  before(async () => {
    etcd = await startEtcd();
    hook = await openAdmissionHook();
    const etcdEndpoints = [etcd.endpoint];
    const flags = [
      "--run-controllers",
      CLUSTER_IPS,
      "--enable-aggregator-routing",
      "--admission-policy-exclusions=example.com/cars",
    ];
    servers.push(
      ...(await Promise.all([0, 1, 2].map(() => startServer({ etcdEndpoints, flags })))),
    );
  });
  after(async () => {
    await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()));
    await hook?.[Symbol.asyncDispose]();
    await etcd?.[Symbol.asyncDispose]();
  });

  test("a policy that changes through one replica judges the next write through the others, under fire", async () => {
    const clients = servers.map(({ client }) => client);
    const [a] = clients;
    assert.ok(a !== undefined);
    const policies = `${RULES}/validatingadmissionpolicies`;
    const expression = (round: number) => `int(object.data.round) >= ${round}`;
    (await a.post(policies, policy("round", expression(0), "old"))).expect(201);
    (await a.post(`${RULES}/validatingadmissionpolicybindings`, binding("round", "Deny"))).expect(
      201,
    );
    // Writers on each replica that never rest: what the policy said when they began, at least, judges them.
    const rule = { inForce: 0, isOver: false };
    let stale = 0;
    const fire = async (client: HttpsClient, replica: number): Promise<number> => {
      let written = 0;
      for (; !rule.isOver; written++) {
        const atLeast = rule.inForce;
        const shot = configMap(`fire-${replica}-${written}`, { round: String(atLeast - 1) });
        if ((await client.post(CONFIG_MAPS, shot)).status !== 422) stale++;
      }
      return written;
    };
    const firing = clients.map(fire);
    for (let round = 1; round <= ROUNDS; round++) {
      const here = clients[round % clients.length] ?? a;
      const others = clients.filter((client) => client !== here);
      // Without a version: the status of a policy is written behind each change of it.
      const body = { spec: { validations: [{ expression: expression(round), message: "old" }] } };
      (await here.patch(`${policies}/round`, body)).expect(200);
      rule.inForce = round;
      const data = (value: number) => ({ round: String(value) });
      await Promise.all(
        others.map(async (there, other) => {
          const name = `${round}-${other}`;
          const late = await there.post(CONFIG_MAPS, configMap(`late-${name}`, data(round - 1)));
          if (late.status !== 422) stale++;
          const good = await there.post(CONFIG_MAPS, configMap(`good-${name}`, data(round)));
          good.expect(201, `round ${round}`);
        }),
      );
    }
    rule.isOver = true;
    for (const written of await Promise.all(firing)) assert.ok(written > 0);
    assert.equal(stale, 0, "writes judged by an older rule");
    (await a.delete(`${policies}/round`)).expect(200);
  });

  test("the types of a policy are checked for each generation, by built-in and custom schemas", async () => {
    const [client] = servers.map((server) => server.client);
    assert.ok(client !== undefined);
    const properties = { spec: { type: "object", properties: { doors: { type: "integer" } } } };
    const names = { plural: "cars", singular: "car", kind: "Car" };
    const schema = { openAPIV3Schema: { type: "object", properties } };
    const versions = [{ name: "v1", served: true, storage: true, schema }];
    const spec = { group: "example.com", scope: "Cluster", names, versions };
    const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    (await client.post(definitions, { metadata: { name: "cars.example.com" }, spec })).expect(201);
    await eventually("cars are served", async () =>
      (await client.get("/apis/example.com/v1/cars")).expect(200),
    );

    const checked = policy("checked", "object.spec.doors > 1 && object.data.a == 'b'", "no");
    const { spec: written } = checked as { spec: { matchConstraints: object } };
    const about = { ...rule, apiGroups: ["", "example.com"], resources: ["configmaps", "cars"] };
    written.matchConstraints = { resourceRules: [about] };
    const policies = `${RULES}/validatingadmissionpolicies`;
    (await client.post(policies, checked)).expect(201);
    const untilChecked = (generation: number) =>
      eventually("the policy is checked", async () => {
        const { object } = (await client.get(`${policies}/checked`)).expect(200);
        const { status } = object as { status?: { observedGeneration?: number } };
        assert.equal(status?.observedGeneration, generation);
        return object;
      });
    const first = await untilChecked(1);
    const shown = " | object.spec.doors > 1 && object.data.a == 'b'";
    assert.deepEqual(first.status, {
      observedGeneration: 1,
      typeChecking: {
        expressionWarnings: [
          {
            fieldRef: "spec.validations[0].expression",
            warning: [
              "/v1, Kind=ConfigMap: ERROR: <input>:1:7: undefined field 'spec'",
              `${shown}\n | ......^\n`,
              "example.com/v1, Kind=Car: ERROR: <input>:1:32: undefined field 'data'",
              `${shown}\n | ...............................^\n`,
            ].join("\n"),
          },
        ],
      },
    });
    const { spec: current } = first as unknown as { spec: { validations: object[] } };
    current.validations = [{ expression: "object.metadata.name != ''" }];
    (await client.put(`${policies}/checked`, first)).expect(200);
    assert.deepEqual((await untilChecked(2)).status, { observedGeneration: 2, typeChecking: {} });
  });

  test("policies have no say about what a flag excludes, defined while the server runs", async () => {
    const [client] = servers.map((server) => server.client);
    assert.ok(client !== undefined);
    const judged = policy("excluding", "false", "no more");
    const { spec } = judged as { spec: { matchConstraints: object; matchConditions: object[] } };
    const about = { ...rule, apiGroups: ["", "example.com"], resources: ["configmaps", "cars"] };
    spec.matchConstraints = { resourceRules: [about] };
    spec.matchConditions = [{ name: "mine", expression: "object.metadata.name == 'excluding'" }];
    (await client.post(`${RULES}/validatingadmissionpolicies`, judged)).expect(201);
    const bound = binding("excluding", "Deny");
    (await client.post(`${RULES}/validatingadmissionpolicybindings`, bound)).expect(201);
    const { metadata } = configMap("excluding", {});
    for (const { client: each } of servers) {
      (await each.post(CONFIG_MAPS, { metadata })).expect(422);
      const car = { apiVersion: "example.com/v1", kind: "Car", metadata };
      (await each.post("/apis/example.com/v1/cars", car)).expect(201);
      (await each.delete("/apis/example.com/v1/cars/excluding")).expect(200);
    }
  });

  test("each object of a collection that is deleted is asked about, and one refusal ends it", async () => {
    const [client] = servers.map((server) => server.client);
    assert.ok(client !== undefined && hook !== undefined);
    (await client.post("/api/v1/namespaces", { metadata: { name: "asked" } })).expect(201);
    const labelled = (name: string) => ({ metadata: { name, labels: { mine: "yes" } } });
    const collection = CONFIG_MAPS.replace("default", "asked");
    for (const name of ["a", "b", "c"]) (await client.post(collection, labelled(name))).expect(201);
    const all = `${collection}?labelSelector=${"mine%3Dyes"}`;
    const names = async () => (await client.get(all)).items.map(({ metadata }) => metadata.name);
    const deletions = {
      ...webhook("deletions.example.com", hook, { operations: ["DELETE"] }),
      namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "asked" } },
    };
    const configuration = { metadata: { name: "deletions" }, webhooks: [deletions] };
    (await client.post(`${RULES}/validatingwebhookconfigurations`, configuration)).expect(201);

    const nameIn = (request: AdmissionHook["requests"][number]) =>
      (request.oldObject as { metadata: { name: string } }).metadata.name;
    hook.respond = (request) => ({
      allowed: nameIn(request) !== "b",
      status: { message: "b stays" },
    });
    const refused = (await client.delete(all)).expect(400);
    assert.match(refused.text, /\\"deletions.example.com\\" denied the request: b stays/);
    assert.ok((await names()).includes("b"));

    hook.respond = () => ({ allowed: true });
    hook.requests.length = 0;
    const left = await names();
    (await client.delete(all)).expect(200);
    assert.deepEqual(await names(), []);
    assert.deepEqual(hook.requests.map(nameIn).sort(), left.sort());
    for (const { operation, object, oldObject, options } of hook.requests) {
      assert.equal(operation, "DELETE");
      assert.equal(object, null);
      assert.equal((oldObject as { kind?: string }).kind, "ConfigMap");
      assert.equal((options as { kind?: string }).kind, "DeleteOptions");
    }
  });

  test("a webhook that dies under fire costs its failure policy, and nothing else", async () => {
    await using dying = await openAdmissionHook();
    const [client] = servers.map((server) => server.client);
    assert.ok(client !== undefined);
    const webhooks = (["Ignore", "Fail"] as const).map((failurePolicy) => ({
      ...webhook(`${failurePolicy.toLowerCase()}.example.com`, dying, rule),
      failurePolicy,
      objectSelector: { matchLabels: { failure: failurePolicy } },
    }));
    const configuration = { metadata: { name: "dying" }, webhooks };
    (await client.post(`${RULES}/validatingwebhookconfigurations`, configuration)).expect(201);
    const fire = { isOver: false, isDead: false };
    const writers = servers.map(async ({ client }, replica) => {
      const after = { Ignore: 0, Fail: 0, none: 0 };
      for (let shot = 0; !fire.isOver; shot++) {
        for (const failure of ["Ignore", "Fail", "none"] as const) {
          const wasDead = fire.isDead;
          const metadata = {
            name: `${failure.toLowerCase()}-${replica}-${shot}`,
            labels: { failure },
          };
          const answer = await client.post(CONFIG_MAPS, { ...configMap("", {}), metadata });
          if (failure !== "Fail" || !fire.isDead) answer.expect(201, failure);
          else if (wasDead) {
            answer.expect(500);
            assert.match(answer.text, /failed calling webhook \\"fail.example.com\\"/);
          }
          if (wasDead) after[failure]++;
        }
      }
      return after;
    });
    const judged = Promise.all(writers);
    judged.catch(() => {});
    const ofIgnore = `${CONFIG_MAPS}?labelSelector=failure%3DIgnore`;
    const written = async () => (await client.get(ofIgnore)).items.length;
    try {
      await eventually("the webhook is asked", () => dying.requests.length > 20);
      fire.isDead = true;
      await dying[Symbol.asyncDispose]();
      const atDeath = await written();
      await eventually("writers go on", async () => (await written()) > atDeath + 20);
    } finally {
      fire.isOver = true;
    }
    for (const counts of await judged) assert.ok(Math.min(...Object.values(counts)) > 0);
  });

  /** A webhook that is reached by the Service `hooks`; at this address, so that slices may name it. */
  async function openServiceHook(address: string, says: string): Promise<AdmissionHook> {
    const opened = await openAdmissionHook(undefined, { address, hosts: ["hooks.default.svc"] });
    opened.respond = () => ({ allowed: true, warnings: [says] });
    return opened;
  }

  test("a webhook behind a Service is asked where the Service is now, while it moves under writes", {
    skip: OWN_ADDRESS === undefined && "this machine has loopback addresses only",
  }, async () => {
    const address = OWN_ADDRESS ?? "";
    await using first = await openServiceHook(address, "first");
    await using second = await openServiceHook(address, "second");
    await using third = await openServiceHook(address, "third");
    await using inside = await openServiceHook("127.0.7.7", "inside");
    const [client] = servers.map((server) => server.client);
    assert.ok(client !== undefined);
    const portOf = ({ stub }: AdmissionHook) => Number(new URL(stub.url).port);
    const services = "/api/v1/namespaces/default/services";
    const spec = { clusterIP: "None", ports: [{ port: 443 }] };
    (await client.post(services, { metadata: { name: "hooks" }, spec })).expect(201);

    const slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
    const sliceOf = (port: number, ready: boolean) => ({
      metadata: { name: "hooks-1", labels: { "kubernetes.io/service-name": "hooks" } },
      addressType: "IPv4",
      ports: [{ port }],
      endpoints: [{ addresses: [address], conditions: { ready } }],
    });
    (await client.post(slices, sliceOf(portOf(first), true))).expect(201);
    const move = async (port: number, ready: boolean) =>
      (await client.put(`${slices}/hooks-1`, sliceOf(port, ready))).expect(200);

    const caBundle = [first, second, third, inside].map(({ stub }) => stub.ca).join("");
    const judge = {
      ...webhook("moving.example.com", first, rule),
      clientConfig: {
        service: { namespace: "default", name: "hooks", path: "/review" },
        caBundle: Buffer.from(caBundle).toString("base64"),
      },
      objectSelector: { matchLabels: { via: "service" } },
    };
    const configurations = `${RULES}/validatingwebhookconfigurations`;
    const made = { metadata: { name: "moving" }, webhooks: [judge] };
    (await client.post(configurations, made)).expect(201);

    // Somebody impersonated waits until the view is fresh; an administrator as such would not.
    const headers = { "impersonate-user": "writer", "impersonate-group": "system:masters" };
    let shots = 0;
    const write = async (through: HttpsClient) => {
      const metadata = { name: `moving-${shots++}`, labels: { via: "service" } };
      const body = { ...configMap("", {}), metadata };
      return await through.request(CONFIG_MAPS, { method: "POST", headers, body });
    };
    const fire = { isOver: false };
    const statuses = new Set<number>();
    const writers = Promise.all(
      servers.map(async (server) => {
        while (!fire.isOver) statuses.add((await write(server.client)).status);
      }),
    );
    writers.catch(() => {});
    /** The next write through each replica. */
    const judgedBy = async (who: string) => {
      const answers = await Promise.all(servers.map((server) => write(server.client)));
      for (const answer of answers) {
        assert.equal(answer.expect(201, who).headers.warning, `299 - "${who}"`);
      }
    };
    try {
      await judgedBy("first");
      await move(portOf(second), true);
      await judgedBy("second");
      assert.deepEqual([...statuses], [201]);

      await move(portOf(second), false);
      for (const server of servers) {
        const refused = (await write(server.client)).expect(500);
        assert.match(
          String(refused.object.message),
          /Post "https:\/\/hooks.default.svc:443\/review\?timeout=10s": no endpoints available for service "hooks"$/,
        );
      }
      await second[Symbol.asyncDispose]();
      await move(portOf(third), true);
      await judgedBy("third");

      // Within the cluster's network a Service is asked at its cluster IP, whatever its endpoints are (A10).
      const etcdEndpoints = [etcd?.endpoint ?? ""];
      await using within = await startServer({ etcdEndpoints, flags: [CLUSTER_IPS] });
      const headless = (await write(within.client)).expect(500);
      assert.match(
        String(headless.object.message),
        /: cannot route to service with ClusterIP "None"$/,
      );
      (await client.delete(`${services}/hooks`)).expect(200);
      const port = portOf(inside);
      const ports = [{ port }];
      const placed = { metadata: { name: "hooks" }, spec: { clusterIP: "127.0.7.7", ports } };
      (await client.post(services, placed)).expect(201);
      const service = { ...judge.clientConfig.service, port };
      const moved = { ...judge, clientConfig: { ...judge.clientConfig, service } };
      const patch = {
        method: "PATCH",
        headers: { "content-type": "application/merge-patch+json" },
        body: { webhooks: [moved] },
      };
      (await client.request(`${configurations}/moving`, patch)).expect(200);
      const placedThere = (await write(within.client)).expect(201);
      assert.equal(placedThere.headers.warning, '299 - "inside"');
    } finally {
      fire.isOver = true;
      await writers;
      await client.delete(`${configurations}/moving`);
    }
  });
});
