/** Priority and fairness on running replicas: default objects, what is in force when, and who waits. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { connect, type TLSSocket } from "node:tls";
import { eventually } from "./harness/eventually.js";
import { danglingOf, defaultFlowSchemas, FLOW_SCHEMAS } from "./harness/flow-schemas.js";
import { grantEverybody } from "./harness/grant.js";
import { type ApiObject, HttpsClient } from "./harness/https-client.js";
import { Kubectl } from "./harness/kubectl.js";
import { type ServerProcess, startServer } from "./harness/server-process.js";
import { startEtcd } from "./tools/etcd.js";

const API = "/apis/flowcontrol.apiserver.k8s.io/v1";
const LEVELS = `${API}/prioritylevelconfigurations`;
const MAPS = "/api/v1/namespaces/default/configmaps";
const AUTO_UPDATE = "apf.kubernetes.io/autoupdate-spec";
const JANE = { "impersonate-user": "jane", "impersonate-group": "system:authenticated" };
/** Too much for the buffers between a server and a client that does not read. */
const LARGE = "x".repeat(900_000);

test("the default levels and schemas are there, named in answers, and made again when they are gone", async () => {
  await using server = await startServer();
  const { client } = server;
  const names = await defaultFlowSchemas(client);
  assert.ok(names.includes("global-default") && names.includes("catch-all"));

  const [level, schema] = await Promise.all([
    client.get(`${LEVELS}/exempt`),
    client.get(`${FLOW_SCHEMAS}/exempt`),
  ]);
  assert.equal(level.headers["x-kubernetes-pf-prioritylevel-uid"], level.object.metadata.uid);
  assert.equal(level.headers["x-kubernetes-pf-flowschema-uid"], schema.object.metadata.uid);

  // A mandatory one cannot be changed; a suggested one that somebody has taken over stays as they want it.
  const fixed = await client.patch(`${LEVELS}/catch-all`, {
    spec: { limited: { nominalConcurrencyShares: 77 } },
  });
  fixed.expect(422);
  assert.match(fixed.text, /spec of 'catch-all' must equal the fixed value/);
  await change(client, `${LEVELS}/workload-low`, {
    metadata: { annotations: { [AUTO_UPDATE]: "false" } },
    spec: { limited: { nominalConcurrencyShares: 7 } },
  });
  (await client.delete(`${FLOW_SCHEMAS}/probes`)).expect(200);
  await eventually("the deleted one is made again", async () => {
    return (await client.get(`${FLOW_SCHEMAS}/probes`)).status === 200;
  });
  assert.equal(sharesOf((await client.get(`${LEVELS}/workload-low`)).object), 7);

  // A schema of a level that is not there says so, until there is one.
  (await client.post(FLOW_SCHEMAS, schemaOf("lost", "not-there", "somebody"))).expect(201);
  const dangling = () =>
    client.get(`${FLOW_SCHEMAS}/lost`).then(({ object }) => danglingOf(object));
  await eventually("the schema dangles", async () => (await dangling()) === "True");
  (await client.post(LEVELS, levelOf("not-there", "Queue"))).expect(201);
  await eventually("the schema has its level", async () => (await dangling()) === "False");
});

test("the documentation's examples decide about the requests that they are for, and about no others", async () => {
  await using server = await startServer({ flags: ["--anonymous-auth=true"] });
  const { client } = server;
  await grantEverybody(client, "view");
  // Health for those whom nobody knows, and lists of events by one account.
  const strangers = schemaOf("health-for-strangers", "exempt", "");
  strangers.spec = {
    priorityLevelConfiguration: { name: "exempt" },
    matchingPrecedence: 1000,
    rules: [
      {
        subjects: [{ kind: "Group", group: { name: "system:unauthenticated" } }],
        nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["/healthz", "/livez", "/readyz"] }],
      },
    ],
  };
  const events = schemaOf("list-events-default-service-account", "catch-all", "");
  events.spec = {
    priorityLevelConfiguration: { name: "catch-all" },
    matchingPrecedence: 8000,
    distinguisherMethod: { type: "ByUser" },
    rules: [
      {
        subjects: [
          { kind: "ServiceAccount", serviceAccount: { namespace: "default", name: "default" } },
        ],
        resourceRules: [
          { verbs: ["list"], apiGroups: ["*"], resources: ["events"], namespaces: ["default"] },
        ],
      },
    ],
  };
  await using kubectl = await Kubectl.open(server);
  for (const schema of [strangers, events]) {
    const { stdout } = await kubectl.run(["apply", "-f", "-"], JSON.stringify(schema));
    assert.match(stdout, /created/);
  }

  const account = {
    "impersonate-user": "system:serviceaccount:default:default",
    "impersonate-group": "system:authenticated",
  };
  const items = await eventually("all are there", async () => {
    const { items } = await client.get(FLOW_SCHEMAS);
    return items.length === 13 ? items : undefined;
  });
  const nameOfSchema = (answer: { readonly headers: NodeJS.Dict<string | string[]> }) => {
    const uid = answer.headers["x-kubernetes-pf-flowschema-uid"];
    return items.find(({ metadata }) => metadata.uid === uid)?.metadata.name;
  };
  const as = (path: string, headers: Record<string, string>) => client.request(path, { headers });
  const anonymous = new HttpsClient(server.url, { ca: server.credentials.ca });
  const namespace = "/api/v1/namespaces/default";
  assert.deepEqual(
    [
      // The default schema of probes comes before, and means `get` alone.
      nameOfSchema(await anonymous.get("/healthz")),
      nameOfSchema(await anonymous.request("/healthz", { method: "HEAD" })),
      nameOfSchema(await anonymous.get("/version")),
      nameOfSchema(await as(`${namespace}/events`, account)),
      nameOfSchema(await as("/apis/events.k8s.io/v1/namespaces/default/events", account)),
      nameOfSchema(await as(`${namespace}/events`, JANE)),
      nameOfSchema(await as(`${namespace}/events/x`, account)),
      nameOfSchema(await as("/api/v1/namespaces/kube-system/events", account)),
    ],
    [
      "probes",
      "health-for-strangers",
      "global-default",
      ...Array(2).fill("list-events-default-service-account"),
      ...Array(3).fill("global-default"),
    ],
  );
  anonymous.close();
});

