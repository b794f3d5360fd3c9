/**
 * Values that would poison the store, through every writer there is: clients in each encoding and by each kind of
 * patch, webhooks and policies that change objects, conversions, defaults of definitions, migrations of what a hand
 * at etcd has left. Each is refused with a Status or reads back; after each writer all lists, objects and watches
 * parse, and so they do when a replica has read everything from the store again.
 */

import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import type { JsonObject, JsonValue } from "../server/api/meta.js";
import { createNaming } from "../server/api/naming.js";
import {
  openWebhookStub,
  type StubAnswer,
  type StubCall,
  type WebhookStub,
} from "../server/client/testing/webhook-stub.js";
import { encodeCbor } from "../server/codec/cbor.js";
import { parseCbor } from "../server/codec/cbor-parser.js";
import { createProtobufCodecs } from "../server/codec/protobuf.js";
import { loadFacts } from "../server/types/load-facts.js";
import { systemClock } from "../storage/base/clock.js";
import { silentLogger } from "../storage/base/logger.js";
import { openEtcdStore } from "../storage/etcd/etcd-store.js";
import type { RevisionedStore } from "../storage/kv/store.js";
import { ANYTHING, definitionOf, versionOf } from "./fixtures/definitions.js";
import { eventually, soon } from "./harness/eventually.js";
import type { Answer, ApiObject } from "./harness/https-client.js";
import { type ServerProcess, startServer } from "./harness/server-process.js";
import { openStore, type StoreForTest } from "./harness/stores.js";
import {
  BEYOND,
  BEYOND_IN_YAML,
  IN_CBOR,
  MARK,
  NO_JSON,
  NO_UTF8,
  ODD,
  replaced,
  unsoundness,
  withItem,
} from "./poison/values.js";
import {
  KINDS,
  type Kind,
  type Sent,
  textOf,
  versions,
  WRITERS,
  type Writer,
  YAML_WRITERS,
} from "./poison/writers.js";

const FLAGS = [
  "--run-controllers",
  "--runtime-config=storagemigration.k8s.io/v1beta1=true",
  "--feature-gates=CBORServingAndStorage=true,AllowUnsafeMalformedObjectDeletion=true",
];
const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const RULES = "/apis/admissionregistration.k8s.io/v1";
const MIGRATIONS = "/apis/storagemigration.k8s.io/v1beta1/storageversionmigrations";
const UNSAFE = "ignoreStoreReadErrorWithClusterBreakingPotential=true";

const naming = createNaming("kubernetes");
const protobuf = createProtobufCodecs(loadFacts(naming));

