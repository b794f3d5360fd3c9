/**
 * Requests that are wrong, one kind at a time: each gets a clear Status that says what is wrong, and
 * the server lives on. e2e/fuzz.test.ts sends the ones that nobody has thought of.
 */
import assert from "node:assert/strict";
import { connect as connectHttp2 } from "node:http2";
import { after, before, describe, test } from "node:test";
import { within } from "./harness/eventually.js";
import type { Answer, RequestOptions } from "./harness/https-client.js";
import { RawConnection } from "./harness/raw-http.js";
import { type ServerProcess, startServer } from "./harness/server-process.js";

const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const MIB = 1024 * 1024;

interface Case {
  readonly title: string;
  readonly path?: string;
  readonly options: RequestOptions;
  readonly code: number;
  readonly reason: string;
  /** What the message must say. */
  readonly says?: RegExp;
}

function post(body: unknown, headers: Record<string, string> = {}): RequestOptions {
  return { method: "POST", body, headers: { "content-type": "application/json", ...headers } };
}

function configMap(fields: Record<string, unknown>, metadata: Record<string, unknown> = {}) {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "x", ...metadata }, ...fields };
}

const bad = { code: 400, reason: "BadRequest" };
const invalid = { code: 422, reason: "Invalid" };
const notFound = { code: 404, reason: "NotFound" };
const notAllowed = { code: 405, reason: "MethodNotAllowed" };
const unsupported = { code: 415, reason: "UnsupportedMediaType" };

