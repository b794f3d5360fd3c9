/** What of a control plane is copied. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type KeyValue, type RevisionedStore, toRevision } from "../../storage/kv/store.js";
import { createNaming, DEFAULT_VENDOR } from "../api/naming.js";
import { contentOf } from "./copy-content.js";

test("44: a clone has all but the events and leases of the API itself, whatever kinds of its clients are called", async () => {
  const prefix = "/registry/";
  const left = ["core/events/default/x", "coordination.k8s.io/leases/default/x"];
  const copied = ["core/pods/default/x", "example.com/events/default/x", "rent.com/leases/x"];
  const kvs = [...left, ...copied].map((key) => {
    return { key: prefix + key, value: Buffer.from("{}") } as unknown as KeyValue;
  });
  const store = { range: async () => ({ kvs, more: false }) } as unknown as RevisionedStore;
  const source = {
    ...{ store, prefix, revision: toRevision(1), isLeftOut: () => false },
    naming: createNaming(DEFAULT_VENDOR),
  };
  const found: string[] = [];
  for await (const page of contentOf(source, new AbortController().signal)) {
    found.push(...page.map(({ partition, path }) => `${partition}/${path}`));
  }
  assert.deepEqual(found, copied);
});
