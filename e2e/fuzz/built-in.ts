/**
 * Patches, applies and replacements of the built-in kinds, as the registry takes them: made from the
 * facts of each kind, with values that fit, nearly fit or do not. Dry, so that one run does not depend
 * on another: each ends with an object of its kind or a Status that blames the client.
 */
import assert from "node:assert/strict";
import { applyJsonPatch, parseJsonPatch } from "../../server/api/json-patch.js";
import { applyMergePatch } from "../../server/api/merge-patch.js";
import type { JsonObject, JsonValue } from "../../server/api/meta.js";
import { formatGroupVersion } from "../../server/api/names.js";
import { createNaming } from "../../server/api/naming.js";
import { StatusError } from "../../server/api/status.js";
import { createStrategicMergePatcher } from "../../server/apply/strategic-merge.js";
import type { MainResource } from "../../server/kinds/served-resource.js";
import { createDeclarativeValidation } from "../../server/registry/generic/declarative-validation.js";
import type { Registry, WriteOptions } from "../../server/registry/registry.js";
import {
  inputOf,
  noSignal,
  openRegistryHarness,
  writeOptions,
} from "../../server/registry/testing/registry-harness.js";
import { applyObject } from "../../server/registry/write/apply.js";
import { createObject } from "../../server/registry/write/create.js";
import { patchObject, updateObject } from "../../server/registry/write/update.js";
import type { ModelType, SchemaModel, StructType, TypeRef } from "../../server/schema/model.js";
import { flatFields } from "../../server/schema/struct-codec.js";
import { loadFacts } from "../../server/types/load-facts.js";
import { MINIMAL_NAMESPACE, MINIMAL_OBJECTS } from "../fixtures/minimal-objects.js";
import { anyJson, type Draw } from "./draw.js";

const DEPTH_MAX = 5;
const FIELDS_MAX = 4;

interface Subject {
  readonly resource: MainResource;
  readonly type: StructType;
  readonly namespace: string;
  readonly name: string;
  /** As it was created. */
  readonly object: JsonObject;
}

export interface BuiltInFuzz extends AsyncDisposable {
  /** @returns how many writes were tried */
  run(draw: Draw): Promise<number>;
  readonly kinds: number;
  /** How often each status code was the answer; 200 stands for an object. */
  readonly answers: ReadonlyMap<number, number>;
}

export async function openBuiltInFuzz(): Promise<BuiltInFuzz> {
  const harness = await openRegistryHarness();
  const { model } = loadFacts(createNaming("kubernetes"));
  const declarative = createDeclarativeValidation({
    isGateEnabled: (gate) => gate === "DeclarativeValidation",
    onMismatch() {},
  });
  const registry: Registry = { ...harness.registry, declarative };
  const subjects: Subject[] = [];
  await createSubject(registry, harness.resource("", "v1", "namespaces"), {
    metadata: { name: MINIMAL_NAMESPACE },
  });
  for (const resource of harness.builtIn.resources) {
    const { group, resource: plural } = resource;
    const row = MINIMAL_OBJECTS[group === "" ? plural : `${plural}.${group}`];
    const type = model.kind(group, resource.version, resource.kind);
    if (row === undefined || type === undefined || resource.form !== "main") continue;
    // One object for each version, as versions share what is stored.
    const name = row.name?.(subjects.length) ?? `fuzz-${subjects.length}`;
    const content = { ...row.content, ...row.forName?.(name) };
    const created = await createSubject(registry, resource, {
      ...(content as JsonObject),
      metadata: { name, labels: { a: "b" }, annotations: { c: "d" } },
    });
    if (created !== undefined) subjects.push({ ...created, type });
  }
  const patcher = createStrategicMergePatcher(model);
  const answers = new Map<number, number>();
  const count = (code: number) => answers.set(code, (answers.get(code) ?? 0) + 1);
  return {
    kinds: subjects.length,
    answers,
    async run(draw) {
      const subject = draw.pick(subjects);
      const run = draw.pick([runMerge, runStrategic, runJsonPatch, runApply, runReplace]);
      const before = JSON.stringify(subject.object);
      try {
        const bytes = await run({ draw, registry, model, patcher }, subject);
        const { kind } = JSON.parse(bytes.toString()) as JsonObject;
        assert.equal(kind, subject.resource.kind);
        count(200);
      } catch (error) {
        const isRefused = error instanceof StatusError && error.code < 500;
        if (!isRefused) {
          const text = error instanceof Error ? error.stack : String(error);
          throw new Error(`${subject.resource.kind}: ${text}`, { cause: error });
        }
        count(error.code);
      }
      assert.equal(JSON.stringify(subject.object), before);
      return 1;
    },
    [Symbol.asyncDispose]: () => harness[Symbol.asyncDispose](),
  };
}

