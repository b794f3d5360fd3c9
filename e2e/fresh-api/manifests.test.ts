/** People 3: objects that are there at the start, of `keelson serve`, `keelson up` and `startKeelson()`. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { COMMAND } from "../harness/command.js";
import { eventually } from "../harness/eventually.js";
import { HttpsClient } from "../harness/https-client.js";
import { readKubeconfig, runServer } from "../harness/server-process.js";
import { startKeelson } from "../harness/start-api.js";
import { makeTempDir } from "../harness/temp-dir.js";

const DEFINITION = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: widgets.example.com
spec:
  group: example.com
  scope: Namespaced
  names: { plural: widgets, singular: widget, kind: Widget }
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              properties: { size: { type: integer } }
`;

function configMap(name: string, namespace?: string) {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace }, data: { a: "b" } };
}

/** In an order that cannot work as it is. */
async function writeFolder(folder: string): Promise<void> {
  await mkdir(join(folder, "z"), { recursive: true });
  const widget = `# before its kind
apiVersion: example.com/v1
kind: Widget
metadata: { name: first, namespace: team }
spec: { size: 9007199254740993 }
---
# nothing but a comment
---
apiVersion: v1
kind: List
items:
  - ${JSON.stringify(configMap("one", "team"))}
  - ${JSON.stringify(configMap("two"))}
`;
  await writeFile(join(folder, "a.yaml"), widget);
  const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "team" } };
  await writeFile(join(folder, "z", "namespace.json"), JSON.stringify(namespace));
  await writeFile(join(folder, "z", "definition.yml"), DEFINITION);
  await writeFile(join(folder, "notes.txt"), "kind: [");
}

const PATHS = [
  "/apis/example.com/v1/namespaces/team/widgets/first",
  "/api/v1/namespaces/team/configmaps/one",
  "/api/v1/namespaces/default/configmaps/two",
];

async function versions(client: HttpsClient): Promise<string[]> {
  const answers = await Promise.all(PATHS.map((path) => client.get(path)));
  for (const [i, { status }] of answers.entries()) assert.equal(status, 200, PATHS[i]);
  return answers.map(({ bytes }) => String(JSON.parse(String(bytes)).metadata.resourceVersion));
}

test("serve: a folder's objects are there when the line of --ready-fd comes, and the next start changes nothing", async () => {
  await using folder = await makeTempDir("manifests");
  const manifests = join(folder.path, "manifests");
  await writeFolder(manifests);
  const seen: string[][] = [];
  for (let start = 0; start < 2; start++) {
    const data = `--data-dir=${join(folder.path, "data")}`;
    const args = ["serve", data, "--secure-port=0", "--ready-fd=3", `--manifests=${manifests}`];
    const child = spawn(process.execPath, [COMMAND, ...args], {
      stdio: ["ignore", "ignore", "inherit", "pipe"],
    });
    try {
      const line = JSON.parse(await text(child.stdio[3] as Readable)) as { kubeconfig: string };
      const { url, credentials } = await readKubeconfig(line.kubeconfig);
      const client = new HttpsClient(url, credentials);
      seen.push(await versions(client));
      const widget = String((await client.get(String(PATHS[0]))).bytes);
      assert.match(widget, /"size":9007199254740993\b/);
      assert.match(widget, /"manager":"manifests","operation":"Apply"/);
      client.close();
      const exit = once(child, "exit");
      child.kill("SIGTERM");
      assert.deepEqual(await exit, [0, null]);
    } finally {
      child.kill("SIGKILL");
    }
  }
  assert.deepEqual(seen[1], seen[0]);
});

test("startKeelson({ manifests }): objects, texts and paths, in this process and in a child", async () => {
  await using folder = await makeTempDir("manifests");
  await writeFolder(folder.path);
  const secret = 'apiVersion: v1\nkind: Secret\nmetadata: { name: s }\nstringData: { k: "v" }\n';
  for (const runsIn of ["process", "child"] as const) {
    const manifests = [configMap("mine", "team"), secret, folder.path];
    const api = await startKeelson({ runsIn, manifests });
    try {
      const client = new HttpsClient(api.url, api);
      await versions(client);
      for (const path of ["team/configmaps/mine", "default/secrets/s"]) {
        assert.equal((await client.get(`/api/v1/namespaces/${path}`)).status, 200, path);
      }
      client.close();
    } finally {
      await api.stop();
    }
  }
});

