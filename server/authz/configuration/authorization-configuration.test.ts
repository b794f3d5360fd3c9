import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createNaming } from "../../api/naming.js";
import { createConditionCompiler } from "../webhook/condition-environment.js";
import {
  type AuthorizationConfiguration,
  AuthorizationConfigurationError,
  parseAuthorizationConfiguration,
} from "./authorization-configuration.js";
import { type AuthorizationFlags, toAuthorizationConfiguration } from "./legacy-modes.js";
import { type ReadFile, validateAuthorizationConfiguration } from "./validate-configuration.js";

const naming = createNaming("kubernetes");
const compile = createConditionCompiler(naming);
const files = new Map<string, ReadFile>([
  ["/etc/authz.yaml", { text: "{}" }],
  ["/etc/none.yaml", { problem: "no such file or directory" }],
  ["/etc", { problem: "must be a regular file", isOther: true }],
]);

const COMPLETE = `
apiVersion: apiserver.config.k8s.io/v1
kind: AuthorizationConfiguration
authorizers:
- type: Webhook
  name: first
  webhook:
    timeout: 3s
    subjectAccessReviewVersion: v1
    matchConditionSubjectAccessReviewVersion: v1
    failurePolicy: Deny
    connectionInfo:
      type: KubeConfigFile
      kubeConfigFile: /etc/authz.yaml
    matchConditions:
    - expression: has(request.resourceAttributes)
    - expression: "!('system:masters' in request.groups)"
- type: Webhook
  name: second
  webhook:
    authorizedTTL: 30s
    cacheAuthorizedRequests: false
    unauthorizedTTL: 1m30s
    cacheUnauthorizedRequests: false
    timeout: 30s
    subjectAccessReviewVersion: v1beta1
    matchConditionSubjectAccessReviewVersion: v1
    failurePolicy: NoOpinion
    connectionInfo:
      type: KubeConfigFile
      kubeConfigFile: /etc/authz.yaml
- type: Node
  name: node
- type: RBAC
  name: rbac
`;

const parse = (text: string) => parseAuthorizationConfiguration(text, naming);
const validate = (configuration: AuthorizationConfiguration, enabledTypes?: readonly string[]) =>
  validateAuthorizationConfiguration(configuration, {
    compile,
    files,
    ...(enabledTypes === undefined ? {} : { enabledTypes: new Set(enabledTypes) }),
  });

test("S2-AZC-01, S2-AZC-02, S2-AZC-04, S2-AZC-05, S2-AZC-06, S2-AZC-07: a file is read, with its defaults", () => {
  const configuration = parse(COMPLETE);
  const [first, second, ...rest] = configuration.authorizers;
  assert.deepEqual(first, {
    type: "Webhook",
    name: "first",
    webhook: {
      authorizedTtlMs: 300_000,
      cacheAuthorizedRequests: true,
      unauthorizedTtlMs: 30_000,
      cacheUnauthorizedRequests: true,
      timeoutMs: 3_000,
      subjectAccessReviewVersion: "v1",
      matchConditionSubjectAccessReviewVersion: "v1",
      failurePolicy: "Deny",
      connectionInfo: { type: "KubeConfigFile", kubeConfigFile: "/etc/authz.yaml" },
      matchConditions: [
        { expression: "has(request.resourceAttributes)" },
        { expression: "!('system:masters' in request.groups)" },
      ],
    },
  });
  const { authorizedTtlMs, unauthorizedTtlMs, cacheAuthorizedRequests } = second?.webhook ?? {};
  assert.deepEqual(
    [authorizedTtlMs, unauthorizedTtlMs, cacheAuthorizedRequests],
    [30_000, 90_000, false],
  );
  assert.deepEqual(rest, [
    { type: "Node", name: "node" },
    { type: "RBAC", name: "rbac" },
  ]);
  assert.equal(validate(configuration).get("first")?.length, 2);
});

test("all versions have the same fields, in the vendor's group", () => {
  for (const version of ["v1", "v1beta1", "v1alpha1"]) {
    parse(COMPLETE.replace("k8s.io/v1", `k8s.io/${version}`));
  }
  const acme = COMPLETE.replace("k8s.io", "acme.io");
  parseAuthorizationConfiguration(acme, createNaming("acme"));
  assert.throws(() => parse(acme), /no kind "AuthorizationConfiguration" is registered/);
});

