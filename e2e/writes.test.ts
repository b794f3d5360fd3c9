/**
 * Promises about writes that only a whole server keeps: what dry runs may differ in, who may do them,
 * how bodies that are wrong in several ways are refused, what operations without objects answer.
 */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { furnished } from "./harness/furnished-namespace.js";
import { bindingOf } from "./harness/grant.js";
import type { Answer, ApiObject } from "./harness/https-client.js";
import { type ServerProcess, startServer } from "./harness/server-process.js";

const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const SERVICES = "/api/v1/namespaces/default/services";
const MERGE = "application/merge-patch+json";
const JSON_PATCH = "application/json-patch+json";
const STRATEGIC = "application/strategic-merge-patch+json";
const APPLY = "application/apply-patch+yaml";
const RBAC = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";

interface StatusBody {
  readonly message: string;
  readonly reason: string;
  readonly details?: { readonly causes?: readonly { readonly field?: string }[] };
}

describe("writes", () => {
  let server: ServerProcess;
  before(async () => {
    server = await startServer({ flags: ["--authorization-mode=RBAC"] });
    await furnished(server.client);
  });
  after(() => server[Symbol.asyncDispose]());

  const send = (
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> =>
    server.client.request(path, {
      method,
      ...(body === undefined ? {} : { body }),
      headers: { "content-type": "application/json", ...headers },
    });
  const patch = (path: string, type: string, body: unknown, headers = {}) =>
    send("PATCH", path, body, { "content-type": type, ...headers });
  const configMap = (metadata: object, parts: object = {}) => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata,
    ...parts,
  });
  const status = (answer: Answer) => answer.object as unknown as StatusBody;

  test("S1-CRUD-07, S1-GEN-07, S1-GEN-13: an operation without an object of its own is created, never read", async () => {
    const review = {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SubjectAccessReview",
      spec: { user: "nobody", resourceAttributes: { verb: "get", resource: "pods" } },
    };
    const reviews = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    const answer = (await send("POST", reviews, review)).expect(201).object;
    assert.equal(answer.kind, "SubjectAccessReview");
    assert.equal((answer.status as { allowed: boolean }).allowed, false);
    assert.equal(answer.metadata.name ?? "", "");
    const token = {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenReview",
      spec: { token: "wrong" },
    };
    const tokens = "/apis/authentication.k8s.io/v1/tokenreviews";
    const reviewed = (await send("POST", tokens, token)).expect(201).object;
    assert.notEqual((reviewed.status as { authenticated?: boolean }).authenticated, true);
    for (const path of [reviews, tokens]) {
      assert.equal(status((await send("GET", path)).expect(405)).reason, "MethodNotAllowed");
      (await send("GET", `${path}/x`)).expect(405);
      (await send("DELETE", `${path}/x`)).expect(405);
    }
  });

  test("S1-DEL-12, S1-NEG-16: a deleted collection comes in pieces, in every form that a list has", async () => {
    const path = "/api/v1/namespaces/default/secrets?labelSelector=large";
    const objects = Array.from({ length: 200 }, (_, index) => ({
      metadata: { name: `large-${index}`, labels: { large: "" } },
      data: { text: Buffer.alloc(2_000, "x").toString("base64") },
    }));
    await Promise.all(
      objects.map(async (object) => {
        (await send("POST", "/api/v1/namespaces/default/secrets", object)).expect(201);
      }),
    );
    const meta = "g=meta.k8s.io;v=v1";
    for (const accept of [
      "application/json",
      "application/yaml",
      "application/vnd.kubernetes.protobuf",
      `application/json;as=Table;${meta}`,
      `application/json;as=PartialObjectMetadataList;${meta}`,
    ]) {
      const listed = (await send("GET", path, undefined, { accept })).expect(200);
      const dry = (await send("DELETE", `${path}&dryRun=All`, undefined, { accept })).expect(200);
      assert.equal(dry.headers["content-type"], listed.headers["content-type"]);
      // The list's own version is that of the moment, all of the same length; ages are, too.
      const withoutMoment = ({ bytes }: Answer) =>
        bytes
          .toString("latin1")
          .replace(/(resourceVersion\W+|SecretList.{1,16}?)\d{2,}/s, "")
          .replace(/"\d+s"/g, '"age"');
      assert.equal(withoutMoment(dry), withoutMoment(listed), accept);
    }
    const deleted = (await send("DELETE", path)).expect(200);
    assert.equal(deleted.headers["transfer-encoding"], "chunked");
    assert.deepEqual(
      deleted.items.map(({ metadata }) => metadata.name).sort(),
      objects.map(({ metadata }) => metadata.name).sort(),
    );
    assert.deepEqual((await send("GET", path)).expect(200).items, []);
  });

  test("S1-DRY-07, S1-DRY-08: a dry run differs from the real one in what the server makes up", async () => {
    const body = configMap({ generateName: "dry-" }, { data: { a: "1" } });
    const dry = (await send("POST", `${CONFIG_MAPS}?dryRun=All`, body)).expect(201).object;
    const real = (await send("POST", CONFIG_MAPS, body)).expect(201).object;
    assert.match(dry.metadata.name ?? "", /^dry-.{5}$/);
    assert.notEqual(dry.metadata.name, real.metadata.name);
    assert.notEqual(dry.metadata.uid, real.metadata.uid);
    assert.equal(dry.metadata.resourceVersion ?? "", "");
    assert.deepEqual(withoutMadeUp(dry), withoutMadeUp(real));
    (await send("GET", `${CONFIG_MAPS}/${dry.metadata.name}`)).expect(404);

    const url = `${CONFIG_MAPS}/${real.metadata.name}`;
    const change = { metadata: { finalizers: ["example.com/hold"] }, data: { a: "2" } };
    const dryPatch = (await patch(`${url}?dryRun=All`, MERGE, change)).expect(200).object;
    const realPatch = (await patch(url, MERGE, change)).expect(200).object;
    assert.equal(dryPatch.metadata.resourceVersion, real.metadata.resourceVersion);
    assert.deepEqual(withoutMadeUp(dryPatch), withoutMadeUp(realPatch));
    const dryDelete = (await send("DELETE", `${url}?dryRun=All`)).expect(200).object;
    assert.equal((await send("GET", url)).object.metadata.deletionTimestamp, undefined);
    const realDelete = (await send("DELETE", url)).expect(200).object;
    assert.ok(dryDelete.metadata.deletionTimestamp !== undefined);
    assert.deepEqual(withoutMadeUp(dryDelete), withoutMadeUp(realDelete));
    await patch(url, MERGE, { metadata: { finalizers: null } });
  });

  test("S1-DRY-09: addresses and ports of a dry run are shown and not taken", async () => {
    const service = (name: string, spec: object = {}) => ({
      apiVersion: "v1",
      kind: "Service",
      metadata: { name },
      spec: { type: "NodePort", ports: [{ port: 80 }], ...spec },
    });
    type Spec = { clusterIP: string; ports: { nodePort: number }[] };
    for (let round = 0; round < 3; round++) {
      const dry = (await send("POST", `${SERVICES}?dryRun=All`, service("dry"))).expect(201).object;
      const { clusterIP, ports } = dry.spec as Spec;
      assert.match(clusterIP, /^\d+\.\d+\.\d+\.\d+$/);
      assert.ok((ports[0]?.nodePort ?? 0) >= 30_000);
      const same = service("taken", { clusterIP, ports });
      (await send("POST", SERVICES, same)).expect(201);
      const clash = await send("POST", `${SERVICES}?dryRun=All`, service("other", { clusterIP }));
      assert.match(clash.expect(422).text, /provided IP is already allocated/);
      (await send("DELETE", `${SERVICES}/taken`)).expect(200);
    }
    (await send("GET", `${SERVICES}/dry`)).expect(404);
  });

  test("S1-DRY-10: a dry run takes the same permission as the real write", async () => {
    const role = (verbs: readonly string[]) => ({
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "Role",
      metadata: { name: "dry" },
      rules: [{ apiGroups: [""], resources: ["configmaps"], verbs }],
    });
    (await send("PUT", `${RBAC}/roles/dry`, role(["get", "update"]))).expect(201);
    const binding = bindingOf("dry", "Role dry", "User dora");
    (await send("POST", `${RBAC}/rolebindings`, binding)).expect(201);
    (await send("POST", CONFIG_MAPS, configMap({ name: "dora" }))).expect(201);
    const dora = { "impersonate-user": "dora" };
    const url = `${CONFIG_MAPS}/dora`;
    for (const dryRun of ["", "?dryRun=All"]) {
      const put = configMap({ name: "dora" }, { data: { dryRun } });
      (await send("PUT", `${url}${dryRun}`, put, dora)).expect(200);
      (await send("POST", `${CONFIG_MAPS}${dryRun}`, configMap({ name: "new" }), dora)).expect(403);
      (await patch(`${url}${dryRun}`, MERGE, {}, dora)).expect(403);
      (await send("DELETE", `${url}${dryRun}`, undefined, dora)).expect(403);
      (await send("DELETE", `${CONFIG_MAPS}${dryRun}`, undefined, dora)).expect(403);
    }

    // Each kind of patch is the verb patch; an apply that would create takes create as well.
    (await send("PUT", `${RBAC}/roles/dry`, role(["patch"]))).expect(200);
    for (const dryRun of ["", "&dryRun=All"]) {
      const options = `?fieldManager=dora&force=true${dryRun}`;
      for (const [type, body] of [
        [MERGE, {}],
        [STRATEGIC, {}],
        [JSON_PATCH, []],
        [APPLY, configMap({ name: "dora" })],
      ] as const) {
        const of = type === APPLY ? options : `?${dryRun.slice(1)}`;
        (await patch(`${url}${of}`, type, body, dora)).expect(200, type);
      }
      const missing = `${CONFIG_MAPS}/applied${options}`;
      const applied = configMap({ name: "applied" });
      (await patch(missing, APPLY, applied, dora)).expect(403);
      (await send("PUT", url, configMap({ name: "dora" }), dora)).expect(403);
    }
    (await send("PUT", `${RBAC}/roles/dry`, role(["patch", "create"]))).expect(200);
    const created = await patch(
      `${CONFIG_MAPS}/applied?fieldManager=dora`,
      APPLY,
      configMap({ name: "applied" }),
      dora,
    );
    created.expect(201, "S1-PATCH-08");
  });

  test("S1-PATCH-08, S1-DRY-10: the verbs that authorization sees", async () => {
    // Proved by the permissions above; here that a name in the body does not change the verb.
    const nobody = { "impersonate-user": "nobody" };
    const refused = async (answer: Promise<Answer>) => status((await answer).expect(403)).message;
    const verb = /cannot (\w+) resource "configmaps"/;
    const url = `${CONFIG_MAPS}/dora`;
    for (const type of [MERGE, STRATEGIC, JSON_PATCH, APPLY]) {
      const message = await refused(patch(`${url}?fieldManager=a`, type, {}, nobody));
      assert.equal(verb.exec(message)?.[1], "patch", type);
    }
    const collection = await refused(send("DELETE", CONFIG_MAPS, undefined, nobody));
    assert.equal(verb.exec(collection)?.[1], "deletecollection");
  });

  test("S1-GEN-02, S1-GEN-22: subresources and namespaces are permissions of their own", async () => {
    const other = "/apis/rbac.authorization.k8s.io/v1/namespaces/kube-public";
    const grant = async (resources: readonly string[]) => {
      const role = {
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "Role",
        metadata: { name: "parts" },
        rules: [{ apiGroups: [""], resources, verbs: ["get"] }],
      };
      const answer = await send("PUT", `${RBAC}/roles/parts`, role);
      assert.ok(answer.status < 300, answer.text);
    };
    await grant(["pods"]);
    const binding = bindingOf("parts", "Role parts", "User pat");
    (await send("POST", `${RBAC}/rolebindings`, binding)).expect(201);
    const pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "parts" },
      spec: { containers: [{ name: "c", image: "example.test/i:1" }] },
    };
    const pods = "/api/v1/namespaces/default/pods";
    const made = await send("POST", pods, pod);
    made.expect(201);
    const statuses = async () => {
      const pat = { "impersonate-user": "pat" };
      const get = async (path: string) => (await send("GET", path, undefined, pat)).status;
      return [
        await get(`${pods}/parts`),
        await get(`${pods}/parts/status`),
        await get("/api/v1/namespaces/kube-public/pods/parts"),
      ];
    };
    assert.deepEqual(await statuses(), [200, 403, 403]);
    await grant(["pods/status"]);
    assert.deepEqual(await statuses(), [403, 200, 403]);
    // The same role in another namespace is another one.
    (await send("GET", `${other}/roles/parts`)).expect(404);
  });

  test("S1-PATCH-07: patches other than apply have no CBOR form", async () => {
    for (const kind of ["json-patch", "merge-patch", "strategic-merge-patch"]) {
      const answer = await patch(`${CONFIG_MAPS}/dora`, `application/${kind}+cbor`, "x");
      assert.match(status(answer.expect(415)).message, /application\/apply-patch\+yaml/);
    }
  });

  test("S1-FV-09: of several problems the first that is fatal is named, at every level of validation", async () => {
    const wrong =
      '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"unknown":1,"unknown":2,';
    const body = `${wrong}"spec":{"containers":"none","other":1}}`;
    for (const level of ["Ignore", "Warn", "Strict"]) {
      const answer = await send(
        "POST",
        `/api/v1/namespaces/default/pods?fieldValidation=${level}`,
        body,
      );
      const { message } = status(answer.expect(400));
      assert.match(message, /containers/, level);
      assert.doesNotMatch(message, /unknown/, level);
    }
    const patched = await patch(`${CONFIG_MAPS}/dora?fieldValidation=Strict`, MERGE, {
      data: 5,
      other: 1,
    });
    const { message } = status(patched.expect(422));
    assert.match(message, /struct field ConfigMap\.data/);
    assert.doesNotMatch(message, /unknown field/);
  });

  test("S1-FV-12: many warnings are cut to 256 characters each, and to 4 KiB together", async () => {
    const fields = Object.fromEntries(
      Array.from({ length: 40 }, (_, index) => [`${index}${"x".repeat(400)}`, 1]),
    );
    const body = configMap({ name: "warned" }, fields);
    const answer = (await send("POST", `${CONFIG_MAPS}?dryRun=All`, body)).expect(201);
    const header = String(answer.headers.warning);
    const texts = header.split(/, (?=299 - )/).map((one) => one.slice('299 - "'.length, -1));
    assert.equal(texts.length, 16);
    for (const text of texts) {
      assert.match(text, /^unknown field \\"\d+x+$/);
      assert.equal(text.replaceAll("\\", "").length, 256);
    }
    const few = configMap({ name: "warned" }, { [`a${"x".repeat(400)}`]: 1 });
    const whole = (await send("POST", `${CONFIG_MAPS}?dryRun=All`, few)).expect(201);
    assert.match(String(whole.headers.warning), /x{400}\\""$/);
  });

  test("S1-SSA-33: owners that are cleared beside other changes are cleared first", async () => {
    const url = `${CONFIG_MAPS}/cleared`;
    const owners = (object: ApiObject) =>
      ((object.metadata as { managedFields?: Record<string, unknown>[] }).managedFields ?? []).map(
        ({ manager, operation, fieldsV1 }) => [manager, operation, fieldsV1],
      );
    const expected = [["writer", "Update", { "f:data": { "f:a": {}, "f:c": {} } }]];
    const changes: readonly (readonly [type: string, body: unknown])[] = [
      [MERGE, { metadata: { managedFields: [{}] }, data: { a: "2", c: "1" } }],
      [STRATEGIC, { metadata: { managedFields: [{}] }, data: { a: "2", c: "1" } }],
      [
        JSON_PATCH,
        [
          { op: "replace", path: "/metadata/managedFields", value: [{}] },
          { op: "replace", path: "/data/a", value: "2" },
          { op: "add", path: "/data/c", value: "1" },
        ],
      ],
    ];
    const start = configMap({ name: "cleared" }, { data: { a: "1", b: "1" } });
    for (const [type, body] of changes) {
      (await patch(`${url}?fieldManager=first`, APPLY, start)).expect(201);
      const cleared = (await patch(`${url}?fieldManager=writer`, type, body)).expect(200).object;
      assert.deepEqual(owners(cleared), expected, type);
      (await send("DELETE", url)).expect(200);
    }
    (await patch(`${url}?fieldManager=first`, APPLY, start)).expect(201);
    const put = configMap(
      { name: "cleared", managedFields: [{}] },
      { data: { a: "2", b: "1", c: "1" } },
    );
    const replaced = (await send("PUT", `${url}?fieldManager=writer`, put)).expect(200).object;
    assert.deepEqual(owners(replaced), expected);
  });

  test("S1-META-20: no answer has a selfLink, whatever the client sends", async () => {
    const body = configMap({ name: "linked", selfLink: "/here" }, { data: { a: "1" } });
    const url = `${CONFIG_MAPS}/linked`;
    const answers = [
      await send("POST", CONFIG_MAPS, body),
      await send("PUT", url, body),
      await patch(url, MERGE, { metadata: { selfLink: "/there" } }),
      await patch(`${url}?fieldManager=a&force=true`, APPLY, body),
      await send("GET", url),
      await send("GET", CONFIG_MAPS),
      await send("GET", CONFIG_MAPS, undefined, {
        accept: "application/json;as=Table;v=v1;g=meta.k8s.io",
      }),
      await send("GET", CONFIG_MAPS, undefined, {
        accept: "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
      }),
      await send("GET", `${CONFIG_MAPS}?watch=1&timeoutSeconds=1&resourceVersion=0`),
      await send("DELETE", url),
    ];
    for (const answer of answers) {
      assert.ok(answer.status < 300, answer.text);
      assert.doesNotMatch(answer.text, /selfLink/);
    }
  });

  test("S1-ERR-03, S1-ERR-09, S1-ERR-02: conflicts, missing objects, wrong methods, forms that are not made", async () => {
    const missing = (await send("GET", `${CONFIG_MAPS}/x`)).expect(404);
    assert.equal(status(missing).message, 'configmaps "x" not found');
    assert.equal(status(missing).reason, "NotFound");
    const method = (await send("PUT", CONFIG_MAPS, configMap({ name: "x" }))).expect(405);
    assert.equal(status(method).reason, "MethodNotAllowed");
    assert.equal(
      status(method).message,
      "the server does not allow this method on the requested resource",
    );

    const created = (await send("POST", CONFIG_MAPS, configMap({ name: "stale" }))).expect(201);
    const url = `${CONFIG_MAPS}/stale`;
    (await patch(url, MERGE, { data: { a: "1" } })).expect(200);
    const stale = (await send("PUT", url, created.object)).expect(409);
    assert.equal(status(stale).reason, "Conflict");
    const apply = configMap({ name: "stale" }, { data: { a: "2" } });
    const conflict = (await patch(`${url}?fieldManager=other`, APPLY, apply)).expect(409);
    assert.equal(status(conflict).reason, "Conflict");
    assert.deepEqual(
      status(conflict).details?.causes?.map(({ field }) => field),
      [".data.a"],
    );

    for (const accept of [
      "text/csv",
      "application/json;as=Table;v=v9;g=meta.k8s.io",
      "application/json;as=PartialObjectMetadata;v=v9;g=meta.k8s.io",
    ]) {
      const answer = await send("GET", url, undefined, { accept });
      assert.equal(status(answer.expect(406, accept)).reason, "NotAcceptable");
    }
  });

  test("S1-PATH-11: objects are replaced, patched and deleted on their own path", async () => {
    const url = `${CONFIG_MAPS}/path`;
    const body = configMap({ name: "path", labels: { test: "path" } });
    (await send("POST", CONFIG_MAPS, body)).expect(201);
    (await send("PUT", url, body)).expect(200);
    (await patch(url, MERGE, {})).expect(200);
    (await send("POST", url, body)).expect(405);
    (await send("DELETE", url)).expect(200);
    (await send("POST", CONFIG_MAPS, body)).expect(201);
    (await send("DELETE", `${CONFIG_MAPS}?labelSelector=test%3Dpath`)).expect(200);
    (await send("GET", url)).expect(404);
  });
});

/** Without what may differ between a dry run and the real one. */
function withoutMadeUp({ metadata, ...rest }: ApiObject): unknown {
  const {
    name: _,
    uid: __,
    resourceVersion: ___,
    creationTimestamp: ____,
    deletionTimestamp: _____,
    ...others
  } = metadata;
  const { managedFields = [], ...more } = others as { managedFields?: Record<string, unknown>[] };
  return { ...rest, metadata: more, owners: managedFields.map(({ time: ______, ...own }) => own) };
}
