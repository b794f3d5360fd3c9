/** The commands of people who administer a control plane: what works in it, and what says that it has none of this. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import { COMMAND } from "./harness/command.js";
import { type ServerProcess, startServer } from "./harness/server-process.js";
import { makeTempDir, type TempDir } from "./harness/temp-dir.js";

const KIND = "/apis/tenancy.k8s.io/v1alpha1/controlplanes";
const CONFIG_MAPS = "/clusters/shop/api/v1/namespaces/default/configmaps";

describe("commands inside a control plane", () => {
  let server: ServerProcess;
  let folder: TempDir;
  let kubeconfig: string;

  before(async () => {
    folder = await makeTempDir("plane-commands");
    server = await startServer({
      flags: ["--enable-control-planes", "--run-controllers", "--record=memory"],
    });
    const { client } = server;
    const plane = { apiVersion: "tenancy.k8s.io/v1alpha1", kind: "ControlPlane" };
    (await client.post(KIND, { ...plane, metadata: { name: "shop" } })).expect(201);
    const asked = { spec: { user: "carol" } };
    const { object } = (await client.post(`${KIND}/shop/kubeconfig`, asked)).expect(201);
    kubeconfig = join(folder.path, "carol.kubeconfig");
    const { status } = object as unknown as { status: { kubeconfig: string } };
    await writeFile(kubeconfig, status.kubeconfig);
    (await client.post(CONFIG_MAPS, { metadata: { name: "menu" } })).expect(201);
    await folder.write(
      "menu.yaml",
      "{apiVersion: v1, kind: ConfigMap, metadata: {name: fresh, namespace: default}}",
    );
  });
  after(async () => {
    await server?.[Symbol.asyncDispose]();
    await folder?.[Symbol.asyncDispose]();
  });

  async function run(...args: string[]) {
    const env = { ...process.env, KUBECONFIG: kubeconfig };
    const child = spawn(process.execPath, [COMMAND, ...args], { env, cwd: folder.path });
    child.stdin.end();
    const [stdout, stderr, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, "close") as Promise<[number]>,
    ]);
    return { code, output: stdout + stderr };
  }

  const MENU = ["configmap", "menu", "-n", "default"];
  const ROOT = () => ["--kubeconfig", server.kubeconfig, "--server", `${server.url}/clusters/shop`];
  /** How it ends, and what it prints. */
  const COMMANDS: Readonly<Record<string, [() => string[], number, RegExp]>> = {
    "status tells who asks": [() => ["status"], 0, /you +system:serviceaccount:kube-system:carol /],
    "blame reads the object's owners": [() => ["blame", ...MENU], 0, /metadata\.name: "menu"/],
    "history reads what the store keeps": [() => ["history", ...MENU], 0, /\(created\)/],
    "snapshot save": [() => ["snapshot", "save", "all.yaml"], 0, /^\d+ objects$/m],
    "snapshot load": [
      () => ["snapshot", "load", "all.yaml"],
      0,
      /^0 created, \d+ there already, 0 not loaded$/m,
    ],
    "validate needs no server": [() => ["validate", "menu.yaml"], 0, /1 object, 0 errors/],
    "explain-admission as the root's administrator": [
      () => ["explain-admission", "-f", "menu.yaml", ...ROOT()],
      0,
      /ConfigMap/i,
    ],
    "explain-admission as its own": [
      () => ["explain-admission", "-f", "menu.yaml"],
      2,
      /user is not in system:masters/,
    ],
    why: [() => ["why", ...MENU], 2, /keeps no record: .* is a control plane below another API/],
    fault: [() => ["fault", "list"], 2, /is a control plane below another API/],
  };
  for (const [name, [args, code, expected]] of Object.entries(COMMANDS)) {
    test(`44: ${name}`, async () => {
      const ended = await run(...args());
      assert.equal(ended.code, code, ended.output);
      assert.match(ended.output, expected);
    });
  }

  test("44: the record, the test API and the profiler of the process are not there", async () => {
    for (const path of ["/debug/record", "/debug/record/why", "/debug/test-api", "/debug/pprof/"]) {
      const { object } = (await server.client.get(`/clusters/shop${path}`)).expect(404, path);
      assert.equal((object as { reason?: string }).reason, "NotFound");
    }
  });
});
