/**
 * Versions of one kind that a webhook converts: every version of what is stored in any, in get, list,
 * watch, patch, apply and delete; one call for many objects; failures in the webhook's words, and a slow
 * webhook that delays nobody else.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import {
  openWebhookStub,
  type StubAnswer,
  type StubCall,
  type WebhookStub,
} from "../server/client/testing/webhook-stub.js";
import {
  answerConversion,
  type ConversionReview,
  hostsConvertedBy,
} from "./harness/converted-hosts.js";
import { eventually, soon } from "./harness/eventually.js";
import type { ApiObject, HttpsClient, WatchEvent } from "./harness/https-client.js";
import { type ServerProcess, startServer } from "./harness/server-process.js";

const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const [V1, V2] = ["v1", "v2"].map(
  (version) => `/apis/example.com/${version}/namespaces/default/hosts`,
);

const text = { type: "string" };
const schema = (properties: object) => ({
  openAPIV3Schema: {
    type: "object",
    properties: { spec: { type: "object", properties, required: Object.keys(properties) } },
  },
});

/** A number of v1 that v2 has as a part of a text. */
const PORT = { specReplicasPath: ".spec.port", statusReplicasPath: ".status.port" };

/** v1 has a host and a port, v2 an address; v2 is stored. */
function definition(hook: WebhookStub): object {
  const v1 = schema({
    host: { ...text, maxLength: 8 },
    port: { type: "integer", maximum: 65_535 },
  });
  return hostsConvertedBy(hook, [
    { name: "v2", served: true, storage: true, schema: schema({ address: text }) },
    {
      name: "v1",
      served: true,
      storage: false,
      schema: v1,
      subresources: { scale: PORT },
      selectableFields: [{ jsonPath: ".spec.host" }],
    },
  ]);
}

type Spec = Readonly<Record<string, unknown>>;

const reviewOf = ({ body }: StubCall) => body as unknown as ConversionReview;

/** @param change of what it answers, its version too */
function convert(call: StubCall, change = (object: ApiObject): ApiObject => object): StubAnswer {
  return answerConversion(call, (object, apiVersion) => {
    const { spec } = object;
    const [host, port] = String(spec.address ?? "").split(":");
    const converted = apiVersion.endsWith("/v1")
      ? { host, port: Number(port) }
      : { address: `${spec.host}:${spec.port}` };
    return change({ ...object, apiVersion, spec: converted });
  });
}

