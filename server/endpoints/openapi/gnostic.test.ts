/**
 * The Protobuf form, read back by two independent readers: a general decoder with the message
 * definitions as text, and a walker over the bytes.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import protobuf from "protobufjs";
import type { JsonObject } from "../../api/meta.js";
import type { JsonSchema } from "../../structural/json-schema.js";
import { publishedSchema } from "../../structural/published-schema.js";
import { gatherBody } from "../discovery/document.js";
import { servedByDefault } from "../testing/served-by-default.js";
import { entriesOf } from "./documents.js";
import { encodeGnostic } from "./gnostic.js";
import { createOpenApi, type OpenApi } from "./openapi.js";

const V2 = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
const V3 = "application/com.github.proto-openapi.spec.v3@v1.0+protobuf";

const V2_MESSAGES = `
syntax = "proto3";
message Any { bytes value = 1; string yaml = 2; }
message NamedAny { string name = 1; Any value = 2; }
message Info { string title = 1; string version = 2; }
message TypeItem { repeated string value = 1; }
message ItemsItem { repeated Schema schema = 1; }
message AdditionalPropertiesItem { oneof oneof { Schema schema = 1; bool boolean = 2; } }
message NamedSchema { string name = 1; Schema value = 2; }
message Properties { repeated NamedSchema additional_properties = 1; }
message Definitions { repeated NamedSchema additional_properties = 1; }
message ExternalDocs { string description = 1; string url = 2; }
message Schema {
  string ref = 1; string format = 2; string title = 3; string description = 4; Any default = 5;
  double multiple_of = 6; double maximum = 7; bool exclusive_maximum = 8; double minimum = 9;
  bool exclusive_minimum = 10; int64 max_length = 11; int64 min_length = 12; string pattern = 13;
  int64 max_items = 14; int64 min_items = 15; bool unique_items = 16; int64 max_properties = 17;
  int64 min_properties = 18; ExternalDocs external_docs = 29; Any example = 30;
  repeated string required = 19; repeated Any enum = 20;
  AdditionalPropertiesItem additional_properties = 21; TypeItem type = 22; ItemsItem items = 23;
  repeated Schema all_of = 24; Properties properties = 25; repeated NamedAny vendor_extension = 31;
}
message BodyParameter {
  string description = 1; string name = 2; string in = 3; bool required = 4; Schema schema = 5;
}
message QueryParameterSubSchema {
  bool required = 1; string in = 2; string description = 3; string name = 4; string type = 6;
}
message PathParameterSubSchema {
  bool required = 1; string in = 2; string description = 3; string name = 4; string type = 5;
}
message NonBodyParameter { oneof oneof {
  QueryParameterSubSchema query_parameter_sub_schema = 3;
  PathParameterSubSchema path_parameter_sub_schema = 4;
} }
message Parameter { oneof oneof {
  BodyParameter body_parameter = 1; NonBodyParameter non_body_parameter = 2;
} }
message JsonReference { string ref = 1; }
message ParametersItem { oneof oneof { Parameter parameter = 1; JsonReference json_reference = 2; } }
message NamedParameter { string name = 1; Parameter value = 2; }
message ParameterDefinitions { repeated NamedParameter additional_properties = 1; }
message SchemaItem { oneof oneof { Schema schema = 1; } }
message Response { string description = 1; SchemaItem schema = 2; }
message ResponseValue { oneof oneof { Response response = 1; } }
message NamedResponseValue { string name = 1; ResponseValue value = 2; }
message Responses { repeated NamedResponseValue response_code = 1; }
message Operation {
  repeated string tags = 1; string description = 3; string operation_id = 5;
  repeated string produces = 6; repeated string consumes = 7; repeated ParametersItem parameters = 8;
  Responses responses = 9; repeated string schemes = 10; repeated NamedAny vendor_extension = 13;
}
message PathItem {
  Operation get = 2; Operation put = 3; Operation post = 4; Operation delete = 5;
  Operation options = 6; Operation head = 7; Operation patch = 8;
  repeated ParametersItem parameters = 9;
}
message NamedPathItem { string name = 1; PathItem value = 2; }
message Paths { repeated NamedPathItem path = 2; }
message StringArray { repeated string value = 1; }
message NamedStringArray { string name = 1; StringArray value = 2; }
message SecurityRequirement { repeated NamedStringArray additional_properties = 1; }
message ApiKeySecurity { string type = 1; string name = 2; string in = 3; string description = 4; }
message SecurityDefinitionsItem { oneof oneof { ApiKeySecurity api_key_security = 2; } }
message NamedSecurityDefinitionsItem { string name = 1; SecurityDefinitionsItem value = 2; }
message SecurityDefinitions { repeated NamedSecurityDefinitionsItem additional_properties = 1; }
message Document {
  string swagger = 1; Info info = 2; Paths paths = 8; Definitions definitions = 9;
  ParameterDefinitions parameters = 10; repeated SecurityRequirement security = 12;
  SecurityDefinitions security_definitions = 13;
}`;

const V3_MESSAGES = `
syntax = "proto3";
message Any { bytes value = 1; string yaml = 2; }
message NamedAny { string name = 1; Any value = 2; }
message Info { string title = 1; string version = 6; }
message Reference { string ref = 1; }
message DefaultType { oneof oneof { double number = 1; bool boolean = 2; string string = 3; } }
message SchemaOrReference { oneof oneof { Schema schema = 1; Reference reference = 2; } }
message NamedSchemaOrReference { string name = 1; SchemaOrReference value = 2; }
message Properties { repeated NamedSchemaOrReference additional_properties = 1; }
message SchemasOrReferences { repeated NamedSchemaOrReference additional_properties = 1; }
message ItemsItem { repeated SchemaOrReference schema_or_reference = 1; }
message ExternalDocs { string description = 1; string url = 2; }
message AdditionalPropertiesItem { oneof oneof { SchemaOrReference schema_or_reference = 1; bool boolean = 2; } }
message Schema {
  bool nullable = 1; ExternalDocs external_docs = 6; Any example = 7; string title = 9;
  double multiple_of = 10; double maximum = 11; bool exclusive_maximum = 12; double minimum = 13;
  bool exclusive_minimum = 14; int64 max_length = 15; int64 min_length = 16; string pattern = 17;
  int64 max_items = 18; int64 min_items = 19; bool unique_items = 20; int64 max_properties = 21;
  int64 min_properties = 22; repeated SchemaOrReference any_of = 28; Schema not = 29;
  AdditionalPropertiesItem additional_properties = 32;
  repeated string required = 23; repeated Any enum = 24; string type = 25;
  repeated SchemaOrReference all_of = 26; repeated SchemaOrReference one_of = 27;
  ItemsItem items = 30; Properties properties = 31; DefaultType default = 33;
  string description = 34; string format = 35; repeated NamedAny specification_extension = 36;
}
message Parameter { string name = 1; string in = 2; bool required = 4; SchemaOrReference schema = 10; }
message ParameterOrReference { oneof oneof { Parameter parameter = 1; } }
message MediaType { SchemaOrReference schema = 1; }
message NamedMediaType { string name = 1; MediaType value = 2; }
message MediaTypes { repeated NamedMediaType additional_properties = 1; }
message RequestBody { MediaTypes content = 2; bool required = 3; }
message RequestBodyOrReference { oneof oneof { RequestBody request_body = 1; } }
message Operation {
  string operation_id = 5; repeated ParameterOrReference parameters = 6;
  RequestBodyOrReference request_body = 7; repeated NamedAny specification_extension = 13;
}
message PathItem { Operation get = 4; Operation patch = 10; repeated ParameterOrReference parameters = 13; }
message NamedPathItem { string name = 1; PathItem value = 2; }
message Paths { repeated NamedPathItem path = 1; }
message Components { SchemasOrReferences schemas = 1; }
message Document { string openapi = 1; Info info = 2; Paths paths = 4; Components components = 5; }`;

const served = servedByDefault();
const openApi: OpenApi = createOpenApi({
  ...served,
  title: "Keelson",
  apiVersion: "v1.36.0",
  objectMediaTypes: ["application/json"],
  versionMembers: ["major"],
});

// biome-ignore lint/suspicious/noExplicitAny: documents are read by path in assertions only
type Parsed = any;

async function bytesOf(path: string, accept: string): Promise<Buffer> {
  const response = await openApi.handle(path, { accept });
  assert.equal(response?.headers["Content-Type"], accept.replace("@", "."));
  return await gatherBody(response.body);
}

async function jsonOf(path: string): Promise<Parsed> {
  const response = await openApi.handle(path, {});
  assert.ok(response !== undefined, path);
  return JSON.parse((await gatherBody(response.body)).toString());
}

function decode(messages: string, bytes: Uint8Array): Parsed {
  const type = protobuf.parse(messages, { keepCase: true }).root.lookupType("Document");
  return type.toObject(type.decode(bytes));
}

/** Converts v2 messages back to their JSON schema. */
function schemaFromV2(schema: Parsed): Parsed {
  const back: Parsed = {};
  if (schema.ref) back.$ref = schema.ref;
  for (const name of ["format", "description", "required"]) {
    if (schema[name]?.length > 0) back[name] = schema[name];
  }
  if (schema.enum?.length > 0) back.enum = schema.enum.map(({ yaml }: Parsed) => JSON.parse(yaml));
  if (schema.type) back.type = schema.type.value[0];
  if (schema.items) back.items = schemaFromV2(schema.items.schema[0]);
  if (schema.additional_properties) {
    back.additionalProperties = schemaFromV2(schema.additional_properties.schema);
  }
  if (schema.properties) {
    back.properties = Object.fromEntries(
      schema.properties.additional_properties.map(({ name, value }: Parsed) => [
        name,
        schemaFromV2(value),
      ]),
    );
  }
  for (const { name, value } of schema.vendor_extension ?? []) back[name] = JSON.parse(value.yaml);
  return back;
}

