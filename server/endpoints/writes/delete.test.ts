/** DELETE requests: all forms of options, and deletion of unreadable objects. */

import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { forbidden, StatusError } from "../../api/status.js";
import { refusal } from "../../api/testing/refusal.js";
import { createProtobufCodecs } from "../../codec/protobuf.js";
import { YamlReader } from "../../codec/yaml-reader.js";
import { ACTIONS } from "../../registry/subresources/subresources.js";
import { noSignal, openRegistryHarness } from "../../registry/testing/registry-harness.js";
import { parseRequestInfo } from "../../request/request-info.js";
import { loadFacts } from "../../types/load-facts.js";
import { ChunkPool } from "../chunk-pool.js";
import { createNegotiator } from "../negotiation.js";
import { createRepresentationSource } from "../representations/representation-source.js";
import { createSender } from "./testing/send-request.js";
import type { WriteServices } from "./write-services.js";

const harness = await openRegistryHarness();
const { registry } = harness;
const { naming } = registry;
const facts = loadFacts(naming);
const protobuf = createProtobufCodecs(facts);
const services: WriteServices = {
  registry,
  representations: createRepresentationSource(naming, createNegotiator(naming)),
  chunks: new ChunkPool(),
  decoders: { naming, protobuf, yaml: new YamlReader() },
  actions: ACTIONS,
};
/** Services with the gate AllowUnsafeMalformedObjectDeletion; records the names asked for. */
const asked: string[] = [];
const unsafeServices: WriteServices = {
  ...services,
  authorizeUnsafeDelete: async (ctx) => {
    asked.push(ctx.state.info.name);
    if (ctx.state.info.name === "denied") {
      throw forbidden({ group: "", resource: "configmaps" }, "denied", "no");
    }
  },
};
const send = createSender(harness, services);
const sendUnsafe = createSender(harness, unsafeServices);

const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const OPTION = "ignoreStoreReadErrorWithClusterBreakingPotential";

before(() => send("POST", "/api/v1/namespaces", { metadata: { name: "default" } }));
beforeEach(() => {
  asked.length = 0;
});
after(() => harness[Symbol.asyncDispose]());

test("R47: a query too says which object is meant, by its uid or version, for one and for many", async () => {
  await send("POST", CONFIG_MAPS, { metadata: { name: "meant" } });
  for (const query of ["?uid=other", "?resourceVersion=1", "?uid=other&resourceVersion="]) {
    for (const path of [`${CONFIG_MAPS}/meant`, CONFIG_MAPS]) {
      assert.equal((await refusal(send("DELETE", `${path}${query}`))).code, 409, path + query);
    }
  }
  // A body's options are all that there are.
  await send("DELETE", `${CONFIG_MAPS}/meant?uid=other`, {});
});

function keyOf(name: string): string {
  return registry.view.keys.key("core/configmaps", `default/${name}`);
}

async function writeJunk(name: string, junk = "{"): Promise<void> {
  const put = { type: "put", key: keyOf(name), value: Buffer.from(junk) } as const;
  await registry.store.commit({ compares: [], operations: [put] }, noSignal);
  await registry.freshness.fresh();
}

async function isStored(name: string): Promise<boolean> {
  return (await registry.store.get(keyOf(name), {}, noSignal)).kv !== undefined;
}

async function create(name: string, finalizers: string[] = []): Promise<void> {
  await send("POST", CONFIG_MAPS, { metadata: { name, finalizers } });
}

test("options of another kind are refused in words, whatever stands for the kind", async () => {
  await create("odd");
  for (const body of [
    { kind: [{ toString: null }] },
    { kind: { toString: 1, valueOf: {} } },
    { dryRun: [{ toString: null }] },
  ]) {
    await assert.rejects(
      send("DELETE", `${CONFIG_MAPS}/odd`, body),
      (error) => error instanceof StatusError && [400, 422].includes(error.code),
    );
  }
});

test("S1-DEL-01: options come as JSON, as YAML, as Protobuf, or in the query", async () => {
  const options = { kind: "DeleteOptions", apiVersion: "v1", propagationPolicy: "Orphan" };
  const encoded = protobuf.forKind("", "v1", "DeleteOptions")?.encodeObject(options);
  const forms: readonly (readonly [string, unknown, Record<string, string>])[] = [
    ["", options, { "content-type": "application/json" }],
    ["", options, {}],
    [
      "",
      "kind: DeleteOptions\npropagationPolicy: Orphan\n",
      { "content-type": "application/yaml" },
    ],
    ["?propagationPolicy=Orphan", undefined, {}],
    ...(encoded === undefined
      ? []
      : [["", encoded, { "content-type": naming.protobufMediaType }] as const]),
  ];
  assert.equal(forms.length, 5);
  for (const [index, [query, body, headers]] of forms.entries()) {
    await create(`form-${index}`);
    const { body: answer } = await send(
      "DELETE",
      `${CONFIG_MAPS}/form-${index}${query}`,
      body,
      headers,
    );
    assert.deepEqual(answer.metadata.finalizers, ["orphan"], `form ${index}`);
  }
});