test("up: the command finds the objects", async () => {
  await using folder = await makeTempDir("manifests");
  await writeFolder(folder.path);
  const script = `const { readFileSync } = require("node:fs");
const { get } = require("node:https");
const text = readFileSync(process.env.KUBECONFIG, "utf8");
const of = (key) => Buffer.from(new RegExp(key + ": *(\\\\S+)").exec(text)[1].replaceAll('"', ""), "base64");
const url = /server: *"?([^\\s"]+)/.exec(text)[1];
const tls = { ca: of("certificate-authority-data"), cert: of("client-certificate-data"), key: of("client-key-data") };
get(url + "${PATHS[0]}", tls, (answer) => { console.log(answer.statusCode); answer.resume(); });`;
  const args = ["up", `--manifests=${folder.path}`, "--", process.execPath, "-e", script];
  const child = spawn(process.execPath, [COMMAND, ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  assert.equal(await text(child.stdout), "200\n");
});

test("what never comes is named with its place and reason, a line for each", async () => {
  await using folder = await makeTempDir("manifests");
  const gadget = { apiVersion: "example.com/v1", kind: "Gadget", metadata: { name: "g" } };
  const texts = [configMap("lost", "nowhere"), gadget].map((object) => JSON.stringify(object));
  const file = await folder.write("late.yaml", texts.join("\n---\n"));
  // The second API of a process starts in a fraction of the deadline, which is for both.
  await using _first = await startKeelson();
  const starting = startKeelson({ manifests: [file], deadlineMs: 10_000 });
  await assert.rejects(starting, (error: Error) => {
    assert.deepEqual(error.message.split("\n"), [
      `manifests: ${file}, document 1: ConfigMap nowhere/lost: namespaces "nowhere" not found (404)`,
      `manifests: ${file}, document 2: Gadget g: example.com/v1 is not served`,
    ]);
    return true;
  });
});

test("a child says as much as this process: a line for each object that the API refuses", async () => {
  const manifests = [configMap("UPPER"), configMap("good"), configMap("-")];
  await assert.rejects(startKeelson({ runsIn: "child", manifests }), (error: Error) => {
    const places = error.message.split("\n").map((line) => line.split(": ", 3).join(": "));
    assert.deepEqual(places, [
      "manifests: manifests[0]: ConfigMap UPPER",
      "manifests: manifests[2]: ConfigMap -",
    ]);
    return true;
  });
});

test("what comes from outside while it waits is waited for", async () => {
  await using folder = await makeTempDir("manifests");
  const file = await folder.write("late.json", JSON.stringify(configMap("late", "team")));
  const args = ["serve", `--data-dir=${folder.path}`, "--secure-port=0", "--ready-fd=3"];
  const child = spawn(process.execPath, [COMMAND, ...args, `--manifests=${file}`], {
    stdio: ["ignore", "pipe", "inherit", "pipe"],
  });
  try {
    const ready = text(child.stdio[3] as Readable);
    await once(child.stdout as Readable, "data");
    const path = join(folder.path, "admin.kubeconfig");
    const { url, credentials } = await readKubeconfig(path);
    const client = new HttpsClient(url, credentials);
    const body = { apiVersion: "v1", kind: "Namespace", metadata: { name: "team" } };
    assert.equal((await client.post("/api/v1/namespaces", body)).status, 201);
    assert.match(await ready, /^\{"url"/);
    assert.equal((await client.get("/api/v1/namespaces/team/configmaps/late")).status, 200);
    client.close();
  } finally {
    child.kill("SIGKILL");
  }
});

test("what the API refuses ends the start at once; unreadable files end it before anything is opened", async () => {
  await using folder = await makeTempDir("manifests");
  const serve = (path: string) =>
    runServer(["serve", `--data-dir=${folder.path}`, "--secure-port=0", `--manifests=${path}`]);
  const bad = await folder.write(
    "bad.yaml",
    `${JSON.stringify(configMap("ok"))}\n---\n{ kind: [\n`,
  );
  const broken = await serve(bad);
  assert.equal(broken.code, 1);
  assert.match(broken.output, /^keelson: manifests: \S+bad\.yaml, document 2: .+\n$/);
  const nameless = await folder.write("nameless.json", '{"apiVersion":"v1","kind":"Secret"}');
  assert.deepEqual(await serve(nameless), {
    code: 1,
    output: `keelson: manifests: ${nameless}: an object without metadata.name\n`,
  });
  assert.deepEqual(await serve("/nowhere/at-all"), {
    code: 1,
    output: 'keelson: manifests: cannot read "/nowhere/at-all" (ENOENT)\n',
  });
  const refused = await serve(
    await folder.write("refused.json", JSON.stringify(configMap("UPPER"))),
  );
  assert.equal(refused.code, 1);
  assert.match(
    refused.output,
    /^keelson: manifests: \S+refused\.json: ConfigMap UPPER: .+\(422\)$/m,
  );
});

test("People 3: with --watch-manifests changes of the files are applied, also behind a mistake", async () => {
  await using folder = await makeTempDir("watched-manifests");
  const file = join(folder.path, "a.yaml");
  const put = (value: string) =>
    writeFile(file, JSON.stringify({ ...configMap("watched"), data: { a: value } }));
  await put("first");
  await using api = await startKeelson({
    manifests: [folder.path],
    flags: { "watch-manifests": true },
  });
  const client = new HttpsClient(api.url, api);
  const path = "/api/v1/namespaces/default/configmaps";
  const dataOf = async (name: string) => {
    const answer = await client.get(`${path}/${name}`);
    return answer.status === 200 ? (answer.object.data as { a: string }).a : undefined;
  };
  assert.equal(await dataOf("watched"), "first");
  await writeFile(file, "{ no yaml");
  await folder.write("b.json", JSON.stringify(configMap("other")));
  await put("second, and longer");
  await eventually(
    "the change is there",
    async () => (await dataOf("watched")) === "second, and longer",
  );
  await eventually("the new file is there", async () => (await dataOf("other")) === "b");
  client.close();
});

test("#45 keelson up says on standard error what is wrong with a file that it watches", async () => {
  await using folder = await makeTempDir("watched-manifests");
  const file = await folder.write("a.yaml", JSON.stringify(configMap("watched")));
  const flags = [`--manifests=${folder.path}`, "--watch-manifests"];
  const command = ["--", "sh", "-c", "echo on; exec sleep 60"];
  const child = spawn(process.execPath, [COMMAND, "up", ...flags, ...command]);
  const closed = once(child, "close");
  await once(child.stdout, "data");
  await writeFile(file, "kind: ConfigMap\na: [b\n");
  const [told] = await once(child.stderr, "data");
  assert.match(String(told), /^keelson: manifests: \S+a\.yaml: line 2: [^\n]+\n$/);
  child.kill("SIGTERM");
  await closed;
});
