/** Rules of jobs in pairs: what just keeps a rule, and what breaks only it (R4, R5, R15, R37). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createNaming } from "../../api/naming.js";
import { changeProblems, checkProblems, type TestObject } from "../testing/problems.js";
import { cronJobWarnings, jobWarnings } from "./job-warnings.js";

const JOBS = "batch/v1/jobs";
const template = {
  spec: { restartPolicy: "Never", containers: [{ name: "c", image: "i" }] },
};
const job = (spec: object, metadata: object = {}): TestObject => ({
  metadata,
  spec: { template, ...spec },
});
const indexed = (spec: object, metadata: object = {}): TestObject =>
  job({ completionMode: "Indexed", completions: 5, parallelism: 1, ...spec }, metadata);
const successOf = (...rules: object[]): TestObject => indexed({ successPolicy: { rules } });
const failureOf = (rule: object, spec: object = {}): TestObject =>
  indexed({ podFailurePolicy: { rules: [rule] }, ...spec });
const RULE = "spec.podFailurePolicy.rules[0]";
const SUCCESS = "spec.successPolicy.rules[0]";
const onExit = (onExitCodes: object) => failureOf({ action: "FailJob", onExitCodes });
const onCondition = (...onPodConditions: object[]) =>
  failureOf({ action: "Ignore", onPodConditions });
const numbers = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

test("R4: the rules of a job's success policy name indexes and counts that it has", () => {
  checkProblems(JOBS, [
    [successOf({ succeededIndexes: "0-4", succeededCount: 5 })],
    [successOf({ succeededIndexes: "" })],
    [
      successOf({}),
      `${SUCCESS}: Required value: at least one of succeededCount or succeededIndexes must be specified`,
    ],
    [
      successOf(),
      "spec.successPolicy.rules: Required value: at least one rules must be specified when the successPolicy is specified",
    ],
    [successOf(...Array.from({ length: 20 }, () => ({ succeededCount: 1 })))],
    [
      successOf(...Array.from({ length: 21 }, () => ({ succeededCount: 1 }))),
      "spec.successPolicy.rules: Too many: 21: must have at most 20 items",
    ],
    [
      successOf({ succeededIndexes: "0-9" }),
      `${SUCCESS}.succeededIndexes: Invalid value: "0-9": error parsing succeededIndexes: too large index: "9"`,
    ],
    [
      successOf({ succeededIndexes: "x" }),
      `${SUCCESS}.succeededIndexes: Invalid value: "x": error parsing succeededIndexes: cannot convert string to integer for index: "x"`,
    ],
    [
      successOf({ succeededIndexes: "1-2-3" }),
      `${SUCCESS}.succeededIndexes: Invalid value: "1-2-3": error parsing succeededIndexes: the fragment "1-2-3" violates the requirement that an index interval can have at most two parts separated by '-'`,
    ],
    [
      successOf({ succeededIndexes: "2,1" }),
      `${SUCCESS}.succeededIndexes: Invalid value: "2,1": error parsing succeededIndexes: non-increasing order, previous: 2, current: 1`,
    ],
    [
      successOf({ succeededCount: 6 }),
      `${SUCCESS}.succeededCount: Invalid value: 6: must be less than or equal to 5 (the number of specified completions)`,
    ],
    [
      successOf({ succeededCount: -1 }),
      `${SUCCESS}.succeededCount: Invalid value: -1: must be greater than or equal to 0`,
    ],
    [
      successOf({ succeededIndexes: "1-2", succeededCount: 3 }),
      `${SUCCESS}.succeededCount: Invalid value: 3: must be less than or equal to 2 (the number of indexes in the specified succeededIndexes field)`,
    ],
    [
      job({ successPolicy: { rules: [{ succeededCount: 1 }] } }),
      'spec.successPolicy: Invalid value: {"Rules":[{"SucceededIndexes":null,"SucceededCount":1}]}: requires indexed completion mode',
    ],
  ]);
});

test("R37: rules of a job's failure policy, field by field", () => {
  checkProblems(JOBS, [
    [onExit({ operator: "NotIn", values: [0] })],
    [onExit({ operator: "In", values: numbers(255) })],
    [
      onExit({ operator: "In", values: numbers(256) }),
      `${RULE}.onExitCodes.values: Too many: 256: must have at most 255 items`,
    ],
    [
      onExit({ operator: "In", values: [] }),
      `${RULE}.onExitCodes.values: Invalid value: null: at least one value is required`,
    ],
    [
      onExit({ operator: "In", values: [1], containerName: "other" }),
      `${RULE}.onExitCodes.containerName: Invalid value: "other": must be one of the container or initContainer names in the pod template`,
    ],
    [
      onExit({ operator: "Near", values: [1] }),
      `${RULE}.onExitCodes.operator: Unsupported value: "Near": supported values: "In", "NotIn"`,
    ],
    [onCondition({ type: "DisruptionTarget" })],
    [onCondition(...numbers(20).map((n) => ({ type: `a${n}` })))],
    [
      onCondition(...numbers(21).map((n) => ({ type: `a${n}` }))),
      `${RULE}.onPodConditions: Too many: 21: must have at most 20 items`,
    ],
    [
      onCondition({ type: "Ready", status: "Perhaps" }),
      `${RULE}.onPodConditions[0].status: Unsupported value: "Perhaps": supported values: "False", "True", "Unknown"`,
    ],
    [
      failureOf({ action: "Count" }),
      `${RULE}: Invalid value: specifying one of OnExitCodes and OnPodConditions is required`,
    ],
    [
      failureOf({
        action: "Count",
        onExitCodes: { operator: "In", values: [1] },
        onPodConditions: [{ type: "Ready" }],
      }),
      `${RULE}: Invalid value: specifying both OnExitCodes and OnPodConditions is not supported`,
    ],
    [
      failureOf({ action: "FailIndex", onPodConditions: [{ type: "Ready" }] }),
      `${RULE}.action: Invalid value: "FailIndex": requires the backoffLimitPerIndex to be set`,
    ],
    [
      failureOf(
        { action: "FailIndex", onPodConditions: [{ type: "Ready" }] },
        { backoffLimitPerIndex: 1 },
      ),
    ],
  ]);
});

test("R37: counts of an indexed job, and who manages it", () => {
  const huge = { completions: 100_001, backoffLimitPerIndex: 1 };
  const when = "when completions are above 100000 and used with backoff limit per index";
  checkProblems(JOBS, [
    [indexed({ completions: 200_000, backoffLimitPerIndex: 1, maxFailedIndexes: 10_000 })],
    [
      indexed({ ...huge, maxFailedIndexes: 100_001 }),
      "spec.maxFailedIndexes: Invalid value: 100001: must be less than or equal to 100000",
      `spec.maxFailedIndexes: Invalid value: 100001: must be less than or equal to 10000 ${when}`,
    ],
    [
      indexed(huge),
      "spec.maxFailedIndexes: Required value: must be specified when completions is above 100000",
    ],
    [
      indexed({ ...huge, maxFailedIndexes: 1, parallelism: 10_001 }),
      `spec.parallelism: Invalid value: 10001: must be less than or equal to 10000 ${when}`,
    ],
    [
      indexed({ maxFailedIndexes: 1 }),
      "spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified",
    ],
    [job({ managedBy: `example.com/${"q".repeat(51)}` })],
    [
      job({ managedBy: `example.com/${"q".repeat(52)}` }),
      "spec.managedBy: Too long: may not be more than 63 bytes",
    ],
    [job({ podReplacementPolicy: "TerminatingOrFailed" })],
    [
      job({ podReplacementPolicy: "Never" }),
      'spec.podReplacementPolicy: Unsupported value: "Never": supported values: "Failed", "TerminatingOrFailed"',
    ],
  ]);
});

test("R37: a user's own labels of the job's pods must be those of the job", () => {
  const labelled = (labels: object) => job({ template: { ...template, metadata: { labels } } });
  checkProblems(JOBS, [
    [labelled({ "job-name": "x" })],
    [
      labelled({ "job-name": "other" }),
      'spec.template.metadata.labels[job-name]: Invalid value: {"batch.kubernetes.io/controller-uid":"","batch.kubernetes.io/job-name":"x","controller-uid":"","job-name":"other"}: must be \'x\'',
    ],
  ]);
});

test("R15: the host names of an indexed job's pods are labels", () => {
  const named = (length: number) => indexed({ completions: 10 }, { name: "x".repeat(length) });
  const why = `will not able to create pod with invalid DNS label: ${"x".repeat(62)}-9`;
  checkProblems(JOBS, [
    [named(61)],
    [named(62), `metadata.name: Invalid value: "${"x".repeat(62)}": ${why}`],
    [job({}, { name: "x.y" })],
  ]);
});

const STARTED = { startTime: "2020-01-01T00:00:00Z" };
const conditions = (...types: string[]) => types.map((type) => ({ type, status: "True" }));
const COMPLETE = {
  ...STARTED,
  completionTime: "2020-01-02T00:00:00Z",
  conditions: conditions("SuccessCriteriaMet", "Complete"),
};
const statusChange = (before: object, status: object, spec: TestObject = job({})): string[] =>
  changeProblems(JOBS, { ...spec, status: before }, { ...spec, status }, "status");

test("R5: a finished job stays finished, and what it says fits together", () => {
  const at = "status.conditions: Invalid value: ";
  const rows: readonly [before: object, after: object, ...problems: string[]][] = [
    [{}, COMPLETE],
    [{}, { ...STARTED, conditions: conditions("FailureTarget", "Failed") }],
    [
      COMPLETE,
      { ...STARTED, conditions: conditions("SuccessCriteriaMet") },
      `${at}cannot disable the terminal Complete=True condition`,
    ],
    [
      {},
      { ...STARTED, conditions: conditions("Failed") },
      `${at}cannot set Failed=True condition without the FailureTarget=true condition`,
    ],
    [
      {},
      { ...COMPLETE, conditions: conditions("Complete") },
      `${at}cannot set Complete=True condition without the SuccessCriteriaMet=true condition`,
    ],
    [
      {},
      { ...COMPLETE, conditions: conditions("SuccessCriteriaMet", "Complete", "FailureTarget") },
      `${at}cannot set Complete=True and FailureTarget=true conditions`,
      `${at}cannot set SuccessCriteriaMet=True and FailureTarget=true conditions`,
    ],
    [
      {},
      { ...STARTED, completionTime: "2020-01-02T00:00:00Z" },
      'status.completionTime: Invalid value: "2020-01-02T00:00:00Z": cannot set completionTime when there is no Complete=True condition',
    ],
    [
      {},
      { ...STARTED, conditions: COMPLETE.conditions },
      "status.completionTime: Required value: completionTime is required for Complete jobs",
    ],
    [
      {},
      { ...COMPLETE, completionTime: "2019-01-02T00:00:00Z" },
      'status.completionTime: Invalid value: "2019-01-02T00:00:00Z": must be equal to or after `startTime`',
    ],
    [
      COMPLETE,
      { ...COMPLETE, completionTime: "2020-01-03T00:00:00Z" },
      'status.completionTime: Invalid value: "2020-01-03T00:00:00Z": field is immutable',
    ],
    [
      {},
      { ...COMPLETE, active: 1 },
      "status.active: Invalid value: 1: active>0 is invalid for finished job",
    ],
    [
      {},
      { ...COMPLETE, startTime: null },
      "status.startTime: Required value: startTime is required for finished job",
    ],
    [
      {},
      { ...COMPLETE, uncountedTerminatedPods: { succeeded: ["a"] } },
      'status.uncountedTerminatedPods: Invalid value: {"succeeded":["a"]}: must be empty for finished job',
    ],
    [
      {},
      { ...COMPLETE, terminating: 1 },
      "status.terminating: Invalid value: 1: terminating>0 is invalid for finished job",
    ],
    [STARTED, STARTED],
    [
      STARTED,
      { startTime: "2020-01-02T00:00:00Z" },
      'status.startTime: Invalid value: "2020-01-02T00:00:00Z": field is immutable for unsuspended job once set',
    ],
    [{ failed: 3 }, { failed: 3 }],
    [
      { failed: 3 },
      { failed: 1 },
      "status.failed: Invalid value: 1: cannot decrease the failed counter",
    ],
    [{ active: 1 }, { active: 1, ready: 1 }],
    [{}, { active: -1 }, "status.active: Invalid value: -1: must be greater than or equal to 0"],
    [
      { active: 1 },
      { active: 1, ready: 2 },
      "status.ready: Invalid value: 2: cannot set more ready pods than active",
    ],
    [
      {},
      { uncountedTerminatedPods: { succeeded: ["a", ""], failed: ["a"] } },
      'status.uncountedTerminatedPods.succeeded[1]: Invalid value: "": must not be empty',
      'status.uncountedTerminatedPods.failed[0]: Duplicate value: "a"',
    ],
  ];
  for (const [before, after, ...expected] of rows) {
    const shown = `${JSON.stringify(before)} -> ${JSON.stringify(after)}`;
    assert.deepEqual(statusChange(before, after), expected, shown);
  }
});

test("R5: indexes in a status are those of the job", () => {
  const spec = indexed({ backoffLimitPerIndex: 1 });
  const both = { completedIndexes: "0-2", failedIndexes: "3,4" };
  assert.deepEqual(statusChange({}, both, spec), []);
  assert.deepEqual(statusChange({}, { ...both, failedIndexes: "2-3" }, spec), [
    'status.failedIndexes: Invalid value: "2-3": failedIndexes and completedIndexes overlap at index: 2',
  ]);
  assert.deepEqual(statusChange({}, { completedIndexes: "5" }, spec), [
    'status.completedIndexes: Invalid value: "5": error parsing completedIndexes: too large index: "5"',
  ]);
  assert.deepEqual(statusChange({}, { failedIndexes: "3" }, indexed({})), [
    'status.failedIndexes: Invalid value: "3": cannot set non-null failedIndexes when backoffLimitPerIndex is null',
  ]);
  assert.deepEqual(statusChange({}, { completedIndexes: "0" }), [
    'status.completedIndexes: Invalid value: "0": cannot set non-empty completedIndexes when non-indexed completion mode',
  ]);
  // What was wrong before may stay, so that the rest can be reported.
  assert.deepEqual(
    statusChange({ completedIndexes: "0" }, { completedIndexes: "0", failed: 1 }),
    [],
  );
});

test("CronJob: a new one leaves room for the time in the names of its jobs, an old one may be longer", () => {
  const cron = (length: number): TestObject => ({
    metadata: { name: "x".repeat(length) },
    spec: { schedule: "* * * * *", jobTemplate: { spec: { template } } },
  });
  const long = cron(53);
  checkProblems("batch/v1/cronjobs", [
    [cron(52)],
    [long, `metadata.name: Invalid value: "${"x".repeat(53)}": must be no more than 52 characters`],
  ]);
  assert.deepEqual(changeProblems("batch/v1/cronjobs", long, long), []);
});

test("R45: names with dots and huge indexed jobs are accepted with a warning", () => {
  const of = (name: string, spec: object) => ({
    kind: "Job",
    apiVersion: "batch/v1",
    metadata: { name },
    spec,
  });
  const huge = { completionMode: "Indexed", completions: 100_001, parallelism: 10_001 };
  assert.deepEqual(jobWarnings(of("a", {}), undefined), []);
  assert.match(jobWarnings(of("a.b", {}), undefined)[0] ?? "", /must not contain dots\]$/);
  assert.equal(jobWarnings(of("a", huge), undefined).length, 1);
  assert.deepEqual(jobWarnings(of("a", { ...huge, parallelism: 10_000 }), undefined), []);
  const context = { naming: createNaming("kubernetes") };
  const cron = of("a", { schedule: "TZ=UTC * * * * *", jobTemplate: { spec: huge } });
  assert.equal(cronJobWarnings(cron, undefined, context).length, 1);
  assert.match(cronJobWarnings(cron, cron, context)[0] ?? "", /^cannot use TZ or CRON_TZ/);
});
