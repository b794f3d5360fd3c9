/** Rules for replication controllers: what is accepted, what is refused and how. */
import { test } from "node:test";
import { checkChanges, checkProblems, type TestObject } from "../testing/problems.js";

const template = {
  metadata: { labels: { app: "web" } },
  spec: { containers: [{ name: "main", image: "example.test/image:1" }] },
};
const controller = (spec: object): TestObject => ({ spec: { template, ...spec } });

test("replication controllers are accepted or refused by their rules, field by field", () => {
  checkProblems("v1/replicationcontrollers", [
    [controller({ selector: { app: "web" } })],
    [
      controller({ selector: { app: "db" } }),
      'spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template `labels`',
    ],
  ]);
});

test("a replication controller may change its selector with its template", () => {
  const other = { metadata: { labels: { app: "b" } }, spec: template.spec };
  checkChanges("v1/replicationcontrollers", [
    [controller({}), controller({ selector: { app: "b" }, template: other })],
  ]);
});
