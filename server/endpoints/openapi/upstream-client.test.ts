/**
 * The OpenAPI v2 document against the official JavaScript client, which was generated from kube-apiserver's
 * document of the same release: every path, method, operation id, query parameter, model, property, type
 * and required mark that the client knows must be published identically.
 */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { DEFAULT_VENDOR } from "../../api/naming.js";
import { gatherBody } from "../discovery/document.js";
import { servedFacts } from "../testing/served-by-default.js";
import { createOpenApi } from "./openapi.js";

const CLIENT = new URL("./gen/", import.meta.resolve("@kubernetes/client-node"));

/** Paths without a resource, and custom objects of any type. */
const OTHER_PATHS = /^\/(apis\/\{group\}|logs|openid|\.well-known)\//;

/** Query parameters behind a feature gate, published once the gate exists here. */
const GATED_PARAMETERS = ["shardSelector", "stream"];

/** kube-apiserver cannot have a time as a parameter; this server has always accepted this one. */
const ADDED_PARAMETERS = ["sinceTime"];

// biome-ignore lint/suspicious/noExplicitAny: documents are read by path in assertions only
type Parsed = any;

const everything = servedFacts(DEFAULT_VENDOR, () => true);
const document = await wholeDocument();

/** Everything in the release, including what is off by default. */
async function wholeDocument(): Promise<Parsed> {
  const openApi = createOpenApi({
    ...everything,
    title: "Keelson",
    apiVersion: "v1.36.0",
    objectMediaTypes: ["application/json"],
    versionMembers: ["major"],
  });
  const response = await openApi.handle("/openapi/v2", {});
  return JSON.parse((await gatherBody(response?.body ?? Buffer.alloc(0))).toString());
}

test("S1-GEN-26: every operation of the official client is published alike", () => {
  const published = new Map<string, { id: string; query: string[]; hasBody: boolean }>();
  for (const [path, item] of Object.entries<Parsed>(document.paths)) {
    for (const [method, operation] of Object.entries<Parsed>(item)) {
      if (method === "parameters") continue;
      // The generator of the official clients leaves out the legacy watch paths.
      if (/^watch/.test(operation["x-kubernetes-action"])) continue;
      const parameters = [...(item.parameters ?? []), ...(operation.parameters ?? [])].map(
        ({ $ref, ...own }: Parsed) =>
          $ref === undefined ? own : document.parameters[$ref.slice("#/parameters/".length)],
      );
      published.set(`${method} ${path}`, {
        id: operation.operationId,
        query: parameters
          .filter((parameter) => parameter.in === "query")
          .map(({ name }) => name)
          .filter((name) => !ADDED_PARAMETERS.includes(name))
          .sort(),
        hasBody: parameters.some((parameter) => parameter.in === "body"),
      });
    }
  }
  const expected = new Map<string, { id: string; query: string[]; hasBody: boolean }>();
  for (const { key, ...operation } of clientOperations()) expected.set(key, operation);
  // The client's class name stands for a tag there, not for a part of the id.
  for (const key of ["get /apis/", "get /version/"]) {
    expected.delete(key);
    published.delete(key);
  }
  assert.ok(expected.size > 800);
  assert.deepEqual([...published].sort(byKey), [...expected].sort(byKey));
});

test("S1-GEN-26: every model of the official client has the same properties, types and marks", () => {
  const models = new Map(clientModels().map((model) => [model.name, model]));
  let compared = 0;
  for (const [name, schema] of Object.entries<Parsed>(document.definitions)) {
    const model = models.get(groupedModelName(name)) ?? models.get(modelName(name));
    if (schema.properties === undefined || model === undefined) continue;
    compared += 1;
    const properties = Object.entries<Parsed>(schema.properties).map(([property, value]) => [
      property,
      { type: clientType(value), isRequired: (schema.required ?? []).includes(property) },
    ]);
    assert.deepEqual(Object.fromEntries(properties), model.properties, name);
  }
  assert.ok(compared > 700);
});

