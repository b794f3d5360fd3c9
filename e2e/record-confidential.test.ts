/**
 * Nothing that Secrets, tokens and kinds that are encrypted at rest say is in the recorder's files or answers: words are
 * planted wherever a client can put one into such an object, a selector, a refusal or a message, and searched for.
 */

import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { openAdmissionHook } from "../server/admission/testing/admission-webhook.js";
import type { Loops, Timeline } from "../server/recorder/record-types.js";
import { definitionOf, versionOf } from "./fixtures/definitions.js";
import { eventually } from "./harness/eventually.js";
import { HttpsClient } from "./harness/https-client.js";
import { startServer } from "./harness/server-process.js";
import { makeTempDir } from "./harness/temp-dir.js";

/** In each word that is planted; it is good as a key, a label, and a part of a path. */
const PLANTED = "planted";
const MERGE = "application/merge-patch+json";
const RELISTS = 12;

function encryption(...resources: readonly string[]): string {
  const secret = Buffer.from("k".repeat(32)).toString("base64");
  return JSON.stringify({
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "EncryptionConfiguration",
    resources: [{ resources, providers: [{ secretbox: { keys: [{ name: "one", secret }] } }] }],
  });
}

function definition(group: string) {
  const text = { type: "string" };
  const item = { type: "object", properties: { key: text, value: text }, required: ["key"] };
  const spec = {
    type: "object",
    properties: {
      word: { ...text, pattern: "^[a-z-]*$" },
      free: { type: "object", additionalProperties: text },
      items: {
        ...{ type: "array", items: item },
        ...{ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["key"] },
      },
      preset: { type: "object", default: { "planted-default": "x" }, additionalProperties: text },
    },
  };
  const openAPIV3Schema = { type: "object", properties: { spec, status: spec } };
  const more = { subresources: { status: {} }, selectableFields: [{ jsonPath: ".spec.word" }] };
  return definitionOf(`vaults.${group}`, "Vault", { versions: [versionOf(openAPIV3Schema, more)] });
}

/** Refuses what it is told to, and says what it refuses. */
const TALKATIVE_POLICY = {
  spec: {
    failurePolicy: "Fail",
    matchConstraints: {
      resourceRules: [
        { apiGroups: ["*"], apiVersions: ["*"], resources: ["vaults"], operations: ["*"] },
      ],
    },
    validations: [
      {
        expression: "object == null || !has(object.spec.word) || object.spec.word != 'planted-no'",
        messageExpression: "'not ' + object.spec.word",
      },
    ],
  },
};

/** A webhook that refuses what carries a label, for a reason of its own words: of vaults of any group. */
function refusingHook(clientConfig: object) {
  return {
    metadata: { name: "refuser" },
    webhooks: [
      {
        name: "refuser.example.com",
        clientConfig,
        rules: [
          { apiGroups: ["*"], apiVersions: ["*"], resources: ["vaults"], operations: ["CREATE"] },
        ],
        objectSelector: { matchLabels: { refuse: "yes" } },
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
      },
    ],
  };
}

async function filesIn(path: string): Promise<string> {
  const names = (await readdir(path)).filter((name) => name.endsWith(".records"));
  return (await Promise.all(names.map((name) => readFile(join(path, name), "utf8")))).join("");
}