test("decoding is strict: unknown and repeated fields, wrong types and bad texts are one clear line", () => {
  const cases: readonly (readonly [string, RegExp])[] = [
    ["", /^empty config data$/],
    ["[]", /the document: expected an object/],
    ["authorizers: []", /Object 'Kind' is missing/],
    ["kind: AuthorizationConfiguration", /Object 'apiVersion' is missing/],
    [COMPLETE.replace("k8s.io/v1", "k8s.io/v2"), /version "apiserver.config.k8s.io\/v2"/],
    [
      COMPLETE.replace("timeout: 3s", "timeOut: 3s"),
      /strict decoding error: unknown field "authorizers\[0\].webhook.timeOut"/,
    ],
    [
      COMPLETE.replace("timeout: 3s", "timeout: 3s\n    timeout: 4s"),
      /strict decoding error: duplicate field "authorizers\[0\].webhook.timeout"/,
    ],
    [
      COMPLETE.replace("timeout: 3s", "timeout: soon"),
      /authorizers\[0\].webhook.timeout: time: invalid duration "soon"/,
    ],
    [COMPLETE.replace("timeout: 3s", "timeout: 3"), /webhook.timeout: expected a string/],
    [COMPLETE.replace("name: node", "name: {}"), /authorizers\[2\].name: expected a string/],
    [
      COMPLETE.replace("cacheAuthorizedRequests: false", "cacheAuthorizedRequests: 1"),
      /cacheAuthorizedRequests: expected true or false/,
    ],
    [`${COMPLETE}\nother: 1`, /unknown field "other"/],
    [COMPLETE.replace("- type: Node", "- kind: Node"), /unknown field "authorizers\[2\].kind"/],
    ["a: [", /./],
  ];
  for (const [text, expected] of cases) {
    assert.throws(
      () => parse(text),
      (error: Error) => {
        assert.equal(error.name, "AuthorizationConfigurationError");
        assert.match(error.message, expected);
        assert.ok(!error.message.includes("\n"), error.message);
        return true;
      },
    );
  }
});

