/**
 * The Protobuf form of OpenAPI documents that kubectl requests: the messages `openapi.v2.Document` and
 * `openapi.v3.Document` of the gnostic project. A table per message maps its JSON members to number and
 * encoder; members `x-...` become extensions with YAML values, of which JSON is a subset. A JSON member
 * missing from the tables is a defect and throws.
 */

import { type Writer as ProtobufWriter, default as protobuf } from "protobufjs/minimal.js";
import type { JsonValue } from "../../api/meta.js";
import { stringifyJson } from "../../schema/json-text.js";
import type { Entries, OpenApiDocument } from "./documents.js";

/** Writes `value` as field `number` of the current message. */
type Encoder = (writer: ProtobufWriter, number: number, value: JsonValue) => void;

type Members = Readonly<Record<string, readonly [number, Encoder]>>;

const LENGTH_DELIMITED = 2;
const FIXED_64 = 1;

const text: Encoder = (writer, number, value) => {
  writer.uint32(tagOf(number)).string(String(value));
};

const flag: Encoder = (writer, number, value) => {
  // proto3 omits false.
  if (value === true) writer.uint32(number << 3).bool(true);
};

const decimal: Encoder = (writer, number, value) => {
  writer.uint32((number << 3) | FIXED_64).double(Number(value));
};

const count: Encoder = (writer, number, value) => {
  writer.uint32(number << 3).int64(Number(value));
};

/** A scalar as is: `Any{yaml}`. */
const any: Encoder = (writer, number, value) => {
  inMessage(writer, number, () => text(writer, 2, stringifyJson(value)));
};

/** Each item of a list as one field. */
function repeated(item: Encoder): Encoder {
  return (writer, number, value) => {
    for (const element of value as JsonValue[]) item(writer, number, element);
  };
}

/** A JSON object as repeated `Named...{name, value}` fields. */
function entries(item: Encoder): Encoder {
  return (writer, number, value) => {
    for (const [name, member] of Object.entries(value as Record<string, JsonValue>)) {
      named(writer, number, name, () => item(writer, 2, member));
    }
  };
}

/** A message around a single field, for example a member of a `oneof` or a wrapped map. */
function within(inner: number, item: Encoder): Encoder {
  return (writer, number, value) => inMessage(writer, number, () => item(writer, inner, value));
}

/** A message with a table, passed as a function because tables refer to each other. */
function message(members: () => Members, extensions: number): Encoder {
  const extension = entries(any);
  return (writer, number, value) => {
    const table = members();
    inMessage(writer, number, () => {
      for (const [name, member] of Object.entries(value as Record<string, JsonValue>)) {
        if (member === undefined) continue;
        const entry = table[name];
        if (entry !== undefined) entry[1](writer, entry[0], member);
        else if (name.startsWith("x-")) extension(writer, extensions, { [name]: member });
        else throw new RangeError(`no Protobuf field for OpenAPI member ${name}`);
      }
    });
  };
}

function hasMember(value: JsonValue, name: string): boolean {
  return typeof value === "object" && value !== null && name in value;
}

function tagOf(number: number): number {
  return (number << 3) | LENGTH_DELIMITED;
}

function inMessage(writer: ProtobufWriter, number: number, write: () => void): void {
  writer.uint32(tagOf(number)).fork();
  write();
  writer.ldelim();
}

function named(writer: ProtobufWriter, number: number, name: string, write: () => void): void {
  inMessage(writer, number, () => {
    text(writer, 1, name);
    write();
  });
}

/** Of what schemas do not name: their schema, or whether it may be there. */
function additional(schema: Encoder): Encoder {
  const allowed = within(2, (writer, number, value) => {
    writer.uint32(number << 3).bool(value === true);
  });
  return (writer, number, value) =>
    (typeof value === "boolean" ? allowed : schema)(writer, number, value);
}

/** A message without extensions of interest. */
const NO_EXTENSIONS = 0;

const info2 = message(() => ({ title: [1, text], version: [2, text] }), 7);
const info3 = message(() => ({ title: [1, text], version: [6, text] }), 7);

const externalDocs = message(() => ({ description: [1, text], url: [2, text] }), 3);

const schema2: Encoder = message(
  () => ({
    $ref: [1, text],
    format: [2, text],
    title: [3, text],
    description: [4, text],
    default: [5, any],
    multipleOf: [6, decimal],
    maximum: [7, decimal],
    exclusiveMaximum: [8, flag],
    minimum: [9, decimal],
    exclusiveMinimum: [10, flag],
    maxLength: [11, count],
    minLength: [12, count],
    pattern: [13, text],
    maxItems: [14, count],
    minItems: [15, count],
    uniqueItems: [16, flag],
    maxProperties: [17, count],
    minProperties: [18, count],
    required: [19, repeated(text)],
    enum: [20, repeated(any)],
    additionalProperties: [21, additional(within(1, schema2))],
    type: [22, within(1, text)],
    items: [23, within(1, schema2)],
    allOf: [24, repeated(schema2)],
    properties: [25, within(1, entries(schema2))],
    readOnly: [27, flag],
    externalDocs: [29, externalDocs],
    example: [30, any],
  }),
  31,
);

