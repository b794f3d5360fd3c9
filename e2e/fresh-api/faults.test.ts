/** People 7: faults on demand, by `startKeelson({ faults: true })` and by `keelson fault`. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";
import { COMMAND } from "../harness/command.js";
import { HttpsClient } from "../harness/https-client.js";
import { startKeelson } from "../harness/start-api.js";
import { shareApi } from "./running-api.js";

const theApi = shareApi({ faults: true, users: [{ name: "nobody" }] });

const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const run = promisify(execFile);

test("People 7: refusals with a reason and Retry-After, as often as ordered, told in the answer", async () => {
  const { api, admin } = theApi();
  const what = {
    type: "status",
    code: 503,
    reason: "ServiceUnavailable",
    retryAfterSeconds: 7,
  } as const;
  const fault = await api.fault({ verb: "get", resource: "configmaps", name: "f", times: 2 }, what);
  for (let i = 0; i < 2; i++) {
    const { status, headers, bytes } = await admin.get(`${CONFIG_MAPS}/f`);
    assert.deepEqual([status, headers["retry-after"]], [503, "7"]);
    assert.equal(headers["keelson-fault"], `${fault.id} status`);
    assert.equal(JSON.parse(String(bytes)).reason, "ServiceUnavailable");
  }
  assert.equal((await admin.get(`${CONFIG_MAPS}/f`)).status, 404);
  assert.equal((await admin.get(`${CONFIG_MAPS}/other`)).status, 404);
  assert.equal(await fault.hits(), 2);

  await api.fault({ resource: "configmaps", times: 3 }, { type: "conflict" });
  for (const expected of [409, 409, 409, 201]) {
    const { status, bytes } = await admin.post(CONFIG_MAPS, { metadata: { name: "c" } });
    assert.equal(status, expected, String(bytes));
    if (status === 409) assert.match(String(bytes), /Operation cannot be fulfilled on configmaps/);
  }
  await assert.rejects(api.fault({}, { type: "status", code: 200 }), { message: /what.code/ });
  await assert.rejects(api.fault({ times: -1 }, { type: "conflict" }), { message: /times/ });
});

test("People 7: an answer is lost behind the commit, over HTTP/1.1", async () => {
  const { api, admin } = theApi();
  await api.fault({ verb: "create", resource: "configmaps", times: 1 }, { type: "lostAnswer" });
  await assert.rejects(
    admin.post(CONFIG_MAPS, { metadata: { name: "lost" } }),
    /socket hang up|ECONNRESET/,
  );
  assert.equal((await admin.get(`${CONFIG_MAPS}/lost`)).status, 200);
  const [request] = (await api.requests({ verb: "create" })).slice(-1);
  assert.equal(request?.changed, true);
});

test("People 7: open watches are cut in their middle, and the next one is told 410", async () => {
  const { api, admin } = theApi();
  const events = await admin.watch(`${CONFIG_MAPS}?watch=1`);
  const first = await events.next();
  assert.equal(first.done, false);
  const cut = await api.fault({ resource: "configmaps" }, { type: "cutWatch" });
  await assert.rejects(async () => {
    for await (const _ of events);
  });
  assert.equal(await cut.hits(), 1);
  const expired = await api.fault({ resource: "configmaps", times: 1 }, { type: "expired" });
  const { status, bytes } = await admin.get(`${CONFIG_MAPS}?watch=1&resourceVersion=1`);
  assert.deepEqual([status, JSON.parse(String(bytes)).reason], [410, "Expired"]);
  assert.equal(await expired.hits(), 1);
});

test("People 7: reads are stale, a delay is over when its request goes, and a fault that is removed is gone", async () => {
  const { api, admin } = theApi();
  const made = await admin.post(CONFIG_MAPS, { metadata: { name: "stale" }, data: { a: "1" } });
  const object = JSON.parse(String(made.bytes));
  const fault = await api.fault({ resource: "configmaps" }, { type: "staleRead" });
  await admin.put(`${CONFIG_MAPS}/stale`, { ...object, data: { a: "2" } });
  await admin.post(CONFIG_MAPS, { metadata: { name: "younger" } });
  const read = async (path: string) => JSON.parse(String((await admin.get(path)).bytes));
  assert.deepEqual(await read(`${CONFIG_MAPS}/stale`), object);
  assert.equal((await admin.get(`${CONFIG_MAPS}/younger`)).status, 404);
  const { items } = await read(`${CONFIG_MAPS}?fieldSelector=metadata.name=stale`);
  assert.deepEqual(items[0].data, { a: "1" });
  await fault.remove();
  assert.deepEqual((await read(`${CONFIG_MAPS}/stale`)).data, { a: "2" });
  await api.fault({ resource: "configmaps", times: 1 }, { type: "delay", delayMs: 1 });
  const { status, headers } = await admin.get(`${CONFIG_MAPS}/stale`);
  assert.equal(status, 200);
  assert.match(String(headers["keelson-fault"]), / delay$/);
});

test("People 7: keelson fault orders, lists and removes; others and ordinary servers have no such path", async () => {
  const { api, admin } = theApi();
  const fault = async (...args: string[]) => {
    const flags = ["fault", ...args, `--kubeconfig=${api.kubeconfigPath}`];
    return (await run(process.execPath, [COMMAND, ...flags])).stdout;
  };
  await fault("remove");
  const flags = ["--verb=list", "--resource=secrets", "--code=429", "--retry-after=3", "--times=1"];
  const id = (await fault("status", ...flags)).trim();
  const { status, headers } = await admin.get("/api/v1/secrets");
  assert.deepEqual([status, headers["retry-after"]], [429, "3"]);
  const [line = ""] = (await fault("list")).split("\n");
  assert.deepEqual(JSON.parse(line), {
    id,
    match: { verb: "list", resource: "secrets" },
    what: { type: "status", code: 429, retryAfterSeconds: 3 },
    times: 1,
    probability: 1,
    hits: 1,
  });
  assert.equal(await fault("remove", id), "removed 1\n");
  // They would never happen.
  for (const never of [
    ["delay", "--delay-ms=1", "--verb=read"],
    ["conflict", "--verb=get"],
    ["cutWatch", "--verb=list"],
  ]) {
    const stderr = /match\.verb: \w+ meets [a-z, ]+ \(400\)\n$/;
    await assert.rejects(fault(...never), { code: 2, stderr });
  }
  await assert.rejects(fault("nothing"), { code: 2, stderr: /must be one of status, / });

  const { url, ca, token } = api.as("nobody");
  const nobody = new HttpsClient(url, { ca });
  const headersOf = { authorization: `Bearer ${token}` };
  assert.equal((await nobody.request("/debug/faults", { headers: headersOf })).status, 403);
  nobody.close();
  await using ordinary = await startKeelson();
  await assert.rejects(ordinary.fault({}, { type: "conflict" }), {
    message: /; startKeelson needs the option faults \(404\)$/,
  });
});