test("S2-AZC-02, S2-AZC-03, S2-AZC-08, S2-AZC-09, S2-AZC-10, S2-AZC-11, S2-AZC-14, S2-AZC-15: the rules, in kube-apiserver's words", () => {
  const cases: readonly (readonly [string, string, string])[] = [
    ["type: Node", 'type: ""', "authorizers[2].type: Required value"],
    [
      "type: Node",
      "type: Nodes",
      'authorizers[2].type: Unsupported value: "Nodes": supported values: "ABAC", "AlwaysAllow", "AlwaysDeny", "Node", "RBAC", "Webhook"',
    ],
    ["type: Node", "type: RBAC", 'authorizers[3].type: Duplicate value: "RBAC"'],
    ["name: second", 'name: ""', "authorizers[1].name: Required value"],
    ["name: second", "name: first", 'authorizers[1].name: Duplicate value: "first"'],
    [
      "name: second",
      "name: Second_",
      'authorizers[1].name: Invalid value: "Second_": authorizer name is invalid: ',
    ],
    ["name: node", "name: nodes", "expected name node for authorizer Node instead of nodes"],
    ["timeout: 3s", "timeout: 0s", "authorizers[0].timeout: Required value"],
    [
      "timeout: 3s",
      "timeout: 31s",
      'authorizers[0].timeout: Invalid value: "31s": must be > 0s and <= 30s',
    ],
    [
      "timeout: 3s",
      "timeout: -1s",
      'authorizers[0].timeout: Invalid value: "-1s": must be > 0s and <= 30s',
    ],
    [
      "authorizedTTL: 30s",
      "authorizedTTL: -1s",
      'authorizers[1].authorizedTTL: Invalid value: "-1s": must be > 0s',
    ],
    [
      "unauthorizedTTL: 1m30s",
      "unauthorizedTTL: -1s",
      'authorizers[1].unauthorizedTTL: Invalid value: "-1s": must be > 0s',
    ],
    [
      "subjectAccessReviewVersion: v1beta1",
      "",
      "authorizers[1].subjectAccessReviewVersion: Required value",
    ],
    [
      "subjectAccessReviewVersion: v1beta1",
      "subjectAccessReviewVersion: v2",
      'authorizers[1].subjectAccessReviewVersion: Unsupported value: "v2": supported values: "v1", "v1beta1"',
    ],
    [
      "matchConditionSubjectAccessReviewVersion: v1",
      "",
      "authorizers[0].matchConditionSubjectAccessReviewVersion: Required value",
    ],
    [
      "matchConditionSubjectAccessReviewVersion: v1",
      "matchConditionSubjectAccessReviewVersion: v1beta1",
      'authorizers[0].matchConditionSubjectAccessReviewVersion: Unsupported value: "v1beta1": supported values: "v1"',
    ],
    ["failurePolicy: Deny", "", "authorizers[0].failurePolicy: Required value"],
    [
      "failurePolicy: Deny",
      "failurePolicy: Allow",
      'authorizers[0].failurePolicy: Unsupported value: "Allow": supported values: "NoOpinion", "Deny"',
    ],
    [
      "type: KubeConfigFile",
      "type: InClusterConfig",
      'authorizers[0].connectionInfo.type: Invalid value: "InClusterConfig": not allowed for the server that hosts the API',
    ],
    ["type: KubeConfigFile", 'type: ""', "authorizers[0].connectionInfo.type: Required value"],
    [
      "type: KubeConfigFile",
      "type: File",
      'authorizers[0].connectionInfo.type: Unsupported value: "File": supported values: "InClusterConfig", "KubeConfigFile"',
    ],
    [
      "kubeConfigFile: /etc/authz.yaml",
      "",
      "authorizers[0].connectionInfo.kubeConfigFile: Required value",
    ],
    [
      "kubeConfigFile: /etc/authz.yaml",
      "kubeConfigFile: authz.yaml",
      'authorizers[0].connectionInfo.kubeConfigFile: Invalid value: "authz.yaml": must be an absolute path',
    ],
    [
      "kubeConfigFile: /etc/authz.yaml",
      "kubeConfigFile: /etc/none.yaml",
      'authorizers[0].connectionInfo.kubeConfigFile: Invalid value: "/etc/none.yaml": error loading file: stat /etc/none.yaml: no such file or directory',
    ],
    [
      "kubeConfigFile: /etc/authz.yaml",
      "kubeConfigFile: /etc",
      'authorizers[0].connectionInfo.kubeConfigFile: Invalid value: "/etc": must be a regular file',
    ],
    [
      "type: RBAC\n  name: rbac",
      "type: RBAC\n  name: rbac\n  webhook: {timeout: 1s}",
      'authorizers[3].webhook: Invalid value: "non-null": may only be specified when type=Webhook',
    ],
    [
      "type: Node\n  name: node",
      "type: Webhook\n  name: third",
      "authorizers[2].webhook: Required value: required when type=Webhook",
    ],
  ];
  for (const [from, to, expected] of cases) {
    assert.ok(COMPLETE.includes(from), from);
    const configuration = parse(COMPLETE.replace(from, to));
    assert.throws(
      () => validate(configuration),
      ({ message }: Error) => message.includes(expected) || assert.fail(message),
    );
  }
  assert.throws(() => validate({ authorizers: [] }), {
    message: "authorizers: Required value: at least one authorization mode must be defined",
  });
  const two = COMPLETE.replace("timeout: 3s", "").replace("failurePolicy: Deny", "");
  assert.throws(() => validate(parse(two)), {
    message:
      "[authorizers[0].timeout: Required value, authorizers[0].failurePolicy: Required value]",
  });
});

