/** Rules for devices and claims of them: what is accepted, what is refused and how (A18, A19). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { LongWork, type RuleUse } from "../../api/long-work.js";
import { createNaming } from "../../api/naming.js";
import { collectProblems, Problems } from "../../api/problems.js";
import { validateResources } from "../core/validate-resources.js";
import {
  changeProblems,
  checkChanges,
  checkProblems,
  problemsOf,
  type TestObject,
} from "../testing/problems.js";
import type { ClaimSpec } from "./device-types.js";
import { validateClaimSpec } from "./validate-claim.js";

const CLAIMS = "resource.k8s.io/v1/resourceclaims";
const SLICES = "resource.k8s.io/v1/resourceslices";
const CLASSES = "resource.k8s.io/v1/deviceclasses";

const exactly = (parts: object = {}): object => ({ deviceClassName: "c.x", ...parts });
const claim = (devices: object): TestObject => ({ spec: { devices } });
const request = (parts: object): TestObject =>
  claim({ requests: [{ name: "r", exactly: exactly(parts) }] });
const EXACT = "spec.devices.requests[0].exactly";

const SUBDOMAIN =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const NO_REQUEST =
  "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";

test("A19: a request of the first beta with a selector and no class", () => {
  const selectors = [{ cel: { expression: "true" } }];
  checkProblems("resource.k8s.io/v1beta1/resourceclaims", [
    [claim({ requests: [{ name: "r", deviceClassName: "c.x", selectors }] })],
    [claim({ requests: [{ name: "r", selectors }] }), `${EXACT}.deviceClassName: Required value`],
  ]);
});

test("39.3: the expressions of a large claim, and the amounts of a large container, are looked at in steps, with the same problems", () => {
  const cel = (at: number) => ({ cel: { expression: at % 2 ? "tru" : `${at} < 1` } });
  const selectors = Array.from({ length: 8 }, (_, at) => cel(at));
  const spec = { devices: { requests: [{ name: "r", exactly: exactly({ selectors }) }] } };
  const seen = (use: RuleUse) => validateClaimSpec(spec as ClaimSpec, "spec", use);
  // What is no expression ends after parsing; others are checked, planned and estimated.
  assert.equal(stepsOf(seen).taken, 4 * 2 + 4 * 5, "each expression is compiled in steps");
  assert.equal(stepsOf(seen).problems.length, 4);

  const limits = Object.fromEntries(
    Array.from({ length: 1_000 }, (_, at) => [`e.com/r${at}`, at % 100 ? "1" : "0.5"]),
  );
  const amounts = (use: RuleUse) => {
    const about = { ...use, naming: createNaming("kubernetes"), claimNames: new Set<string>() };
    validateResources({ limits, requests: limits }, "r", about);
  };
  assert.ok(stepsOf(amounts).taken >= 20, `${stepsOf(amounts).taken} steps`);
});

/** What a rule finds in steps is what it finds at once. */
function stepsOf(rule: (use: RuleUse) => void) {
  const atOnce = collectProblems(() => {
    const errors = new Problems();
    rule({ errors });
    return errors;
  });
  const long = new LongWork();
  rule({ errors: new Problems(), long });
  const steps = long.finish();
  let taken = 0;
  let step = steps.next();
  for (; step.done !== true; step = steps.next()) taken++;
  assert.deepEqual([...step.value], [...atOnce]);
  return { problems: step.value, taken };
}

