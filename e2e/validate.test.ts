/** People 8: `keelson validate`, whether manifests would be taken, without a server. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, readdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { validate } from "../server/commands/validate.js";
import { parseValidateOptions } from "../server/config/validate-options.js";
import { AdminHere } from "../server/fresh-api/admin-client.js";
import { startHere } from "../server/fresh-api/api-here.js";
import { COMMAND } from "./harness/command.js";
import type { ApiObject } from "./harness/https-client.js";
import { makeTempDir } from "./harness/temp-dir.js";

const run = promisify(execFile);

const DEFINITION = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: widgets.example.com }
spec:
  group: example.com
  scope: Namespaced
  names: { plural: widgets, singular: widget, kind: Widget }
  conversion:
    strategy: Webhook
    webhook:
      conversionReviewVersions: [v1]
      clientConfig: { url: "https://127.0.0.1:1/convert" }
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
              properties: { min: { type: integer }, max: { type: integer } }
              x-kubernetes-validations:
                - rule: self.min <= self.max
                  message: min is above max
    - name: v2
      served: true
      storage: false
      schema:
        openAPIV3Schema:
          type: object
          properties: { spec: { type: object, properties: { size: { type: integer } } } }
`;

/** In an order that cannot work as it is. */
const OBJECTS = `apiVersion: example.com/v1
kind: Widget
metadata: { name: good, namespace: shop }
spec: { min: 1, max: 2 }
---
apiVersion: example.com/v1
kind: Widget
metadata: { name: bad, namespace: shop }
spec: { min: 3, max: 2 }
---
apiVersion: example.com/v2
kind: Widget
metadata: { name: other-version, namespace: shop }
spec: { size: 1 }
---
apiVersion: v1
kind: Pod
metadata: { name: urgent, namespace: elsewhere }
spec:
  priorityClassName: own
  containers: [{ name: c, image: i }]
---
apiVersion: v1
kind: Pod
metadata: { name: typo, namespace: shop }
spec:
  containers: [{ name: c, imagee: i }]
---
apiVersion: v1
kind: ConfigMap
metadata: { name: twice }
data: { a: "1" }
data: { b: "2" }
---
apiVersion: v1
kind: Secret
metadata: { name: forbidden }
---
apiVersion: nobody.example.com/v1
kind: Unknown
metadata: { name: unknown }
---
apiVersion: v1
kind: Namespace
metadata: { name: default }
---
apiVersion: apps/v1
kind: [
`;

const RULES = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: { name: b }
spec: { policyName: p, validationActions: [Deny], paramRef: { name: params, namespace: default, parameterNotFoundAction: Deny } }
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: { name: p }
spec:
  paramKind: { apiVersion: v1, kind: ConfigMap }
  matchConstraints:
    resourceRules: [{ apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [secrets] }]
  validations: [{ expression: "false", messageExpression: "'not with ' + params.data.word" }]
---
apiVersion: v1
kind: ConfigMap
metadata: { name: params }
data: { word: us }
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: { name: own }
value: 7
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: { name: nobody-there }
webhooks:
  - name: a.example.com
    admissionReviewVersions: [v1]
    sideEffects: None
    clientConfig: { url: "https://127.0.0.1:1/mutate" }
    rules: [{ apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: ["*"] }]
