/**
 * What kubectl does with patches and apply: three-way merges against what was applied last, server-side
 * apply with its conflicts, and the commands that are built on them. On the embedded store.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { promisify } from "node:util";
import { Kubectl } from "./harness/kubectl.js";
import { type ServerProcess, startServer } from "./harness/server-process.js";
import { makeTempDir } from "./harness/temp-dir.js";
import { requireTool } from "./tools/find-tool.js";

interface Session {
  readonly kubectl: Kubectl;
  readonly server: ServerProcess;
}

type Json = Record<string, unknown>;

describe("kubectl apply and patch", () => {
  test("S1-SSA, S1-PATCH: what is built on patches", async (t) => {
    await using server = await startServer();
    await using kubectl = await Kubectl.open(server);
    for (const [what, step] of STEPS) await t.test(what, () => step({ kubectl, server }));
    await server.stop();
  });
});

const STEPS: readonly (readonly [string, (session: Session) => Promise<void>])[] = [
  ["S1-PATCH-05: apply merges lists by key and deletes what is left out", applyThreeWay],
  ["S1-PATCH-01: label, annotate, set image, patch of every type", changeFields],
  ["S1-PATCH-11: patch says why its result is no object", refusePatches],
  ["S1-SSA-11, S1-SSA-13: apply --server-side, conflicts, --force-conflicts", applyServerSide],
  ["S1-SSA-37: server-side apply takes over from client-side apply", migrate],
  ["edit, replace, rollout restart", editAndReplace],
  ["S1-DRY-01: --dry-run=server and diff store nothing", dryRun],
  ["S1-FV-06, S1-FV-07, S1-FV-08: --validate=strict, warn and ignore", validate],
  ["S1-META-16: -o yaml hides managedFields unless they are asked for", hideOwners],
];

const NAMES = { app: "web" };

function deployment(containers: readonly Json[], changes: { metadata?: Json; spec?: Json } = {}) {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web", ...changes.metadata },
    spec: {
      selector: { matchLabels: NAMES },
      template: { metadata: { labels: NAMES }, spec: { containers } },
      ...changes.spec,
    },
  };
}

function configMap(name: string, data: Json): Json {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data };
}

async function apply({ kubectl }: Session, object: Json, ...flags: string[]): Promise<string> {
  return await kubectl.ok(["apply", "-f", "-", ...flags], JSON.stringify(object));
}

async function read({ kubectl }: Session, ...what: string[]) {
  const text = await kubectl.ok(["get", ...what, "-o", "json", "--show-managed-fields"]);
  return JSON.parse(text);
}

/** Containers as "name image variable=value ...". */
async function containers(session: Session): Promise<string[]> {
  const { spec } = await read(session, "deployment/web");
  const list: { name: string; image: string; env?: { name: string; value: string }[] }[] =
    spec.template.spec.containers;
  return list.map(({ name, image, env = [] }) =>
    [name, image, ...env.map((variable) => `${variable.name}=${variable.value}`)].join(" "),
  );
}

async function owners(session: Session, what: string): Promise<string[]> {
  const { metadata } = await read(session, what);
  const entries: Record<string, string>[] = metadata.managedFields ?? [];
  return entries.map(({ manager, operation }) => `${manager} ${operation}`).sort();
}

async function applyThreeWay(session: Session): Promise<void> {
  const { kubectl } = session;
  const main = { name: "main", image: "i:1", env: [{ name: "A", value: "1" }] };
  const helper = { name: "helper", image: "h:1" };
  assert.match(await apply(session, deployment([main, helper])), /created/);
  assert.match(await apply(session, deployment([main, helper])), /unchanged/);
  // Somebody else adds a container and a variable: what was not applied stays.
  const patch = {
    spec: {
      template: {
        spec: {
          containers: [
            { name: "injected", image: "s:1" },
            { name: "main", env: [{ name: "B", value: "2" }] },
          ],
        },
      },
    },
  };
  await kubectl.ok(["patch", "deployment", "web", "-p", JSON.stringify(patch)]);
  const changed = { ...main, image: "i:2", env: [{ name: "C", value: "3" }] };
  assert.match(await apply(session, deployment([changed])), /configured/);
  assert.deepEqual((await containers(session)).sort(), ["injected s:1", "main i:2 C=3 B=2"]);
}