test("S2-AZC-16, S2-AZC-25: conditions are boolean CEL over the review, at most 64, none too costly", () => {
  const withConditions = (expressions: readonly string[]): AuthorizationConfiguration => ({
    authorizers: parse(COMPLETE).authorizers.map((authorizer) =>
      authorizer.webhook === undefined
        ? authorizer
        : {
            ...authorizer,
            webhook: {
              ...authorizer.webhook,
              matchConditionSubjectAccessReviewVersion: "v1",
              matchConditions: expressions.map((expression) => ({ expression })),
            },
          },
    ),
  });
  const numbers = (count: number) =>
    Array.from({ length: count }, (_, index) => `request.user != 'u${index}'`);
  assert.equal(validate(withConditions(numbers(64))).get("first")?.length, 64);
  const field = "authorizers[0].matchConditions";
  const cases: readonly (readonly [readonly string[], string])[] = [
    [numbers(65), `${field}: Too many: 65: must have at most 64 items`],
    [[" "], `${field}[0].expression: Required value`],
    [["true", "true"], `${field}[1].expression: Duplicate value: "true"`],
    [
      ["request.nothing == 'a'"],
      `${field}[0].expression: Invalid value: "request.nothing == 'a'": compilation failed: `,
    ],
    [
      ["request.user"],
      `${field}[0].expression: Invalid value: "request.user": compilation failed: `,
    ],
    [["object.x"], `${field}[0].expression: Invalid value: "object.x": compilation failed: `],
    [
      ["request.user =="],
      `${field}[0].expression: Invalid value: "request.user ==": compilation failed: `,
    ],
    [
      [
        "request.groups.all(a, request.groups.all(b, request.groups.all(c, request.groups.all(d, a + b != c + d))))",
      ],
      `${field}[0].expression: Invalid value: `,
    ],
  ];
  for (const [expressions, expected] of cases) {
    assert.throws(
      () => validate(withConditions(expressions)),
      ({ message }: Error) =>
        (message.startsWith(`[${expected}`) && !message.includes("\n")) || assert.fail(message),
    );
  }
  const usual = [
    "request.groups.exists(g, g.startsWith('team-'))",
    "has(request.resourceAttributes) && request.resourceAttributes.namespace == 'kube-system'",
    "!has(request.nonResourceAttributes) || request.nonResourceAttributes.path != '/metrics'",
    "has(request.resourceAttributes) && has(request.resourceAttributes.labelSelector) && request.resourceAttributes.labelSelector.requirements.exists(r, r.key == 'a' && r.operator == 'In' && r.values == ['b'])",
    "'scopes' in request.extra && request.extra['scopes'].exists(s, s == 'admin')",
  ];
  assert.equal(validate(withConditions(usual)).get("second")?.length, usual.length);
});

test("S2-AZC-25: conditions over lists of the request are affordable as people write them", () => {
  const path = "request.resourceAttributes.labelSelector.requirements";
  for (const expression of [
    "'dev' in request.groups && !('system:masters' in request.groups)",
    `has(request.resourceAttributes.labelSelector) && ${path}.exists(r, r.key == 'a' && 'x' in r.values)`,
    `${path}.exists(r, r.operator == 'In' && r.values == ['x', 'y'])`,
    "'a' in request.extra && 'b' in request.extra['a']",
    "request.extra.all(k, request.extra[k].all(v, v in ['c', 'd']))",
  ]) {
    assert.ok(compile(expression), expression);
  }
  const costly =
    "request.groups.exists(g, request.groups.exists(h, request.groups.exists(i, g == h)))";
  assert.throws(() => compile(costly), /estimated cost exceeds the budget/);
});

test("S2-AZC-20: on reload types can neither go nor come", () => {
  const configuration = parse(COMPLETE);
  validate(configuration, ["Node", "RBAC"]);
  assert.throws(() => validate(configuration, ["Node", "RBAC", "ABAC", "AlwaysDeny"]), {
    message: "missing required types: [ABAC AlwaysDeny]",
  });
  assert.throws(() => validate(configuration, ["Node"]), {
    message: "authorizer type RBAC is not allowed if it was not enabled at initial server startup",
  });
});

const FLAGS: AuthorizationFlags = {
  authorizationModes: ["Node", "RBAC"],
  authorizationPolicyFile: "",
  authorizationWebhookConfigFile: "",
  authorizationWebhookVersion: "v1beta1",
  authorizationWebhookCacheAuthorizedTtlMs: 300_000,
  authorizationWebhookCacheUnauthorizedTtlMs: 0,
};