test("a tenant that fills its level is refused on every replica at once, others are not, until it is given more", async () => {
  await using etcd = await startEtcd();
  const etcdFlags = [`--etcd-servers=${etcd.endpoint}`, "--run-controllers=false"];
  await using one = await startServer({ flags: [...etcdFlags, "--max-requests-inflight=20"] });
  await using two = await startServer({ flags: [...etcdFlags, "--max-requests-inflight=20"] });
  await grantEverybody(one.client, "edit");
  (await one.client.post(MAPS, { metadata: { name: "large-0" } })).expect(201);

  (await one.client.post(LEVELS, levelOf("tiny", "Reject"))).expect(201);
  (await one.client.post(FLOW_SCHEMAS, schemaOf("jane", "tiny", "jane"))).expect(201);
  // Her write holds the level's seat for as long as its body has not come.
  using stalled = await openUnfinishedWrite(two, JANE);
  const refused = await two.client.request(`${MAPS}/large-0`, { headers: JANE });
  refused.expect(429);
  assert.equal(refused.headers["retry-after"], "1");
  assert.match(
    String(refused.object.message),
    /^Too many requests, please try again later: priority level "tiny", flow schema "jane", concurrency-limit: 1 of 1 seats in use, your share is 1.0, 0 of the 0 requests that wait are yours, about \d+\.\d s/,
  );
  const other = { ...JANE, "impersonate-user": "john" };
  (await two.client.request(`${MAPS}/large-0`, { headers: other })).expect(200);
  (await two.client.get(`${MAPS}/large-0`)).expect(200);
  const scraped = (await two.client.get("/metrics")).text;
  assert.match(
    scraped,
    /apiserver_flowcontrol_rejected_requests_total\{priority_level="tiny",flow_schema="jane",reason="concurrency-limit"\} 1/,
  );
  const page = await two.client.get("/debug/api_priority_and_fairness/dump_priority_levels");
  assert.match(page.text, /tiny, +0, +false, +false, +0, +1, +1, +1, +0, +0\n/);

  // With queues, she waits for what she has taken herself, and gets it when that is over.
  (await one.client.put(`${LEVELS}/tiny`, levelOf("tiny", "Queue"))).expect(200);
  const waiting = two.client.request(`${MAPS}/large-0`, { headers: JANE });
  await eventually("her request waits", async () => {
    const { text } = await two.client.get("/metrics");
    return text.includes(
      'apiserver_flowcontrol_current_inqueue_requests{priority_level="tiny",flow_schema="jane"} 1',
    );
  });
  stalled.socket.destroy();
  (await waiting).expect(200);
});

test("a watch holds its seat until its initial events are sent, and no longer", async () => {
  await using server = await startServer({ flags: ["--run-controllers=false"] });
  const { client } = server;
  await grantEverybody(client, "edit");
  (await client.post(MAPS, { metadata: { name: "large-0" } })).expect(201);
  (await client.post(LEVELS, levelOf("tiny", "Reject"))).expect(201);
  (await client.post(FLOW_SCHEMAS, schemaOf("jane", "tiny", "jane"))).expect(201);
  const options = { host: "127.0.0.1", port: server.port, ...server.credentials };
  const socket = connect({ ...options, ALPNProtocols: ["http/1.1"] });
  await once(socket, "secureConnect");
  const headers = Object.entries(JANE).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`GET ${MAPS}?watch=1 HTTP/1.1\r\nHost: localhost\r\n${headers.join("")}\r\n`);
  await once(socket, "data");

  // An answer may arrive before the seat that it had is given back.
  const isFreeAfter = (requests: number) =>
    eventually("the seat is free", async () => {
      const { text } = await client.get("/metrics");
      const tiny = 'priority_level="tiny",flow_schema="jane"';
      return (
        text.includes(`apiserver_flowcontrol_dispatched_requests_total{${tiny}} ${requests}\n`) &&
        text.includes(`apiserver_flowcontrol_current_executing_seats{${tiny}} 0`)
      );
    });
  await isFreeAfter(1);
  (await client.request(MAPS, { headers: JANE })).expect(200);
  await isFreeAfter(2);
  (await client.request(`${MAPS}/large-0`, { headers: JANE })).expect(200);
  assert.equal(socket.closed, false);
  socket.destroy();
});

