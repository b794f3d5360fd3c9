/**
 * API services of others: one Keelson behind another, by its front-proxy certificate. Who asks is who
 * the front server says, what is served is in force at the next request on every replica, and a
 * service that is dead costs nobody else anything.
 */

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { DEFINITIONS, definitionOf, versionOf } from "./fixtures/definitions.js";
import { eventually } from "./harness/eventually.js";
import { grant } from "./harness/grant.js";
import type { ApiObject, HttpsClient, WatchEvent } from "./harness/https-client.js";
import { Kubectl } from "./harness/kubectl.js";
import { type ServerProcess, startServer } from "./harness/server-process.js";
import { makeTempDir } from "./harness/temp-dir.js";
import { TestAuthority } from "./harness/test-authority.js";
import { startEtcd } from "./tools/etcd.js";

const SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices";
const WIDGETS = "/apis/shop.example.com/v1/namespaces/default/widgets";
const AS_JANE = { "impersonate-user": "jane", "impersonate-group": "system:authenticated" };

test("requests for another server's kinds are passed on as the user who asks, and its kinds are published", async () => {
  await using folder = await makeTempDir("aggregation");
  await using etcd = await startEtcd();
  const identity = await makeIdentity(folder.path);
  await using back = await startServer({ flags: proxiedBy(identity) });
  const flags = [`--etcd-servers=${etcd.endpoint}`, ...proxyAs(identity)];
  await using one = await startServer({ flags });
  await using two = await startServer({ flags: [...flags, "--run-controllers=false"] });
  await defineWidgets(back.client);
  await allow(back.client, "jane");
  await allow(one.client, "jane");
  await allow(one.client, "john");

  // In force on the other replica for the very next request, before anybody has looked at the service.
  await publish(one.client, back.port);
  const made = { apiVersion: "shop.example.com/v1", kind: "Widget", metadata: { name: "w" } };
  (await two.client.post(WIDGETS, { ...made, spec: { size: 3 } })).expect(201);
  (await back.client.get(`${WIDGETS}/w`)).expect(200);

  // Both servers decide, and the one behind knows who asks.
  const asked = (user: string) =>
    one.client.request(`${WIDGETS}/w`, { headers: { ...AS_JANE, "impersonate-user": user } });
  (await asked("jane")).expect(200);
  const refused = (await asked("john")).expect(403);
  assert.match(refused.text, /User \\"john\\" cannot get resource/);
  (await asked("nobody")).expect(403);

  await eventually(
    "the service is available",
    async () => (await condition(one)).status === "True",
  );
  assert.equal((await condition(one)).reason, "Passed");
  await using kubectl = await Kubectl.open(one);
  assert.match(
    await kubectl.ok(["get", "widgets", "-o", "name"]),
    /^widget\.shop\.example\.com\/w$/m,
  );
  assert.match(
    await kubectl.ok(["api-resources", "--api-group=shop.example.com"]),
    /widgets .*wd .*Widget/,
  );
  await kubectl.explains("widget.spec.size", /How large it is/);
  // Older clients read one document of everything.
  const document = await eventually("version 2 of OpenAPI has them too", async () => {
    const { text } = (await one.client.get("/openapi/v2")).expect(200);
    const { paths, definitions } = JSON.parse(text);
    return "com.example.shop.v1.Widget" in definitions && { paths, definitions };
  });
  assert.ok("/apis/shop.example.com/v1/namespaces/{namespace}/widgets/{name}" in document.paths);
  assert.ok("/apis/apps/v1/deployments" in document.paths);
  assert.equal("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta_v2" in document.definitions, false);
  const protobuf = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
  const encoded = (await one.client.get("/openapi/v2", protobuf)).expect(200).bytes;
  assert.ok(encoded.includes("com.example.shop.v1.Widget"));
  await kubectl.ok(["patch", "widget", "w", "--type=merge", "-p", '{"spec":{"size":4}}']);
  assert.match(await kubectl.ok(["get", "apiservices"]), /v1\.apps +Local +True/);

  // A watch through both servers, and its end when the client goes.
  const events = await two.client.watch(`${WIDGETS}?watch=1&resourceVersion=0`);
  assert.equal(await nameOfNext(events), "w");
  (await back.client.delete(`${WIDGETS}/w`)).expect(200);
  assert.equal(await nameOfNext(events), "w");
  await events.return();
  await eventually("the watch behind has ended", async () =>
    /apiserver_longrunning_requests\{[^}]*resource="widgets"[^}]*\} 0|^(?!.*resource="widgets")/s.test(
      longRunning((await back.client.get("/metrics")).text),
    ),
  );

  // Taken away: nobody serves it any more, on any replica, from the next request on.
  (await one.client.delete(`${SERVICES}/v1.shop.example.com`)).expect(200);
  (await two.client.get(WIDGETS)).expect(404);
  const { text } = await two.client.get("/apis");
  assert.doesNotMatch(text, /shop\.example\.com/);
});