describe("values that would poison the store", () => {
  let etcd: StoreForTest;
  let raw: RevisionedStore;
  let hook: WebhookStub;
  let server: ServerProcess;
  let named = 0;
  /** What the webhook says. */
  const said: { answer: (call: StubCall) => StubAnswer } = { answer: () => ({}) };

  before(async () => {
    etcd = await openStore("etcd");
    const endpoints = etcd.etcd.etcdEndpoints ?? [];
    const base = { clock: systemClock, logger: silentLogger };
    raw = await openEtcdStore({ ...base, endpoints, prefix: "/registry" }, soon());
    hook = await openWebhookStub((call) => said.answer(call), true);
    server = await startServer({ ...etcd.etcd, flags: FLAGS });
    (await server.client.post(DEFINITIONS, definition("things", ["v1"]))).expect(201);
    await eventually("the kind is served", async () => {
      return (await server.client.get("/apis/example.com/v1/things")).status === 200;
    });
    for (const kind of KINDS) {
      if (versions.has(`${kind.path}/sound`)) continue;
      (await send(sentBy("create", kind, "sound", '"sound"'))).expect(201);
      await learnVersion(`${kind.path}/sound`);
    }
  });
  after(async () => {
    await server?.[Symbol.asyncDispose]();
    await hook?.[Symbol.asyncDispose]();
    await raw?.[Symbol.asyncDispose]();
    await etcd?.[Symbol.asyncDispose]();
  });
  afterEach(() => isAllSound());

  function sentBy(writer: string, kind: Kind, name: string, value: string): Sent {
    const found = WRITERS.find((one) => one.name === writer) ?? assert.fail(writer);
    return found.send(kind, name, value);
  }

  async function send({
    method,
    path,
    type,
    body,
  }: Omit<Sent, "body"> & { body: string | Buffer }) {
    const headers = { "content-type": type };
    const answer = await server.client.request(path, { method, headers, body });
    if (path.endsWith("/sound") && answer.status === 200) await learnVersion(path);
    return answer;
  }

  async function learnVersion(path: string): Promise<void> {
    const { metadata } = (await server.client.get(path)).expect(200).object;
    versions.set(path, metadata.resourceVersion ?? "");
  }

  /** Everything that could have been written parses: lists, objects, watches, in each encoding. */
  async function isAllSound(): Promise<void> {
    const findings: string[] = [];
    const look = async (path: string, accept: string, parse: (bytes: Buffer) => unknown) => {
      const answer = await server.client.get(path, accept);
      const why = answer.status === 200 ? unsoundnessOf(answer.bytes, parse) : answer.text;
      if (why !== undefined)
        findings.push(`${path} as ${accept}: ${answer.status} ${why.slice(0, 200)}`);
      return answer;
    };
    const paths = new Set([...KINDS.map(({ path }) => path), DEFINITIONS, MIGRATIONS]);
    await Promise.all(
      [...paths].map(async (path) => {
        const { text } = await look(path, "application/json", parseText);
        for (const { metadata } of (JSON.parse(text) as { items: ApiObject[] }).items) {
          await look(`${path}/${metadata.name}`, "application/json", parseText);
        }
        await look(path, "application/cbor", parseCbor);
        await look(path, "application/yaml", () => undefined);
        const watch = `${path}?watch=1&resourceVersion=0&timeoutSeconds=1`;
        await look(watch, "application/json", (bytes) =>
          bytes
            .toString()
            .split("\n")
            .filter(Boolean)
            .map((line) => JSON.parse(line) as unknown),
        );
      }),
    );
    await look(
      "/apis/apps/v1/controllerrevisions",
      "application/vnd.kubernetes.protobuf",
      () => undefined,
    );
    assert.deepEqual(findings, []);
    const { text } = await server.client.get("/metrics");
    const [, refused] = /^apiserver_storage_unstorable_objects_total (\d+)$/m.exec(text) ?? [];
    assert.equal(
      refused,
      "0",
      "what reached the last line of defence should have been refused before",
    );
  }

  /** Writes each value into each kind, and says which answers are not as they have to be. */
  async function findings(
    writers: readonly Writer[],
    values: readonly string[],
    isRight: (answer: Answer) => boolean,
  ): Promise<string[]> {
    const found: string[] = [];
    for (const writer of writers) {
      for (const kind of KINDS) {
        if (writer.isOfBuiltIns && !kind.isBuiltIn) continue;
        for (const value of values) {
          const answer = await send(writer.send(kind, `odd-${named++}`, value));
          if (isRight(answer)) continue;
          found.push(
            `${writer.name} of ${kind.kind}${kind.place}, ${value.slice(0, 20)}: ${answer.status} ${answer.text.slice(0, 200)}`,
          );
        }
      }
    }
    return found;
  }

  const isRefused = ({ status }: Answer) => status === 400;
  const isDecided = ({ status }: Answer) => status < 500 && status !== 404 && status !== 415;

  test("H7: what is beyond a double or no JSON is 400, by every verb and patch", async () => {
    assert.deepEqual(await findings(WRITERS, [...BEYOND, ...NO_JSON], isRefused), []);
  });

  test("H7: the same in YAML, with its own words for what is no number", async () => {
    assert.deepEqual(await findings(YAML_WRITERS, BEYOND_IN_YAML, isRefused), []);
  });

  test("H7: odd numbers and texts are taken and read back, or refused", async () => {
    assert.deepEqual(await findings([...WRITERS, ...YAML_WRITERS], ODD, isDecided), []);
  });

  test("H7: text that is not UTF-8 is refused, or stored as text", async () => {
    const found: string[] = [];
    for (const writer of [...WRITERS, ...YAML_WRITERS]) {
      for (const kind of KINDS) {
        if (writer.isOfBuiltIns && !kind.isBuiltIn) continue;
        for (const hex of NO_UTF8) {
          const sent = writer.send(kind, `odd-${named++}`, `"${MARK}"`);
          const body = replaced(Buffer.from(sent.body), Buffer.from(MARK), Buffer.from(hex, "hex"));
          const { status, text } = await send({ ...sent, body });
          if (status >= 500)
            found.push(`${writer.name} of ${kind.kind}, ${hex}: ${status} ${text}`);
        }
      }
    }
    assert.deepEqual(found, []);
  });

  test("H7: CBOR that JSON cannot say is 400, by create, update and apply", async () => {
    const found: string[] = [];
    for (const kind of KINDS) {
      for (const [hex, what, mayBeTaken] of IN_CBOR) {
        const name = `odd-${named++}`;
        const of = (object: string) =>
          withItem(encodeCbor(JSON.parse(textOf(kind, object, `"${MARK}"`)) as JsonValue), hex);
        const answers = [
          await send({ method: "POST", path: kind.path, type: "application/cbor", body: of(name) }),
          await send({
            method: "PUT",
            path: `${kind.path}/sound`,
            type: "application/cbor",
            body: of("sound"),
          }),
          await send({
            method: "PATCH",
            path: `${kind.path}/${name}?fieldManager=poisoner&force=true`,
            type: "application/apply-patch+cbor",
            body: of(name),
          }),
        ];
        for (const { status, text } of answers) {
          const isRight = status === 400 || (mayBeTaken && status < 500);
          if (!isRight) found.push(`${kind.kind}, ${what}: ${status} ${text.slice(0, 200)}`);
        }
      }
    }
    assert.deepEqual(found, []);
  });

  test("H7: raw JSON and texts within Protobuf are judged as in JSON", async () => {
    const found: string[] = [];
    const type = "application/vnd.kubernetes.protobuf";
    for (const kind of KINDS.filter(({ isBuiltIn }) => isBuiltIn)) {
      const [group = "", version = ""] = kind.apiVersion.split("/");
      const codec = protobuf.forKind(group, version, kind.kind) ?? assert.fail(kind.kind);
      for (const value of [...BEYOND, ...NO_JSON, ...ODD]) {
        // The raw part has a length: blanks fill what the value does not need.
        const size = Math.max(value.length, MARK.length + 2);
        const mark = MARK.padEnd(size - 2, "M");
        for (const [method, name] of [
          ["POST", `odd-${named++}`],
          ["PUT", "sound"],
        ] as const) {
          const object = JSON.parse(textOf(kind, name, `"${mark}"`)) as JsonValue;
          const sent = codec.encodeObject(object);
          const body = replaced(sent, Buffer.from(`"${mark}"`), Buffer.from(value.padEnd(size)));
          const path = method === "POST" ? kind.path : `${kind.path}/${name}`;
          const { status, text } = await send({ method, path, type, body });
          const isRight = ODD.includes(value) ? status < 500 : status === 400;
          if (!isRight)
            found.push(
              `${method} ${kind.kind}, ${value.slice(0, 20)}: ${status} ${text.slice(0, 200)}`,
            );
        }
      }
      for (const hex of NO_UTF8) {
        const mark = "M".repeat(hex.length / 2);
        const object = JSON.parse(textOf(kind, `odd-${named++}`, "1")) as JsonObject;
        Object.assign(object.metadata as JsonObject, { annotations: { a: `x${mark}x` } });
        const body = replaced(
          codec.encodeObject(object),
          Buffer.from(`x${mark}x`),
          Buffer.from(`78${hex}78`, "hex"),
        );
        const { status, text } = await send({ method: "POST", path: kind.path, type, body });
        if (status >= 500) found.push(`${kind.kind}, ${hex}: ${status} ${text.slice(0, 200)}`);
      }
    }
    assert.deepEqual(found, []);
  });

  test("H7: what a mutating webhook patches in or answers is judged as what clients send", async () => {
    const { client } = server;
    const rules = ["apps", "resource.k8s.io", "example.com"].map((group) => ({
      apiGroups: [group],
      apiVersions: ["v1"],
      operations: ["CREATE", "UPDATE"],
      resources: ["controllerrevisions", "resourceclaims", "things"],
    }));
    const webhooks = [
      {
        name: "poisoner.example.com",
        clientConfig: { url: hook.url, caBundle: Buffer.from(hook.ca).toString("base64") },
        rules,
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
      },
    ];
    const configurations = `${RULES}/mutatingwebhookconfigurations`;
    (await client.post(configurations, { metadata: { name: "poisoner" }, webhooks })).expect(201);
    const found: string[] = [];
    const answered = (extra: string) => (call: StubCall) => {
      const { uid } = (call.body as unknown as { request: { uid: string } }).request;
      const { apiVersion, kind } = call.body;
      return {
        body: `{"apiVersion":"${apiVersion}","kind":"${kind}","response":{"uid":"${uid}","allowed":true,${extra}}}`,
      };
    };
    for (const kind of KINDS) {
      for (const value of [...BEYOND, ...NO_JSON, ...ODD]) {
        const text = `[{"op":"add","path":"${kind.place}","value":${value}}]`;
        const encoded = Buffer.from(text).toString("base64");
        said.answer = answered(`"patchType":"JSONPatch","patch":"${encoded}"`);
        const { status, text: told } = await send(sentBy("create", kind, `odd-${named++}`, "1"));
        const isRight = ODD.includes(value) ? [201, 422].includes(status) : status === 500;
        if (!isRight)
          found.push(`${kind.kind}, ${value.slice(0, 20)}: ${status} ${told.slice(0, 200)}`);
        if (status === 500 && !/undecodable patch/.test(told)) found.push(told.slice(0, 300));
        if (ODD.includes(value)) continue;
        said.answer = answered(`"auditAnnotations":{"a":${value}}`);
        const whole = await send(sentBy("create", kind, `odd-${named++}`, "1"));
        if (whole.status !== 500)
          found.push(`an answer with ${value.slice(0, 20)}: ${whole.status}`);
      }
    }
    (await client.delete(`${configurations}/poisoner`)).expect(200);
    assert.deepEqual(found, []);
  });

  test("H7: what a mutating policy computes is no JSON number: its policy fails", async () => {
    const { client } = server;
    const policies = `${RULES}/mutatingadmissionpolicies`;
    const resourceRules = [
      {
        apiGroups: ["example.com"],
        apiVersions: ["v1"],
        operations: ["CREATE"],
        resources: ["things"],
      },
    ];
    const found: string[] = [];
    for (const value of [
      "1.0e308 * 10.0",
      "-1.0e308 * 10.0",
      "0.0 / 0.0",
      "double('1e400')",
      "double('NaN')",
    ]) {
      for (const [patchType, mutation] of [
        [
          "JSONPatch",
          { jsonPatch: { expression: `[JSONPatch{op: "add", path: "/n", value: ${value}}]` } },
        ],
        [
          "JSONPatch",
          {
            jsonPatch: {
              expression: `[JSONPatch{op: "add", path: "/n", value: {"a": [${value}]}}]`,
            },
          },
        ],
        ["ApplyConfiguration", { applyConfiguration: { expression: `Object{amount: ${value}}` } }],
      ] as const) {
        const spec = {
          matchConstraints: { resourceRules },
          failurePolicy: "Fail",
          reinvocationPolicy: "Never",
          mutations: [{ patchType, ...mutation }],
        };
        const name = `poisoner-${named++}`;
        (await client.post(policies, { metadata: { name }, spec })).expect(201);
        const binding = { metadata: { name }, spec: { policyName: name } };
        (await client.post(`${RULES}/mutatingadmissionpolicybindings`, binding)).expect(201);
        const path = "/apis/example.com/v1/namespaces/default/things";
        const { status, text } = await client.post(path, {
          apiVersion: "example.com/v1",
          kind: "Thing",
          metadata: { name },
        });
        if (status !== 403 && status !== 422)
          found.push(`${patchType} ${value}: ${status} ${text.slice(0, 300)}`);
        (await client.delete(`${RULES}/mutatingadmissionpolicybindings/${name}`)).expect(200);
        (await client.delete(`${policies}/${name}`)).expect(200);
      }
    }
    assert.deepEqual(found, []);
  });

  test("H7: defaults of definitions are judged as other values, and so is what they fill in", async () => {
    const found: string[] = [];
    for (const value of [...BEYOND, ...NO_JSON, ...ODD]) {
      const name = `odd${named++}`;
      const text = JSON.stringify(
        definition(name, ["v1"], { n: { default: MARK, [UNKNOWN]: true } }),
      );
      const body = text.replace(`"${MARK}"`, value);
      const isRight = (status: number) => (ODD.includes(value) ? status < 500 : status === 400);
      for (const type of ["application/json", "application/yaml"]) {
        const answer = await send({ method: "POST", path: DEFINITIONS, type, body });
        // YAML reads some of what JSON does not have as text.
        const mayBeText = type.endsWith("yaml") && NO_JSON.includes(value) && answer.status < 500;
        if (!isRight(answer.status) && !mayBeText) {
          found.push(
            `${type} ${value.slice(0, 20)}: ${answer.status} ${answer.text.slice(0, 200)}`,
          );
        }
      }
      const path = `${DEFINITIONS}/things.example.com`;
      const place = "/spec/versions/0/schema/openAPIV3Schema/properties/filled";
      const operation = `[{"op":"add","path":"${place}","value":{"${UNKNOWN}":true,"default":${value}}}]`;
      const patched = await send({
        method: "PATCH",
        path,
        type: "application/json-patch+json",
        body: operation,
      });
      if (!isRight(patched.status)) {
        found.push(`patch ${value.slice(0, 20)}: ${patched.status} ${patched.text.slice(0, 200)}`);
      }
      if (patched.status !== 200) continue;
      const kind = KINDS[2] as Kind;
      const filled = await send(sentBy("create", kind, `odd-${named++}`, "1"));
      if (filled.status !== 201)
        found.push(`filled with ${value.slice(0, 20)}: ${filled.status} ${filled.text}`);
    }
    assert.deepEqual(found, []);
  });

  test("H7: what a conversion webhook answers is judged before it is stored or served", async () => {
    const { client } = server;
    const clientConfig = { url: hook.url, caBundle: Buffer.from(hook.ca).toString("base64") };
    const conversion = {
      strategy: "Webhook",
      webhook: { clientConfig, conversionReviewVersions: ["v1"] },
    };
    const made = definition("hosts", ["v2", "v1"]);
    const spec = { ...(made.spec as JsonObject), conversion };
    (await client.post(DEFINITIONS, { ...made, spec })).expect(201);
    const path = (version: string) => `/apis/example.com/${version}/namespaces/default/hosts`;
    await eventually("both versions are served", async () => {
      return (
        (await client.get(path("v1"))).status === 200 &&
        (await client.get(path("v2"))).status === 200
      );
    });
    const converted = (value: string) => (call: StubCall) => {
      const { request } = call.body as unknown as {
        request: { uid: string; desiredAPIVersion: string; objects: ApiObject[] };
      };
      const objects = request.objects.map((one) => {
        const object = { ...one, apiVersion: request.desiredAPIVersion, n: MARK };
        return JSON.stringify(object).replace(`"${MARK}"`, value);
      });
      const { apiVersion, kind } = call.body;
      const response = `{"uid":"${request.uid}","result":{"status":"Success"},"convertedObjects":[${objects}]}`;
      return { body: `{"apiVersion":"${apiVersion}","kind":"${kind}","response":${response}}` };
    };
    const host = (version: string, name: string) => {
      return { apiVersion: `example.com/${version}`, kind: "Host", metadata: { name } };
    };
    const found: string[] = [];
    for (const value of [...BEYOND, ...NO_JSON, ...ODD]) {
      const name = `odd-${named++}`;
      said.answer = converted(value);
      const written = await client.post(path("v1"), host("v1", name));
      (await client.post(path("v2"), host("v2", `${name}-v2`))).expect(201);
      const read = await client.get(`${path("v1")}/${name}-v2`);
      const isRight = (status: number, right: number) =>
        status === 500 || (ODD.includes(value) && (status === right || status === 422));
      if (!isRight(written.status, 201))
        found.push(`written ${value.slice(0, 20)}: ${written.status} ${written.text}`);
      if (!isRight(read.status, 200))
        found.push(`read ${value.slice(0, 20)}: ${read.status} ${read.text}`);
      if (!ODD.includes(value))
        assert.equal((await client.get(`${path("v2")}/${name}`)).status, 404);
      const stored = (await client.get(path("v2"))).expect(200);
      const why = unsoundnessOf(stored.bytes, parseText);
      if (why !== undefined) found.push(`the list after ${value.slice(0, 20)}: ${why}`);
    }
    said.answer = converted("1");
    (await client.get(path("v1"))).expect(200);
    (await client.delete(path("v2"))).expect(200);
    assert.deepEqual(found, []);
  });

  test("H7: a migration of what a hand at etcd has left fails with its name, and writes nothing of it", async () => {
    const { client } = server;
    const texts = { beyond: "1e400", torn: "1e" };
    for (const [name, value] of Object.entries(texts)) {
      const text = textOf(KINDS[2] as Kind, name, value).replace(
        '"metadata":{',
        '"metadata":{"namespace":"default",',
      );
      await put(`example.com/things/default/${name}`, text);
    }
    for (const name of Object.keys(texts)) {
      const path = `${(KINDS[2] as Kind).path}/${name}`;
      await eventually(
        `the server knows ${name}`,
        async () => (await client.get(path)).status !== 404,
      );
      const spec = { resource: { group: "example.com", resource: "things" } };
      (await client.post(MIGRATIONS, { metadata: { name }, spec })).expect(201);
      await eventually(`the migration says why`, async () => {
        const { status } = (await client.get(`${MIGRATIONS}/${name}`)).expect(200).object as {
          status?: { conditions?: { type: string; message: string }[] };
        };
        const failed = status?.conditions?.find(({ type }) => type === "Failed");
        return (
          failed !== undefined &&
          Object.keys(texts).some((one) => failed.message.includes(`default/${one}`))
        );
      });
    }
    // Clients that read numbers into doubles could read none of such a list, and would not be told why.
    const list = await client.get((KINDS[2] as Kind).path);
    assert.equal(list.status, 500, list.text);
    for (const name of Object.keys(texts)) assert.match(list.text, new RegExp(`default/${name}`));
    for (const [name, value] of Object.entries(texts)) {
      const { kv } = await raw.get(`/registry/example.com/things/default/${name}`, {}, soon());
      assert.ok(kv?.value.toString().includes(`"n":${value}`), kv?.value.toString());
      (await client.delete(`${(KINDS[2] as Kind).path}/${name}?${UNSAFE}`)).expect(200);
    }
  });

  test("H7: a replica that reads everything from the store again serves it, and all of it can be deleted", async () => {
    const { dataDir } = server;
    await server.kill();
    server = await startServer({ ...etcd.etcd, flags: FLAGS, dataDir });
    await isAllSound();
    for (const path of new Set(KINDS.map((kind) => kind.path))) {
      (await server.client.delete(path)).expect(200);
      assert.deepEqual((await server.client.get(path)).expect(200).items, []);
    }
  });

  async function put(path: string, text: string): Promise<void> {
    const operation = { type: "put", key: `/registry/${path}`, value: Buffer.from(text) } as const;
    await raw.commit({ compares: [], operations: [operation] }, soon());
  }
});

const UNKNOWN = "x-kubernetes-preserve-unknown-fields";

/** A definition whose objects keep what they are given; the first version is stored. */
function definition(
  plural: string,
  versions: readonly string[],
  properties: JsonObject = {},
): JsonObject {
  const kind = plural[0]?.toUpperCase() + plural.slice(1).replace(/s$/, "");
  const schema = { ...ANYTHING, properties: { amount: { type: "number" }, ...properties } };
  const all = versions.map((name, at) => versionOf(schema, { name, storage: at === 0 }));
  return definitionOf(`${plural}.example.com`, kind, { versions: all }) as unknown as JsonObject;
}

function parseText(bytes: Buffer): unknown {
  return JSON.parse(bytes.toString());
}

function unsoundnessOf(bytes: Buffer, parse: (bytes: Buffer) => unknown): string | undefined {
  try {
    return unsoundness(parse(bytes));
  } catch (error) {
    return String(error);
  }
}
