/** What bounds the requests of a control plane where priority and fairness do not, whoever asks. */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { test } from "node:test";
import { type ServerProcess, startServer } from "./harness/server-process.js";

const VERSION = "tenancy.k8s.io/v1alpha1";
const MAPS = "/clusters/shop/api/v1/namespaces/default/configmaps";
const BODY_BYTES = 2 ** 20;

for (const [what, flags] of [
  ["in flight", ["--enable-priority-and-fairness=false", "--max-mutating-requests-inflight=1"]],
  [
    "in memory",
    [
      ...["--max-requests-inflight=0", "--max-mutating-requests-inflight=0"],
      "--answer-memory-bytes=1Mi",
    ],
  ],
] as const) {
  test(`44: without priority and fairness, a control plane's system:masters have no more ${what} than others`, async () => {
    const enabled = ["--enable-control-planes", "--request-timeout=4s"];
    await using server = await startServer({ flags: [...enabled, ...flags] });
    const object = { apiVersion: VERSION, kind: "ControlPlane", metadata: { name: "shop" } };
    (await server.client.post(`/apis/${VERSION}/controlplanes`, object)).expect(201);
    (await server.client.get(MAPS)).expect(200);
    const both = [begin(server), begin(server)];
    const [answer] = (await Promise.race(both.map((one) => once(one, "response")))) as [
      IncomingMessage,
    ];
    assert.equal(answer.statusCode, 429);
    for (const one of both) one.on("error", () => {}).destroy();
  });
}

/** A request whose body does not come. */
function begin({ url, credentials }: ServerProcess) {
  const begun = request(`${url}${MAPS}`, {
    ...credentials,
    ...{ method: "POST", agent: false },
    headers: { "content-type": "application/json", "content-length": BODY_BYTES },
  });
  begun.flushHeaders();
  return begun;
}
