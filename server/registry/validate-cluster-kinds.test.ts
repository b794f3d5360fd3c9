/** Rules of storage, discovery and the kinds that extend the server: what they are refused for. */
import { test } from "node:test";
import { checkProblems } from "./testing/problems.js";

const slice = (parts: object) => ({ addressType: "IPv4", endpoints: [], ...parts });
const hook = {
  name: "a.example.com",
  clientConfig: { url: "https://h.example.com/a" },
  rules: [{ operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"] }],
  sideEffects: "None",
  admissionReviewVersions: ["v1"],
};
const [rule] = hook.rules;
const hooks = (parts: object) => ({ webhooks: [{ ...hook, ...parts }] });
const ruled = (parts: object) => hooks({ rules: [{ ...rule, ...parts }] });
const at = (url: string) => hooks({ clientConfig: { url } });
const behind = (parts: object) =>
  hooks({ clientConfig: { service: { namespace: "a", name: "b", ...parts } } });
const version = {
  name: "v1",
  served: true,
  storage: true,
  schema: { openAPIV3Schema: { type: "object" } },
};
const definition = (spec: object, names: object = {}) => ({
  metadata: { name: "things.example.com" },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { plural: "things", kind: "Thing", ...names },
    versions: [version],
    ...spec,
  },
});
const served = (spec: object) => ({
  metadata: { name: "v1.a.b" },
  spec: { group: "a.b", version: "v1", groupPriorityMinimum: 1, versionPriority: 1, ...spec },
});

test("storage classes that break a rule are refused, field by field", () => {
  checkProblems("storage.k8s.io/v1/storageclasses", [
    [{}, "provisioner: Required value"],
    [
      { provisioner: "a.b/c", parameters: { "": "x" } },
      'parameters: Invalid value: "": field can not be empty.',
    ],
    [
      {
        provisioner: "a.b/c",
        parameters: Object.fromEntries(
          Array.from({ length: 513 }, (_, index) => [`k${index}`, ""]),
        ),
      },
      "parameters: Too long: may not be more than 512 bytes",
    ],
    [
      { provisioner: "a.b/c", parameters: { a: "a".repeat(256 * 1024) } },
      "parameters: Too long: may not be more than 262144 bytes",
    ],
    [
      { provisioner: "a.b/c", volumeBindingMode: "Now" },
      'volumeBindingMode: Unsupported value: "Now": supported values: "Immediate", "WaitForFirstConsumer"',
    ],
    [
      {
        provisioner: "a.b/c",
        allowedTopologies: [
          {
            matchLabelExpressions: [
              { key: "a b", values: ["x", "x"] },
              { key: "a b", values: ["y"] },
            ],
          },
        ],
      },
      'allowedTopologies[0].matchLabelExpressions[0].values[1]: Duplicate value: "x"',
      "allowedTopologies[0].matchLabelExpressions[0].key: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
      "allowedTopologies[0].matchLabelExpressions[1].key: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
      'allowedTopologies[0].matchLabelExpressions[1].key: Duplicate value: "a b"',
    ],
  ]);
});

test("drivers that break a rule are refused, field by field", () => {
  checkProblems("storage.k8s.io/v1/csidrivers", [
    [
      { metadata: { name: "a".repeat(64) }, spec: {} },
      "metadata.name: Too long: may not be more than 63 bytes",
    ],
    [
      { spec: { volumeLifecycleModes: ["Later"] } },
      'spec.volumeLifecycleModes: Unsupported value: "Later": supported values: "Ephemeral", "Persistent"',
    ],
    [
      {
        spec: {
          tokenRequests: [
            { audience: "a", expirationSeconds: 599 },
            { audience: "a", expirationSeconds: 4294967297 },
          ],
        },
      },
      "spec.tokenRequests[0].expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes",
      'spec.tokenRequests[1].audience: Duplicate value: "a"',
      "spec.tokenRequests[1].expirationSeconds: Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds",
    ],
  ]);
});

test("drivers of nodes that break a rule are refused, field by field", () => {
  checkProblems("storage.k8s.io/v1/csinodes", [
    [
      { spec: { drivers: [{ name: "A_", nodeID: "a".repeat(193), allocatable: { count: -1 } }] } },
      "spec.drivers[0].name: Invalid value: \"A_\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
      'spec.drivers[0].nodeID: Invalid value: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa": must be 192 characters or less',
      "spec.drivers[0].allocatable.count: Invalid value: -1: must be greater than or equal to 0",
    ],
    [
      {
        spec: {
          drivers: [
            { name: "a", nodeID: "1", topologyKeys: ["", "a b", "z", "z"] },
            { name: "a", nodeID: "" },
          ],
        },
      },
      "spec.drivers[1].nodeID: Required value",
      "spec.drivers[0].topologyKeys: Required value",
      "spec.drivers[0].topologyKeys: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
      'spec.drivers[0].topologyKeys: Duplicate value: "z"',
      'spec.drivers[1].name: Duplicate value: "a"',
    ],
  ]);
});

test("attachments of volumes that break a rule are refused, field by field", () => {
  checkProblems("storage.k8s.io/v1/volumeattachments", [
    [
      { spec: { attacher: "", nodeName: "", source: { persistentVolumeName: "" } } },
      "spec.attacher: Required value",
      "spec.nodeName: Required value",
      "spec.source.persistentVolumeName: Required value: must specify non empty persistentVolumeName",
    ],
    [
      {
        spec: {
          attacher: "a.b",
          nodeName: "n",
          source: { persistentVolumeName: "p", inlineVolumeSpec: {} },
        },
      },
      "spec.source: Forbidden: must specify exactly one of inlineVolumeSpec and persistentVolumeName",
    ],
  ]);
});

test("classes of volume attributes that break a rule are refused, field by field", () => {
  checkProblems("storage.k8s.io/v1/volumeattributesclasses", [
    [{ driverName: "A.b", parameters: { a: "b" } }],
    [{ driverName: "a.b" }, "parameters: Required value: must contain at least one key/value pair"],
    [
      { driverName: "a_b", parameters: { a: "b" } },
      "driverName: Invalid value: \"a_b\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    ],
  ]);
});

test("storage capacities that break a rule are refused, field by field", () => {
  checkProblems("storage.k8s.io/v1/csistoragecapacities", [
    [{ storageClassName: "fast", capacity: "1Gi" }],
    [
      { storageClassName: "F!", capacity: "-1", maximumVolumeSize: "-2" },
      "storageClassName: Invalid value: \"F!\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
      'capacity: Invalid value: "-1": must be greater than or equal to 0',
      'maximumVolumeSize: Invalid value: "-2": must be greater than or equal to 0',
    ],
    [
      { storageClassName: "", nodeTopology: { matchExpressions: [{ key: "a", operator: "In" }] } },
      "storageClassName: Required value",
      "nodeTopology.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
    ],
  ]);
});

test("endpoint slices that break a rule are refused, field by field", () => {
  checkProblems("discovery.k8s.io/v1/endpointslices", [
    [
      slice({ addressType: "MAC" }),
      'addressType: Unsupported value: "MAC": supported values: "FQDN", "IPv4", "IPv6"',
    ],
    [
      slice({ endpoints: [{ addresses: ["127.0.0.1"] }] }),
      'endpoints[0].addresses[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
    ],
    [slice({ endpoints: [{ addresses: ["010.0.0.1"] }] })],
    [
      slice({ addressType: "IPv6", endpoints: [{ addresses: ["fe80::1"] }] }),
      'endpoints[0].addresses[0]: Invalid value: "fe80::1": may not be in the link-local range (169.254.0.0/16, fe80::/10)',
    ],
    [
      slice({
        addressType: "FQDN",
        endpoints: [{ addresses: ["single"] }, { addresses: ["A.b"] }],
      }),
      'endpoints[0].addresses[0]: Invalid value: "single": should be a domain with at least two segments separated by dots',
      "endpoints[1].addresses[0]: Invalid value: \"A.b\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    ],
    [
      slice({ endpoints: [{ addresses: Array.from({ length: 101 }, () => "192.0.2.1") }] }),
      "endpoints[0].addresses: Too many: 101: must have at most 100 items",
    ],
    [
      slice({ endpoints: [{ addresses: ["192.0.2.1"], hostname: "a.b", nodeName: "N" }] }),
      "endpoints[0].nodeName: Invalid value: \"N\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
      'endpoints[0].hostname: Invalid value: "a.b": must not contain dots',
    ],
    [
      slice({ ports: [{ name: "A", protocol: "X", appProtocol: "a b" }] }),
      'ports[0].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP"',
      "ports[0].name: Invalid value: \"A\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
      "ports[0].appProtocol: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
    ],
  ]);
});

test("webhooks of admission that break a rule are refused, field by field", () => {
  checkProblems("admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", [
    [
      hooks({ name: "A.b.c" }),
      "webhooks[0].name: Invalid value: \"A.b.c\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    ],
    [hooks({ name: "" }), "webhooks[0].name: Required value"],
    [hooks({ sideEffects: null }), "webhooks[0].sideEffects: Required value"],
    [
      hooks({ sideEffects: "Maybe" }),
      'webhooks[0].sideEffects: Unsupported value: "Maybe": supported values: "None", "NoneOnDryRun", "Some", "Unknown"',
    ],
    [
      hooks({ timeoutSeconds: 0 }),
      "webhooks[0].timeoutSeconds: Invalid value: 0: the timeout value must be between 1 and 30 seconds",
    ],
    [
      hooks({ failurePolicy: "Retry" }),
      'webhooks[0].failurePolicy: Unsupported value: "Retry": supported values: "Fail", "Ignore"',
    ],
    [
      hooks({ reinvocationPolicy: "Twice" }),
      'webhooks[0].reinvocationPolicy: Unsupported value: "Twice": supported values: "IfNeeded", "Never"',
    ],
    [
      hooks({ matchPolicy: "Near" }),
      'webhooks[0].matchPolicy: Unsupported value: "Near": supported values: "Equivalent", "Exact"',
    ],
    [
      hooks({ namespaceSelector: { matchLabels: { "a b": "" } } }),
      "webhooks[0].namespaceSelector.matchLabels: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
    ],
    [
      hooks({ clientConfig: { url: "https://a/b", service: { namespace: "a", name: "b" } } }),
      "webhooks[0].clientConfig: Required value: exactly one of url or service is required",
    ],
    [
      at("https://"),
      'webhooks[0].clientConfig.url: Invalid value: "https://": url must be a valid URL: host must be specified; desired format: https://host[/path]',
    ],
    [
      at("https://u:p@a.b/c"),
      'webhooks[0].clientConfig.url: Invalid value: "u": user information is not permitted in the URL; desired format: https://host[/path]',
    ],
    [
      at("https://a.b/c#d"),
      'webhooks[0].clientConfig.url: Invalid value: "d": fragments are not permitted in the URL; desired format: https://host[/path]',
    ],
    [
      at("https://a.b/c?d=e"),
      'webhooks[0].clientConfig.url: Invalid value: "d=e": query parameters are not permitted in the URL; desired format: https://host[/path]',
    ],
    [
      at("ftp://a.b"),
      "webhooks[0].clientConfig.url: Invalid value: \"ftp\": 'https' is the only allowed URL scheme; desired format: https://host[/path]",
    ],
    [
      behind({ path: "x" }),
      "webhooks[0].clientConfig.service.path: Invalid value: \"x\": must start with a '/'",
    ],
    [
      behind({ path: "/a//b" }),
      'webhooks[0].clientConfig.service.path: Invalid value: "/a//b": segment[1] may not be empty',
    ],
    [
      behind({ path: "/a!/c" }),
      "webhooks[0].clientConfig.service.path: Invalid value: \"/a!/c\": segment[0]: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    ],
    [
      behind({ port: 0 }),
      "webhooks[0].clientConfig.service.port: Invalid value: 0: must be between 1 and 65535, inclusive",
    ],
    [behind({ name: "" }), "webhooks[0].clientConfig.service.name: Required value"],
    [hooks({ admissionReviewVersions: [] }), "webhooks[0].admissionReviewVersions: Required value"],
    [
      hooks({ admissionReviewVersions: ["v1", "v1"] }),
      'webhooks[0].admissionReviewVersions[1]: Invalid value: "v1": duplicate version',
    ],
    [
      hooks({ admissionReviewVersions: ["v1", "1"] }),
      "webhooks[0].admissionReviewVersions[1]: Invalid value: \"1\": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
    ],
    [ruled({ operations: [] }), "webhooks[0].rules[0].operations: Required value"],
    [
      ruled({ operations: ["PATCH"] }),
      'webhooks[0].rules[0].operations[0]: Unsupported value: "PATCH": supported values: "*", "CONNECT", "CREATE", "DELETE", "UPDATE"',
    ],
    [
      ruled({ apiGroups: ["*", "a"] }),
      'webhooks[0].rules[0].apiGroups: Invalid value: ["*","a"]: if \'*\' is present, must not specify other API groups',
    ],
    [ruled({ apiVersions: ["", "v1"] }), "webhooks[0].rules[0].apiVersions[0]: Required value"],
    [ruled({ resources: [] }), "webhooks[0].rules[0].resources: Required value"],
    [ruled({ resources: ["", "a"] }), "webhooks[0].rules[0].resources[0]: Required value"],
    [
      ruled({ resources: ["*", "pods"] }),
      'webhooks[0].rules[0].resources: Invalid value: ["*","pods"]: if \'*\' is present, must not specify other resources without subresources',
    ],
    [
      ruled({ resources: ["*/*", "pods"] }),
      'webhooks[0].rules[0].resources: Invalid value: ["*/*","pods"]: if \'*/*\' is present, must not specify other resources',
    ],
    [
      ruled({ resources: ["*/log", "pods/log"] }),
      "webhooks[0].rules[0].resources[1]: Invalid value: \"pods/log\": if '*/log' is present, must not specify pods/log",
    ],
    [
      ruled({ scope: "World" }),
      'webhooks[0].rules[0].scope: Unsupported value: "World": supported values: "*", "Cluster", "Namespaced"',
    ],
    [
      hooks({
        matchConditions: [
          { name: "a", expression: "true" },
          { name: "a", expression: "true" },
        ],
      }),
      'webhooks[0].matchConditions[1].name: Duplicate value: "a"',
    ],
    [
      hooks({ matchConditions: [{ name: "b c", expression: "true" }, { name: "d" }] }),
      "webhooks[0].matchConditions[1].expression: Required value",
      "webhooks[0].matchConditions[0].name: Invalid value: \"b c\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
    ],
  ]);
});

test("definitions of types that break a rule are refused, field by field", () => {
  checkProblems("apiextensions.k8s.io/v1/customresourcedefinitions", [
    [definition({ versions: [] }), "spec.versions: Required value"],
    [
      definition({ versions: [{ ...version, storage: false }] }),
      'spec.versions: Invalid value: [{"name":"v1","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object"}}}]: must have exactly one version marked as storage version',
    ],
    [
      definition({ versions: [version, { ...version, storage: false }] }),
      'spec.versions[1].name: Duplicate value: "v1"',
    ],
    [
      definition({ versions: [{ ...version, name: "1" }] }),
      "spec.versions[0].name: Invalid value: \"1\": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
    ],
    [
      definition({}, { kind: "Thing", listKind: "Thing" }),
      'spec.names.listKind: Invalid value: "Thing": kind and listKind may not be the same',
    ],
    [
      definition({}, { kind: "thing!" }),
      "spec.names.singular: Invalid value: \"thing!\": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
      "spec.names.kind: Invalid value: \"thing!\": may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
      "spec.names.listKind: Invalid value: \"thing!List\": may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
    ],
    [
      definition({}, { singular: "Thing", shortNames: ["T"], categories: ["a b"] }),
      "spec.names.singular: Invalid value: \"Thing\": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
      "spec.names.shortNames[0]: Invalid value: \"T\": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
      "spec.names.categories[0]: Invalid value: \"a b\": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
    ],
    [definition({}, { kind: "" }), "spec.names.kind: Required value"],
    [
      definition({ conversion: { strategy: "Magic" } }),
      'spec.conversion.strategy: Unsupported value: "Magic": supported values: "None", "Webhook"',
    ],
    [
      definition({ conversion: { strategy: "Webhook" } }),
      "spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook",
    ],
    [
      definition({ preserveUnknownFields: true }),
      "spec.preserveUnknownFields: Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead",
    ],
  ]);
});

test("registered APIs that break a rule are refused, field by field", () => {
  checkProblems("apiregistration.k8s.io/v1/apiservices", [
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
      "spec.service.port: Invalid value: 70000: must be between 1 and 65535, inclusive",
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