`;

test("People 8: schemas, rules, policies with parameters and what Kubernetes checks, in an order that works", async () => {
  await using folder = await makeTempDir("validate");
  const manifests = join(folder.path, "manifests");
  await mkdir(manifests);
  await writeFile(join(manifests, "a.yaml"), OBJECTS);
  await writeFile(join(manifests, "b.yaml"), RULES);
  await folder.write("crd.yaml", DEFINITION);
  const options = {
    paths: [manifests, join(folder.path, "crd.yaml")],
    output: "json",
    unknownKinds: "refuse",
    kubernetes: undefined,
  } as const;
  const never = new AbortController().signal;
  const { output, exitCode } = await validate(options, never);
  const { findings, objects } = JSON.parse(output);
  assert.equal(exitCode, 1);
  assert.equal(objects, 15);
  const byObject = new Map<string, string>(
    findings.map(({ object, message }: { object: string; message: string }) => [object, message]),
  );
  assert.deepEqual(
    [...byObject.keys()].sort(),
    [
      "",
      "ConfigMap twice",
      "Pod shop/typo",
      "Secret forbidden",
      "Unknown unknown",
      "Widget shop/bad",
    ],
    output,
  );
  assert.match(byObject.get("Widget shop/bad") ?? "", /min is above max/);
  assert.match(byObject.get("Pod shop/typo") ?? "", /imagee/);
  assert.match(byObject.get("Secret forbidden") ?? "", /not with us/);
  assert.match(byObject.get("ConfigMap twice") ?? "", /data/);
  assert.match(byObject.get("Unknown unknown") ?? "", /nobody\.example\.com\/v1 is not served/);
});

test("People 8: the command's exit status is 0, 1 or 2, and unknown kinds can be left out", async () => {
  await using folder = await makeTempDir("validate");
  const file = await folder.write(
    "a.yaml",
    "apiVersion: example.com/v1\nkind: Unknown\nmetadata: { name: u }\n",
  );
  const keelson = (...args: string[]) => run(process.execPath, [COMMAND, "validate", ...args]);
  await assert.rejects(keelson(file), {
    code: 1,
    stdout: /Unknown u: example\.com\/v1 is not served\n1 object, 1 error, 0 warnings\n$/,
  });
  const { stdout } = await keelson("-f", file, "--unknown-kinds=skip");
  assert.equal(stdout, "1 object, 0 errors, 0 warnings, 1 skipped\n");
  await assert.rejects(keelson(join(folder.path, "none")), { code: 2, stderr: /cannot read/ });
});

test("People 8: standard input is a file; a misuse and nothing to validate are 2, not findings", async () => {
  await using folder = await makeTempDir("validate");
  const answer = async (input: string, ...args: string[]) => {
    const running = run(process.execPath, [COMMAND, "validate", ...args], { cwd: folder.path });
    running.child.stdin?.end(input);
    return await running.then(
      ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
      ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
    );
  };
  const good = "kind: ConfigMap\napiVersion: v1\nmetadata: { name: a }\n";
  assert.deepEqual(await answer(good, "-"), {
    code: 0,
    stdout: "1 object, 0 errors, 0 warnings\n",
    stderr: "",
  });
  const bad = await answer("kind: Nope\napiVersion: v1\nmetadata: { name: a }\n", "-f", "-");
  assert.equal(bad.code, 1);
  assert.match(bad.stdout, /^standard input: Nope a: v1 has no kind/);

  const nothing = { code: 2, stdout: "", stderr: "keelson: there is no object in ., -\n" };
  assert.deepEqual(await answer("# {{ nothing }}\n", ".", "-"), nothing);
  for (const args of [[], ["--no-such=1"], ["-", "-o", "xml"], ["-", "--kubernetes=1.20"]]) {
    const { code, stdout, stderr } = await answer(good, ...args);
    assert.equal(code, 2, args.join(" "));
    assert.equal(stdout, "");
    assert.match(stderr, /^keelson: (?!keelson: )[^\n]+\n$/);
  }
  assert.equal((await answer(good, "-", "--kubernetes=v1.36")).code, 0);
});

test("People 8: findings come in the order of the files with the lines of their files", async () => {
  await using folder = await makeTempDir("validate");
  const unknown = (n: number) =>
    `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: n${n} }\nunknown: 1\n`;
  const documents = Array.from({ length: 11 }, (_, n) => unknown(n));
  const twice = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: n0\n  name: n0\n";
  const generated = "apiVersion: batch/v1\nkind: Job\nmetadata: { generateName: run- }\n";
  const job = `${generated}spec: { template: { spec: { restartPolicy: Never, containers: [{ name: c, image: i }] } } }\n`;
  const file = await folder.write(
    "a.yaml",
    [...documents, twice, "a:\n  - [b\n", job, job].join("---\n"),
  );
  const options = {
    paths: [file],
    output: "github",
    unknownKinds: "refuse",
    kubernetes: undefined,
  } as const;
  const { output } = await validate(options, new AbortController().signal);
  const seen = output.split("\n").map((line) => {
    const [, level, at, document] =
      /^::(\w+) file=.*,line=(\d+),title=.*::.*, document (\d+): /.exec(line) ?? [];
    return document === undefined ? line : `${document} ${level} ${at}`;
  });
  const expected = documents.map((_, n) => `${n + 1} error ${n * 5 + 1}`);
  assert.deepEqual(seen, [
    ...expected,
    "12 error 56",
    "12 warning 56",
    "13 error 63",
    "14 objects, 13 errors, 1 warning",
    "",
  ]);
  assert.match(output, /line 60: key "name" already set/);
  assert.match(output, /document 13: line 63: /);
  assert.match(output, /document 12: is in .*a\.yaml, document 1 as well/);
});

test("#45 addresses and ports of Services are of the cluster that the manifests are for", async () => {
  await using folder = await makeTempDir("validate");
  const service = (name: string, spec: object, namespace = "kube-system") =>
    JSON.stringify({ apiVersion: "v1", kind: "Service", metadata: { name, namespace }, spec });
  const ports = [{ port: 53, protocol: "UDP" }];
  const two = ["172.20.0.10", "fd00:10:96::a"];
  const ipFamilies = ["IPv4", "IPv6"];
  const services = [
    service("kube-dns", { clusterIP: "10.96.0.10", ports }),
    service("both", {
      clusterIP: two[0],
      clusterIPs: two,
      ipFamilies,
      ipFamilyPolicy: "RequireDualStack",
      ports,
    }),
    service("node", { type: "NodePort", ports: [{ port: 80, nodePort: 80 }] }, "shop"),
    service("bad", { clusterIP: "10.96.0", ports }),
  ];
  await folder.write("services.json", services.join(""));
  const options = { output: "json", unknownKinds: "refuse", kubernetes: undefined } as const;
  const never = new AbortController().signal;
  const { output } = await validate({ ...options, paths: [folder.path] }, never);
  const { findings, objects } = JSON.parse(output);
  assert.equal(objects, services.length);
  const told = findings.map(({ object, message }: { object: string; message: string }) => {
    return `${object}: ${message}`;
  });
  assert.equal(told.length, 1, told.join("\n"));
  assert.match(told[0], /^Service kube-system\/bad: .*must be a valid IP address/);
});

test("#45 what a newcomer's folder has besides manifests is told in words of use", async () => {
  await using folder = await makeTempDir("validate");
  const files: Record<string, string | Buffer> = {
    "bom.json": '\ufeff{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"}}',
    "crlf.yaml": "apiVersion: v1\r\nkind: ConfigMap\r\nmetadata:\r\n  name: c\r\n",
    "each.json":
      '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"f"}}\n{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"g"},"x":1}\n',
    "kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n",
    "list.yaml": `apiVersion: v1
