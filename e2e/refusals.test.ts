/**
 * Every kind of refusal, seen by three users: one who may do it all gets the reason, one who may
 * nothing gets 403 for all of them, one with a bad token gets 401. Always a Status of one shape.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Answer, HttpsClient, type RequestOptions } from "./harness/https-client.js";
import { type ServerProcess, startServer } from "./harness/server-process.js";
import { makeTempDir } from "./harness/temp-dir.js";

const MAPS = "/api/v1/namespaces/default/configmaps";
const JSON_BODY = { "content-type": "application/json" };
const APPLY = { "content-type": "application/apply-patch+yaml" };
const BOTH = "resourceVersion=5&continue=x&limit=1";

const named = (name: string, rest: object = {}) =>
  JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name }, ...rest });
const post = (body: string, headers = JSON_BODY): RequestOptions => ({
  method: "POST",
  headers,
  body,
});
const put = (body: string): RequestOptions => ({ ...post(body), method: "PUT" });
const apply = (value: string): RequestOptions => ({
  method: "PATCH",
  headers: APPLY,
  body: named("a", { data: { shared: value } }),
});

/** What is refused, and as what. */
const REFUSALS: readonly [
  what: string,
  path: string,
  options: RequestOptions,
  code: number,
  reason: string,
][] = [
  [
    "a strict unknown field",
    `${MAPS}?fieldValidation=Strict`,
    post(named("x", { spec: {} })),
    400,
    "BadRequest",
  ],
  [
    "a strict duplicate field",
    `${MAPS}?fieldValidation=Strict`,
    post('{"metadata":{"name":"x"},"data":{},"data":{}}'),
    400,
    "BadRequest",
  ],
  ["a wrong type", MAPS, post(named("x", { data: [] })), 400, "BadRequest"],
  ["a body that is no JSON", MAPS, post("{"), 400, "BadRequest"],
  ["a continue token with a version", `${MAPS}?${BOTH}`, {}, 400, "BadRequest"],
  ["a name that is not that of the path", `${MAPS}/a`, put(named("b")), 400, "BadRequest"],
  ["an object that is not there", `${MAPS}/nope`, {}, 404, "NotFound"],
  ["a type that is not there", "/apis/nope.example/v1/things", {}, 404, "NotFound"],
  ["a verb that a path does not have", MAPS, put(named("a")), 405, "MethodNotAllowed"],
  ["no media type that there is", MAPS, { headers: { accept: "text/csv" } }, 406, "NotAcceptable"],
  [
    "a table in a form that has none",
    MAPS,
    { headers: { accept: "application/vnd.kubernetes.protobuf;as=Table;g=meta.k8s.io;v=v1" } },
    406,
    "NotAcceptable",
  ],
  ["a name that is taken", MAPS, post(named("a")), 409, "AlreadyExists"],
  [
    "an old version",
    `${MAPS}/a`,
    put(JSON.stringify({ metadata: { name: "a", resourceVersion: "1" } })),
    409,
    "Conflict",
  ],
  ["a field of another manager", `${MAPS}/a?fieldManager=other`, apply("other"), 409, "Conflict"],
  [
    "a body that is too large",
    MAPS,
    post(named("x", { data: { a: "x".repeat(3 * 1024 * 1024) } })),
    413,
    "RequestEntityTooLarge",
  ],
  [
    "a body of another kind",
    MAPS,
    post("<a/>", { "content-type": "text/xml" }),
    415,
    "UnsupportedMediaType",
  ],
  ["a bad name", MAPS, post(named("A_b", { data: { "a b": "" } })), 422, "Invalid"],
  ["a bad combination of parameters", `${MAPS}?resourceVersionMatch=Exact`, {}, 422, "Invalid"],
  ["a version of the future", `${MAPS}?resourceVersion=999999999`, {}, 504, "Timeout"],
];

const DETAILS: ReadonlySet<string> = new Set([
  "name",
  "group",
  "kind",
  "uid",
  "causes",
  "retryAfterSeconds",
]);

interface Details {
  readonly causes?: readonly Record<string, unknown>[];
  readonly retryAfterSeconds?: number;
}

/** S1-ERR-08, S1-ERR-12: one shape, and headers that go with it. */
function checkStatus(answer: Answer, code: number, reason: string): void {
  const { kind, apiVersion, metadata, status, message, details, ...rest } =
    answer.expect(code).object;
  assert.deepEqual([kind, apiVersion, metadata, status], ["Status", "v1", {}, "Failure"]);
  assert.deepEqual(rest, { reason, code });
  assert.ok(typeof message === "string" && message !== "");
  const { causes = [], retryAfterSeconds } = (details ?? {}) as Details;
  for (const name of Object.keys(details ?? {})) assert.ok(DETAILS.has(name), name);
  for (const cause of causes) {
    for (const [name, value] of Object.entries(cause)) {
      assert.ok(["reason", "message", "field"].includes(name) && typeof value === "string", name);
    }
  }
  assert.equal(code === 422, causes.length > 0 && reason === "Invalid");
  const retryAfter = answer.headers["retry-after"];
  assert.equal(retryAfter, retryAfterSeconds === undefined ? undefined : String(retryAfterSeconds));
  assert.equal(answer.headers["content-type"], "application/json");
  assert.equal(answer.headers["cache-control"], "no-cache, private");
  assert.match(String(answer.headers["audit-id"]), /^[0-9a-f-]{36}$/);
}

describe("refusals", () => {
  let server: ServerProcess;
  let folder: Awaited<ReturnType<typeof makeTempDir>>;
  let client: HttpsClient;

  const ask = (token: string, path: string, { headers, ...options }: RequestOptions) =>
    client.request(path, { ...options, headers: { ...headers, authorization: `Bearer ${token}` } });

  before(async () => {
    folder = await makeTempDir("refusals");
    const tokens = await folder.write("tokens.csv", 'may,jane,1,"system:masters"\nmaynot,joe,2\n');
    server = await startServer({ flags: [`--token-auth-file=${tokens}`] });
    client = new HttpsClient(server.url, { ca: server.credentials.ca });
    const created = {
      method: "PATCH",
      headers: APPLY,
      body: named("a", { data: { shared: "1" } }),
    };
    (await ask("may", `${MAPS}/a?fieldManager=first`, created)).expect(201);
  });
  after(async () => {
    client.close();
    await server[Symbol.asyncDispose]();
    await folder[Symbol.asyncDispose]();
  });

  for (const [what, path, options, code, reason] of REFUSALS) {
    test(`S2-ERR-03, S1-ERR-08: ${what} is ${code} ${reason}; 403 for who may not, 401 for a stranger`, async () => {
      checkStatus(await ask("may", path, options), code, reason);
      checkStatus(await ask("maynot", path, options), 403, "Forbidden");
      checkStatus(await ask("nobody", path, options), 401, "Unauthorized");
    });
  }
});