test("S1-GEN-26: every definition of the v2 document decodes to its JSON form", async () => {
  const json = await jsonOf("/openapi/v2");
  const decoded = decode(V2_MESSAGES, await bytesOf("/openapi/v2", V2));
  assert.equal(decoded.swagger, "2.0");
  assert.deepEqual(decoded.info, { title: "Keelson", version: "v1.36.0" });
  const definitions = Object.fromEntries(
    decoded.definitions.additional_properties.map(({ name, value }: Parsed) => [
      name,
      schemaFromV2(value),
    ]),
  );
  assert.deepEqual(definitions, json.definitions);
});

test("S1-GEN-26: every operation of the v2 document decodes with parameters and extensions", async () => {
  const json = await jsonOf("/openapi/v2");
  const decoded = decode(V2_MESSAGES, await bytesOf("/openapi/v2", V2));
  assert.deepEqual(
    decoded.paths.path.map(({ name }: Parsed) => name),
    Object.keys(json.paths),
  );
  for (const { name: path, value: item } of decoded.paths.path) {
    for (const [method, operation] of Object.entries<Parsed>(item)) {
      if (method === "parameters") continue;
      const expected = json.paths[path][method];
      assert.equal(operation.operation_id, expected.operationId);
      assert.deepEqual(
        (operation.parameters ?? []).map(
          ({ parameter, json_reference }: Parsed) =>
            json_reference?.ref ??
            parameter.body_parameter?.name ??
            parameter.non_body_parameter.query_parameter_sub_schema.name,
        ),
        (expected.parameters ?? []).map(({ $ref, name }: Parsed) => $ref ?? name),
      );
      for (const { name, value } of operation.vendor_extension ?? []) {
        assert.deepEqual(JSON.parse(value.yaml), expected[name]);
      }
      assert.deepEqual(
        operation.responses.response_code.map(({ name }: Parsed) => name),
        Object.keys(expected.responses),
      );
    }
  }
  const shared = decoded.parameters.additional_properties.map(({ name }: Parsed) => name);
  assert.deepEqual(shared, Object.keys(json.parameters));
  const { type, in: place } =
    decoded.security_definitions.additional_properties[0].value.api_key_security;
  assert.deepEqual([type, place], ["apiKey", "header"]);
});