kind: ConfigMapList
items: [{ metadata: { name: d } }, { apiVersion: v1, kind: ConfigMap, metadata: { name: e }, other: 1 }]
`,
    "numbers.yaml": `--- # A name
apiVersion: v1
kind: ConfigMap
metadata: { name: 1 }
--- # A namespace
apiVersion: v1
kind: ConfigMap
metadata: { name: num, namespace: true }
---
apiVersion: v1
kind: ConfigMap
metadata: { name: empty, namespace: }
`,
    "template.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Values.name }}\n",
    "utf16.yaml": Buffer.from("\ufeffapiVersion: v1\nkind: ConfigMap\n", "utf16le"),
  };
  for (const [name, content] of Object.entries(files)) {
    await folder.write(name, content);
  }
  const options = { output: "json", unknownKinds: "refuse", kubernetes: undefined } as const;
  const never = new AbortController().signal;
  const { output } = await validate({ ...options, paths: [folder.path] }, never);
  const { findings, objects } = JSON.parse(output);
  assert.equal(objects, 7);
  const told = findings.map(({ place, message }: { place: string; message: string }) => {
    return `${place.slice(folder.path.length + 1)}: ${message}`;
  });
  const expected = [
    /^each.json, document 2: .*unknown field "x"$/,
    /^kustomization.yaml: a Kustomization is no object of an API: what `kubectl kustomize` makes/,
    /^list.yaml: .*unknown field "other"$/,
    /^numbers.yaml, document 1: metadata.name is 1, which is no text without quotes$/,
    /^numbers.yaml, document 2: metadata.namespace is true, which is no text without quotes$/,
    /^template.yaml: .*; it seems to be a template: what `helm template` makes of it can be read$/,
    /^utf16.yaml: the text is UTF-16; UTF-8 is expected$/,
  ];
  assert.equal(told.length, expected.length, told.join("\n"));
  for (const [i, pattern] of expected.entries()) assert.match(told[i], pattern);
  await symlink("nowhere", join(folder.path, "link.yaml"));
  await assert.rejects(
    validate({ ...options, paths: [folder.path] }, never),
    /^Error: manifests: cannot read ".*link\.yaml" \(ENOENT\)$/,
  );
  assert.throws(() => parseValidateOptions(["-", "--kubernetes=1.30"]), {
    message: '--kubernetes: "1.30" is none of 1.33 to 1.36',
  });
});

test("People 8: objects that a server makes itself are met as on a cluster, though most files need none of them", async () => {
  const judge = async (text: string) => {
    await using folder = await makeTempDir("validate");
    const file = await folder.write("objects.yaml", text);
    const options = { paths: [file], output: "json", unknownKinds: "refuse" } as const;
    const asked = { ...options, kubernetes: undefined };
    const { output } = await validate(asked, new AbortController().signal);
    return (JSON.parse(output) as { findings: { message: string }[] }).findings;
  };
  const binding = (name: string) => `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: ${name} }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view }