async function changeFields(session: Session): Promise<void> {
  const { kubectl } = session;
  await kubectl.ok(["label", "deployment", "web", "tier=front"]);
  assert.match(await kubectl.fails(["label", "deployment", "web", "tier=back"]), /--overwrite/);
  await kubectl.ok(["label", "deployment", "web", "tier=back", "--overwrite"]);
  await kubectl.ok(["annotate", "deployment", "web", "note=one", "other=two"]);
  await kubectl.ok(["annotate", "deployment", "web", "other-"]);
  await kubectl.ok(["set", "image", "deployment/web", "main=i:3"]);
  await kubectl.ok(["set", "env", "deployment/web", "-c", "main", "D=4"]);
  const { metadata } = await read(session, "deployment/web");
  assert.equal(metadata.labels.tier, "back");
  assert.equal(metadata.annotations.note, "one");
  assert.equal(metadata.annotations.other, undefined);
  const [main] = (await containers(session)).filter((text) => text.startsWith("main"));
  assert.match(String(main), /^main i:3 .*D=4/);

  const strategic =
    '{"spec":{"template":{"spec":{"containers":[{"name":"injected","$patch":"delete"}]}}}}';
  const patches = [
    ["strategic", strategic],
    ["merge", '{"spec":{"replicas":3},"metadata":{"labels":{"tier":null}}}'],
    [
      "json",
      '[{"op":"test","path":"/spec/replicas","value":3},{"op":"replace","path":"/spec/replicas","value":2}]',
    ],
  ] as const;
  for (const [type, patch] of patches) {
    await kubectl.ok(["patch", "deployment", "web", "--type", type, "-p", patch]);
  }
  const { spec, metadata: now } = await read(session, "deployment/web");
  assert.equal(spec.replicas, 2);
  assert.equal(now.labels?.tier, undefined);
  assert.equal((await containers(session)).length, 1);
}

async function refusePatches({ kubectl }: Session): Promise<void> {
  const refused = (type: string, patch: string) =>
    kubectl.fails(["patch", "deployment", "web", "--type", type, "-p", patch]);
  const labels = '{"metadata":{"labels":"invalid"}}';
  assert.equal(
    await refused("strategic", labels),
    'The request is invalid: patch: Invalid value: "map[metadata:map[labels:invalid]]": cannot restore map from string\n',
  );
  assert.match(
    await refused("merge", labels),
    /^The request is invalid: patch: Invalid value: "\{.*\}": json: cannot unmarshal string into Go struct field ObjectMeta\.metadata\.labels of type map\[string\]string\n$/,
  );
}

async function applyServerSide(session: Session): Promise<void> {
  const { kubectl } = session;
  const server = ["--server-side"];
  const settings = (data: Json) => configMap("settings", data);
  assert.match(await apply(session, settings({ a: "1", b: "1" }), ...server), /serverside-applied/);
  const mine = ["--server-side", "--field-manager=mine"];
  const input = JSON.stringify(settings({ a: "2" }));
  const refused = await kubectl.fails(["apply", "-f", "-", ...mine], input);
  assert.match(refused, /Apply failed with 1 conflict: conflict with "kubectl": \.data\.a/);
  await apply(session, settings({ a: "2" }), ...mine, "--force-conflicts");
  await apply(session, settings({}), ...server);
  const { data } = await read(session, "configmap/settings");
  assert.deepEqual(data, { a: "2" });
  // The empty map was applied, so it has two owners.
  assert.deepEqual(await owners(session, "configmap/settings"), ["kubectl Apply", "mine Apply"]);
  const { resourceVersion } = (await read(session, "configmap/settings")).metadata;
  await apply(session, settings({ a: "2" }), ...mine);
  const { metadata } = await read(session, "configmap/settings");
  assert.equal(metadata.resourceVersion, resourceVersion);
}

