import assert from "node:assert/strict";
import { test } from "node:test";
import { WriteNotes } from "./write-notes.js";

/** Fails when it is looked into. */
const closed = new Proxy(
  {},
  {
    get: (_target, name) => assert.fail(`metadata.${String(name)} is looked at`),
    ownKeys: () => assert.fail("metadata is looked into"),
  },
);

test("#46 which fields have their defaults is told of what was left out or null, and nothing else is compared", () => {
  const notes = new WriteNotes();
  const sent = {
    apiVersion: "apps/v1",
    metadata: closed,
    spec: { replicas: null, paused: true, containers: [{ name: "a" }, { name: "b", pull: "No" }] },
  };
  const object = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { ...{ name: "web" } },
    spec: {
      replicas: 1,
      paused: true,
      containers: [
        { name: "a", pull: "Always" },
        { name: "b", pull: "No" },
      ],
      strategy: { type: "Rolling" },
    },
    status: { replicas: 0 },
  };
  notes.noteDefaults(sent, object);
  assert.deepEqual(notes.causes, [
    {
      by: "defaulting",
      name: "",
      paths: ["spec.replicas", "spec.containers[0].pull", "spec.strategy"],
    },
  ]);
});

test("#46 a body that is no object, or that says everything, has no defaults", () => {
  const notes = new WriteNotes();
  for (const sent of [null, "text", 1]) notes.noteDefaults(sent, { data: { a: "1" } });
  notes.noteDefaults({ data: { a: "1" } }, { metadata: { name: "it" }, data: { a: "1" } });
  assert.deepEqual(notes.causes, []);
});