subjects: [{ kind: User, name: jane, apiGroup: rbac.authorization.k8s.io }]
`;
  assert.deepEqual(await judge(binding("viewers")), []);
  const [changed, ...others] = await judge(binding("cluster-admin"));
  assert.match(changed?.message ?? "", /cannot change roleRef/);
  assert.deepEqual(others, []);
  const pod = `apiVersion: v1
kind: Pod
metadata: { name: a }
spec: { priorityClassName: system-node-critical, containers: [{ name: a, image: a }] }
`;
  assert.deepEqual(await judge(pod), []);
});

test("an API that is asked a few questions makes no objects and certificates that others would need, and remembers no owners", async () => {
  const tokens = [["root", "secret"]] as const;
  const users = [{ name: "root", groups: ["system:masters"] }];
  const api = await startHere({ options: { users }, tokens, isBrief: true });
  try {
    const client = new AdminHere(api.handle, "secret", "test");
    const namesAt = async (path: string) => {
      const { items } = (await client.ask("GET", path)).value as { items: ApiObject[] };
      return items.map(({ metadata }) => metadata.name);
    };
    const group = "/apis/rbac.authorization.k8s.io/v1";
    assert.deepEqual(await namesAt(`${group}/clusterroles`), []);
    assert.deepEqual(await namesAt("/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas"), []);
    assert.ok((await namesAt("/api/v1/namespaces")).includes("default"));
    assert.equal((await namesAt("/apis/scheduling.k8s.io/v1/priorityclasses")).length, 2);
    const { ca, cert, key } = api.access;
    assert.deepEqual([ca, cert, key], ["", "", ""]);
    const maps = "/api/v1/namespaces/default/configmaps";
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "one" } };
    const made = (await client.ask("POST", maps, { body })).value as ApiObject;
    assert.equal("managedFields" in made.metadata, false);
    const contentType = "application/apply-patch+yaml";
    const applied = { body: { ...body, data: { a: "b" } }, contentType };
    const path = `${maps}/one?fieldManager=test&force=true`;
    assert.equal((await client.ask("PATCH", path, applied)).status, 200);
  } finally {
    await api.stop();
  }
});

test("what V8 compiled at a first `keelson validate` or `up` is kept, as a server keeps it", async () => {
  await using folder = await makeTempDir("validate-kept");
  const file = await folder.write(
    "app.yaml",
    "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: a }\n",
  );
  const commands = [
    ["validate", "-f", file],
    ["up", "--", "true"],
  ];
  for (const [i, args] of commands.entries()) {
    const cache = join(folder.path, String(i));
    const env = { ...process.env, NODE_COMPILE_CACHE: cache };
    await run(process.execPath, [COMMAND, ...args], { env });
    const kept = (await readdir(cache)).filter((name) => /^(?:main|chunk)-/.test(name));
    assert.notDeepEqual(kept, [], args.join(" "));
  }
});