async function migrate(session: Session): Promise<void> {
  const object = (data: Json) => configMap("moved", data);
  await apply(session, object({ a: "1", b: "1" }));
  assert.deepEqual(await owners(session, "configmap/moved"), ["kubectl-client-side-apply Update"]);
  // Without a conflict, and what is left out goes.
  await apply(session, object({ a: "2" }), "--server-side");
  const { data } = await read(session, "configmap/moved");
  assert.deepEqual(data, { a: "2" });
  // kubectl keeps the annotation under a name of its own.
  assert.deepEqual(await owners(session, "configmap/moved"), [
    "kubectl Apply",
    "kubectl-last-applied Apply",
  ]);
  // And back: what was applied last is written down for the client as well.
  await apply(session, object({ c: "3" }));
  assert.deepEqual((await read(session, "configmap/moved")).data, { c: "3" });
}

async function editAndReplace(session: Session): Promise<void> {
  const { kubectl, server } = session;
  await using home = await makeTempDir("editor");
  const editor = join(home.path, "editor.sh");
  await writeFile(editor, '#!/bin/sh\nsed -i "s/replicas: 2/replicas: 4/" "$1"\n', { mode: 0o755 });
  const env = {
    PATH: process.env.PATH ?? "",
    HOME: home.path,
    KUBECONFIG: server.kubeconfig,
    KUBE_EDITOR: editor,
  };
  const tool = await requireTool("kubectl");
  const { stdout } = await promisify(execFile)(tool, ["edit", "deployment/web"], { env });
  assert.match(stdout, /deployment\.apps\/web edited/);
  const edited = await read(session, "deployment/web");
  assert.equal(edited.spec.replicas, 4);

  edited.spec.replicas = 5;
  await kubectl.ok(["replace", "-f", "-"], JSON.stringify(edited));
  const stale = await kubectl.fails(["replace", "-f", "-"], JSON.stringify(edited));
  assert.match(stale, /\(Conflict\).*the object has been modified/);
  await kubectl.ok(["rollout", "restart", "deployment/web"]);
  const { spec } = await read(session, "deployment/web");
  assert.equal(spec.replicas, 5);
  const annotations = spec.template.metadata.annotations;
  assert.match(annotations["kubectl.kubernetes.io/restartedAt"], /^20\d\d-/);
}

async function dryRun(session: Session): Promise<void> {
  const { kubectl } = session;
  const before = await read(session, "configmap/settings");
  const changed = configMap("settings", { a: "9" });
  const input = JSON.stringify(changed);
  await apply(session, changed, "--dry-run=server");
  await apply(session, changed, "--server-side", "--force-conflicts", "--dry-run=server");
  await kubectl.ok(["label", "configmap", "settings", "x=y", "--dry-run=server"]);
  for (const flags of [[], ["--server-side", "--force-conflicts"]]) {
    const { code, stdout, stderr } = await kubectl.run(["diff", "-f", "-", ...flags], input);
    assert.equal(code, 1, stderr);
    assert.match(stdout, /^-\s+a: "2"$/m);
    assert.match(stdout, /^\+\s+a: "9"$/m);
  }
  assert.deepEqual(await read(session, "configmap/settings"), before);
}

async function validate(session: Session): Promise<void> {
  const { kubectl } = session;
  const main = { name: "main", image: "i:1", imag: "typo" };
  const input = JSON.stringify(deployment([main], { metadata: { name: "loose" } }));
  const args = (how: string) => ["apply", "-f", "-", `--validate=${how}`];
  const field = /unknown field "spec\.template\.spec\.containers\[0\]\.imag"/;
  assert.match(await kubectl.fails(args("strict"), input), field);
  const warned = await kubectl.run(args("warn"), input);
  assert.equal(warned.code, 0, warned.stderr);
  assert.match(warned.stderr, field);
  const ignored = await kubectl.run(args("ignore"), input);
  assert.equal(ignored.code, 0, ignored.stderr);
  assert.doesNotMatch(ignored.stderr, field);
  const applied = await kubectl.fails([...args("strict"), "--server-side"], input);
  assert.match(
    applied,
    /\.spec\.template\.spec\.containers\[name="main"\]\.imag: field not declared/,
  );
}

async function hideOwners({ kubectl }: Session): Promise<void> {
  const args = ["get", "configmap", "settings", "-o", "yaml"];
  assert.doesNotMatch(await kubectl.ok(args), /managedFields/);
  assert.match(await kubectl.ok([...args, "--show-managed-fields"]), /managedFields/);
}
