/** Rules for registered APIs: what is accepted, what is refused and how. */
import { test } from "node:test";
import { checkChanges, checkProblems, type TestObject } from "../testing/problems.js";

const served = (spec: object, name = "v1.a.b"): TestObject => ({
  metadata: { name },
  spec: { group: "a.b", version: "v1", groupPriorityMinimum: 1, versionPriority: 1, ...spec },
});
const core = served({ group: "", version: "v1" }, "v1.");

test("registered APIs are accepted or refused by their rules, field by field", () => {
  checkProblems("apiregistration.k8s.io/v1/apiservices", [
    [served({})],
    [
      served({}, "v1.a"),
      'metadata.name: Invalid value: "v1.a": must be `spec.version+"."+spec.group`: "v1.a.b"',
    ],
    [
      served({ versionPriority: 0 }),
      "spec.versionPriority: Invalid value: 0: must be positive and less than 1000",
    ],
    [served({ service: { name: "x" } }), "spec.service.namespace: Required value"],
    [
      served({ groupPriorityMinimum: 20001 }),
      "spec.groupPriorityMinimum: Invalid value: 20001: must be positive and less than 20000",
    ],
    [
      served({ versionPriority: 1001 }),
      "spec.versionPriority: Invalid value: 1001: must be positive and less than 1000",
    ],
    [
      served({ caBundle: "YQ==" }),
      'spec.caBundle: Invalid value: "YQ==": local APIServices may not have a caBundle',
    ],
    [
      served({ insecureSkipTLSVerify: true }),
      "spec.insecureSkipTLSVerify: Invalid value: true: local APIServices may not have insecureSkipTLSVerify",
    ],
    [
      served({
        service: { namespace: "a", name: "b", port: 70000 },
        insecureSkipTLSVerify: true,
        caBundle: "YQ==",
      }),
      "spec.service.port: Invalid value: 70000: port is not valid: must be between 1 and 65535, inclusive",
      "spec.insecureSkipTLSVerify: Invalid value: true: may not be true if caBundle is present",
    ],
    [
      {
        metadata: { name: "v1." },
        spec: { version: "v1", groupPriorityMinimum: 1, versionPriority: 1 },
      },
    ],
    [
      {
        metadata: { name: "v2." },
        spec: { version: "v2", groupPriorityMinimum: 1, versionPriority: 1 },
      },
      "spec.group: Required value: only v1 may have an empty group and it better be legacy kube",
    ],
  ]);
});

test("a registered API may stay as it is", () => {
  checkChanges("apiregistration.k8s.io/v1/apiservices", [[core, core]]);
});