test("A19: requests of a claim", () => {
  checkProblems(CLAIMS, [
    [request({})],
    [request({ allocationMode: "All" })],
    [request({ count: -1 }), `${EXACT}.count: Invalid value: -1: must be greater than zero`],
    [
      request({ allocationMode: "All", count: 2 }),
      `${EXACT}.count: Invalid value: 2: must not be specified when allocationMode is 'All'`,
    ],
    [
      request({ allocationMode: "Some" }),
      `${EXACT}.allocationMode: Unsupported value: "Some": supported values: "All", "ExactCount"`,
    ],
    [
      request({ deviceClassName: "No!" }),
      `${EXACT}.deviceClassName: Invalid value: "No!": ${SUBDOMAIN}`,
    ],
    [request({ deviceClassName: "" }), `${EXACT}.deviceClassName: Required value`],
    [
      claim({ requests: [{ name: "r" }] }),
      "spec.devices.requests[0]: Required value: exactly one of `exactly` or `firstAvailable` is required",
    ],
    [
      claim({
        requests: [
          { name: "r", exactly: exactly(), firstAvailable: [{ name: "s", ...exactly() }] },
        ],
      }),
      "spec.devices.requests[0]: Invalid value: null: exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set",
    ],
    [
      claim({ requests: [1, 2].map(() => ({ name: "r", exactly: exactly() })) }),
      'spec.devices.requests[1]: Duplicate value: "r"',
    ],
    [
      claim({
        requests: Array.from({ length: 33 }, (_, i) => ({ name: `r${i}`, exactly: exactly() })),
      }),
      "spec.devices.requests: Too many: 33: must have at most 32 items",
    ],
    [
      claim({
        requests: [
          {
            name: "r",
            firstAvailable: Array.from({ length: 9 }, (_, i) => ({ name: `s${i}`, ...exactly() })),
          },
        ],
      }),
      "spec.devices.requests[0].firstAvailable: Too many: 9: must have at most 8 items",
    ],
    [
      request({ tolerations: [{ key: "a", operator: "Exists", value: "v" }, { operator: "In" }] }),
      `${EXACT}.tolerations[0].value: Invalid value: "v": must be empty for operator \`Exists\``,
      `${EXACT}.tolerations[1].operator: Unsupported value: "In": supported values: "Equal", "Exists"`,
    ],
  ]);
});

test("A19: selectors are expressions about a device", () => {
  const selecting = (...expressions: string[]) =>
    request({ selectors: expressions.map((expression) => ({ cel: { expression } })) });
  for (const good of [
    "true",
    'device.driver == "d.example"',
    'device.attributes["d.example"].fast',
    'device.attributes["d.example"].model == "a" && device.attributes["d.example"].size > 3',
    'device.capacity["d.example"].memory.compareTo(quantity("1Gi")) >= 0',
    'cel.bind(d, device.attributes["d.example"], d.one && d.two)',
    'device.attributes["d.example"].version.isGreaterThan(semver("1.0.0"))',
    "device.allowMultipleAllocations",
    'device.attributes["a"].x == device.attributes["b"].y',
  ]) {
    assert.deepEqual(problemsOf(CLAIMS, selecting(good)), [], good);
  }
  const [broken = ""] = problemsOf(CLAIMS, selecting("no cel ((("));
  assert.match(
    broken,
    /^spec.devices.requests\[0\].exactly.selectors\[0\].cel.expression: Invalid value: "no cel \(\(\(": compilation failed: /,
  );
  const at = `${EXACT}.selectors[0].cel`;
  checkProblems(CLAIMS, [
    [
      selecting("device.driver"),
      `${at}.expression: Invalid value: "device.driver": must evaluate to bool or the unknown type, not string`,
    ],
    [
      selecting("dyn(true)"),
      `${at}.expression: Invalid value: "dyn(true)": must evaluate to bool or the unknown type, not dyn`,
    ],
    [
      selecting('device.attributes["d"].list.exists(x, x == 1)'),
      `${at}.expression: Invalid value: "device.attributes[\\"d\\"].list.exists(x, x == 1)": compilation failed: ERROR: <input>:1:23: expression of type 'any' cannot be range of a comprehension (must be list, map, or dynamic)\n | device.attributes["d"].list.exists(x, x == 1)\n | ......................^`,
    ],
    [request({ selectors: [{}] }), `${at}: Required value`],
    [
      selecting(`"${"x".repeat(10 * 1024)}" == device.driver`),
      `${at}.expression: Too long: may not be more than 10240 bytes`,
    ],
    [
      selecting(
        `device.attributes.all(a, device.attributes.all(b, device.attributes.all(c, device.attributes.all(d, a+b+c+d != ""))))`,
      ),
      `${at}.expression: Forbidden: too complex, exceeds cost limit`,
    ],
    [
      request({ selectors: Array.from({ length: 33 }, () => ({ cel: { expression: "true" } })) }),
      `${EXACT}.selectors: Too many: 33: must have at most 32 items`,
    ],
  ]);
});

