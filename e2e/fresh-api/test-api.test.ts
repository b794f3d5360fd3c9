/** What a test asks of its API and does to it, against running ones: requests, rest, snapshots. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Keelson } from "../../server/start-keelson.js";
import { HttpsClient } from "../harness/https-client.js";
import { startKeelson } from "../harness/start-api.js";
import { shareApi } from "./running-api.js";

const theApi = shareApi({
  users: [{ name: "controller", groups: ["system:masters"] }, { name: "nobody" }],
});

function as(api: Keelson, name: string) {
  const { url, ca, token } = api.as(name);
  const client = new HttpsClient(url, { ca });
  return {
    ask: (path: string, method = "GET", body?: unknown) =>
      client.request(path, { method, body, headers: { authorization: `Bearer ${token}` } }),
    close: () => client.close(),
  };
}

const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";

test("People 5: requests() tells what a user really did, and whether it changed anything", async () => {
  const { api } = theApi();
  const controller = as(api, "controller");
  const begin = (await api.requests()).at(-1);
  const made = { metadata: { name: "hot" }, data: { a: "b" } };
  const { bytes } = await controller.ask(CONFIG_MAPS, "POST", made);
  const stored = JSON.parse(String(bytes));
  await controller.ask(`${CONFIG_MAPS}/hot`, "PUT", stored);
  await controller.ask(`${CONFIG_MAPS}/hot`, "PUT", { ...stored, data: { a: "c" } });
  await controller.ask(`${CONFIG_MAPS}/hot?dryRun=All`, "DELETE");
  await controller.ask(`${CONFIG_MAPS}/none`);
  await controller.ask(`${CONFIG_MAPS}/hot`, "DELETE");
  controller.close();
  const seen = await api.requests({ ...(begin && { since: begin }), user: "controller" });
  assert.deepEqual(
    seen.map(({ verb, resource, namespace, name, status, changed }) => {
      return [verb, resource, namespace, name, status, changed];
    }),
    [
      ["create", "configmaps", "default", "hot", 201, true],
      ["update", "configmaps", "default", "hot", 200, false],
      ["update", "configmaps", "default", "hot", 200, true],
      ["delete", "configmaps", "default", "hot", 200, false],
      ["get", "configmaps", "default", "none", 404, false],
      ["delete", "configmaps", "default", "hot", 200, true],
    ],
  );
  const updates = await api.requests({ user: "controller", verb: "update" });
  assert.deepEqual(
    updates.map(({ changed }) => changed),
    [false, true],
  );
  assert.deepEqual(await api.requests({ since: new Date(Date.now() + 60_000) }), []);
});

test("People 5: settled() ends when the API's own loops have done their work, and says what moved last", async () => {
  const { api, admin } = theApi();
  assert.equal(
    (await admin.post("/api/v1/namespaces", { metadata: { name: "going" } })).status,
    201,
  );
  const inside = "/api/v1/namespaces/going/configmaps";
  for (const name of ["a", "b", "c"]) await admin.post(inside, { metadata: { name } });
  await admin.delete("/api/v1/namespaces/going");
  await api.settled();
  assert.equal((await admin.get("/api/v1/namespaces/going")).status, 404);

  await admin.post(CONFIG_MAPS, { metadata: { name: "moving" } });
  await assert.rejects(api.settled({ quietMs: 20_000, deadlineMs: 0 }), {
    message: /^it still moves after 0 ms; last: .*(?:moving|configmaps)/,
  });
});

test("People 2: nothing is simulated unless it is asked for", async () => {
  const { api, admin } = theApi();
  const labels = { app: "web" };
  const template = { metadata: { labels }, spec: { containers: [{ name: "c", image: "i" }] } };
  const spec = { selector: { matchLabels: labels }, template };
  const deployments = "/apis/apps/v1/namespaces/default/deployments";
  (await admin.post(deployments, { metadata: { name: "web" }, spec })).expect(201);
  await api.settled();
  for (const path of ["/api/v1/nodes", "/api/v1/pods"]) {
    assert.deepEqual((await admin.get(path)).items, []);
  }
});

test("People 5: the paths are for administrators, and an API in a child answers as well", async () => {
  const { api } = theApi();
  const nobody = as(api, "nobody");
  assert.equal((await nobody.ask("/debug/test-api/requests")).status, 403);
  nobody.close();
  await using child = await startKeelson({ runsIn: "child" });
  // Its loops write at its start, on a machine that may be doing much else.
  await child.settled({ deadlineMs: 120_000 });
  const client = new HttpsClient(child.url, child);
  await client.post(CONFIG_MAPS, { metadata: { name: "there" } });
  client.close();
  const [created] = await child.requests({ verb: "create" });
  assert.deepEqual([created?.name, created?.status, created?.changed], ["there", 201, true]);
});
