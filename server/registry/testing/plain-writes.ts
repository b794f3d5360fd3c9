/**
 * Plain writes of a test: it creates, merges and removes objects by group, resource (of version v1) and name, as "tester",
 * in the namespace "default" unless it says otherwise. The answers are those that clients get.
 */
import { applyMergePatch } from "../../api/merge-patch.js";
import type { JsonObject, JsonValue } from "../../api/meta.js";
import type { Registry, WriteOptions } from "../registry.js";
import { createObject } from "../write/create.js";
import { deleteObject } from "../write/delete.js";
import type { DeleteOptions } from "../write/delete-options.js";
import { patchObject } from "../write/update.js";
import {
  inputOf,
  noSignal,
  type RegistryHarness,
  testUser,
  writeOptions,
} from "./registry-harness.js";

/** What is not as usual, options of the write among it. */
export interface Where extends Partial<WriteOptions> {
  /** Of no meaning where the resource has none. */
  readonly namespace?: string | undefined;
  readonly subresource?: string;
  readonly on?: Registry;
}

/** @param usual what is not as usual in all of the test's writes */
export function plainWrites({ part, registry }: RegistryHarness, usual: Where = {}) {
  function targetOf(group: string, name: string, where: Where) {
    const { namespace = "default", subresource = "", on = registry, ...changes } = where;
    const resource = part(group, "v1", name, subresource);
    const place = { resource, namespace: resource.isNamespaced ? namespace : "", subresource };
    return { on, target: { ...place, options: writeOptions({ ...changes }) } };
  }

  return {
    /** @param where a text is the namespace */
    async create(group: string, resource: string, value: JsonObject, where: Where | string = {}) {
      const place = typeof where === "string" ? { namespace: where } : where;
      const { on, target } = targetOf(group, resource, { ...usual, ...place });
      const { bytes } = await createObject(on, { ...target, input: inputOf(value) }, noSignal);
      return parse(bytes);
    },
    async merge(
      group: string,
      resource: string,
      name: string,
      change: JsonObject,
      where: Where = {},
    ) {
      const { on, target } = targetOf(group, resource, { ...usual, ...where });
      const patch = (current: JsonValue) => applyMergePatch(current, change);
      return parse((await patchObject(on, { ...target, name, patch }, noSignal)).bytes);
    },
    async remove(
      group: string,
      resource: string,
      name: string,
      options: Partial<DeleteOptions> = {},
      where: Where = {},
    ) {
      const { user = testUser, ...place } = { ...usual, ...where };
      const { on, target } = targetOf(group, resource, place);
      const request = { ...target, name, user, options: { isDryRun: false, ...options } };
      const { status, bytes } = await deleteObject(on, request, noSignal);
      return { status, body: parse(bytes) };
    },
  };
}

function parse(bytes: Buffer) {
  return JSON.parse(bytes.toString());
}
