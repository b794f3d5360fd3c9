/** Rules of the batch group: what is accepted, what is refused and how. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { changeProblems, problemsOf, type TestObject } from "../testing/problems.js";

const main = { name: "main", image: "example.test/image:1" };
const selector = { matchLabels: { app: "web" } };
const once = { spec: { containers: [main], restartPolicy: "Never" } };
const job = (spec: object = {}): TestObject => ({ spec: { template: once, ...spec } });
const jobs = "batch/v1/jobs";

const JOB_ROWS: readonly [object, ...string[]][] = [
  [{}],
  [{ completionMode: "Indexed", completions: 3, parallelism: 3 }],
  [
    {
      backoffLimit: 0,
      podFailurePolicy: {
        rules: [{ action: "FailJob", onExitCodes: { operator: "In", values: [1, 42] } }],
      },
    },
  ],
  [{ parallelism: -1 }, "spec.parallelism: Invalid value: -1: must be greater than or equal to 0"],
  [
    { completionMode: "Indexed", completions: null, parallelism: 1 },
    "spec.completions: Required value: when completion mode is Indexed",
  ],
  [
    { selector },
    'spec.selector: Invalid value: {"matchLabels":{"app":"web","batch.kubernetes.io/controller-uid":""}}: `selector` not auto-generated',
    'spec.template.metadata.labels: Invalid value: {"batch.kubernetes.io/controller-uid":"","batch.kubernetes.io/job-name":"x","controller-uid":"","job-name":"x"}: `selector` does not match template `labels`',
  ],
  [{ suspend: true, managedBy: "example.com/queue" }],
  [
    { managedBy: "queue" },
    'spec.managedBy: Invalid value: "queue": must be a domain-prefixed path (such as "acme.io/foo")',
  ],
  [
    { completionMode: "Sorted" },
    'spec.completionMode: Unsupported value: "Sorted": supported values: "NonIndexed", "Indexed"',
  ],
  [
    { template: { spec: { containers: [main] } } },
    'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"',
  ],
  [
    { manualSelector: true, selector: { matchLabels: { a: "b" } } },
    "spec.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`",
  ],
  [
    {
      podFailurePolicy: {
        rules: [{ action: "Ignore", onExitCodes: { operator: "In", values: [2, 0] } }],
      },
    },
    "spec.podFailurePolicy.rules[0].onExitCodes.values[1]: Invalid value: 0: must not be 0 for the In operator",
    "spec.podFailurePolicy.rules[0].onExitCodes.values: Invalid value: [2,0]: must be ordered",
  ],
  [
    { backoffLimitPerIndex: 1 },
    "spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode",
  ],
];

test("jobs are accepted or refused by their rules, field by field", () => {
  for (const [spec, ...expected] of JOB_ROWS) {
    assert.deepEqual(problemsOf(jobs, job(spec)), expected, JSON.stringify(spec));
  }
});

test("a job keeps its template; while it is suspended it may be placed elsewhere", () => {
  const manual = (parts: object, pod: object = {}) =>
    job({
      manualSelector: true,
      selector,
      template: { metadata: { labels: { app: "web" } }, spec: { ...once.spec, ...pod } },
      ...parts,
    });
  assert.deepEqual(
    changeProblems(jobs, manual({}), manual({ parallelism: 5, completions: 1 })),
    [],
  );
  assert.deepEqual(changeProblems(jobs, manual({}), manual({ suspend: true })), []);
  assert.deepEqual(changeProblems(jobs, manual({}), manual({ completions: 5 })), [
    "spec.completions: Invalid value: 5: field is immutable",
  ]);
  const nodeSelector = { zone: "a" };
  const [problem = ""] = changeProblems(jobs, manual({}), manual({}, { nodeSelector }));
  assert.match(problem, /^spec\.template: Invalid value: .*: field is immutable$/);
  const suspended = { suspend: true };
  assert.deepEqual(
    changeProblems(jobs, manual(suspended), manual(suspended, { nodeSelector })),
    [],
  );
});

test("cron jobs are accepted or refused by their rules, field by field", () => {
  const cron = (spec: object = {}): TestObject => ({
    spec: { schedule: "0 1 * * *", jobTemplate: { spec: { template: once } }, ...spec },
  });
  const table: readonly [object, ...string[]][] = [
    [{}],
    [{ timeZone: "Europe/Berlin", concurrencyPolicy: "Forbid" }],
    [{ schedule: "" }, "spec.schedule: Required value"],
    [
      { schedule: "TZ=UTC 0 1 * * *" },
      'spec.schedule: Invalid value: "TZ=UTC 0 1 * * *": cannot use TZ or CRON_TZ in schedule, use timeZone field instead',
    ],
    [
      { schedule: "0 25 * * *" },
      'spec.schedule: Invalid value: "0 25 * * *": end of range (25) above maximum (23): 25',
    ],
    [{ timeZone: "Nowhere" }, 'spec.timeZone: Invalid value: "Nowhere": unknown time zone Nowhere'],
    [
      { successfulJobsHistoryLimit: -1 },
      "spec.successfulJobsHistoryLimit: Invalid value: -1: must be greater than or equal to 0",
    ],
    [
      { jobTemplate: { spec: { template: once, manualSelector: true } } },
      'spec.jobTemplate.spec.manualSelector: Unsupported value: true: supported values: "nil", "false"',
    ],
    [
      { jobTemplate: { spec: { template: { spec: { containers: [main] } } } } },
      'spec.jobTemplate.spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"',
    ],
  ];
  for (const [spec, ...expected] of table) {
    assert.deepEqual(problemsOf("batch/v1/cronjobs", cron(spec)), expected, JSON.stringify(spec));
  }
});