test("S1-GEN-26: a v3 document decodes with schemas, defaults and request bodies", async () => {
  const decoded = decode(V3_MESSAGES, await bytesOf("/openapi/v3/api/v1", V3));
  assert.equal(decoded.openapi, "3.0.0");
  const schemas = new Map<string, Parsed>(
    decoded.components.schemas.additional_properties.map(({ name, value }: Parsed) => [
      name,
      value.schema,
    ]),
  );
  const json = await jsonOf("/openapi/v3/api/v1");
  assert.deepEqual([...schemas.keys()], Object.keys(json.components.schemas));
  const port = schemas.get("io.k8s.api.core.v1.ContainerPort");
  const protocol = port.properties.additional_properties.find(
    ({ name }: Parsed) => name === "protocol",
  ).value.schema;
  assert.equal(protocol.type, "string");
  assert.equal(protocol.default.string, "TCP");
  const paths = new Map<string, Parsed>(
    decoded.paths.path.map(({ name, value }: Parsed) => [name, value]),
  );
  const { patch } = paths.get("/api/v1/namespaces/{namespace}/configmaps/{name}");
  const media = patch.request_body.request_body.content.additional_properties;
  assert.equal(media.length, 4);
  assert.match(media[0].value.schema.reference.ref, /meta\.v1\.Patch$/);
});

