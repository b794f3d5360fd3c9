/** Lines for requests, and how talkative the log is, on a server that runs. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "./harness/eventually.js";
import { HttpsClient } from "./harness/https-client.js";
import { startServer } from "./harness/server-process.js";
import { makeTempDir } from "./harness/temp-dir.js";

const PODS = "/api/v1/namespaces/default/pods";
const VERBOSITY = "/debug/flags/v";

test("S2-LOG-01, S2-LOG-02, S2-LOG-03: every request has a line with its audit id while verbosity asks for it, which who may changes while the server runs", async () => {
  await using folder = await makeTempDir("logs");
  const tokens = await folder.write("tokens.csv", "one-of-many,jane,1\n");
  await using server = await startServer({
    flags: ["--logging-format=json", `--token-auth-file=${tokens}`],
  });
  const { client } = server;
  const jane = new HttpsClient(server.url, { ca: server.credentials.ca });
  const as = { authorization: "Bearer one-of-many" };
  const put = (body: string) => client.put(VERBOSITY, body);
  const lines = () =>
    server.logs
      .split("\n")
      .filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  const requests = (id: string) => lines().filter((line) => line["audit-ID"] === id);
  const ask = (id: string, path = PODS) => client.request(path, { headers: { "audit-id": id } });

  (await ask("unseen")).expect(200);
  const denied = await jane.request(VERBOSITY, { method: "PUT", body: "10", headers: as });
  denied.expect(403, "changing the verbosity is authorized as any path");
  assert.equal((await put("3")).expect(200).text, "successfully set klog.logging.verbosity to 3\n");
  (await ask("seen", `${PODS}?limit=5&password=sesame`)).expect(200);
  const [line] = await eventually("the line is written", () => {
    const found = requests("seen");
    return found.length > 0 ? found : undefined;
  });
  const { time, latency, srcIP, bytes, ...rest } = line ?? {};
  assert.match(String(latency), /^\d+\.\d{3}ms$/);
  assert.match(String(srcIP), /^127\.0\.0\.1:\d+$/);
  assert.ok(Number(bytes) > 0 && Date.parse(String(time)) > 0);
  assert.deepEqual(rest, {
    level: "info",
    msg: "HTTP",
    verb: "LIST",
    URI: `${PODS}?limit=5&password=-`,
    userAgent: "",
    "audit-ID": "seen",
    user: "kubernetes-admin",
    protocol: "1.1",
    resp: 200,
  });
  (await put("0")).expect(200);
  (await ask("unseen")).expect(200);
  assert.deepEqual(requests("unseen"), []);

  const bad: readonly [method: string, body: string, status: number, text: RegExp][] = [
    ["PUT", "many", 400, /^failed set klog.logging.verbosity "many": not a number from 0 to 10\n/],
    ["PUT", "11", 400, /^failed set/],
    ["PUT", "x".repeat(100), 413, /too large/],
    ["GET", "", 406, /^unsupported http method\n/],
  ];
  for (const [method, body, status, text] of bad) {
    const answer = await client.request(VERBOSITY, { method, ...(body !== "" && { body }) });
    assert.match(answer.expect(status, `${method} ${body}`).text, text);
  }
  jane.close();
});

test("S2-LOG-03: without --profiling nobody changes the verbosity", async () => {
  await using server = await startServer({ flags: ["--profiling=false"] });
  (await server.client.put(VERBOSITY, "3")).expect(404);
});