test("with --enable-priority-and-fairness=false the two numbers bound requests, and answers name no level", async () => {
  await using server = await startServer({
    flags: ["--enable-priority-and-fairness=false", "--max-requests-inflight=1"],
  });
  const { client } = server;
  await grantEverybody(client, "view");
  for (let i = 0; i < 12; i++) {
    const map = { metadata: { name: `large-${i}` }, data: { text: LARGE } };
    (await client.post(MAPS, map)).expect(201);
  }
  // Who impersonates is an administrator, whom the numbers do not bound.
  const accounts = "/api/v1/namespaces/default/serviceaccounts";
  (await client.post(accounts, { metadata: { name: "robot" } })).expect(201);
  const made = (await client.post(`${accounts}/robot/token`, { spec: {} })).expect(201).object;
  const { token } = made.status as { token: string };
  const robot = { authorization: `Bearer ${token}` };
  const outside = { ...server, credentials: { ca: server.credentials.ca } };
  using _stalled = await openStalledList(outside, robot);

  const refused = await new HttpsClient(server.url, outside.credentials).request(
    `${MAPS}/large-0`,
    {
      headers: robot,
    },
  );

  refused.expect(429);
  assert.equal(refused.headers["x-kubernetes-pf-flowschema-uid"], undefined);
});

function sharesOf({ spec }: ApiObject): number {
  return (spec as { limited: { nominalConcurrencyShares: number } }).limited
    .nominalConcurrencyShares;
}

async function change(client: HttpsClient, path: string, patch: object): Promise<void> {
  const answer = await client.patch(path, patch);
  answer.expect(200);
}

/** A level of one seat. */
function levelOf(name: string, response: "Reject" | "Queue"): ApiObject {
  return {
    apiVersion: "flowcontrol.apiserver.k8s.io/v1",
    kind: "PriorityLevelConfiguration",
    metadata: { name },
    spec: {
      type: "Limited",
      limited: {
        nominalConcurrencyShares: 1,
        borrowingLimitPercent: 0,
        limitResponse: response === "Queue" ? { type: response, queuing: {} } : { type: response },
      },
    },
  };
}

function schemaOf(name: string, level: string, user: string): ApiObject {
  return {
    apiVersion: "flowcontrol.apiserver.k8s.io/v1",
    kind: "FlowSchema",
    metadata: { name },
    spec: {
      priorityLevelConfiguration: { name: level },
      matchingPrecedence: 50,
      distinguisherMethod: { type: "ByUser" },
      rules: [
        {
          subjects: [{ kind: "User", user: { name: user } }],
          resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"] }],
        },
      ],
    },
  };
}

/** Begins a write whose body does not come. */
async function openUnfinishedWrite(
  server: Pick<ServerProcess, "port" | "credentials" | "client">,
  identity: Readonly<Record<string, string>>,
): Promise<{ readonly socket: TLSSocket } & Disposable> {
  const options = { host: "127.0.0.1", port: server.port, ...server.credentials };
  const socket = connect({ ...options, ALPNProtocols: ["http/1.1"] });
  await once(socket, "secureConnect");
  const headers = Object.entries(identity).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(
    `POST ${MAPS} HTTP/1.1\r\nHost: localhost\r\n${headers.join("")}Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{`,
  );
  await eventually("it has its seat", async () => {
    const { text } = await server.client.get("/metrics");
    return /current_executing_seats\{priority_level="tiny",flow_schema="jane"\} 1/.test(text);
  });
  return { socket, [Symbol.dispose]: () => socket.destroy() };
}

/** Asks for more than fits into buffers and does not read it. */
async function openStalledList(
  server: Pick<ServerProcess, "port" | "credentials">,
  identity: Readonly<Record<string, string>>,
): Promise<{ readonly socket: TLSSocket } & Disposable> {
  const options = { host: "127.0.0.1", port: server.port, ...server.credentials };
  const socket = connect({ ...options, ALPNProtocols: ["http/1.1"] });
  await once(socket, "secureConnect");
  const headers = Object.entries(identity).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`GET ${MAPS} HTTP/1.1\r\nHost: localhost\r\n${headers.join("")}\r\n`);
  await once(socket, "data");
  socket.pause();
  return { socket, [Symbol.dispose]: () => socket.destroy() };
}
