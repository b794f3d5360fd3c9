/** Rules for events of both groups: what is accepted, what is refused and how. */
import { test } from "node:test";
import { checkChanges, checkProblems, type TestObject } from "../testing/problems.js";

const about = (namespace: string) => ({ kind: "Pod", name: "p", namespace });
const happened = (parts: object): TestObject => ({
  eventTime: "2030-01-02T03:04:05.000001Z",
  regarding: about("default"),
  reportingController: "a.b/c",
  reportingInstance: "i",
  action: "A",
  reason: "R",
  type: "Normal",
  ...parts,
});
const counted = (count: number): TestObject => ({ involvedObject: about("default"), count });

test("events of the core group are accepted or refused by their rules, field by field", () => {
  checkProblems("v1/events", [
    [{ involvedObject: about("default") }],
    [{ involvedObject: { kind: "Node", name: "n" } }],
    [
      { involvedObject: about("other") },
      'involvedObject.namespace: Invalid value: "other": does not match event.namespace',
    ],
    [
      { metadata: { namespace: "shop" }, involvedObject: { kind: "Node", name: "n" } },
      'involvedObject.namespace: Invalid value: "": does not match event.namespace',
    ],
  ]);
});

test("an event that happens again is counted", () => {
  checkChanges("v1/events", [[counted(1), counted(2)]]);
});

test("events of the events group are accepted or refused by their rules, field by field", () => {
  checkProblems("events.k8s.io/v1/events", [
    [happened({})],
    [happened({ action: "" }), "action: Required value"],
    [happened({ eventTime: null }), "eventTime: Required value"],
    [happened({ type: "Odd" }), 'type: Invalid value: "": has invalid value: Odd'],
    [
      happened({ deprecatedFirstTimestamp: "2030-01-02T03:04:05Z", deprecatedCount: 2 }),
      'firstTimestamp: Invalid value: "": needs to be unset',
      'count: Invalid value: "": needs to be unset',
    ],
    [
      happened({ series: { count: 1, lastObservedTime: null } }),
      'series.count: Invalid value: "": should be at least 2',
      "series.lastObservedTime: Required value",
    ],
    [
      happened({
        reportingController: "",
        reportingInstance: "a".repeat(129),
        reason: "a".repeat(129),
      }),
      "reportingController: Required value",
      'reportingController: Invalid value: "": name part must be non-empty',
      "reportingController: Invalid value: \"\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
      'reportingInstance: Invalid value: "": can have at most 128 characters',
      'reason: Invalid value: "": can have at most 128 characters',
    ],
    [
      happened({ note: "a".repeat(1025) }),
      'message: Invalid value: "": can have at most 1024 characters',
    ],
    [
      { ...happened({ regarding: { kind: "Node", name: "n" } }), metadata: { namespace: "shop" } },
      'involvedObject.namespace: Invalid value: "": does not match event.namespace',
    ],
    [
      happened({ reportingController: "a b" }),
      "reportingController: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
    ],
  ]);
});

test("R46: what an event says nothing of is not changed by saying that it is empty", () => {
  const old = { regarding: about("default"), type: "Normal" };
  checkChanges("events.k8s.io/v1/events", [
    [
      { ...old, eventTime: null, reportingController: "" },
      { ...old, metadata: { labels: { a: "b" } } },
    ],
  ]);
});