function byKey([left]: readonly [string, unknown], [right]: readonly [string, unknown]): number {
  return left < right ? -1 : 1;
}

function* clientOperations() {
  const folder = new URL("apis/", CLIENT);
  for (const file of readdirSync(folder)) {
    const tag = /^(\w+)Api\.js$/.exec(file)?.[1];
    if (tag === undefined) continue;
    const text = readFileSync(new URL(file, folder), "utf8");
    for (const source of text.split(/\n {4}async (?=\w+\()/).slice(1)) {
      const path = /localVarPath = '([^']*)'/.exec(source)?.[1];
      const method = /HttpMethod\.(\w+)/.exec(source)?.[1]?.toLowerCase();
      if (path === undefined || OTHER_PATHS.test(path) || !isKnown(path)) continue;
      const [, verb = "", rest = ""] = /^([a-z]+)(\w*)\(/.exec(source) ?? [];
      const query = [...source.matchAll(/setQueryParam\("(\w+)"/g)].map(([, name]) => String(name));
      yield {
        key: `${method} ${path}`,
        id: `${verb}${tag}${rest}`,
        query: query.filter((name) => !GATED_PARAMETERS.includes(name)).sort(),
        hasBody: /ObjectSerializer\.serialize\(body,/.test(source),
      };
    }
  }
}

/** The client keeps classes for versions that only earlier releases served. */
function isKnown(path: string): boolean {
  const [, group, version] = /^\/apis\/([^/]+)\/(v[^/]+)/.exec(path) ?? [];
  if (group === undefined) return true;
  return everything.builtIn.some((known) => known.group === group && known.version === version);
}

function clientModels() {
  const folder = new URL("models/", CLIENT);
  return readdirSync(folder).flatMap((file) => {
    const name = /^(\w+)\.js$/.exec(file)?.[1];
    if (name === undefined) return [];
    const text = readFileSync(new URL(file, folder), "utf8");
    const table = /\.attributeTypeMap = (\[[\s\S]*?\n\]);/.exec(text)?.[1];
    if (table === undefined) return [];
    const types = readFileSync(new URL(`${name}.d.ts`, folder), "utf8");
    const properties = (JSON.parse(table) as Parsed[]).map((attribute) => [
      attribute.baseName,
      {
        type: withoutGroup(attribute.type),
        isRequired: types.includes(`'${attribute.name}': `),
      },
    ]);
    return [{ name, properties: Object.fromEntries(properties) }];
  });
}

/** "V1Deployment" of "io.k8s.api.apps.v1.Deployment". */
function modelName(definition: string): string {
  const [type = "", version = ""] = definition.split(".").reverse();
  return `${version.charAt(0).toUpperCase()}${version.slice(1)}${type}`;
}

/** "CoreV1Event": types with one name and version in several groups include the group. */
function groupedModelName(definition: string): string {
  const group = definition.split(".").at(-3) ?? "";
  return `${group.charAt(0).toUpperCase()}${group.slice(1)}${modelName(definition)}`;
}

function withoutGroup(type: string): string {
  return type.replaceAll(/\b[A-Z][a-z]+(?=V\d+(?:(?:alpha|beta)\d+)?[A-Z])/g, "");
}

/** The client's type for a schema; `any` for schemas without members or type. */
function clientType(schema: Parsed): string {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.slice("#/definitions/".length);
    if (name.endsWith(".MicroTime")) return "V1MicroTime";
    if (name.endsWith(".Time")) return "Date";
    if (name.endsWith(".IntOrString")) return "IntOrString";
    const target = document.definitions[name];
    return target.properties === undefined ? clientType(target) : modelName(name);
  }
  switch (schema.type) {
    case "array":
      return `Array<${clientType(schema.items)}>`;
    case "integer":
    case "number":
      return "number";
    case "string":
    case "boolean":
      return schema.type;
    default: {
      const values = schema.additionalProperties;
      return values === undefined ? "any" : `{ [key: string]: ${clientType(values)}; }`;
    }
  }
}
