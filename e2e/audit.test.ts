/** The audit log of a running server: every request, whatever became of it. */
import assert from "node:assert/strict";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { HttpsClient } from "./harness/https-client.js";
import { runServer, startServer } from "./harness/server-process.js";
import { makeTempDir } from "./harness/temp-dir.js";

interface AuditEvent {
  readonly auditID: string;
  readonly stage: string;
  readonly verb: string;
  readonly requestURI: string;
  readonly user: { readonly username?: string };
  readonly impersonatedUser?: { readonly username: string; readonly groups: readonly string[] };
  readonly objectRef?: Readonly<Record<string, string>>;
  readonly responseStatus: {
    readonly code: number;
    readonly status?: string;
    readonly details?: object;
  };
  readonly annotations?: Readonly<Record<string, string>>;
  readonly requestReceivedTimestamp: string;
  readonly stageTimestamp: string;
}

const MAPS = "/api/v1/namespaces/default/configmaps";

test("S2-REQ-09, S2-IMP-10: every request is recorded once, with who, as whom, what and why", async () => {
  await using folder = await makeTempDir("audit");
  const file = join(folder.path, "audit.log");
  const ids = new Map<string, string>();
  const identity = { uid: "", resourceVersion: "" };
  {
    const gate = "--feature-gates=AllowUnsafeMalformedObjectDeletion=true";
    await using server = await startServer({ flags: [`--audit-log-path=${file}`, gate] });
    const { client } = server;
    const anonymous = new HttpsClient(server.url, { ca: server.credentials.ca });
    const keep = (what: string, answer: { headers: NodeJS.Dict<string | string[]> }) =>
      ids.set(what, String(answer.headers["audit-id"]));
    const map = { metadata: { name: "kept" }, data: { password: "not-in-the-log" } };
    keep("created", (await client.post(MAPS, map)).expect(201));
    const { metadata } = (await client.get(`${MAPS}/kept`)).expect(200).object;
    keep("replaced", (await client.put(`${MAPS}/kept`, { ...map, metadata })).expect(200));
    Object.assign(identity, { uid: metadata.uid, resourceVersion: metadata.resourceVersion });
    const odd = { name: "odd", uid: "not-in-the-log", resourceVersion: "not-in-the-log" };
    await client.put(`${MAPS}/odd`, { metadata: odd });
    keep("taken", (await client.post(MAPS, map)).expect(409));
    const as = { headers: { "impersonate-user": "jane", "impersonate-group": "dev" } };
    keep("forbidden", (await client.request(`${MAPS}/kept`, as)).expect(403));
    const bearer = { headers: { authorization: "Bearer not-in-the-log-either" } };
    keep("unauthorized", (await anonymous.request(MAPS, bearer)).expect(401));
    keep("missing", (await client.get(`${MAPS}/nothing?token=abc`)).expect(404));
    const unsafe = "ignoreStoreReadErrorWithClusterBreakingPotential=true";
    keep("unsafe", (await client.delete(`${MAPS}/kept?${unsafe}`)).expect(422));
    keep("deleted", (await client.delete(`${MAPS}/kept`)).expect(200));
    keep("health", (await anonymous.get("/livez")).expect(200));
    keep("watched", await client.request(`${MAPS}?watch=1&timeoutSeconds=1`, {}));
    anonymous.close();
    await server.stop();
  }

  const text = await readFile(file, "utf8");
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  assert.doesNotMatch(text, /not-in-the-log|token=abc/);
  const events = text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as AuditEvent);
  const of = (what: string) => events.filter(({ auditID }) => auditID === ids.get(what));
  const only = (what: string, stage = "ResponseComplete"): AuditEvent => {
    const [event, ...others] = of(what);
    assert.ok(event !== undefined && others.length === 0, what);
    assert.equal(event.stage, stage);
    assert.match(event.stageTimestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    assert.ok(event.requestReceivedTimestamp <= event.stageTimestamp);
    return event;
  };

  const created = only("created");
  assert.deepEqual([created.verb, created.responseStatus.code], ["create", 201]);
  assert.deepEqual(created.objectRef, {
    resource: "configmaps",
    namespace: "default",
    name: "kept",
    apiVersion: "v1",
  });
  assert.equal(created.annotations?.["authorization.k8s.io/decision"], "allow");

  // Which state of it was to be replaced; what is no uid or version is not repeated.
  assert.deepEqual(only("replaced").objectRef, { ...created.objectRef, ...identity });
  assert.equal(only("taken").objectRef?.name, "kept");

  const forbidden = only("forbidden");
  assert.equal(forbidden.user.username, "kubernetes-admin");
  assert.equal(forbidden.impersonatedUser?.username, "jane");
  assert.ok(forbidden.impersonatedUser?.groups.includes("dev"));
  assert.equal(forbidden.annotations?.["authorization.k8s.io/decision"], "forbid");

  const unauthorized = only("unauthorized", "ResponseStarted");
  assert.deepEqual([unauthorized.user, unauthorized.responseStatus.code], [{}, 401]);
  assert.equal(unauthorized.annotations, undefined);
  assert.equal(only("missing").requestURI, `${MAPS}/nothing?token=-`);
  assert.equal(
    only("unsafe").annotations?.["apiserver.k8s.io/unsafe-delete-ignore-read-error"],
    "",
  );
  const { code, status, details } = only("deleted").responseStatus;
  const deleted = { kind: "configmaps", name: "kept", uid: identity.uid };
  assert.deepEqual([code, status, details], [200, "Success", deleted]);
  assert.equal(only("health").user.username, "system:anonymous");
  assert.deepEqual(
    of("watched").map(({ stage, verb }) => [stage, verb]),
    [
      ["ResponseStarted", "watch"],
      ["ResponseComplete", "watch"],
    ],
  );
});