test("A13: what another server keeps of a namespace goes with it, and one that cannot be asked holds it", async () => {
  await using folder = await makeTempDir("namespace-content");
  const identity = await makeIdentity(folder.path);
  await using back = await startServer({ flags: proxiedBy(identity) });
  await using front = await startServer({ flags: proxyAs(identity) });
  await defineWidgets(back.client);
  await publish(front.client, back.port);
  const SHOPS = "/api/v1/namespaces";
  const pathIn = (name: string) => `/apis/shop.example.com/v1/namespaces/${name}/widgets`;
  for (const name of ["goes", "held", "stays"]) {
    for (const { client } of [front, back]) {
      (await client.post(SHOPS, { metadata: { name } })).expect(201);
    }
    const finalizers = name === "held" ? ["example.com/hold"] : [];
    const metadata = { name: "w", finalizers };
    const widget = { apiVersion: "shop.example.com/v1", kind: "Widget", metadata };
    (await back.client.post(pathIn(name), widget)).expect(201);
  }
  await eventually("it is available", async () => (await condition(front)).status === "True");

  const isGone = async (name: string) =>
    (await front.client.get(`${SHOPS}/${name}`)).status === 404;
  const says = async (name: string, type: string) => {
    const { status } = (await front.client.get(`${SHOPS}/${name}`)).expect(200).object as {
      status?: { conditions?: { type: string; status: string; message: string }[] };
    };
    return status?.conditions?.find((one) => one.type === type && one.status === "True")?.message;
  };
  (await front.client.delete(`${SHOPS}/goes`)).expect(200);
  await eventually("the namespace is gone", () => isGone("goes"));
  assert.deepEqual((await back.client.get(pathIn("goes"))).expect(200).items, []);
  assert.equal((await back.client.get(pathIn("stays"))).expect(200).items.length, 1);

  (await front.client.delete(`${SHOPS}/held`)).expect(200);
  await eventually("it says what holds it", async () => {
    const [rest, finalizers] = [
      await says("held", "NamespaceContentRemaining"),
      await says("held", "NamespaceFinalizersRemaining"),
    ];
    return (
      rest === "Some resources are remaining: widgets.shop.example.com has 1 resource instances" &&
      finalizers ===
        "Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances"
    );
  });
  const headers = { "content-type": "application/merge-patch+json" };
  const body = JSON.stringify({ metadata: { finalizers: null } });
  (await back.client.patch(`${pathIn("held")}/w`, body)).expect(200);
  await eventually("the namespace is gone", () => isGone("held"));

  await back.stop();
  const metric = async (line: string) => (await front.client.get("/metrics")).text.includes(line);
  // A changed one is looked at at once.
  const priority = JSON.stringify({ spec: { versionPriority: 16 } });
  const changed = { method: "PATCH", headers, body: priority };
  (await front.client.request(`${SERVICES}/v1.shop.example.com`, changed)).expect(200);
  // A12: what alerts look for, and the address in the condition.
  await eventually("it is found dead", async () => (await condition(front)).status === "False");
  const { message = "" } = await condition(front);
  const url = `https://localhost:${back.port}/apis/shop.example.com/v1`;
  assert.ok(message.startsWith(`failing or missing response from ${url}: `), message);
  const label = 'name="v1.shop.example.com"';
  assert.ok(await metric(`aggregator_unavailable_apiservice{${label}} 1\n`));
  assert.ok(await metric('aggregator_unavailable_apiservice{name="v1.apps"} 0\n'));
  const counted = `aggregator_unavailable_apiservice_total{${label},reason="FailedDiscoveryCheck"} 1\n`;
  assert.ok(await metric(counted));

  (await front.client.delete(`${SHOPS}/stays`)).expect(200);
  const what = "unable to retrieve the complete list of server APIs";
  const stale = "shop.example.com/v1: stale GroupVersion discovery: shop.example.com/v1";
  const expected = `Discovery failed for some groups, 1 failing: ${what}: ${stale}`;
  await eventually("it says whom it cannot ask", async () => {
    return (await says("stays", "NamespaceDeletionDiscoveryFailure")) === expected;
  });
  (await front.client.delete(`${SERVICES}/v1.shop.example.com`)).expect(200);
  await eventually("the namespace is gone", () => isGone("stays"));
});