test("A19: constraints and settings refer to requests of the claim", () => {
  const requests = [
    { name: "r", exactly: exactly() },
    { name: "f", firstAvailable: [{ name: "s", ...exactly() }] },
  ];
  const opaque = { driver: "d.x", parameters: { a: 1 } };
  const configured = (config: object) => claim({ requests, config: [config] });
  const constrained = (constraint: object) => claim({ requests, constraints: [constraint] });
  checkProblems(CLAIMS, [
    [configured({ requests: ["r", "f", "f/s"], opaque })],
    [constrained({ requests: ["r", "f/s"], matchAttribute: "d.x/a" })],
    [constrained({ distinctAttribute: "d.x/a" })],
    [
      configured({ requests: ["x", "f/x", "f/s/t", "r/s"], opaque }),
      ...["x", "f/x", "f/s/t", "r/s"].map(
        (name, i) =>
          `spec.devices.config[0].requests[${i}]: Invalid value: ${JSON.stringify(name)}: ${NO_REQUEST}`,
      ),
    ],
    [
      configured({ requests: ["r", "r"], opaque }),
      'spec.devices.config[0].requests[1]: Duplicate value: "r"',
    ],
    [configured({}), "spec.devices.config[0].opaque: Required value"],
    [
      configured({ opaque: { driver: "d.x", parameters: "text" } }),
      'spec.devices.config[0].opaque.parameters: Invalid value: "<value omitted>": must be a valid JSON object',
    ],
    [
      configured({ opaque: { driver: "d.x", parameters: null } }),
      "spec.devices.config[0].opaque.parameters: Required value",
    ],
    [
      configured({ opaque: { driver: "D!", parameters: { a: "x".repeat(10_240) } } }),
      `spec.devices.config[0].opaque.driver: Invalid value: "D!": ${SUBDOMAIN}`,
      "spec.devices.config[0].opaque.parameters: Too long: may not be more than 10240 bytes",
    ],
    [
      constrained({ requests: ["r"] }),
      'spec.devices.constraints[0]: Required value: exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set',
    ],
    [
      constrained({ matchAttribute: "a" }),
      'spec.devices.constraints[0].matchAttribute: Invalid value: "a": a fully qualified name must be a domain and a name separated by a slash',
    ],
  ]);
  const [first = ""] = problemsOf(CLAIMS, constrained({ matchAttribute: "d.x/1a" }));
  assert.match(first, /matchAttribute: Invalid value: "1a": a valid C identifier must start/);
  assert.deepEqual(
    changeProblems(CLAIMS, claim({ requests }), claim({ requests: [requests[0]] })).map((line) =>
      line.replace(/value: .*: field/, "value: ...: field"),
    ),
    ["spec: Invalid value: ...: field is immutable"],
  );
});

test("A19: a template is judged like its claim, and has no metadata but labels and annotations", () => {
  checkProblems("resource.k8s.io/v1/resourceclaimtemplates", [
    [{ spec: { spec: request({}).spec } }],
    [
      { spec: { metadata: { name: "n", labels: { a: "!" } }, spec: request({ count: -1 }).spec } },
      "spec.metadata.labels: Invalid value: \"!\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
      "spec.metadata.name: Forbidden: cannot be set",
      "spec.spec.devices.requests[0].exactly.count: Invalid value: -1: must be greater than zero",
    ],
  ]);
});