test("S1-GEN-26: every keyword of a definition's schema has its place in both versions", async () => {
  const inner: JsonSchema = { type: "string" };
  const all: JsonSchema = {
    ...{
      type: "object",
      format: "f",
      title: "t",
      description: "d",
      default: 2 ** 53,
      nullable: true,
    },
    ...{ maximum: 9.5, exclusiveMaximum: true, minimum: 0.5, exclusiveMinimum: true },
    ...{ multipleOf: 0.25, maxLength: 9, minLength: 1, pattern: "^a", maxItems: 8, minItems: 2 },
    ...{ uniqueItems: true, maxProperties: 7, minProperties: 3, enum: ["a", null, { b: 1 }] },
    ...{ required: ["a"], items: inner, properties: { a: inner }, additionalProperties: inner },
    ...{ allOf: [inner], anyOf: [inner], oneOf: [inner], not: inner, example: { a: [1] } },
    ...{ externalDocs: { description: "more", url: "https://example.com" } },
    // What has no structure is left out.
    ...{ id: "i", $schema: "s", $ref: "r", definitions: { a: inner }, additionalItems: false },
    ...{ patternProperties: { a: inner }, dependencies: { a: ["b"] } },
    "x-kubernetes-preserve-unknown-fields": true,
  };
  const schema = {
    type: "object",
    properties: {
      all,
      any: { type: "object", additionalProperties: true },
      by: { items: [inner] },
    },
  };
  for (const version of ["v2", "v3"] as const) {
    const published = publishedSchema(schema, version, {}) as object;
    const document = {
      ...{
        version,
        head: {},
        paths: entriesOf<JsonObject>([]),
        schemas: entriesOf([["A", published]]),
      },
      schemaOf: () => undefined,
    };
    const bytes = Buffer.concat(await encodeGnostic(document));
    const isV2 = version === "v2";
    const decoded = decode(isV2 ? V2_MESSAGES : V3_MESSAGES, bytes);
    const [{ value }] = (decoded.definitions ?? decoded.components.schemas).additional_properties;
    const named = (value.schema ?? value).properties.additional_properties;
    const [read, any] = named.map((one: Parsed) => one.value.schema ?? one.value);
    assert.deepEqual(
      [read.title, read.multiple_of, read.maximum, read.minimum],
      ["t", 0.25, 9.5, 0.5],
    );
    assert.deepEqual([read.exclusive_maximum, read.exclusive_minimum], [true, true]);
    assert.deepEqual(
      [Number(read.max_length), Number(read.min_length), read.pattern],
      [9, 1, "^a"],
    );
    assert.deepEqual([Number(read.max_items), Number(read.min_items)], [8, 2]);
    assert.deepEqual([Number(read.max_properties), Number(read.min_properties)], [7, 3]);
    assert.deepEqual(read.external_docs, { description: "more", url: "https://example.com" });
    assert.deepEqual(JSON.parse(read.example.yaml), { a: [1] });
    assert.equal(any.additional_properties.boolean, true);
    if (isV2) continue;
    assert.equal(read.nullable, true);
    assert.equal(read.any_of[0].schema.type, "string");
    assert.equal(read.not.type, "string");
    assert.equal(read.default.number, 2 ** 53);
  }
});

test("the bytes are well-formed and hold a known field where its numbers say", async () => {
  const document = fieldsOf(await bytesOf("/openapi/v2", V2));
  const deployment = namedEntry(document.get(9)?.[0], 1, "io.k8s.api.apps.v1.DeploymentSpec");
  // Schema.properties (25) -> additional_properties (1) named "replicas" -> Schema.type (22).
  const replicas = namedEntry(deployment.get(25)?.[0], 1, "replicas");
  const type = fieldsOf(lengthDelimited(replicas.get(22)?.[0])).get(1)?.[0];
  assert.equal(Buffer.from(lengthDelimited(type)).toString(), "integer");
  const path = namedEntry(document.get(8)?.[0], 2, "/api/v1/namespaces/{name}");
  const operation = fieldsOf(lengthDelimited(path.get(2)?.[0]));
  assert.equal(
    Buffer.from(lengthDelimited(operation.get(5)?.[0])).toString(),
    "readCoreV1Namespace",
  );
});

type Field = Uint8Array | bigint;

/** The fields of a message by number; fails on anything left over. */
function fieldsOf(bytes: Uint8Array): Map<number, Field[]> {
  const fields = new Map<number, Field[]>();
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++];
      assert.ok(byte !== undefined && shift < 70n, "varint within the message");
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    const number = tag >> 3;
    assert.ok(number > 0);
    let field: Field;
    if ((tag & 7) === 2) {
      const length = Number(varint());
      assert.ok(at + length <= bytes.length, "length within the message");
      field = bytes.subarray(at, at + length);
      at += length;
    } else {
      assert.equal(tag & 7, 0);
      field = varint();
    }
    fields.set(number, [...(fields.get(number) ?? []), field]);
  }
  return fields;
}

function lengthDelimited(field: Field | undefined): Uint8Array {
  assert.ok(field instanceof Uint8Array);
  return field;
}

/** The value message of the entry `name` of a map message. */
function namedEntry(map: Field | undefined, number: number, name: string): Map<number, Field[]> {
  for (const entry of fieldsOf(lengthDelimited(map)).get(number) ?? []) {
    const fields = fieldsOf(lengthDelimited(entry));
    if (Buffer.from(lengthDelimited(fields.get(1)?.[0])).toString() !== name) continue;
    return fieldsOf(lengthDelimited(fields.get(2)?.[0]));
  }
  assert.fail(`no entry ${name}`);
}
