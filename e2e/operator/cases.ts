/** Forty tests of the operator, each for a fork of its own: definitions, finalizers, webhooks and garbage collection, ten of each. */
import assert from "node:assert/strict";
import { jsonPatch, openAdmissionHook } from "../../server/admission/testing/admission-webhook.js";
import { eventually } from "../harness/eventually.js";
import type { HttpsClient } from "../harness/https-client.js";
import type { SiteOperator } from "./site-operator.js";
import { DEFINITIONS, PAGES, SITES, type Site, site, siteDefinition } from "./sites.js";

export interface World {
  /** The administrator's, of the fork. */
  readonly client: HttpsClient;
  readonly operator: SiteOperator;
}

export interface Case {
  readonly title: string;
  readonly run: (world: World) => Promise<void>;
}

const FAMILY = 10;
const numbers = Array.from({ length: FAMILY }, (_, index) => index);

async function ready({ client }: World, name: string, pages: number): Promise<Site> {
  return await eventually(`${name} is ready`, async () => {
    const found = (await client.get(`${SITES}/${name}`)).expect(200).object as Site;
    const isDone = found.status?.observedGeneration === found.metadata.generation;
    return isDone && found.status?.ready === pages && found;
  });
}

async function pagesOf({ client }: World, name: string): Promise<readonly string[]> {
  const { items } = (await client.get(`${PAGES}?labelSelector=site%3D${name}`)).expect(200);
  return items.map(({ metadata }) => metadata.name ?? "").sort();
}

async function gone({ client }: World, name: string): Promise<void> {
  await eventually(`${name} is gone`, async () => {
    return (await client.get(`${SITES}/${name}`)).status === 404;
  });
}

/** The same names in each: nobody sees what another one does. */
const definitions = numbers.map((number) => ({
  title: `definitions ${number}: sites are judged and filled in, and a kind of the test's own is served at once`,
  async run(world: World) {
    const { client } = world;
    (await client.post(SITES, site("a", 10))).expect(422);
    (await client.post(SITES, site("a", number, { host: "forbidden.test" }))).expect(422);
    (await client.post(SITES, site("a", number))).expect(201);
    assert.equal((await ready(world, "a", number)).spec.host, "example.test");
    const plural = `shops${number}s`;
    const path = `/apis/example.test/v1/namespaces/default/${plural}`;
    (await client.post(DEFINITIONS, siteDefinition(`Shop${number}`, plural))).expect(201);
    const kind = { apiVersion: "example.test/v1", kind: `Shop${number}` };
    await eventually("the kind is served", async () => (await client.get(path)).status === 200);
    const shop = { ...kind, metadata: { name: "s" }, spec: { pages: 1 } };
    (await client.post(path, shop)).expect(201);
    (await client.delete(`${DEFINITIONS}/${plural}.example.test`)).expect(200);
    await eventually("its kind is gone", async () => (await client.get(path)).status === 404);
  },
}));

const finalizers = numbers.map((number) => ({
  title: `finalizers ${number}: a site goes when its address was given back, and not before`,
  async run(world: World) {
    const { client, operator } = world;
    const held = { ...site("a", number), metadata: { name: "a", finalizers: ["other/holds"] } };
    (await client.post(SITES, held)).expect(201);
    await ready(world, "a", number);
    (await client.delete(`${SITES}/a`)).expect(200);
    await eventually("the address is given back", () => operator.freed.length === 1);
    await eventually("the other one holds it", async () => {
      const { metadata } = (await client.get(`${SITES}/a`)).expect(200).object;
      return metadata.finalizers?.join() === "other/holds";
    });
    const body = JSON.stringify({ metadata: { finalizers: null } });
    (await client.patch(`${SITES}/a`, body)).expect(200);
    await gone(world, "a");
    assert.deepEqual(operator.freed, ["a"]);
  },
}));

const WEBHOOKS = "/apis/admissionregistration.k8s.io/v1";

const webhooks = numbers.map((number) => ({
  title: `webhooks ${number}: sites are changed and refused by the test's own webhook, in its fork alone`,
  async run(world: World) {
    const { client } = world;
    await using hook = await openAdmissionHook(({ name }) =>
      name === "bad"
        ? { allowed: false, status: { message: `no to ${number}` } }
        : jsonPatch({ op: "add", path: "/spec/host", value: `host-${number}` }),
    );
    const rules = [
      {
        operations: ["CREATE"],
        apiGroups: ["example.test"],
        apiVersions: ["*"],
        resources: ["sites"],
      },
    ];
    const configuration = {
      metadata: { name: "hook" },
      webhooks: [
        {
          ...{ name: "hook.example.test", rules, clientConfig: hook.clientConfig() },
          ...{ sideEffects: "None", admissionReviewVersions: ["v1"], timeoutSeconds: 30 },
        },
      ],
    };
    const path = `${WEBHOOKS}/mutatingwebhookconfigurations`;
    (await client.post(path, configuration)).expect(201);
    const refused = await client.post(SITES, site("bad", 1));
    assert.match(refused.text, new RegExp(`no to ${number}`));
    (await client.post(SITES, site("a", 1))).expect(201);
    assert.equal((await ready(world, "a", 1)).spec.host, `host-${number}`);
    assert.deepEqual(
      hook.requests.map(({ name }) => name),
      ["bad", "a"],
    );
    (await client.delete(`${path}/hook`)).expect(200);
    (await client.post(SITES, site("bad", 1))).expect(201);
  },
}));

const collection = numbers.map((number) => ({
  title: `garbage collection ${number}: pages follow their site's size, and go with it`,
  async run(world: World) {
    const { client } = world;
    (await client.post(SITES, site("a", number))).expect(201);
    (await client.post(SITES, site("b", 1))).expect(201);
    await ready(world, "a", number);
    const expected = Array.from({ length: number }, (_, page) => `a-${page}`);
    assert.deepEqual(await pagesOf(world, "a"), expected);
    const body = JSON.stringify({ spec: { pages: 1 } });
    (await client.patch(`${SITES}/a`, body)).expect(200);
    await ready(world, "a", 1);
    assert.deepEqual(await pagesOf(world, "a"), ["a-0"]);
    (await client.delete(`${SITES}/a`)).expect(200);
    await gone(world, "a");
    await eventually("its pages are gone", async () => (await pagesOf(world, "a")).length === 0);
    await ready(world, "b", 1);
    assert.deepEqual(await pagesOf(world, "b"), ["b-0"]);
  },
}));

export const CASES: readonly Case[] = [...definitions, ...finalizers, ...webhooks, ...collection];