test("A19: a class selects and configures devices", () => {
  const opaque = (size: number) => ({
    opaque: { driver: "d.x", parameters: { a: "x".repeat(size) } },
  });
  checkProblems(CLASSES, [
    [{ spec: { selectors: [{ cel: { expression: "true" } }], config: [opaque(1)] } }],
    [{ spec: { extendedResourceName: "example.com/gpu" } }],
    [
      { spec: { extendedResourceName: "cpu" } },
      'spec.extendedResourceName: Invalid value: "cpu": must be a valid extended resource name',
    ],
    [
      { spec: { config: [opaque(10_240)] } },
      "spec.config[0].opaque.parameters: Too long: may not be more than 10240 bytes",
    ],
    [{ spec: { selectors: [{}] } }, "spec.selectors[0].cel: Required value"],
  ]);
  checkChanges(CLASSES, [
    [
      { spec: { config: [opaque(10_240)] } },
      { spec: { config: [opaque(10_240)], extendedResourceName: "example.com/gpu" } },
    ],
  ]);
});

test("A19: a rule taints devices", () => {
  const rule = (deviceSelector: object, taint: object) => ({ spec: { deviceSelector, taint } });
  const taint = { key: "k", effect: "NoExecute" };
  checkProblems("resource.k8s.io/v1alpha3/devicetaintrules", [
    [rule({ driver: "d.x", pool: "p/q", device: "d" }, taint)],
    [
      rule({ driver: "", pool: "p!", device: "d" }, { key: "", effect: "None" }),
      "spec.deviceSelector.driver: Required value",
      `spec.deviceSelector.pool: Invalid value: "p!": ${SUBDOMAIN}`,
      'spec.taint.key: Invalid value: "": name part must be non-empty',
      "spec.taint.key: Invalid value: \"\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
    ],
  ]);
});

const pool = { name: "p", generation: 1, resourceSliceCount: 1 };
const slice = (parts: object): TestObject => ({
  spec: { driver: "d.x", pool, nodeName: "n", ...parts },
});
const device = (parts: object): TestObject => slice({ devices: [{ name: "dev", ...parts }] });
const ONE =
  "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";
const term = { matchExpressions: [{ key: "k", operator: "Exists" }] };

test("A19: a slice is of one pool, and on nodes that are chosen in one way", () => {
  checkProblems(SLICES, [
    [slice({})],
    [slice({ nodeName: undefined, nodeSelector: { nodeSelectorTerms: [term] } })],
    [slice({ nodeName: undefined, perDeviceNodeSelection: true })],
    [
      slice({ allNodes: true }),
      `spec: Invalid value: "{\`nodeName\`, \`allNodes\`}": ${ONE}, but multiple fields are set`,
    ],
    [slice({ nodeName: undefined }), `spec: Required value: ${ONE}`],
    [
      slice({ nodeName: "", allNodes: false, perDeviceNodeSelection: false }),
      'spec.nodeName: Invalid value: "": must be either unset or set to a non-empty string',
      "spec.allNodes: Invalid value: false: must be either unset or set to true",
      "spec.perDeviceNodeSelection: Invalid value: false: must be either unset or set to true",
      `spec: Required value: ${ONE}`,
    ],
    [
      slice({ nodeName: undefined, nodeSelector: { nodeSelectorTerms: [term, term] } }),
      'spec.nodeSelector.nodeSelectorTerms: Invalid value: [{"matchExpressions":[{"key":"k","operator":"Exists"}]},{"matchExpressions":[{"key":"k","operator":"Exists"}]}]: must have exactly one node selector term',
    ],
    [
      slice({ driver: "d_x", pool: { name: "p//", generation: -1, resourceSliceCount: 0 } }),
      `spec.driver: Invalid value: "d_x": ${SUBDOMAIN}`,
      `spec.pool.name: Invalid value: "": ${SUBDOMAIN}`,
      `spec.pool.name: Invalid value: "": ${SUBDOMAIN}`,
      "spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero",
      "spec.pool.generation: Invalid value: -1: must be greater than or equal to zero",
    ],
    [
      slice({
        devices: [{ name: "d" }],
        sharedCounters: [{ name: "c", counters: { a: { value: "1" } } }],
      }),
      'spec: Invalid value: "": only one of `sharedCounters` or `devices` is allowed',
    ],
    [
      slice({ sharedCounters: [{ name: "c", counters: {} }] }),
      "spec.sharedCounters[0].counters: Required value",
    ],
    [
      slice({ devices: Array.from({ length: 129 }, (_, i) => ({ name: `d${i}` })) }),
      "spec.devices: Too many: 129: must have at most 128 items",
    ],
    [
      slice({
        devices: Array.from({ length: 65 }, (_, i) => ({
          name: `d${i}`,
          taints: [{ key: "k", effect: "None" }],
        })),
      }),
      "spec.devices: Too many: 65: must have at most 64 items",
    ],
    [slice({ devices: [{ name: "d" }, { name: "d" }] }), 'spec.devices[1]: Duplicate value: "d"'],
  ]);
});

