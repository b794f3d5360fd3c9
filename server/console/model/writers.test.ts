import assert from "node:assert/strict";
import { test } from "node:test";
import { writersOf } from "./writers.js";

test("each field has the writers that managedFields name, items of lists by key and by value", () => {
  const object = {
    metadata: {
      finalizers: ["a/b", "c/d"],
      managedFields: [
        {
          manager: "kubectl",
          operation: "Apply",
          time: "2026-01-01T00:00:00Z",
          fieldsV1: {
            "f:metadata": { "f:finalizers": { ".": {}, 'v:"c/d"': {} } },
            "f:spec": {
              "f:ports": { 'k:{"port":80,"protocol":"TCP"}': { ".": {}, "f:port": {} } },
              "f:selector": {},
              "f:gone": {},
            },
          },
        },
        {
          manager: "scaler",
          operation: "Update",
          subresource: "scale",
          fieldsV1: { "f:spec": { "f:replicas": {}, "f:selector": {} } },
        },
        { manager: "odd", operation: "Update", fieldsV1: { "f:spec": { "k:{": {}, "x:1": {} } } },
      ],
    },
    spec: { replicas: 2, ports: [{ port: 81 }, { port: 80 }], selector: { app: "web" } },
  };
  const { writers, byPath } = writersOf(object);
  assert.deepEqual(
    writers.map(({ manager, subresource }) => [manager, subresource]),
    [
      ["kubectl", ""],
      ["scaler", "scale"],
      ["odd", ""],
    ],
  );
  assert.deepEqual(Object.fromEntries(byPath), {
    "metadata.finalizers": [0],
    "metadata.finalizers[1]": [0],
    "spec.ports[1]": [0],
    "spec.ports[1].port": [0],
    "spec.selector": [0, 1],
    "spec.selector.app": [0, 1],
    "spec.replicas": [1],
  });
});