async function createSubject(
  registry: Registry,
  resource: MainResource,
  value: JsonObject,
): Promise<Omit<Subject, "type"> | undefined> {
  const namespace = resource.isNamespaced ? MINIMAL_NAMESPACE : "";
  const request = { resource, namespace, input: inputOf(value), options: writeOptions() };
  let bytes: Buffer;
  try {
    bytes = (await createObject(registry, request, noSignal)).bytes;
  } catch (error) {
    // A kind that needs more than its facts to be made (such as the namespace that there is already).
    assert.ok(error instanceof StatusError && error.code < 500, String(error));
    return undefined;
  }
  const object = JSON.parse(bytes.toString()) as JsonObject & { metadata: { name: string } };
  return { resource, namespace, name: object.metadata.name, object };
}

interface Run {
  readonly draw: Draw;
  readonly registry: Registry;
  readonly model: SchemaModel;
  readonly patcher: ReturnType<typeof createStrategicMergePatcher>;
}

function optionsOf(draw: Draw): WriteOptions {
  return writeOptions({
    isDryRun: true,
    fieldManager: draw.pick(["tester", "other"]),
    fieldValidation: draw.pick(["Ignore", "Warn", "Strict"] as const),
  });
}

function targetOf(draw: Draw, { resource, namespace, name }: Subject) {
  return { resource, namespace, name, subresource: "", options: optionsOf(draw) };
}

type Runner = (run: Run, subject: Subject) => Promise<Buffer>;

async function patched(
  { draw, registry }: Run,
  subject: Subject,
  patch: (current: JsonValue) => JsonValue,
): Promise<Buffer> {
  const target = { ...targetOf(draw, subject), patch };
  return (await patchObject(registry, target, noSignal)).bytes;
}

const runMerge: Runner = (run, subject) => {
  const patch = drawKind(run, subject);
  return patched(run, subject, (current) => applyMergePatch(current, patch));
};

const runStrategic: Runner = (run, subject) => {
  const patch = drawKind(run, subject);
  return patched(run, subject, (current) =>
    run.patcher(subject.type, current as JsonObject, patch),
  );
};

const runJsonPatch: Runner = async (run, subject) => {
  const { draw } = run;
  const operations = draw.times(3, () => {
    const [path, ref] = drawPath(run, subject);
    const op = draw.pick(["add", "replace", "remove", "test", "copy", "move"]);
    const value = ref === undefined ? anyJson(draw, 2) : drawValue(run, ref, 2);
    return { op, path, from: drawPath(run, subject)[0], value };
  });
  const parsed = parseJsonPatch(operations);
  return await patched(run, subject, (current) => applyJsonPatch(current, parsed));
};

const runApply: Runner = async (run, subject) => {
  const { draw, registry } = run;
  const { resource } = subject;
  const value = drawKind(run, subject);
  value.apiVersion ??= formatGroupVersion(resource);
  value.kind ??= resource.kind;
  const input = inputOf(value);
  const target = { ...targetOf(draw, subject), input, force: draw.oneIn(2) };
  return (await applyObject(registry, target, noSignal)).bytes;
};

