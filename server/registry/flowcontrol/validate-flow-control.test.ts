/** Rules for flow schemas and priority levels: what is accepted, what is refused and how. */
import { test } from "node:test";
import { createNaming } from "../../api/naming.js";
import { mandatoryObjects, suggestedObjects } from "../../flowcontrol/default-objects.js";
import { checkProblems } from "../testing/problems.js";

const naming = createNaming("kubernetes");
const defaults = [mandatoryObjects(naming), suggestedObjects(naming)];
const SCHEMAS = "flowcontrol.apiserver.k8s.io/v1/flowschemas";
const LEVELS = "flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations";

const jane = { kind: "User", user: { name: "jane" } };
const everything = {
  verbs: ["*"],
  apiGroups: ["*"],
  resources: ["*"],
  namespaces: ["*"],
};

function schema(rule: object, more: object = {}) {
  const priorityLevelConfiguration = { name: "x" };
  return { spec: { priorityLevelConfiguration, matchingPrecedence: 5, rules: [rule], ...more } };
}

function level(limited: object) {
  return { spec: { type: "Limited", limited: { nominalConcurrencyShares: 1, ...limited } } };
}

function queue(queuing: object | undefined) {
  return level({ limitResponse: { type: "Queue", ...(queuing !== undefined && { queuing }) } });
}

test("the default objects are accepted", () => {
  checkProblems(
    SCHEMAS,
    defaults.flatMap(({ schemas }) => schemas).map((one) => [one]),
  );
  checkProblems(
    LEVELS,
    defaults.flatMap(({ levels }) => levels).map((one) => [one]),
  );
});

test("flow schemas are accepted or refused by their rules, field by field", () => {
  checkProblems(SCHEMAS, [
    [schema({ subjects: [jane], resourceRules: [everything] })],
    [
      schema({ subjects: [jane], resourceRules: [everything] }, { matchingPrecedence: 1 }),
      "spec.matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may have matchingPrecedence 1",
    ],
    [
      schema({ subjects: [jane], resourceRules: [everything] }, { matchingPrecedence: 10_001 }),
      "spec.matchingPrecedence: Invalid value: 10001: must not be greater than 10000",
    ],
    [
      schema({ subjects: [], resourceRules: [] }),
      "spec.rules[0].subjects: Required value: subjects must contain at least one value",
      "spec.rules[0]: Required value: at least one of resourceRules and nonResourceRules has to be non-empty",
    ],
    [
      schema({ subjects: [{ kind: "User", group: { name: "g" } }], resourceRules: [everything] }),
      "spec.rules[0].subjects[0].user: Required value: user is required when subject kind is 'User'",
      "spec.rules[0].subjects[0].group: Forbidden: group is forbidden when subject kind is not 'Group'",
    ],
    [
      schema({
        subjects: [jane],
        resourceRules: [{ ...everything, verbs: ["look"], namespaces: ["A"] }],
      }),
      'spec.rules[0].resourceRules[0].verbs: Unsupported value: ["look"]: supported values: "create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"',
      "spec.rules[0].resourceRules[0].namespaces[0]: Invalid value: \"A\": each member of this list must be '*' or a DNS-1123 label; a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
    ],
    [
      schema({
        subjects: [jane],
        nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["/a*", "b", "/c/*"] }],
      }),
      'spec.rules[0].nonResourceRules[0].nonResourceURLs[0]: Invalid value: "/a*": wildcard can only do suffix matching',
      'spec.rules[0].nonResourceRules[0].nonResourceURLs[1]: Invalid value: "b": must start with slash',
    ],
  ]);
});

test("priority levels are accepted or refused by their rules, field by field", () => {
  const field = "spec.limited.limitResponse.queuing";
  checkProblems(LEVELS, [
    [level({ limitResponse: { type: "Reject" } })],
    [queue({ queues: 64, handSize: 8, queueLengthLimit: 50 })],
    [level({ limitResponse: { type: "" } }), "spec.limited.limitResponse.type: Required value"],
    [
      level({ limitResponse: { type: "Wait" } }),
      'spec.limited.limitResponse.type: Unsupported value: "Wait": supported values: "Queue", "Reject"',
    ],
    [
      queue(undefined),
      `${field}: Required value: must not be empty if limited.limitResponse.type is Limited`,
    ],
    [
      queue({ queues: 4, handSize: 8, queueLengthLimit: -1 }),
      `${field}.queueLengthLimit: Invalid value: -1: must be positive`,
      `${field}.handSize: Invalid value: 8: should not be greater than queues (4)`,
    ],
    [
      queue({ queues: 10_000_000, handSize: 8, queueLengthLimit: 50 }),
      `${field}.handSize: Invalid value: 8: required entropy bits of deckSize 10000000 and handSize 8 should not be greater than 60`,
    ],
    [
      level({ lendablePercent: 101, limitResponse: { type: "Reject" } }),
      "spec.limited.lendablePercent: Invalid value: 101: must be between 0 and 100, inclusive",
    ],
    [{ spec: { type: "" } }, "spec.type: Required value"],
    [
      { metadata: { name: "exempt" }, ...level({ limitResponse: { type: "Reject" } }) },
      "spec.type: Invalid value: \"Limited\": must be 'Exempt' if and only if `name` is 'exempt'",
    ],
  ]);
});