test("A19: attributes, taints and counters of a device", () => {
  const at = "spec.devices[0]";
  const attributes = (value: object) => device({ attributes: { a: value } });
  checkProblems(SLICES, [
    [
      device({
        attributes: { a: { int: 1 }, "d.x/b": { version: "1.2.3-a.1+b" }, c: { string: "s" } },
        taints: [{ key: "k", value: "v", effect: "None" }],
        consumesCounters: [{ counterSet: "c", counters: { a: { value: "1" } } }],
        bindingConditions: ["a.b/C"],
        bindingFailureConditions: ["a.b/D"],
      }),
    ],
    [attributes({}), `${at}.attributes[a]: Invalid value: "": exactly one value must be specified`],
    [
      attributes({ int: 1, bool: true }),
      `${at}.attributes[a]: Invalid value: {"int":1,"bool":true}: exactly one value must be specified`,
    ],
    [
      attributes({ version: "1.0" }),
      `${at}.attributes[a].version: Invalid value: "1.0": must be a string compatible with semver.org spec 2.0.0`,
    ],
    [
      attributes({ version: `1.0.0-${"a".repeat(60)}` }),
      `${at}.attributes[a].version: Too long: may not be more than 64 bytes`,
    ],
    [
      attributes({ string: "x".repeat(65) }),
      `${at}.attributes[a].string: Too long: may not be more than 64 bytes`,
    ],
    [
      device({
        attributes: Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`a${i}`, { int: 1 }])),
      }),
      `${at}: Invalid value: 33: the total number of attributes and capacities must not exceed 32`,
    ],
    [
      device({ attributes: { "/a": { int: 1 }, "d.x/": { int: 1 } } }),
      `${at}.attributes: Invalid value: "": the domain must not be empty`,
      `${at}.attributes: Invalid value: "": the name must not be empty`,
    ],
    [
      device({ taints: Array.from({ length: 17 }, () => ({ key: "k", effect: "None" })) }),
      `${at}.taints: Too many: 17: must have at most 16 items`,
    ],
    [
      device({
        consumesCounters: [1, 2, 3].map((i) => ({ counterSet: `c${i}`, counters: { a: {} } })),
      }),
      `${at}.consumesCounters: Too many: 3: must have at most 2 items`,
    ],
    [
      device({ nodeName: "n" }),
      `${at}: Invalid value: null: \`nodeName\`, \`nodeSelector\` and \`allNodes\` can only be set if \`perDeviceNodeSelection\` is set to true in the ResourceSlice spec`,
    ],
    [
      slice({ nodeName: undefined, perDeviceNodeSelection: true, devices: [{ name: "d" }] }),
      "spec.devices[0]: Required value: exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec",
    ],
    [
      device({ bindingConditions: ["a", "a"] }),
      `${at}.bindingConditions[1]: Duplicate value: "a"`,
      `${at}.bindingFailureConditions: Invalid value: null: bindingFailureConditions are required to use bindingConditions`,
    ],
    [
      device({ bindingConditions: ["a"], bindingFailureConditions: ["a"] }),
      `${at}.bindingFailureConditions[0]: Invalid value: "a": bindingFailureConditions must not overlap with bindingConditions`,
    ],
  ]);
  // Behind a gate that is off, so dropped.
  assert.deepEqual(problemsOf(SLICES, attributes({ ints: [1] })), [
    `${at}.attributes[a]: Invalid value: "": exactly one value must be specified`,
  ]);
});

