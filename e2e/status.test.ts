/** People 9: `keelson status`, of a server that is ready and of one that is not. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { openWebhookStub } from "../server/client/testing/webhook-stub.js";
import { showStatus } from "../server/commands/status.js";
import { parseStatusOptions } from "../server/config/status-options.js";
import { shareApi } from "./fresh-api/running-api.js";
import { eventually } from "./harness/eventually.js";
import { makeTempDir } from "./harness/temp-dir.js";

const never = new AbortController().signal;
const theApi = shareApi({ users: [{ name: "ann", groups: ["developers"] }] });

test("People 9: a ready server is told with its version, one's user, replicas and leaders", async () => {
  const { api, admin } = theApi();
  // A Lease of nobody, which is legal, is nobody's here either.
  const leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
  (await admin.post(leases, { metadata: { name: "free" } })).expect(201);
  const options = parseStatusOptions([`--kubeconfig=${api.kubeconfigPath}`]);
  const output = await eventually("somebody leads", async () => {
    const status = await showStatus(options, never);
    assert.equal(status.exitCode, 0, status.output);
    return /^leads /m.test(status.output) ? status.output : undefined;
  });
  assert.match(output, /^server {4}v1\.\d+\.\d+\+keelson\S*$/m);
  assert.match(output, /^ready {5}yes$/m);
  assert.match(output, /^you {7}kubernetes-admin \(system:masters, system:authenticated\)$/m);
  assert.match(output, /^replica {3}apiserver-\w+ on \S+, heard of \d+ s ago$/m);
  assert.match(output, /^leads {5}keelson-controllers: \S+, heard of \d+ s ago$/m);
  assert.match(output, /^serves {4}\d+ types in \d+ groups$/m);
});

test("People 9: what one may not read is named", async () => {
  await using folder = await makeTempDir("status");
  const kubeconfig = join(folder.path, "config");
  await writeFile(kubeconfig, theApi().api.as("ann").kubeconfig);
  const options = parseStatusOptions([`--kubeconfig=${kubeconfig}`, "-o", "json"]);
  const { output, exitCode } = await showStatus(options, never);
  const { user, replicas, hidden } = JSON.parse(output);
  assert.deepEqual([exitCode, user, replicas], [0, "ann", []]);
  assert.match(hidden.replicas, /leases.* is forbidden: .*"ann" cannot list/);
});

test("People 9: a server that is not ready is told with the checks that fail, and exit status 1", async () => {
  await using stub = await openWebhookStub(({ url }) => {
    if (url.includes("/readyz")) {
      return {
        status: 500,
        body: "[+]ping ok\n[-]etcd failed: reason withheld\nreadyz check failed\n",
      };
    }
    return { status: 200, body: {} };
  });
  await using folder = await makeTempDir("status");
  const kubeconfig = join(folder.path, "config");
  await writeFile(kubeconfig, stub.kubeconfig);
  const status = await showStatus(parseStatusOptions([`--kubeconfig=${kubeconfig}`]), never);
  assert.equal(status.exitCode, 1);
  assert.match(status.output, /^ready {5}no: etcd$/m);
});