const CASES: readonly Case[] = [
  { title: "an empty body", options: post(""), ...bad },
  { title: "truncated JSON", options: post('{"apiVersion":"v1","kind":'), ...bad },
  { title: "JSON with more after its end", options: post('{"metadata":{"name":"x"}}}'), ...bad },
  { title: "an array for an object", options: post("[]"), ...bad },
  { title: "a string for an object", options: post('"x"'), ...bad },
  {
    title: "null for an object, which is an object without members",
    options: post("null"),
    ...invalid,
  },
  { title: "invalid UTF-8", options: post(Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22])), ...bad },
  { title: "100,000 open brackets", options: post(`{"data":${"[".repeat(100_000)}`), ...bad },
  { title: "100,000 nested lists", options: post(nested(100_000)), ...bad },
  { title: "S1-FV-01: data is a number", options: post(configMap({ data: 5 })), ...bad },
  { title: "S1-FV-01: a value is a number", options: post(configMap({ data: { a: 1 } })), ...bad },
  {
    title: "S1-FV-01: metadata is a string",
    options: post({ ...configMap({}), metadata: "x" }),
    ...bad,
  },
  {
    title: "S1-META-17: a label is a number",
    options: post(configMap({}, { labels: { a: 1 } })),
    ...bad,
  },
  {
    title: "S1-META-17: a label with a bad key",
    options: post(configMap({}, { labels: { "a b": "1" } })),
    ...invalid,
    says: /metadata\.labels/,
  },
  {
    title: "S1-META-01: no name",
    options: post({ apiVersion: "v1", kind: "ConfigMap" }),
    ...invalid,
  },
  ...["UPPER", "a_b", "-a", "a-", "a/b", "..", "ä", "a".repeat(254)].map((name) => ({
    title: `S1-META-01: the name ${JSON.stringify(name.slice(0, 20))}`,
    options: post(configMap({}, { name })),
    ...invalid,
    says: /metadata\.name/,
  })),
  {
    title: "S1-META-05: another namespace",
    options: post(configMap({}, { namespace: "b" })),
    ...bad,
  },
  {
    title: "S1-META-09: a resourceVersion on create",
    options: post(configMap({}, { resourceVersion: "5" })),
    ...bad,
    says: /resourceVersion should not be set on objects to be created/,
  },
  {
    title: "S1-META-21: another kind",
    options: post({ ...configMap({}), kind: "Secret" }),
    ...bad,
  },
  {
    title: "S1-META-21: another apiVersion",
    options: post({ ...configMap({}), apiVersion: "v2" }),
    ...bad,
  },
  {
    title: "S1-GEN-14: a list for an object",
    options: post({ apiVersion: "v1", kind: "ConfigMapList", items: [] }),
    ...bad,
  },
  {
    title: "S1-CRUD-05: another name than the path's",
    path: `${CONFIG_MAPS}/y`,
    options: { ...post(configMap({})), method: "PUT" },
    ...bad,
  },
  {
    title: "S1-CRUD-05: replace what is not there",
    path: `${CONFIG_MAPS}/x`,
    options: { ...post(configMap({})), method: "PUT" },
    ...notFound,
    says: /configmaps "x" not found/,
  },
  {
    title: "S1-GEN-21: a namespace that is not there",
    path: "/api/v1/namespaces/nowhere/configmaps",
    options: post(configMap({})),
    ...notFound,
    says: /namespaces "nowhere" not found/,
  },
  ...[
    "/nothing",
    "/api/v2",
    "/api/v1/nothings",
    "/apis/no.where/v1",
    "//api/v1/namespaces",
    "//apis/apps/v1/deployments",
    "/apis/apps/v9/deployments",
  ].map((path) => ({ title: `S1-PATH-16, A33: the path ${path}`, path, options: {}, ...notFound })),
  {
    title: "S1-PATH-12: a subresource of a collection",
    path: "/api/v1/namespaces/default/pods/x/nothing",
    options: {},
    ...notFound,
  },
  ...["PUT", "PATCH"].map((method) => ({
    title: `S1-PATH-16: ${method} on a collection`,
    options: { ...post(configMap({})), method },
    ...notAllowed,
  })),
  {
    title: "S1-PATH-16: POST on an object",
    path: `${CONFIG_MAPS}/x`,
    options: post(configMap({})),
    ...notAllowed,
  },
  {
    title: "S1-PATH-10: POST of a namespaced type on the cluster's path",
    path: "/api/v1/configmaps",
    options: post(configMap({})),
    ...notAllowed,
  },
  ...["text/plain", "application/xml", "nonsense", "application/json5", "a/b/c"].map((type) => ({
    title: `S1-NEG-10: the content type ${type}`,
    options: post(configMap({}), { "content-type": type }),
    ...unsupported,
  })),
  {
    title: "S1-NEG-12: nothing acceptable",
    options: { headers: { accept: "text/csv" } },
    code: 406,
    reason: "NotAcceptable",
  },
  {
    title: "S1-QP-02: a version that is no number",
    path: `${CONFIG_MAPS}?resourceVersion=x`,
    options: {},
    ...bad,
  },
  {
    title: "S1-QP-06: a limit that is no number",
    path: `${CONFIG_MAPS}?limit=x`,
    options: {},
    ...bad,
  },
  {
    title: "S1-LIST-06: a token that we did not make",
    path: `${CONFIG_MAPS}?continue=x`,
    options: {},
    ...bad,
  },
  {
    title: "S1-PATH-14: a broken label selector",
    path: `${CONFIG_MAPS}?labelSelector=a%20in`,
    options: {},
    ...bad,
  },
  {
    title: "S1-PATH-15: an unknown field",
    path: `${CONFIG_MAPS}?fieldSelector=spec.x%3D1`,
    options: {},
    ...bad,
  },
  {
    title: "S1-QP-03: an unknown version match",
    path: `${CONFIG_MAPS}?resourceVersionMatch=x&resourceVersion=1`,
    options: {},
    ...invalid,
  },
  {
    title: "S1-QP-04: a version match without a version",
    path: `${CONFIG_MAPS}?resourceVersionMatch=Exact`,
    options: {},
    ...invalid,
  },
  {
    title: "S1-DRY-02: an unknown dry run",
    path: `${CONFIG_MAPS}?dryRun=Some`,
    options: post(configMap({})),
    ...invalid,
  },
  {
    title: "S1-QP-10: an unknown field validation",
    path: `${CONFIG_MAPS}?fieldValidation=Some`,
    options: post(configMap({})),
    ...invalid,
  },
  {
    title: "S1-DEL-06: an unknown propagation policy",
    path: `${CONFIG_MAPS}/x?propagationPolicy=Some`,
    options: { method: "DELETE" },
    ...invalid,
  },
  {
    title: "S1-ERR-10: a body of 4 MiB",
    options: post(configMap({ data: { a: "x".repeat(4 * MIB) } })),
    code: 413,
    reason: "RequestEntityTooLarge",
  },
  {
    title: "S1-LIM-07: an object of 2 MiB",
    options: post({
      apiVersion: "apps/v1",
      kind: "ControllerRevision",
      metadata: { name: "x" },
      revision: 1,
      data: { blob: "x".repeat(2 * MIB) },
    }),
    path: "/apis/apps/v1/namespaces/default/controllerrevisions",
    code: 413,
    reason: "RequestEntityTooLarge",
  },
];

