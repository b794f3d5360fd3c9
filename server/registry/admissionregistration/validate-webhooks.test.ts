/** Rules for admission webhooks: accepted and refused objects, and the messages. */
import { test } from "node:test";
import { checkChanges, checkProblems, type TestObject } from "../testing/problems.js";

const hook = {
  name: "a.example.com",
  clientConfig: { url: "https://h.example.com/a" },
  rules: [{ operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"] }],
  sideEffects: "None",
  admissionReviewVersions: ["v1"],
};
const [rule] = hook.rules;
const hooks = (parts: object): TestObject => ({ webhooks: [{ ...hook, ...parts }] });
const ruled = (parts: object): TestObject => hooks({ rules: [{ ...rule, ...parts }] });
const at = (url: string): TestObject => hooks({ clientConfig: { url } });
const behind = (parts: object): TestObject =>
  hooks({ clientConfig: { service: { namespace: "a", name: "b", ...parts } } });

test("validating webhooks are accepted or refused by their rules, field by field", () => {
  checkProblems("admissionregistration.k8s.io/v1/validatingwebhookconfigurations", [
    [hooks({})],
    [hooks({ clientConfig: { service: { namespace: "a", name: "b", path: "/x" } } })],
    [
      hooks({ name: "short" }),
      'webhooks[0].name: Invalid value: "short": should be a domain with at least three segments separated by dots',
    ],
    [
      hooks({ clientConfig: {} }),
      "webhooks[0].clientConfig: Required value: exactly one of url or service is required",
    ],
    [
      hooks({ clientConfig: { url: "http://a/b" } }),
      "webhooks[0].clientConfig.url: Invalid value: \"http\": 'https' is the only allowed URL scheme; desired format: https://host[/path]",
    ],
    [
      hooks({ sideEffects: "Some" }),
      'webhooks[0].sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"',
    ],
    [
      hooks({ timeoutSeconds: 31 }),
      "webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds",
    ],
    [
      hooks({ admissionReviewVersions: ["v2"] }),
      'webhooks[0].admissionReviewVersions: Invalid value: ["v2"]: must include at least one of v1, v1beta1',
    ],
    [
      hooks({ rules: [{ ...rule, operations: ["*", "CREATE"] }] }),
      'webhooks[0].rules[0].operations: Invalid value: ["*","CREATE"]: if \'*\' is present, must not specify other operations',
    ],
    [
      hooks({ rules: [{ ...rule, resources: ["pods/*", "pods/log"] }] }),
      "webhooks[0].rules[0].resources[1]: Invalid value: \"pods/log\": if 'pods/*' is present, must not specify pods/log",
    ],
    [{ webhooks: [hook, hook] }, 'webhooks[1].name: Duplicate value: "a.example.com"'],
  ]);
});

test("mutating webhooks are accepted or refused by their rules, field by field", () => {
  checkProblems("admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", [
    [
      hooks({ name: "A.b.c" }),
      "webhooks[0].name: Invalid value: \"A.b.c\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    ],
    [hooks({ name: "" }), "webhooks[0].name: Required value"],
    [
      hooks({ sideEffects: null }),
      "webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun",
    ],
    [
      hooks({ sideEffects: "Maybe" }),
      'webhooks[0].sideEffects: Unsupported value: "Maybe": supported values: "None", "NoneOnDryRun"',
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
      'webhooks[0].clientConfig.url: Invalid value: "": host must be specified; desired format: https://host[/path]',
    ],
    [
      at("https:///x"),
      'webhooks[0].clientConfig.url: Invalid value: "": host must be specified; desired format: https://host[/path]',
    ],
    [
      at(""),
      "webhooks[0].clientConfig.url: Invalid value: \"\": 'https' is the only allowed URL scheme; desired format: https://host[/path]",
      'webhooks[0].clientConfig.url: Invalid value: "": host must be specified; desired format: https://host[/path]',
    ],
    [
      at("https://h/%zz"),
      'webhooks[0].clientConfig.url: Required value: url must be a valid URL: parse "https://h/%zz": invalid URL escape "%zz"; desired format: https://host[/path]',
    ],
    [at("https://h:99999/a")],
    [at("https://[fe80::1%25en0]/")],
    [
      at("https://h/\u0001"),
      'webhooks[0].clientConfig.url: Required value: url must be a valid URL: parse "https://h/\\x01": net/url: invalid control character in URL; desired format: https://host[/path]',
    ],
    [
      at("https://a b/"),
      'webhooks[0].clientConfig.url: Required value: url must be a valid URL: parse "https://a b/": invalid character " " in host name; desired format: https://host[/path]',
    ],
    // The two are told under each other's name.
    [
      hooks({ clientConfig: { service: { name: "a", namespace: "" } } }),
      "webhooks[0].clientConfig.service.name: Required value",
    ],
    [
      at("https://u:p@a.b/c"),
      'webhooks[0].clientConfig.url: Invalid value: "u:p": user information is not permitted in the URL',
    ],
    [
      at("https://a.b/c#d"),
      'webhooks[0].clientConfig.url: Invalid value: "d": fragments are not permitted in the URL',
    ],
    [
      at("https://a.b/c?d=e"),
      'webhooks[0].clientConfig.url: Invalid value: "d=e": query parameters are not permitted in the URL',
    ],
    [
      at("ftp://a.b"),
      "webhooks[0].clientConfig.url: Invalid value: \"ftp\": 'https' is the only allowed URL scheme; desired format: https://host[/path]",
    ],
    [
      behind({ path: "x" }),
      "webhooks[0].clientConfig.service.path: Invalid value: \"x\": must start with a '/'",
      'webhooks[0].clientConfig.service.path: Invalid value: "x": segment[0] may not be empty',
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
      "webhooks[0].clientConfig.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive",
    ],
    [behind({ namespace: "" }), "webhooks[0].clientConfig.service.name: Required value"],
    [behind({ name: "" }), "webhooks[0].clientConfig.service.namespace: Required value"],
    [
      hooks({ admissionReviewVersions: [] }),
      "webhooks[0].admissionReviewVersions: Required value: must specify one of v1, v1beta1",
    ],
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
      "webhooks[0].matchConditions[0].name: Invalid value: \"b c\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
      "webhooks[0].matchConditions[1].expression: Required value",
    ],
  ]);
});

test("a webhook may change to what is right", () => {
  checkChanges("admissionregistration.k8s.io/v1/validatingwebhookconfigurations", [
    [hooks({ timeoutSeconds: 1 }), hooks({ timeoutSeconds: 2 })],
    [
      hooks({ timeoutSeconds: 1 }),
      hooks({ timeoutSeconds: 0 }),
      "webhooks[0].timeoutSeconds: Invalid value: 0: the timeout value must be between 1 and 30 seconds",
    ],
  ]);
});