describe("conversion by webhook", () => {
  let server: ServerProcess;
  let hook: WebhookStub;
  let client: HttpsClient;

  before(async () => {
    hook = await openWebhookStub((call) => convert(call), true);
    hook.answer = (call) => convert(call);
    server = await startServer({ flags: ["--run-controllers", "--enable-aggregator-routing"] });
    client = server.client;
    await eventually("the default namespace is there", async () => {
      return (await client.get("/api/v1/namespaces/default")).status === 200;
    });
    (await client.post(DEFINITIONS, definition(hook))).expect(201);
  });
  after(async () => {
    await server?.[Symbol.asyncDispose]();
    await hook?.[Symbol.asyncDispose]();
  });

  const specs = (objects: readonly ApiObject[]) => objects.map(({ spec }) => spec);
  const create = async (path: string | undefined, version: string, name: string, spec: object) => {
    const object = { apiVersion: `example.com/${version}`, kind: "Host", metadata: { name }, spec };
    return (await client.post(path ?? "", object)).expect(201, name).object;
  };
  const read = async (path: string) => (await client.get(path)).expect(200).object;

  test("what is written in one version is read in the other, with the same metadata", async () => {
    const made = await create(V1, "v1", "a", { host: "one", port: 80 });
    assert.equal(made.apiVersion, "example.com/v1");
    assert.deepEqual(made.spec, { host: "one", port: 80 });
    const other = await read(`${V2}/a`);
    assert.equal(other.apiVersion, "example.com/v2");
    assert.deepEqual(other.spec, { address: "one:80" });
    assert.equal(other.metadata.uid, made.metadata.uid);
    await create(V2, "v2", "b", { address: "two:443" });
    assert.deepEqual((await read(`${V1}/b`)).spec, { host: "two", port: 443 });
  });

  test("a rule of the version that is written is kept, also by a patch", async () => {
    const body = { spec: { host: "much-too-long" } };
    const refused = await client.patch(`${V1}/a`, body);
    refused.expect(422);
    assert.match(refused.text, /spec\.host: Too long: may not be more than 8 bytes/);
    const patched = await client.patch(`${V1}/a`, { spec: { port: 81 } });
    assert.deepEqual(patched.expect(200).object.spec, { host: "one", port: 81 });
    assert.deepEqual((await read(`${V2}/a`)).spec, { address: "one:81" });
  });

  test("scale reads and writes by the paths and rules of its version", async () => {
    await create(V2, "v2", "scaled", { address: "one:80" });
    const path = `${V1}/scaled/scale`;
    assert.deepEqual((await read(path)).spec, { replicas: 80 });
    const to = (replicas: number) => client.patch(path, { spec: { replicas } });
    const { object } = (await to(81)).expect(200);
    assert.deepEqual([object.kind, object.spec], ["Scale", { replicas: 81 }]);
    assert.deepEqual((await read(`${V2}/scaled`)).spec, { address: "one:81" });
    const refused = (await to(70_000)).expect(422).object;
    assert.match(String(refused.message), /spec\.port: Invalid value: 70000/);
    (await client.delete(`${V1}/scaled`)).expect(200);
  });

  test("what was stored before is served as the definition is now, in each version", async () => {
    await create(V2, "v2", "old", { address: "old:1" });
    const path = `${DEFINITIONS}/hosts.example.com`;
    const first = await read(path);
    const before = first.spec as { versions: object[] };
    const [stored, ...others] = before.versions;
    const changed = schema({ address: text, zone: { ...text, default: "west" } });
    const next = { ...before, versions: [{ ...stored, schema: changed }, ...others] };
    const { metadata } = (await client.put(path, { ...first, spec: next })).expect(200).object;

    const spec = { address: "old:1", zone: "west" };
    assert.deepEqual((await read(`${V2}/old`)).spec, spec);
    const calls = hook.calls.length;
    assert.deepEqual((await read(`${V1}/old`)).spec, { host: "old", port: 1 });
    const asked = hook.calls.slice(calls).flatMap((call) => reviewOf(call).request.objects);
    assert.deepEqual(specs(asked), [spec]);

    const query = `?watch=1&resourceVersion=${metadata.resourceVersion}`;
    const watches = [V1, V2].map((one) => client.watch(`${one}${query}`, soon()));
    (await client.delete(`${V2}/old`)).expect(200);
    for (const [index, wanted] of [{ host: "old", port: 1 }, spec].entries()) {
      const watching = await watches[index];
      const told = await watching?.next();
      assert.deepEqual([told?.value?.type, told?.value?.object.spec], ["DELETED", wanted]);
      await watching?.return();
    }
    const current = await read(path);
    (await client.put(path, { ...current, spec: before })).expect(200);
  });

  test("a page of a list is one call", async () => {
    for (let index = 0; index < 20; index++) {
      await create(V2, "v2", `many-${index}`, { address: `m:${index}` });
    }
    const before = hook.calls.length;
    const listed = (await client.get(V1 ?? "")).expect(200).items;
    assert.equal(listed.length, 22);
    assert.ok(listed.every(({ apiVersion }) => apiVersion === "example.com/v1"));
    assert.ok(specs(listed).every((spec) => typeof (spec as Spec).port === "number"));
    assert.equal(hook.calls.length - before, 1);
    (await client.get(V1 ?? "")).expect(200);
    assert.equal(hook.calls.length - before, 1, "what was converted is remembered");
  });

  test("watches show each version, the state and what comes", async () => {
    const abort = new AbortController();
    const watched: WatchEvent[] = [];
    const path = `${V1}?watch=1&fieldSelector=metadata.name%3Dseen`;
    const events = await client.watch(path, abort.signal);
    const reading = (async () => {
      for await (const event of events) watched.push(event);
    })().catch(() => {});
    await create(V2, "v2", "seen", { address: "s:1" });
    const current = await read(`${V2}/seen`);
    (await client.put(`${V2}/seen`, { ...current, spec: { address: "s:2" } })).expect(200);
    (await client.delete(`${V2}/seen`)).expect(200);
    await eventually("three events", () => watched.length === 3);
    abort.abort();
    await reading;
    assert.deepEqual(
      watched.map(({ type, object }) => [type, object.apiVersion, (object.spec as Spec).port]),
      [
        ["ADDED", "example.com/v1", 1],
        ["MODIFIED", "example.com/v1", 2],
        ["DELETED", "example.com/v1", 2],
      ],
    );
  });

  test("owners are of the version that they wrote in", async () => {
    const apply = async (version: string, manager: string, spec: object) => {
      const body = {
        apiVersion: `example.com/${version}`,
        kind: "Host",
        metadata: { name: "owned" },
        spec,
      };
      const base = version === "v1" ? V1 : V2;
      return await client.patch(
        `${base}/owned?fieldManager=${manager}`,
        body,
        "application/apply-patch+yaml",
      );
    };
    (await apply("v1", "one", { host: "o", port: 1 })).expect(201);
    const conflict = await apply("v2", "two", { address: "p:1" });
    conflict.expect(409);
    assert.match(conflict.text, /conflict with \\"one\\": \.spec\.host/);
    const changed = (await apply("v1", "one", { host: "o", port: 2 })).expect(200).object;
    assert.deepEqual(changed.spec, { host: "o", port: 2 });
  });

  test("a webhook that fails is told in its words, and only to those who need it", async () => {
    await create(V2, "v2", "broken", { address: "x:1" });
    hook.answer = (call) => {
      const { request } = reviewOf(call);
      const result = { status: "Failed", message: "no such port" };
      return {
        body: { ...call.body, response: { uid: request.uid, result, convertedObjects: [] } },
      };
    };
    const failed = await client.get(`${V1}/broken`);
    failed.expect(500);
    assert.match(
      failed.text,
      /conversion webhook for example\.com\/v2, Kind=Host failed: no such port/,
    );
    hook.answer = (call) =>
      convert(call, (object) => ({ ...object, metadata: { ...object.metadata, name: "other" } }));
    assert.match(
      (await client.get(`${V1}/broken`)).expect(500).text,
      /returned invalid object: must have the same name: broken != other/,
    );
    (await client.get(`${V2}/broken`)).expect(200);
    const answer = async (change: (object: ApiObject) => unknown) => {
      hook.answer = (call) => convert(call, (object) => change(object) as ApiObject);
      return (await client.get(`${V1}/broken`)).expect(500).text;
    };
    const marked = (part: object) => (object: ApiObject) => ({
      ...object,
      metadata: { ...object.metadata, ...part },
    });
    assert.match(
      await answer(marked({ labels: { "a b": "c" } })),
      /returned invalid metadata: metadata\.labels: Invalid value: \\"a b\\": name part must/,
    );
    assert.match(
      await answer(marked({ annotations: { "a b": "c", "d e": "f" } })),
      /returned invalid metadata: \[metadata\.annotation: .*, metadata\.annotation: .*\]/,
    );
    assert.match(
      await answer(marked({ labels: { a: 1 } })),
      /returned invalid metadata: metadata\.labels\[a\] must be a string/,
    );
    assert.match(
      await answer((object) => ({ ...object, kind: "Other" })),
      /returned invalid object at index 0: invalid kind \(expected Host, received Other\)/,
    );
    hook.answer = (call) => {
      const { uid } = reviewOf(call).request;
      const response = { uid, result: {}, convertedObjects: [] };
      return { body: { ...call.body, response } };
    };
    assert.match(
      (await client.get(`${V1}/broken`)).expect(500).text,
      /failed: response\.result\.status was '', not 'Success'/,
    );
    hook.answer = (call) => convert(call);
    (await client.get(`${V1}/broken`)).expect(200);
  });

  test("D6: what its version cannot show is deleted neither alone nor with others", async () => {
    hook.answer = (call) => {
      const { uid } = reviewOf(call).request;
      const result = { status: "Failed", message: "no such port" };
      return { body: { ...call.body, response: { uid, result, convertedObjects: [] } } };
    };
    await create(V2, "v2", "unshown", { address: "y:1" });
    for (const path of [`${V1}/unshown`, `${V1}?fieldSelector=metadata.name%3Dunshown`, V1 ?? ""]) {
      const { message, reason } = (await client.delete(path)).expect(500, path).object;
      const said = /^conversion webhook for example\.com\/v2, Kind=Host failed: no such port$/;
      assert.match(String(message), said);
      assert.equal(reason, undefined);
    }
    (await client.delete(`${V2}/unshown`)).expect(200);
    hook.answer = (call) => convert(call);
  });

  test("D5: fields are selected as the version has them, in lists, watches and deletions", async () => {
    const names = async (selector: string, more = "") => {
      const path = `${V1}?fieldSelector=${encodeURIComponent(selector)}${more}`;
      return (await client.get(path)).expect(200).items.map(({ metadata }) => metadata.name);
    };
    await create(V2, "v2", "red", { address: "red:1" });
    await create(V2, "v2", "blue", { address: "blue:1" });
    assert.deepEqual(await names("spec.host=red"), ["red"]);
    assert.deepEqual(await names("spec.host=red", "&limit=1"), ["red"]);
    assert.deepEqual(await names("metadata.name=blue,spec.host!=red"), ["blue"]);

    const told: string[] = [];
    const abort = new AbortController();
    const path = `${V1}?watch=1&fieldSelector=spec.host%3Dred`;
    const events = await client.watch(path, abort.signal);
    const reading = (async () => {
      for await (const { type, object } of events) told.push(`${type} ${object.metadata.name}`);
    })().catch(() => {});
    const paint = async (name: string, address: string) => {
      const body = JSON.stringify({ spec: { address } });
      (await client.patch(`${V2}/${name}`, body)).expect(200);
    };
    await paint("red", "red:2");
    await paint("blue", "red:3");
    await paint("red", "grey:3");
    await paint("blue", "blue:3");
    await eventually("five events", () => told.length === 5);
    abort.abort();
    await reading;
    const [first, ...others] = ["ADDED red", "MODIFIED red", "ADDED blue", "DELETED red"];
    assert.deepEqual(told, [first, ...others, "DELETED blue"]);

    (await client.delete(`${V1}?fieldSelector=spec.host%3Dblue`)).expect(200);
    assert.deepEqual(await names("spec.host=blue"), []);
    assert.deepEqual(await names("spec.host=grey"), ["red"]);
    (await client.delete(`${V1}/red`)).expect(200);
  });

  test("39.2: of what a webhook answers no more values are taken than clients may send, and they are not parsed", async () => {
    await create(V2, "v2", "filled", { address: "x:1" });
    const answer = async (filling: string) => {
      hook.answer = (call) => {
        const { body } = convert(call);
        return { body: JSON.stringify(body).replace('"port":', `"more":${filling},"port":`) };
      };
      return (await client.get(`${V1}/filled`)).expect(500).text;
    };
    const lists = (count: number) => `[${Array(count).fill("[]").join(",")}]`;
    assert.match(await answer(lists(1_000_000)), /the answer has more than 250000 values/);
    assert.match(await answer(lists(70_000)), /index 0: it holds more values than a client may/);
    assert.match(await answer(`"${"x".repeat(9_000_000)}"`), /more than 8388608 bytes/);
    hook.answer = (call) => convert(call);
    (await client.get(`${V1}/filled`)).expect(200);
  });

  test("39.3: a page of more bytes than are remembered is converted in several calls", async () => {
    for (let index = 0; index < 20; index++) {
      await create(V2, "v2", `large-${index}`, { address: `${"x".repeat(1_000_000)}:1` });
    }
    const before = hook.calls.length;
    const path = `${V1}?limit=20&fieldSelector=metadata.namespace%3Ddefault`;
    const listed = (await client.get(path)).expect(200).items;
    assert.ok(listed.length === 20 && hook.calls.length - before > 1);
    for (const { name } of listed.map(({ metadata }) => metadata)) {
      if (name?.startsWith("large-")) (await client.delete(`${V2}/${name}`)).expect(200);
    }
  });

  test("a slow webhook delays nobody else", async () => {
    await create(V2, "v2", "slow", { address: "x:1" });
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    hook.answer = async (call) => {
      await held;
      return convert(call);
    };
    const waiting = client.get(`${V1}/slow`);
    (await client.get(`${V2}/slow`)).expect(200);
    (await client.get("/api/v1/namespaces/default")).expect(200);
    await create(V2, "v2", "quick", { address: "q:1" });
    release();
    assert.deepEqual((await waiting).expect(200).object.spec, { host: "x", port: 1 });
    hook.answer = (call) => convert(call);
  });

  test("deletion answers and empties in either version", async () => {
    (await client.delete(V1 ?? "")).expect(200);
    assert.deepEqual((await client.get(V2 ?? "")).expect(200).items, []);
  });

  test("a webhook behind a Service is looked for on the ports that the Service has", async () => {
    await create(V2, "v2", "behind", { address: "x:1" });
    const spec = { clusterIP: "None", ports: [{ port: 443 }] };
    const service = { metadata: { name: "converter" }, spec };
    (await client.post("/api/v1/namespaces/default/services", service)).expect(201);
    const failureOf = async (port: number) => {
      const reference = { namespace: "default", name: "converter", port };
      const clientConfig = { url: null, service: reference };
      const body = JSON.stringify({ spec: { conversion: { webhook: { clientConfig } } } });
      const path = `${DEFINITIONS}/hosts.example.com`;
      (await client.patch(path, body)).expect(200);
      return (await client.get(`${V1}/behind`)).expect(500).object.message;
    };
    const asked = 'Post "https://converter.default.svc';
    assert.ok(
      String(await failureOf(444)).endsWith(
        `${asked}:444/": no service port 444 found for service "converter"`,
      ),
    );
    assert.ok(
      String(await failureOf(443)).endsWith(
        `${asked}:443/": no endpoints available for service "converter"`,
      ),
    );
  });
});