const bodyParameter = message(
  () => ({
    description: [1, text],
    name: [2, text],
    in: [3, text],
    required: [4, flag],
    schema: [5, schema2],
  }),
  6,
);

/** Query and path parameters have different field numbers after the name. */
const queryParameter = message(
  () => ({
    required: [1, flag],
    in: [2, text],
    description: [3, text],
    name: [4, text],
    type: [6, text],
    format: [7, text],
    default: [10, any],
    uniqueItems: [20, flag],
    enum: [21, repeated(any)],
  }),
  23,
);
const pathParameter = message(
  () => ({
    required: [1, flag],
    in: [2, text],
    description: [3, text],
    name: [4, text],
    type: [5, text],
    format: [6, text],
    default: [9, any],
    uniqueItems: [19, flag],
    enum: [20, repeated(any)],
  }),
  22,
);

/** `Parameter`: a body parameter, or one of the others inside `NonBodyParameter`. */
const parameter2: Encoder = (writer, number, value) => {
  const place = (value as { in?: string }).in;
  const choice =
    place === "body"
      ? within(1, bodyParameter)
      : within(2, place === "path" ? within(4, pathParameter) : within(3, queryParameter));
  choice(writer, number, value);
};

const jsonReference = message(() => ({ $ref: [1, text], description: [2, text] }), NO_EXTENSIONS);

const parametersItem2: Encoder = (writer, number, value) =>
  (hasMember(value, "$ref") ? within(2, jsonReference) : within(1, parameter2))(
    writer,
    number,
    value,
  );

const response2 = message(() => ({ description: [1, text], schema: [2, within(1, schema2)] }), 5);

const operation2 = message(
  () => ({
    tags: [1, repeated(text)],
    summary: [2, text],
    description: [3, text],
    operationId: [5, text],
    produces: [6, repeated(text)],
    consumes: [7, repeated(text)],
    parameters: [8, repeated(parametersItem2)],
    responses: [9, within(1, entries(within(1, response2)))],
    schemes: [10, repeated(text)],
    deprecated: [11, flag],
  }),
  13,
);

const pathItem2 = message(
  () => ({
    get: [2, operation2],
    put: [3, operation2],
    post: [4, operation2],
    delete: [5, operation2],
    options: [6, operation2],
    head: [7, operation2],
    patch: [8, operation2],
    parameters: [9, repeated(parametersItem2)],
  }),
  10,
);

const apiKeySecurity = message(
  () => ({ type: [1, text], name: [2, text], in: [3, text], description: [4, text] }),
  5,
);

const securityRequirement = within(1, repeated(text));

const head2: Members = {
  swagger: [1, text],
  info: [2, info2],
  parameters: [10, within(1, entries(parameter2))],
  security: [12, repeated(entriesOf(securityRequirement))],
  securityDefinitions: [13, within(1, entries(within(2, apiKeySecurity)))],
};

/** `SecurityRequirement{additional_properties: [Named...]}` */
function entriesOf(item: Encoder): Encoder {
  return within(1, entries(item));
}

/** The v3 message has only scalar defaults; an object or list is left out. */
const default3: Encoder = (writer, number, value) => {
  if (typeof value === "number" || typeof value === "bigint") {
    inMessage(writer, number, () => writer.uint32((1 << 3) | 1).double(Number(value)));
  }
  if (typeof value === "boolean") {
    inMessage(writer, number, () => writer.uint32(2 << 3).bool(value));
  }
  if (typeof value === "string") inMessage(writer, number, () => text(writer, 3, value));
};

const schema3: Encoder = message(
  () => ({
    nullable: [1, flag],
    readOnly: [3, flag],
    externalDocs: [6, externalDocs],
    example: [7, any],
    title: [9, text],
    multipleOf: [10, decimal],
    maximum: [11, decimal],
    exclusiveMaximum: [12, flag],
    minimum: [13, decimal],
    exclusiveMinimum: [14, flag],
    maxLength: [15, count],
    minLength: [16, count],
    pattern: [17, text],
    maxItems: [18, count],
    minItems: [19, count],
    uniqueItems: [20, flag],
    maxProperties: [21, count],
    minProperties: [22, count],
    required: [23, repeated(text)],
    enum: [24, repeated(any)],
    type: [25, text],
    allOf: [26, repeated(schemaOrReference)],
    oneOf: [27, repeated(schemaOrReference)],
    anyOf: [28, repeated(schemaOrReference)],
    not: [29, schema3],
    items: [30, within(1, schemaOrReference)],
    properties: [31, within(1, entries(schemaOrReference))],
    additionalProperties: [32, additional(within(1, schemaOrReference))],
    default: [33, default3],
    description: [34, text],
    format: [35, text],
  }),
  36,
);