test("S1-DEL-02: a dry run may be asked for in the body or the query, and deletes nothing", async () => {
  await create("dry", ["example.com/a"]);
  const url = `${CONFIG_MAPS}/dry`;
  for (const [query, body] of [
    ["", { dryRun: ["All"] }],
    ["?dryRun=All", undefined],
    ["?dryRun=All", { gracePeriodSeconds: 0 }],
  ] as const) {
    const { body: answer } = await send("DELETE", `${url}${query}`, body);
    assert.ok(answer.metadata.deletionTimestamp);
  }
  assert.equal((await refusal(send("DELETE", url, { dryRun: ["Some"] }))).code, 422);
  const { kv } = await registry.store.get(keyOf("dry"), {}, noSignal);
  assert.equal(kv?.value.includes("deletionTimestamp"), false);
});

test("S1-DEL-16: to delete a collection is a verb of its own, which authorization sees", () => {
  assert.equal(parseRequestInfo("DELETE", CONFIG_MAPS).verb, "deletecollection");
  assert.equal(parseRequestInfo("DELETE", `${CONFIG_MAPS}/a`).verb, "delete");
});

test("S1-QP-06: a collection is deleted up to its limit, and never beyond what was asked for", async () => {
  const selected = `${CONFIG_MAPS}?labelSelector=limited`;
  for (const name of ["limited-a", "limited-b", "limited-c"]) {
    const metadata = { name, labels: { limited: "" } };
    await send("POST", CONFIG_MAPS, { metadata });
  }
  for (const [query, code] of [
    ["limit=1&resourceVersion=1", 400],
    ["resourceVersionMatch=Exact&resourceVersion=1", 400],
    ["continue=x", 400],
    ["limit=x", 400],
    ["resourceVersion=x", 400],
    ["resourceVersionMatch=Exact", 422],
  ] as const) {
    assert.equal((await refusal(send("DELETE", `${selected}&${query}`))).code, code, query);
  }
  const { body } = await send("DELETE", `${selected}&limit=2`);
  assert.deepEqual((body.items as unknown[]).length, 2);
  assert.equal(await isStored("limited-b"), false);
  assert.equal(await isStored("limited-c"), true);
});

test("S1-QP-06: a collection that is deleted up to its limit is gone on with, without what came meanwhile", async () => {
  interface Page {
    readonly items: readonly { readonly metadata: { readonly name: string } }[];
    readonly metadata: { readonly continue?: string; readonly remainingItemCount?: number };
  }
  const namesOf = ({ items }: Page) => items.map(({ metadata }) => metadata.name);
  const names = ["paged-a", "paged-b", "paged-c", "paged-d", "paged-e"];
  const create = (name: string) =>
    send("POST", CONFIG_MAPS, { metadata: { name, labels: { paged: "" } } });
  for (const name of names) await create(name);
  const page = async (query: string) =>
    (await send("DELETE", `${CONFIG_MAPS}?${query}`)).body as unknown as Page;
  const all = await page("dryRun=All");
  const { metadata } = await page("dryRun=All&limit=1");
  assert.equal(metadata.remainingItemCount, all.items.length - 1);

  const selected = "labelSelector=paged";
  const tokenOf = ({ metadata }: Page) => `&continue=${metadata.continue}`;
  const first = await page(`${selected}&limit=2`);
  assert.deepEqual(namesOf(first), names.slice(0, 2));
  assert.equal("remainingItemCount" in first.metadata, false);
  await create("paged-d0");
  await send("DELETE", `${CONFIG_MAPS}/paged-c`);
  const second = await page(`${selected}&limit=2${tokenOf(first)}`);
  assert.deepEqual(namesOf(second), ["paged-d"]);
  const last = await page(`${selected}${tokenOf(second)}`);
  assert.deepEqual(namesOf(last), ["paged-e"]);
  assert.equal("continue" in last.metadata, false);
  assert.ok(await isStored("paged-d0"));
  const other = refusal(send("DELETE", `${CONFIG_MAPS}?labelSelector=other${tokenOf(first)}`));
  assert.equal((await other).code, 400);
});