const runReplace: Runner = async (run, subject) => {
  const { draw, registry } = run;
  // The object itself with some of it replaced gets past the first checks.
  const value = applyMergePatch(subject.object, drawKind(run, subject));
  const target = { ...targetOf(draw, subject), input: inputOf(value) };
  return (await updateObject(registry, target, noSignal)).bytes;
};

/** A part of an object of the kind. */
function drawKind(run: Run, { type }: Subject): JsonObject {
  return drawStruct(run, type, 0);
}

function drawStruct(run: Run, type: StructType, depth: number): JsonObject {
  const { draw, model } = run;
  const fields = flatFields(model, type).filter(({ name }) => name !== "kind" || draw.oneIn(30));
  if (fields.length === 0 || depth > DEPTH_MAX) return {};
  const value: JsonObject = {};
  for (let count = draw.upTo(FIELDS_MAX); count >= 0; count--) {
    const field = draw.pick(fields);
    if (field.name === "apiVersion" && !draw.oneIn(30)) continue;
    value[field.name] = drawValue(run, field.type, depth + 1);
  }
  return value;
}

const TEXTS = [
  "a",
  "b",
  "c",
  "",
  "a.example.com",
  "10.0.0.1",
  "fuzz-1",
  "A b",
  "é",
  "1",
  "TCP",
  "*",
];
const NUMBERS = [0, 1, 2, 80, -1, 70_000, 2 ** 31 - 1, 2 ** 53];

function drawValue(run: Run, ref: TypeRef, depth: number): JsonValue {
  const { draw, model } = run;
  if (draw.oneIn(15)) return draw.oneIn(2) ? null : anyJson(draw, 2);
  switch (ref.kind) {
    case "scalar":
      if (ref.name === "bool") return draw.oneIn(2);
      if (ref.name === "any") return anyJson(draw, 2);
      return ref.name.startsWith("int") || ref.name === "float64"
        ? draw.pick(NUMBERS)
        : draw.pick(TEXTS);
    case "builtin":
      return draw.pick<JsonValue>(["1", "1Gi", 5, "2030-01-02T03:04:05Z", "http", "10%", { a: 1 }]);
    case "list":
      return draw.times(2, () => drawValue(run, ref.items, depth + 1));
    case "map":
      return Object.fromEntries(
        draw.times(2, () => [draw.pick(TEXTS), drawValue(run, ref.values, depth + 1)]),
      );
    case "named": {
      const type = model.type(ref.id);
      if (type?.form === "alias") return drawValue(run, type.target, depth);
      if (type?.form === "enum") return draw.pick([...type.values, "Other", ""]);
      if (type?.form !== "struct" || type.customJson) return anyJson(draw, 3);
      return drawStruct(run, type, depth);
    }
  }
}

/** A pointer into the object, with the type of what is there where the facts say it. */
function drawPath(run: Run, { type, object }: Subject): [path: string, ref: TypeRef | undefined] {
  const { draw, model } = run;
  let path = "";
  let value: JsonValue = object;
  let struct: StructType | undefined = type;
  let ref: TypeRef | undefined;
  do {
    const names: string[] =
      struct === undefined
        ? typeof value === "object" && value !== null
          ? [...Object.keys(value), "0", "-"]
          : ["x"]
        : flatFields(model, struct).map(({ name }) => name);
    const name = draw.pick(names);
    path += `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
    const at: StructType | undefined = struct;
    ref = at && flatFields(model, at).find((field) => field.name === name)?.type;
    const target: ModelType | undefined = ref?.kind === "named" ? model.type(ref.id) : undefined;
    struct = target?.form === "struct" ? target : undefined;
    const isHeld: boolean =
      typeof value === "object" && value !== null && Object.hasOwn(value, name);
    value = isHeld ? ((value as JsonObject)[name] ?? null) : null;
  } while (draw.upTo(3) > 0 && path.split("/").length < DEPTH_MAX);
  return [path, ref];
}