const reference3 = message(() => ({ $ref: [1, text] }), NO_EXTENSIONS);

const schemaOrReference: Encoder = (writer, number, value) =>
  (hasMember(value, "$ref") ? within(2, reference3) : within(1, schema3))(writer, number, value);

const parameter3 = message(
  () => ({
    name: [1, text],
    in: [2, text],
    description: [3, text],
    required: [4, flag],
    schema: [10, schemaOrReference],
  }),
  14,
);

const mediaType = message(() => ({ schema: [1, schemaOrReference] }), 5);
const content = within(1, entries(mediaType));
const requestBody = message(() => ({ content: [2, content], required: [3, flag] }), 4);
const response3 = message(() => ({ description: [1, text], content: [3, content] }), 5);

const operation3 = message(
  () => ({
    tags: [1, repeated(text)],
    description: [3, text],
    operationId: [5, text],
    parameters: [6, repeated(within(1, parameter3))],
    requestBody: [7, within(1, requestBody)],
    responses: [8, within(2, entries(within(1, response3)))],
  }),
  13,
);

const pathItem3 = message(
  () => ({
    get: [4, operation3],
    put: [5, operation3],
    post: [6, operation3],
    delete: [7, operation3],
    options: [8, operation3],
    head: [9, operation3],
    patch: [10, operation3],
    parameters: [13, repeated(within(1, parameter3))],
  }),
  14,
);

const head3: Members = { openapi: [1, text], info: [2, info3] };

/** Field numbers of a document's parts. */
interface Layout {
  readonly head: Members;
  readonly pathsField: number;
  readonly pathEntry: number;
  readonly pathItem: Encoder;
  /** Field numbers of the messages around the entries, outermost first. */
  readonly schemaFields: readonly [number, ...number[]];
  readonly schema: Encoder;
}

const LAYOUTS: Readonly<Record<OpenApiDocument["version"], Layout>> = {
  v2: {
    head: head2,
    pathsField: 8,
    pathEntry: 2,
    pathItem: pathItem2,
    schemaFields: [9],
    schema: schema2,
  },
  v3: {
    head: head3,
    pathsField: 4,
    pathEntry: 1,
    pathItem: pathItem3,
    schemaFields: [5, 1],
    schema: schemaOrReference,
  },
};

/** Of one piece; an entry is not cut. */
const PIECE_BYTES = 64 * 1024;

/** Encodes the gnostic message, in pieces. */
export async function encodeGnostic(document: OpenApiDocument): Promise<readonly Buffer[]> {
  const layout = LAYOUTS[document.version];
  const head = protobuf.Writer.create();
  for (const [name, value] of Object.entries(document.head)) {
    const entry = layout.head[name];
    if (entry === undefined || value === undefined) {
      throw new RangeError(`no Protobuf field for OpenAPI member ${name}`);
    }
    entry[1](head, entry[0], value);
  }
  const paths = await encodeNamed(document.paths, layout.pathEntry, layout.pathItem);
  const schemas = await encodeNamed(document.schemas, 1, layout.schema);
  return [
    finished(head),
    ...enclose(paths, layout.pathsField),
    ...layout.schemaFields.reduceRight((chunks, number) => enclose(chunks, number), schemas),
  ];
}

async function encodeNamed(
  members: Entries<unknown>,
  number: number,
  item: Encoder,
): Promise<Buffer[]> {
  const chunks: Buffer[] = [];
  let writer = protobuf.Writer.create();
  for await (const [name, value] of members) {
    named(writer, number, name, () => item(writer, 2, value as JsonValue));
    if (writer.len < PIECE_BYTES) continue;
    chunks.push(finished(writer));
    writer = protobuf.Writer.create();
  }
  chunks.push(finished(writer));
  return chunks;
}

/** The chunks as the content of one length-delimited field. */
function enclose(chunks: readonly Buffer[], number: number): Buffer[] {
  const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  const writer = protobuf.Writer.create().uint32(tagOf(number)).uint32(length);
  return [finished(writer), ...chunks];
}

/** In Node.js the writer is one that makes buffers. */
function finished(writer: ProtobufWriter): Buffer {
  return writer.finish() as Buffer;
}