test("S1-DEL-01: of a collection none goes behind the first whose version is another", async () => {
  const versions = new Map<string, string>();
  for (const name of ["version-a", "version-b", "version-c"]) {
    const { body } = await send("POST", CONFIG_MAPS, {
      metadata: { name, labels: { version: "" } },
    });
    versions.set(name, String(body.metadata.resourceVersion));
  }
  const of = (name: string) =>
    send("DELETE", `${CONFIG_MAPS}?labelSelector=version&resourceVersion=${versions.get(name)}`);
  assert.equal((await refusal(of("version-c"))).code, 409);
  for (const name of versions.keys()) assert.ok(await isStored(name), name);
  assert.equal((await refusal(of("version-a"))).code, 409);
  assert.equal(await isStored("version-a"), false);
  assert.ok(await isStored("version-b"));
});

test("S1-DEL-09: finalizers may go in any order; with the last one goes the object", async () => {
  const orders = ["abc", "acb", "bac", "bca", "cab", "cba"];
  for (const order of orders) {
    const all = ["a", "b", "c"].map((letter) => `example.com/${letter}`);
    await create("ordered", all);
    await send("DELETE", `${CONFIG_MAPS}/ordered`);
    let left = all;
    for (const letter of order) {
      assert.ok(await isStored("ordered"));
      left = left.filter((finalizer) => !finalizer.endsWith(letter));
      const patch = { metadata: { finalizers: left } };
      const headers = { "content-type": "application/merge-patch+json" };
      await send("PATCH", `${CONFIG_MAPS}/ordered`, patch, headers);
    }
    assert.equal(await isStored("ordered"), false, order);
  }
});

test("S1-DEL-10: a PUT that takes the last finalizer removes the object", async () => {
  await create("put", ["example.com/a"]);
  const { body } = await send("DELETE", `${CONFIG_MAPS}/put`);
  await send("PUT", `${CONFIG_MAPS}/put`, {
    ...body,
    metadata: { ...body.metadata, finalizers: [] },
  });
  assert.equal(await isStored("put"), false);
});

test("S1-DEL-04, S1-DEL-06: each policy and its older form leave their finalizer", async () => {
  const cases: readonly (readonly [object, string[] | undefined])[] = [
    [{ propagationPolicy: "Foreground" }, ["foregroundDeletion"]],
    [{ propagationPolicy: "Orphan" }, ["orphan"]],
    [{ orphanDependents: true }, ["orphan"]],
    [{ orphanDependents: false }, undefined],
    [{ propagationPolicy: "Background" }, undefined],
  ];
  for (const [index, [options, finalizers]] of cases.entries()) {
    await create(`policy-${index}`);
    const { body } = await send("DELETE", `${CONFIG_MAPS}/policy-${index}`, options);
    assert.deepEqual(body.metadata.finalizers, finalizers, JSON.stringify(options));
  }
});

test("S1-DEL-06: a later delete with another policy replaces what the first one asked for", async () => {
  await create("changed");
  await send("DELETE", `${CONFIG_MAPS}/changed`, { propagationPolicy: "Foreground" });
  const { body } = await send("DELETE", `${CONFIG_MAPS}/changed`, { propagationPolicy: "Orphan" });
  assert.deepEqual(body.metadata.finalizers, ["orphan"]);
});

test("S1-UNS-02: without the gate the field is not there", async () => {
  await create("gate");
  const { body } = await send("DELETE", `${CONFIG_MAPS}/gate`, { [OPTION]: true, dryRun: ["All"] });
  assert.equal(body.status, "Success");
  await writeJunk("gate");
  assert.equal((await refusal(send("DELETE", `${CONFIG_MAPS}/gate?${OPTION}=true`))).code, 500);
  assert.ok(await isStored("gate"));
});

test("S1-UNS-01, S1-UNS-05, S1-UNS-08: what cannot be read goes, whatever its finalizers were", async () => {
  const junk = ["{", "", "\u0000\u0001", '{"metadata":{"finalizers":["example.com/a"]}}'];
  for (const text of junk) {
    await create("junk", ["example.com/a"]);
    await writeJunk("junk", text);
    assert.equal((await refusal(sendUnsafe("DELETE", `${CONFIG_MAPS}/junk`))).code, 500);
    const { status, body } = await sendUnsafe("DELETE", `${CONFIG_MAPS}/junk`, { [OPTION]: true });
    assert.equal(status, 200);
    assert.deepEqual(body, {
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Success",
      details: { name: "junk", kind: "configmaps" },
    });
    assert.equal(await isStored("junk"), false);
    assert.deepEqual(asked, ["junk"]);
    asked.length = 0;
  }
});