describe("bad input", () => {
  let server: ServerProcess;
  before(async () => {
    server = await startServer();
  });
  after(() => server[Symbol.asyncDispose]());

  for (const { title, path = CONFIG_MAPS, options, code, reason, says } of CASES) {
    test(`${title} is ${code} ${reason}`, async () => {
      const answer = await within("an answer", server.client.request(path, options));
      assertStatus(answer, code, reason, says);
      assert.equal(server.hasEnded, false);
    });
  }

  test("S1-ERR-10: a body that is too large is refused while it is still coming", async () => {
    const connection = await RawConnection.open(server.port, server.credentials);
    const head = `POST ${CONFIG_MAPS} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n`;
    const answer = connection.send(`${head}Transfer-Encoding: chunked\r\n\r\n`);
    for (let sent = 0; sent < 5; sent++) {
      connection.write(`${MIB.toString(16)}\r\n${"x".repeat(MIB)}\r\n`);
    }
    const received = await within("an answer", answer);
    assert.equal(received?.status, 413);
    connection.destroy();
  });

  test("S1-ERR-10: a length that is too large is refused before the body comes", async () => {
    const connection = await RawConnection.open(server.port, server.credentials);
    const length = 1024 * MIB;
    const answer = await within(
      "an answer",
      connection.send(
        `POST ${CONFIG_MAPS} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n` +
          `Content-Length: ${length}\r\n\r\n{`,
      ),
    );
    assert.equal(answer?.status, 413);
    connection.destroy();
  });

  test("a request that is cut off changes nothing", async () => {
    const connection = await RawConnection.open(server.port, server.credentials);
    const body = JSON.stringify(configMap({}, { name: "cut" }));
    const answer = connection.send(
      `POST ${CONFIG_MAPS} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n` +
        `Content-Length: ${body.length + 10}\r\n\r\n${body}`,
    );
    connection.end();
    const received = await within("the connection ends", answer);
    assert.ok(received === undefined || received.status === 400, `${received?.status}`);
    (await server.client.get(`${CONFIG_MAPS}/cut`)).expect(404);
  });

  const floods: readonly (readonly [string, string])[] = [
    ["one header of 1 MiB", `X: ${"x".repeat(MIB)}\r\n`],
    ["50,000 headers", "X-Flood: yes\r\n".repeat(50_000)],
  ];
  for (const [what, headers] of floods) {
    test(`${what}: 431 with a Status`, async () => {
      const connection = await RawConnection.open(server.port, server.credentials);
      const request = `GET ${CONFIG_MAPS} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`;
      const answer = await within("an answer", connection.send(request));
      connection.destroy();
      // The server may have closed before it had read all that we sent: then the answer is lost.
      if (answer !== undefined) {
        assert.equal(answer.status, 431);
        assert.equal(JSON.parse(answer.body.toString()).kind, "Status");
      }
      (await server.client.get(CONFIG_MAPS)).expect(200);
    });
  }

  const broken: readonly (readonly [string, string])[] = [
    ["not HTTP", "hello\r\n\r\n"],
    ["an unknown method", `FLY ${CONFIG_MAPS} HTTP/1.1\r\nHost: x\r\n\r\n`],
    ["a bad header name", `GET ${CONFIG_MAPS} HTTP/1.1\r\nHost: x\r\nA B: c\r\n\r\n`],
    [
      "two lengths (request smuggling)",
      `POST ${CONFIG_MAPS} HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    ],
  ];
  for (const [what, request] of broken) {
    test(`${what}: 400 with a Status`, async () => {
      const connection = await RawConnection.open(server.port, server.credentials);
      const answer = await within("an answer", connection.send(request));
      connection.destroy();
      assert.equal(answer?.status, 400);
      const status = JSON.parse(answer.body.toString());
      assert.deepEqual([status.kind, status.code], ["Status", 400]);
    });
  }

  test("a name that is no Unicode text is no server error", async () => {
    // Half of a surrogate pair; names of RBAC objects may be nearly anything.
    const kind = '"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole"';
    const body = `{${kind},"metadata":{"name":"\\ud800"}}`;
    const path = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    const answer = await server.client.request(path, post(body));
    assert.ok(answer.status < 500, answer.text);
  });

  test("a request without a host is 400", async () => {
    const connection = await RawConnection.open(server.port, server.credentials);
    const request = `GET ${CONFIG_MAPS} HTTP/1.1\r\n\r\n`;
    assert.equal((await within("an answer", connection.send(request)))?.status, 400);
    connection.destroy();
  });

  test("HTTP/2 with a header flood loses that stream only", async () => {
    const session = connectHttp2(server.url, {
      ...server.credentials,
      maxSendHeaderBlockLength: 2 * MIB,
    });
    session.on("error", () => {});
    try {
      const get = (headers: Record<string, string>) =>
        new Promise<string>((resolve) => {
          const stream = session.request({ ":path": CONFIG_MAPS, ...headers });
          stream.once("response", (answer) => resolve(String(answer[":status"])));
          stream.once("error", (error) => resolve(error.message));
          stream.once("close", () => resolve("closed"));
          stream.resume();
        });
      assert.equal(await within("HTTP/2 works", get({})), "200");
      const said = await within("an end", get({ x: "x".repeat(MIB) }));
      assert.notEqual(said, "200");
    } finally {
      session.destroy();
    }
    (await server.client.get(CONFIG_MAPS)).expect(200);
  });

  test("after all of this the server is ready and has stored nothing", async () => {
    (await server.client.get("/readyz")).expect(200);
    const names = (await server.client.get(CONFIG_MAPS))
      .expect(200)
      .items.map((o) => o.metadata.name);
    assert.deepEqual(
      names.filter((name) => !name?.startsWith("kube-root")),
      [],
    );
    assert.doesNotMatch(server.logs, /uncaughtException|unhandledRejection/);
    await server.stop();
  });
});

function assertStatus(answer: Answer, code: number, reason: string, says?: RegExp): void {
  assert.equal(answer.status, code, answer.text.slice(0, 500));
  assert.match(String(answer.headers["content-type"]), /^application\/json/);
  const { kind, apiVersion, status, reason: said, code: inBody, message } = answer.object;
  assert.deepEqual(
    { kind, apiVersion, status, reason: said, code: inBody },
    { kind: "Status", apiVersion: "v1", status: "Failure", reason, code },
  );
  assert.ok(typeof message === "string" && message.length > 5, "a message for people");
  if (says !== undefined) assert.match(message, says);
}

function nested(depth: number): string {
  return `{"data":${"[".repeat(depth)}${"]".repeat(depth)}}`;
}