test("S2-REQ-09: in the legacy format every request is one line of text, whatever was sent", async () => {
  await using folder = await makeTempDir("audit-legacy");
  const file = join(folder.path, "audit.log");
  const policy = await folder.write(
    "policy.yaml",
    "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: RequestResponse, resources: [{resources: [configmaps]}]}]",
  );
  let id = "";
  {
    await using server = await startServer({
      flags: [
        `--audit-log-path=${file}`,
        `--audit-policy-file=${policy}`,
        "--audit-log-format=legacy",
      ],
    });
    const map = { metadata: { name: "kept" }, data: { word: "not-in-a-line" } };
    const options = {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "user-agent": 'curl "8"',
        "impersonate-user": "jane",
        "impersonate-group": "system:masters",
      },
      body: JSON.stringify(map),
    };
    const made = (await server.client.request(MAPS, options)).expect(201);
    id = String(made.headers["audit-id"]);
    await server.stop();
  }

  const lines = (await readFile(file, "utf8")).trim().split("\n");
  const line = (stage: string, as: string, response: string) =>
    String.raw`AUDIT: id="${id}" stage="${stage}" ip="127.0.0.1" method="create" user="kubernetes-admin" groups="\"system:masters\",\"system:authenticated\"" ${as} user-agent="curl \"8\"" namespace="default" uri="${MAPS}" response="${response}"`;
  const own = lines.filter((text) => text.includes(id));
  assert.deepEqual(
    own.map((text) => text.replace(/^[\d-]{10}T[\d:]{8}(\.\d+)?Z /, "")),
    [
      line("RequestReceived", 'as="<self>" asgroups="<lookup>"', "<deferred>"),
      line(
        "ResponseComplete",
        String.raw`as="jane" asgroups="\"system:masters\",\"system:authenticated\""`,
        "201",
      ),
    ],
  );
  assert.doesNotMatch(lines.join("\n"), /not-in-a-line/);
});

test("S2-REQ-09: an audit log that cannot be written ends the start with one line and exit 1", async () => {
  await using folder = await makeTempDir("audit-nowhere");
  const { code, output } = await runServer([
    "serve",
    `--data-dir=${folder.path}/data`,
    "--secure-port=0",
    `--audit-log-path=${folder.path}/missing/audit.log`,
  ]);
  assert.equal(code, 1, output);
  assert.match(output, /^keelson: --audit-log-path: .*missing\/audit\.log.*\n$/);
});