test("NEW-5: a service that is dead is said to be, answers 503, and delays nothing else", async () => {
  await using front = await startServer();
  {
    await using back = await startServer({ flags: ["--anonymous-auth=true"] });
    await publish(front.client, back.port);
    // Without a proxy's certificate nobody vouches for the user: the server behind refuses, in its own words.
    const refused = await front.client.get("/apis/shop.example.com/v1/widgets");
    assert.ok([401, 403].includes(refused.status), refused.text);
    await back.stop();
  }
  await eventually("the service is found dead", async () => {
    const { status, reason } = await condition(front);
    return status === "False" && reason === "FailedDiscoveryCheck";
  });
  const answer = (await front.client.get("/apis/shop.example.com/v1/widgets")).expect(503);
  assert.equal(answer.text, "service unavailable\n");
  const accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
  const { items } = (await front.client.get("/apis", accept)).expect(200);
  const group = items.find(({ metadata }) => metadata.name === "shop.example.com");
  assert.ok(group !== undefined);
  const [version] = group.versions as { freshness: string }[];
  assert.equal(version?.freshness, "Stale");

  const lost = service("v1.lost.example.com", "lost.example.com", "nowhere");
  (await front.client.post(SERVICES, lost)).expect(201);
  await eventually("the service is not there", async () => {
    const { reason } = await condition(front, "v1.lost.example.com");
    return reason === "ServiceNotFound";
  });
  (await front.client.get("/api/v1/namespaces/default/configmaps")).expect(200);
});

test("a group of custom kinds has an APIService as long as it is there, which is made again when it is removed", async () => {
  await using server = await startServer();
  const { client } = server;
  const name = "v1.shop.example.com";
  const found = async () => {
    const { status, object } = await client.get(`${SERVICES}/${name}`);
    return status === 200 && (object as ApiObject & { spec: object; status?: object });
  };
  const available = () =>
    eventually("the service is available", async () => {
      const object = await found();
      return object && (await condition(server, name)).status === "True" && object;
    });
  assert.equal(await found(), false);
  await defineWidgets(client);
  const { metadata, spec } = await available();
  assert.deepEqual(metadata.labels, { "kube-aggregator.kubernetes.io/automanaged": "true" });
  assert.deepEqual(spec, {
    group: "shop.example.com",
    version: "v1",
    groupPriorityMinimum: 1000,
    versionPriority: 100,
  });
  assert.equal((await condition(server, name)).reason, "Local");

  (await client.delete(`${SERVICES}/${name}`)).expect(200);
  assert.notEqual((await available()).metadata.uid, metadata.uid);
  (await client.get(WIDGETS)).expect(200);
  const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  (await client.delete(`${definitions}/widgets.shop.example.com`)).expect(200);
  await eventually("the service is gone", async () => (await found()) === false);
});

