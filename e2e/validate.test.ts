/** People 8: `keelson validate`, whether manifests would be taken, without a server. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { validate } from "../server/commands/validate.js";
import { COMMAND } from "./harness/command.js";
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
  await writeFile(join(folder.path, "crd.yaml"), DEFINITION);
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
  const file = join(folder.path, "a.yaml");
  await writeFile(file, "apiVersion: example.com/v1\nkind: Unknown\nmetadata: { name: u }\n");
  const keelson = (...args: string[]) => run(process.execPath, [COMMAND, "validate", ...args]);
  await assert.rejects(keelson(file), {
    code: 1,
    stdout: /Unknown u: example\.com\/v1 is not served\n1 objects, 1 errors, 0 warnings\n$/,
  });
  const { stdout } = await keelson("-f", file, "--unknown-kinds=skip");
  assert.equal(stdout, "1 objects, 0 errors, 0 warnings, 1 skipped\n");
  await assert.rejects(keelson(join(folder.path, "none")), { code: 2, stderr: /cannot read/ });
});
