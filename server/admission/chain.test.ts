/** The chain: order, synchrony, refusals, and what is measured. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { StatusError } from "../api/status.js";
import { createUser } from "../request/user-info.js";
import { type AdmissionAttributes, type AdmissionPlugin, refuse } from "./admission.js";
import { AdmissionChain } from "./chain.js";

const { signal } = new AbortController();

function attributes(changes: Partial<AdmissionAttributes> = {}): AdmissionAttributes {
  return {
    operation: "CREATE",
    resource: { group: "", version: "v1", resource: "pods", kind: "Pod" },
    subresource: "",
    namespace: "default",
    name: "web",
    object: { kind: "Pod", apiVersion: "v1", metadata: { name: "web" } },
    oldObject: undefined,
    options: { isDryRun: false },
    user: createUser({ name: "jane" }),
    warn() {},
    ...changes,
  };
}

/** A plugin that records its calls and can wait. */
function recorder(name: string, log: string[], isSlow = false, changes = false): AdmissionPlugin {
  return {
    name,
    mutate() {
      log.push(`${name} mutate`);
      return isSlow ? Promise.resolve(changes) : changes;
    },
    validate() {
      log.push(`${name} validate`);
      return isSlow ? Promise.resolve() : undefined;
    },
  };
}

test("plugins run in order, mutating ones apart from validating ones, at once or after waiting", async () => {
  const log: string[] = [];
  const chain = new AdmissionChain([
    recorder("a", log),
    recorder("b", log, true, true),
    recorder("c", log),
  ]);
  const mutated = chain.mutate(attributes(), signal);
  assert.ok(mutated instanceof Promise);
  assert.equal(await mutated, true);
  await chain.validate(attributes(), signal);
  assert.deepEqual(log, [
    "a mutate",
    "b mutate",
    "c mutate",
    "a validate",
    "b validate",
    "c validate",
  ]);
});

test("a chain whose plugins do not wait answers without a promise", () => {
  const chain = new AdmissionChain([recorder("a", []), recorder("b", [], false, true)]);
  assert.equal(chain.mutate(attributes(), signal), true);
  assert.equal(chain.validate(attributes(), signal), undefined);
  assert.equal(new AdmissionChain([]).mutate(attributes(), signal), false);
});

test("A26: no abort controller is made for plugins that do not wait", () => {
  const log: string[] = [];
  const chain = new AdmissionChain([recorder("a", log)]);
  let made = 0;
  const lazy = {
    get signal() {
      made++;
      return signal;
    },
  };
  assert.equal(chain.mutate(attributes(), lazy), false);
  assert.equal(chain.validate(attributes(), lazy), undefined);
  assert.deepEqual([log.length, made], [2, 0]);
});

test("a plugin is only asked about what it handles, and the chain says whether anyone does", () => {
  const log: string[] = [];
  const plugin: AdmissionPlugin = {
    ...recorder("a", log),
    handles: (operation, { resource }) => operation === "DELETE" && resource === "pods",
  };
  const chain = new AdmissionChain([plugin]);
  assert.equal(chain.mutate(attributes(), signal), false);
  assert.deepEqual(log, []);
  assert.equal(chain.mutate(attributes({ operation: "DELETE" }), signal), false);
  assert.deepEqual(log, ["a mutate"]);
  const { resource } = attributes();
  assert.equal(chain.handles("DELETE", resource, ""), true);
  assert.equal(chain.handles("CREATE", resource, ""), false);
});

test("who handles a sort of writes is asked once, and again when a plugin says that it changed", () => {
  const asked: string[] = [];
  let change = () => {};
  let isOn = false;
  const moody: AdmissionPlugin = {
    name: "moody",
    handles(operation, { resource }, subresource) {
      asked.push(`${operation} ${resource}/${subresource}`);
      return isOn;
    },
    subscribe(changed) {
      change = changed;
    },
    mutate: () => true,
  };
  const chain = new AdmissionChain([moody]);
  const pod = attributes();
  const secret = attributes({ resource: { ...pod.resource, resource: "secrets" } });
  const write = (one: AdmissionAttributes) => {
    const isChanged = chain.mutate(one, signal);
    assert.equal(chain.validate(one, signal), undefined);
    return isChanged;
  };
  assert.deepEqual([write(pod), write(pod), write(secret), write(secret)], Array(4).fill(false));
  assert.equal(write({ ...pod, subresource: "status" }), false);
  assert.deepEqual(asked.splice(0), ["CREATE pods/", "CREATE secrets/", "CREATE pods/status"]);
  isOn = true;
  assert.equal(write(pod), false);
  change();
  assert.deepEqual([write(pod), write(pod)], [true, true]);
  assert.deepEqual(asked, ["CREATE pods/"]);
});

test("the first refusal ends the chain with a 403 that names the object; the observer sees it", async () => {
  const log: string[] = [];
  const seen: string[] = [];
  const refusing: AdmissionPlugin = {
    name: "refusing",
    validate(asked) {
      throw refuse(asked, "not today");
    },
  };
  const chain = new AdmissionChain([recorder("a", log, true), refusing, recorder("b", log)], {
    observer: {
      durations: ({ plugin, type, isRejected }) => ({
        observe: () => seen.push(`${plugin} ${type} ${isRejected}`),
      }),
      phaseDurations: ({ operation, type, isRejected }) => ({
        observe: () => seen.push(`whole ${operation} ${type} ${isRejected}`),
      }),
    },
  });
  await assert.rejects(
    async () => await chain.validate(attributes(), signal),
    (error) => {
      assert.ok(error instanceof StatusError);
      assert.equal(error.code, 403);
      assert.equal(error.reason, "Forbidden");
      assert.equal(error.message, 'pods "web" is forbidden: not today');
      return true;
    },
  );
  assert.deepEqual(log, ["a validate"]);
  assert.deepEqual(seen.splice(0).sort(), [
    "a validate false",
    "refusing validate true",
    "whole CREATE validate true",
  ]);
  await chain.mutate(attributes(), signal);
  assert.ok(seen.includes("whole CREATE admit false"));
});

test("a refusal of what has no name yet says so", () => {
  const generated = { kind: "Pod", apiVersion: "v1", metadata: { generateName: "web-" } };
  assert.match(refuse(attributes({ name: "", object: generated }), "x").message, /pods "web-"/);
  assert.match(refuse(attributes({ name: "", object: undefined }), "x").message, /"Unknown"/);
});