async function nameOfNext(events: AsyncGenerator<WatchEvent, void>): Promise<string | undefined> {
  const { value } = await events.next();
  return value?.object.metadata.name;
}

interface Condition {
  readonly status?: string;
  readonly reason?: string;
  readonly message?: string;
}

async function condition(
  { client }: ServerProcess,
  name = "v1.shop.example.com",
): Promise<Condition> {
  const { status } = (await client.get(`${SERVICES}/${name}`)).object as {
    status?: { conditions?: Condition[] };
  };
  return status?.conditions?.[0] ?? {};
}

function longRunning(metrics: string): string {
  return metrics
    .split("\n")
    .filter((line) => line.startsWith("apiserver_longrunning_requests"))
    .join("\n");
}

function service(name: string, group: string, behind: string, port = 443): ApiObject {
  return {
    apiVersion: "apiregistration.k8s.io/v1",
    kind: "APIService",
    metadata: { name },
    spec: {
      group,
      version: "v1",
      service: { namespace: "default", name: behind, port },
      insecureSkipTLSVerify: true,
      groupPriorityMinimum: 1000,
      versionPriority: 15,
    },
  };
}

async function publish(client: HttpsClient, port: number): Promise<void> {
  const behind = {
    metadata: { name: "behind" },
    spec: { type: "ExternalName", externalName: "localhost", ports: [{ port }] },
  };
  (await client.post("/api/v1/namespaces/default/services", behind)).expect(201);
  const published = service("v1.shop.example.com", "shop.example.com", "behind", port);
  (await client.post(SERVICES, published)).expect(201);
}

async function allow(client: HttpsClient, user: string): Promise<void> {
  const rules = [{ apiGroups: ["shop.example.com"], resources: ["widgets"], verbs: ["*"] }];
  await grant(client, { name: `widgets-${user}`, to: `User ${user}`, rules });
}

async function defineWidgets(client: HttpsClient): Promise<void> {
  const size = { type: "integer", description: "How large it is." };
  const spec = { type: "object", properties: { size } };
  const definition = definitionOf("widgets.shop.example.com", "Widget", {
    names: { plural: "widgets", kind: "Widget", shortNames: ["wd"] },
    versions: [versionOf({ type: "object", properties: { spec } })],
  });
  (await client.post(DEFINITIONS, definition)).expect(201);
  await eventually("widgets are served", async () => (await client.get(WIDGETS)).status === 200);
}

type Identity = Awaited<ReturnType<typeof makeIdentity>>;

/** Flags of the server behind, which believes the proxy about its users. */
function proxiedBy({ authority }: Identity): string[] {
  return [
    `--requestheader-client-ca-file=${authority}`,
    "--requestheader-username-headers=X-Remote-User",
    "--requestheader-uid-headers=X-Remote-Uid",
    "--requestheader-group-headers=X-Remote-Group",
    "--requestheader-extra-headers-prefix=X-Remote-Extra-",
  ];
}

function proxyAs({ certificate, key }: Identity): string[] {
  return [`--proxy-client-cert-file=${certificate}`, `--proxy-client-key-file=${key}`];
}

/** A proxy's certificate, and the authority that vouches for it, as files. */
async function makeIdentity(folder: string) {
  const authority = await TestAuthority.create("front-proxy-ca");
  const { cert, key } = await authority.issue({ commonName: "front-proxy-client" });
  const files = {
    authority: join(folder, "proxy-ca.pem"),
    certificate: join(folder, "proxy.pem"),
    key: join(folder, "proxy.key"),
  };
  await writeFile(files.authority, authority.certificate);
  await writeFile(files.certificate, cert);
  await writeFile(files.key, key);
  return files;
}
