import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApiObject } from "../api/meta.js";
import { customStrategy } from "./custom-strategy.js";

const strategy = customStrategy({
  codec: {} as never,
  toServed: undefined,
  isTerminating: false,
  subresources: {},
  ofView: undefined,
  selectableFields: [],
});
const object = (finalizers: string[]): ApiObject => ({
  apiVersion: "example.com/v1",
  kind: "Thing",
  metadata: { name: "x", finalizers },
});

test("39.2: warnings about finalizers read each that was there once, however many are new", () => {
  const COUNT = 200;
  const names = (mark: string) => Array.from({ length: COUNT }, (_, at) => `${mark}.com.${at}`);
  let reads = 0;
  const before = new Proxy(names("old"), {
    get: (list, key) => {
      if (typeof key === "string" && /^\d+$/.test(key)) reads++;
      return Reflect.get(list, key);
    },
  });
  const found = strategy.warnings?.(object(names("new")), object(before), {} as never);
  assert.equal(found?.length, COUNT);
  assert.match(found[0] ?? "", /"new.com.0": prefer a domain-qualified finalizer name/);
  assert.ok(reads <= COUNT, `${reads} reads`);
  const kept = object([...names("old"), "x"]);
  assert.equal(strategy.warnings?.(kept, object(names("old")), {} as never)?.length, 1);
});