test("S2-AZ-07: the flags are an ordered list of modes, the webhook's are a webhook named default", () => {
  const configuration = toAuthorizationConfiguration({
    ...FLAGS,
    authorizationModes: ["Webhook", "RBAC", "ABAC"],
    authorizationPolicyFile: "/policies",
    authorizationWebhookConfigFile: "/etc/authz.yaml",
  });
  assert.deepEqual(
    configuration.authorizers.map(({ type, name }) => [type, name]),
    [
      ["Webhook", "default"],
      ["RBAC", "rbac"],
      ["ABAC", "abac"],
    ],
  );
  assert.deepEqual(configuration.authorizers[0]?.webhook, {
    authorizedTtlMs: 300_000,
    cacheAuthorizedRequests: true,
    unauthorizedTtlMs: 0,
    cacheUnauthorizedRequests: false,
    timeoutMs: 30_000,
    subjectAccessReviewVersion: "v1beta1",
    matchConditionSubjectAccessReviewVersion: "v1",
    failurePolicy: "NoOpinion",
    connectionInfo: { type: "KubeConfigFile", kubeConfigFile: "/etc/authz.yaml" },
    matchConditions: [],
  });
  validate(configuration);
});

test("modes that cannot be are refused in kube-apiserver's words", () => {
  const cases: readonly (readonly [Partial<AuthorizationFlags>, string])[] = [
    [{ authorizationModes: [] }, "at least one authorization-mode must be passed"],
    [
      { authorizationModes: ["rbac"] },
      'authorization-mode "rbac" is not a valid mode; known are ABAC, AlwaysAllow, AlwaysDeny, Node, RBAC, Webhook',
    ],
    [
      { authorizationModes: ["RBAC", "Node", "RBAC"] },
      'authorization-mode ["RBAC" "Node" "RBAC"] has mode specified more than once',
    ],
    [
      { authorizationModes: ["ABAC"] },
      "authorization-mode ABAC's authorization policy file not passed",
    ],
    [
      { authorizationPolicyFile: "/x" },
      "cannot specify --authorization-policy-file without mode ABAC",
    ],
    [
      { authorizationModes: ["Webhook"] },
      "authorization-mode Webhook's authorization config file not passed",
    ],
    [
      { authorizationWebhookConfigFile: "/x" },
      "cannot specify --authorization-webhook-config-file without mode Webhook",
    ],
  ];
  for (const [flags, message] of cases) {
    assert.throws(() => toAuthorizationConfiguration({ ...FLAGS, ...flags }), { message });
  }
});

test("whatever a file holds, it is a valid configuration or one clear line", () => {
  const value = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom(
      "Webhook",
      "RBAC",
      "v1",
      "Deny",
      "3s",
      "KubeConfigFile",
      "/etc/authz.yaml",
      "1",
    ),
  );
  const fields = [
    ...["authorizedTTL", "cacheAuthorizedRequests", "unauthorizedTTL", "timeout", "failurePolicy"],
    ...["subjectAccessReviewVersion", "matchConditionSubjectAccessReviewVersion"],
    ...["cacheUnauthorizedRequests", "connectionInfo", "matchConditions"],
  ];
  const webhook = fc.dictionary(fc.constantFrom(...fields), value);
  const authorizer = fc.record(
    { type: value, name: value, webhook: fc.oneof(webhook, value) },
    { requiredKeys: [] },
  );
  const authorizers = fc.oneof(fc.array(authorizer, { maxLength: 3 }), value);
  fc.assert(
    fc.property(authorizers, (list) => {
      const text = JSON.stringify({
        apiVersion: "apiserver.config.k8s.io/v1",
        kind: "AuthorizationConfiguration",
        authorizers: list,
      });
      try {
        validate(parse(text));
      } catch (error) {
        assert.ok(error instanceof AuthorizationConfigurationError, String((error as Error).stack));
        assert.ok(!error.message.includes("\n"), error.message);
      }
    }),
    { numRuns: 2_000 },
  );
});