test("S1-GEN-09: what cannot be read holds its name", async () => {
  for (const [index, text] of ["{", "", "{}"].entries()) {
    const name = `held-${index}`;
    await writeJunk(name, text);
    for (const query of ["", "?dryRun=All"]) {
      const error = await refusal(send("POST", `${CONFIG_MAPS}${query}`, { metadata: { name } }));
      assert.equal(error.reason, "AlreadyExists", JSON.stringify(text));
    }
  }
});

test("S1-UNS-03: it takes a permission of its own", async () => {
  await writeJunk("denied");
  const error = await refusal(sendUnsafe("DELETE", `${CONFIG_MAPS}/denied?${OPTION}=true`));
  assert.equal(error.code, 403);
  assert.ok(await isStored("denied"));
});

test("S1-UNS-06, S1-UNS-07: options that would need the object are refused beside it", async () => {
  await writeJunk("alone");
  const others: Record<string, unknown> = {
    dryRun: ["All"],
    gracePeriodSeconds: 0,
    orphanDependents: true,
    preconditions: { uid: "u" },
    propagationPolicy: "Background",
  };
  for (const [name, value] of Object.entries(others)) {
    const error = await refusal(
      sendUnsafe("DELETE", `${CONFIG_MAPS}/alone`, { [OPTION]: true, [name]: value }),
    );
    assert.equal(error.code, 422);
    assert.equal(
      error.message,
      `DeleteOptions.meta.k8s.io "" is invalid: ${OPTION}: Invalid value: true: cannot be set together with .${name}`,
    );
  }
  assert.ok(await isStored("alone"));
  assert.deepEqual(asked, []);
});

test("S1-UNS-04, S1-UNS-09: a readable object stays; a missing one is 404", async () => {
  await create("readable");
  const error = await refusal(sendUnsafe("DELETE", `${CONFIG_MAPS}/readable`, { [OPTION]: true }));
  assert.equal(error.code, 422);
  assert.equal(
    error.message,
    `configmaps "readable" is invalid: ${OPTION}: Invalid value: true: is exclusively used to delete corrupt object(s), try again by removing this option`,
  );
  assert.ok(await isStored("readable"));
  const missing = await refusal(sendUnsafe("DELETE", `${CONFIG_MAPS}/none`, { [OPTION]: true }));
  assert.equal(missing.code, 404);
});

test("S1-UNS-10: a collection is not deleted so", async () => {
  const error = await refusal(sendUnsafe("DELETE", CONFIG_MAPS, { [OPTION]: true }));
  assert.equal(error.code, 422);
  assert.match(error.message, /is not allowed with DELETECOLLECTION/);
});

test("S1-UNS-10: a collection is deleted around what cannot be read", async () => {
  await create("healthy");
  await writeJunk("sick");
  await send("DELETE", CONFIG_MAPS);
  assert.equal(await isStored("healthy"), false);
  assert.ok(await isStored("sick"));
});

const META = "g=meta.k8s.io;v=v1";
const asForm = (form: string) => ({ accept: `application/json;as=${form};${META}` });

test("S1-TABLE-10, S1-DEL-12: what a delete leaves comes in the form that was asked for", async () => {
  for (const [form, dryRun] of [
    ["PartialObjectMetadata", ""],
    ["Table", ""],
    ["PartialObjectMetadata", "?dryRun=All"],
    ["Table", "?dryRun=All"],
  ] as const) {
    const name = `form-${form.toLowerCase()}${dryRun === "" ? "" : "-dry"}`;
    await send("POST", CONFIG_MAPS, {
      metadata: { name, finalizers: ["example.com/a"], labels: { a: "b" } },
      data: { key: "value" },
    });
    const { status, body } = await send(
      "DELETE",
      `${CONFIG_MAPS}/${name}${dryRun}`,
      undefined,
      asForm(form),
    );
    assert.deepEqual([status, body.kind, body.apiVersion], [200, form, "meta.k8s.io/v1"], name);
    assert.equal(JSON.stringify(body).includes('"value"'), false);
    const rows = (body.rows ?? [{ cells: [name], object: body }]) as {
      cells: string[];
      object: { kind: string; metadata: Record<string, unknown> };
    }[];
    const [row] = rows;
    assert.ok(row);
    const { metadata } = row.object;
    assert.equal(row.object.kind, "PartialObjectMetadata");
    assert.equal(row.cells[0], name);
    assert.deepEqual([metadata.name, metadata.labels], [name, { a: "b" }]);
    assert.ok(metadata.deletionTimestamp);
    assert.match(String(metadata.resourceVersion), /^[1-9]/);
    assert.match(String(metadata.uid), /-/);
    assert.ok(await isStored(name));
  }
});