test("A19: amounts of a capacity that may be requested", () => {
  const capacity = (requestPolicy: object, isShared = true): TestObject =>
    device({
      ...(isShared && { allowMultipleAllocations: true }),
      capacity: { memory: { value: "10Gi", requestPolicy } },
    });
  const at = "spec.devices[0].capacity[memory].requestPolicy";
  checkProblems(SLICES, [
    [capacity({ default: "1Gi", validRange: { min: "1Gi", max: "9Gi", step: "1Gi" } })],
    [capacity({ default: "2Gi", validValues: ["1Gi", "2Gi"] })],
    [
      capacity({ default: "1Gi" }, false),
      `${at}: Forbidden: allowMultipleAllocations must be true`,
    ],
    [
      capacity({ default: "1Gi", validRange: {} }, false),
      `${at}: Forbidden: allowMultipleAllocations must be true`,
    ],
    [
      capacity({ default: "1Gi", validRange: {} }),
      `${at}.validRange.min: Required value: required when validRange is defined`,
    ],
    [
      capacity({ default: "1Gi", validValues: ["1Gi"], validRange: { min: "1Gi" } }),
      `${at}: Forbidden: exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time`,
    ],
    [
      capacity({ validValues: ["1Gi"] }),
      `${at}.default: Required value: required when validValues is defined`,
    ],
    [
      capacity({ default: "3Gi", validValues: ["2Gi", "1Gi", "11Gi", "11Gi"] }),
      `${at}.validValues[1]: Invalid value: "1Gi": values must be sorted in ascending order`,
      `${at}.validValues[2]: Invalid value: "11Gi": option is larger than capacity value: 10Gi`,
      `${at}.validValues[3]: Invalid value: "11Gi": option is larger than capacity value: 10Gi`,
      `${at}.validValues[3]: Duplicate value: "11811160064"`,
      `${at}.validValues: Invalid value: "3Gi": default value is not valid according to the requestPolicy`,
    ],
    [
      capacity({ default: "1Gi", validRange: {} }),
      `${at}.validRange.min: Required value: required when validRange is defined`,
    ],
    [
      capacity({ default: "1Gi", validRange: { min: "2Gi", max: "11Gi", step: "2Gi" } }),
      `${at}.validRange.min: Invalid value: "1Gi": default is less than min: 2Gi`,
      `${at}.validRange.max: Invalid value: "11Gi": max is larger than capacity value: 10Gi`,
      `${at}.validRange.step: Invalid value: "1Gi": value is not a multiple of a given step (2Gi) from (2Gi)`,
      `${at}.validRange.step: Invalid value: "11Gi": value is not a multiple of a given step (2Gi) from (2Gi)`,
    ],
    [
      capacity({ default: "1Gi", validRange: { min: "1Gi", step: "10Gi" } }),
      `${at}.validRange.step: Invalid value: "10Gi": one step 11Gi is larger than capacity value: 10Gi`,
    ],
  ]);
});

test("A18: a slice stays with its driver, pool and node", () => {
  checkChanges(SLICES, [
    [slice({}), slice({ pool: { ...pool, generation: 2 }, devices: [{ name: "d" }] })],
    [slice({}), slice({ nodeName: "m" }), 'spec.nodeName: Invalid value: "m": field is immutable'],
    [
      slice({}),
      slice({ nodeName: undefined, allNodes: true }),
      "spec.nodeName: Invalid value: null: field is immutable",
    ],
    [
      slice({}),
      slice({ driver: "e.x", pool: { ...pool, name: "q" } }),
      'spec.pool.name: Invalid value: "q": field is immutable',
      'spec.driver: Invalid value: "e.x": field is immutable',
    ],
  ]);
});