/** Everything that a client can say about the objects of a collection, well and badly. */
async function plant(client: HttpsClient, path: string, content: (word: string) => object) {
  const named = (name: string, word: string, more: object = {}) => ({
    metadata: {
      name,
      labels: { [`${word}.example.com/label-key`]: `${word}-label` },
      annotations: { [`${word}.example.com/note-key`]: `${word} note` },
      ...more,
    },
    ...content(word),
  });
  const made = (await client.post(path, named("one", "planted-a"))).expect(201).object;
  const base = { resourceVersion: made.metadata.resourceVersion };
  const second = named("one", "planted-b", base);
  (await client.put(`${path}/one`, second)).expect(200);
  (await client.request(`${path}/one`, patchOf(MERGE, content("planted-c")))).expect(200);
  const apply = {
    ...named("one", "planted-d"),
    ...content("planted-d"),
    apiVersion: made.apiVersion,
    kind: made.kind,
  };
  const applied = patchOf("application/apply-patch+yaml", apply);
  (await client.request(`${path}/one?fieldManager=m&force=true`, applied)).expect(200);
  // Conflicts and refusals: of a version, of applied fields, of what is no name, of what is no object at all.
  (await client.put(`${path}/one`, named("one", "planted-e", base))).expect(409);
  const labels = { "planted-d.example.com/label-key": "planted-f" };
  const contrary = { ...apply, metadata: { name: "one", labels } };
  const other = patchOf("application/apply-patch+yaml", contrary);
  (await client.request(`${path}/one?fieldManager=other`, other)).expect(409);
  (await client.post(path, named("one", "planted-g"))).expect(409);
  await client.post(
    path,
    named("two", "Planted-bad!", { labels: { "planted bad": "planted bad" } }),
  );
  await client.post(path, { metadata: { name: "three" }, plantedField: [{ planted: 1 }] });
  await client.request(
    `${path}/one`,
    patchOf("application/json-patch+json", [
      { op: "test", path: "/metadata/labels/planted-key", value: "planted-h" },
    ]),
  );
  // Selectors, of which values of labels and fields are a part.
  const selector = "labelSelector=planted.example.com%2Fkey%3Dplanted-i";
  const watch = await client.watch(`${path}?watch=1&${selector}`);
  await watch.return?.(undefined);
  // Only of some kinds a value can be asked for by field.
  await client.get(`${path}?${selector}&fieldSelector=spec.word%3Dplanted-j`);
  (await client.delete(`${path}?${selector}`)).expect(200);
  (await client.delete(`${path}/one`)).expect(200);
}

function patchOf(type: string, body: object) {
  return { method: "PATCH", body, headers: { "content-type": type } };
}

const CONFIGURATIONS: readonly (readonly [string, readonly string[], readonly string[]])[] = [
  ["by name", ["secrets", "configmaps", "vaults.named.example.com"], ["named.example.com"]],
  ["of a group", ["*.wild.example.com"], ["wild.example.com"]],
  ["of all groups", ["*.*"], ["any.example.com", "other.example.org"]],
];