test("S1-DEL-12: a Status is a Status, whatever form was asked for", async () => {
  for (const form of ["PartialObjectMetadata", "Table"]) {
    await create("gone");
    const { body } = await send("DELETE", `${CONFIG_MAPS}/gone`, undefined, asForm(form));
    assert.deepEqual([body.kind, body.status], ["Status", "Success"], form);
    assert.equal(await isStored("gone"), false);
  }
});

test("C-16: a form that a single object does not have is refused before it is deleted", async () => {
  await create("kept");
  const accept = asForm("PartialObjectMetadataList");
  const { code } = await refusal(send("DELETE", `${CONFIG_MAPS}/kept`, undefined, accept));
  assert.deepEqual([code, await isStored("kept")], [406, true]);
});

test("C-16, S1-TABLE-09: a form that a list does not have is refused before anything is deleted", async () => {
  await create("kept-too");
  const accept = asForm("PartialObjectMetadata");
  const error = await refusal(send("DELETE", CONFIG_MAPS, undefined, accept));
  assert.deepEqual([error.code, await isStored("kept-too")], [406, true]);
  assert.equal(
    error.message,
    "you requested PartialObjectMetadata, but the requested object is a list (ConfigMapList)",
  );
});

test("C-16, S1-TABLE-09, S1-DEL-16: a deleted collection comes in the form that was asked for", async () => {
  for (const form of ["PartialObjectMetadataList", "Table"]) {
    for (const name of ["swept-a", "swept-b"]) {
      const metadata = { name, labels: { swept: "" } };
      await send("POST", CONFIG_MAPS, { metadata, data: { key: "value" } });
    }
    const { status, body } = await send(
      "DELETE",
      `${CONFIG_MAPS}?labelSelector=swept`,
      undefined,
      asForm(form),
    );
    const kind = form === "Table" ? form : "PartialObjectMetadataList";
    assert.deepEqual([status, body.kind, body.apiVersion], [200, kind, "meta.k8s.io/v1"], form);
    assert.match(String(body.metadata.resourceVersion), /^[1-9]/);
    assert.equal(JSON.stringify(body).includes('"value"'), false);
    const rows = (body.rows ?? []) as { object: unknown }[];
    const shown = (body.items ?? rows.map(({ object }) => object)) as {
      kind: string;
      metadata: { name: string; resourceVersion: string };
    }[];
    assert.deepEqual(
      shown.map((object) => [object.kind, object.metadata.name]),
      ["swept-a", "swept-b"].map((name) => ["PartialObjectMetadata", name]),
    );
    for (const { metadata } of shown) assert.match(metadata.resourceVersion, /^[1-9]/);
    const none = await send(
      "DELETE",
      `${CONFIG_MAPS}?labelSelector=swept`,
      undefined,
      asForm(form),
    );
    assert.deepEqual([none.body.kind, none.body.items ?? none.body.rows], [kind, []]);
  }
});

test("S1-GEN-03: the forms are made of the stored shape where the served one has another", async () => {
  const events = "/apis/events.k8s.io/v1/namespaces/default/events";
  const sent = {
    metadata: { name: "told", finalizers: ["example.com/a"] },
    eventTime: "2026-01-02T03:04:05.000000Z",
    reportingController: "example.com/c",
    reportingInstance: "c-0",
    action: "Try",
    reason: "Because",
    type: "Normal",
    note: "something happened",
    regarding: { kind: "Pod", namespace: "default", name: "web" },
  };
  await send("POST", events, sent);
  const { body } = await send("DELETE", `${events}/told`, undefined, asForm("Table"));
  const [row] = body.rows as { object: { metadata: { name: string } } }[];
  assert.deepEqual([body.kind, row?.object.metadata.name], ["Table", "told"]);
  const list = await send("DELETE", events, undefined, asForm("PartialObjectMetadataList"));
  const items = list.body.items as { metadata: { name: string } }[];
  assert.deepEqual(
    items.map(({ metadata }) => metadata.name),
    ["told"],
  );
});