for (const [name, resources, groups] of CONFIGURATIONS) {
  test(`#46 no word of Secrets, tokens and what is encrypted ${name} is in files or answers of the recorder`, async () => {
    await using folder = await makeTempDir("record-confidential");
    const path = join(folder.path, "records");
    const configuration = await folder.write("encryption.json", encryption(...resources));
    await using server = await startServer({
      flags: [`--record=${path}`, `--encryption-provider-config=${configuration}`],
    });
    const { client } = server;
    const admission = "/apis/admissionregistration.k8s.io/v1";
    const metadata = { name: "talkative" };
    const policy = { metadata, ...TALKATIVE_POLICY };
    (await client.post(`${admission}/validatingadmissionpolicies`, policy)).expect(201);
    const binding = { metadata, spec: { policyName: "talkative", validationActions: ["Deny"] } };
    (await client.post(`${admission}/validatingadmissionpolicybindings`, binding)).expect(201);
    await using refuser = await openAdmissionHook(() => ({
      allowed: false,
      status: { code: 409, reason: "PlantedReason", message: "planted words of the webhook" },
    }));
    const hook = refusingHook(refuser.clientConfig());
    (await client.post(`${admission}/validatingwebhookconfigurations`, hook)).expect(201);
    const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    for (const group of groups) {
      // What a definition says is not what its objects say: where it is not encrypted, it is no secret.
      (await client.post(definitions, definition(group))).expect(201);
      const vaults = `/apis/${group}/v1/namespaces/default/vaults`;
      await eventually(
        `${vaults} is served`,
        async () => (await client.get(vaults)).status === 200,
      );
      const about = { apiVersion: `${group}/v1`, kind: "Vault" };
      const content = (word: string) => ({
        ...about,
        spec: {
          word: word.toLowerCase(),
          free: { [`${word}-key`]: `${word}-value` },
          items: [{ key: `${word}-item`, value: word }],
        },
      });
      await plant(client, vaults, content);
      for (const word of ["planted-no", "PLANTED"]) {
        const body = { ...about, metadata: { name: "refused" }, spec: { word } };
        // The answer itself quotes it.
        assert.ok((await client.post(vaults, body)).expect(422).text.includes(word));
      }
    }
    for (const group of groups) {
      const vaults = `/apis/${group}/v1/namespaces/default/vaults`;
      const about = { apiVersion: `${group}/v1`, kind: "Vault" };
      const body = { ...about, metadata: { name: "hooked", labels: { refuse: "yes" } }, spec: {} };
      const answer = await client.post(vaults, body);
      assert.ok(answer.text.includes("PlantedReason"), answer.text);
    }
    const core = "/api/v1/namespaces/default";
    await plant(client, `${core}/secrets`, (word) => ({
      ...{ apiVersion: "v1", kind: "Secret" },
      data: { [`${word}-key`]: Buffer.from(word).toString("base64") },
    }));
    if (resources.includes("configmaps")) {
      await plant(client, `${core}/configmaps`, (word) => ({
        ...{ apiVersion: "v1", kind: "ConfigMap" },
        data: { [`${word}-key`]: word },
      }));
    }
    const account = { metadata: { name: "robot" } };
    (await client.post(`${core}/serviceaccounts`, account)).expect(201);
    const asked = await client.post(`${core}/serviceaccounts/robot/token`, {});
    const { status } = asked.expect(201).object as unknown as { status: { token: string } };
    const review = { spec: { token: status.token } };
    (await client.post("/apis/authentication.k8s.io/v1/tokenreviews", review)).expect(201);

    const lister = new HttpsClient(server.url, server.credentials);
    for (let list = 0; list < RELISTS; list++) {
      const selector = `labelSelector=a%3Dplanted-${list < RELISTS / 2 ? "k" : list}`;
      (await lister.get(`${core}/secrets?${selector}`)).expect(200);
    }
    lister.close();
    const last = { metadata: { name: "the-last-one" } };
    (await client.post("/api/v1/namespaces", last)).expect(201);
    await eventually("the files have the last write", async () =>
      (await filesIn(path)).includes("the-last-one"),
    );

    const files = await filesIn(path);
    const answers = ["timeline?limit=10000", "loops", "records"].map(
      async (what) => (await client.get(`/debug/record/${what}`)).expect(200).text,
    );
    const texts = [files, ...(await Promise.all(answers))];
    const encoded = Buffer.from(PLANTED).toString("base64").slice(0, 8);
    for (const text of texts) {
      const found = [new RegExp(PLANTED, "i"), new RegExp(encoded)].flatMap((word) => {
        const at = text.search(word);
        return at === -1 ? [] : [text.slice(Math.max(0, at - 200), at + 80)];
      });
      assert.deepEqual(found, []);
      assert.ok(!text.includes(status.token) && !text.includes(status.token.slice(-30)));
    }
    // What may be told is there.
    const { writes, reads } = JSON.parse(texts[1] ?? "") as Timeline;
    const of = (resource: string) =>
      writes.filter((write) => write.resource === resource && write.name === "one");
    const [first] = groups;
    const kinds = [
      "secrets",
      "vaults",
      ...(resources.includes("configmaps") ? ["configmaps"] : []),
    ];
    for (const resource of kinds) {
      const outcomes = new Set(of(resource).map(({ outcome }) => outcome));
      assert.deepEqual([...outcomes].sort(), [
        "changed",
        "conflict",
        "created",
        "deleted",
        "refused",
      ]);
    }
    const hooked = writes.filter(({ name }) => name === "hooked");
    assert.deepEqual(
      hooked.map(({ outcome, reason, causes }) => [outcome, reason, causes.at(-1)?.by]),
      groups.map(() => ["refused", "", "admission-webhook"]),
    );
    const paths = new Set(
      of("vaults").flatMap(({ group, changedPaths }) => (group === first ? changedPaths : [])),
    );
    assert.ok(paths.has("spec") && paths.has("metadata.labels"), [...paths].join());
    // Selectors that differ are told apart: a list of each is no relist.
    const lists = reads.filter(({ resource, verb }) => resource === "secrets" && verb === "list");
    const selectors = new Set(lists.map(({ selector }) => selector));
    assert.ok(selectors.size > RELISTS / 2, [...selectors].join());
    const { loops } = JSON.parse(texts[2] ?? "") as Loops;
    assert.deepEqual(
      loops.filter(({ type, resource }) => type === "relist" && resource === "secrets"),
      [],
    );
  });
}
