/**
 * Renders operations and schemas as JSON of OpenAPI v2 and v3. Both have the same content in different
 * places: v2 has body parameters and `produces`, v3 has `content` by media type; v2 shares common
 * parameters by reference, v3 writes them out, because kubectl looks for them in the operation. Pure
 * functions.
 */
import type { JsonObject } from "../../api/meta.js";
import type { SchemaModel } from "../../schema/model.js";
import type { Body, Operation, PathItem } from "./operations.js";
import { allShared, type Parameter } from "./parameters.js";
import type { SchemaBuilder } from "./schemas.js";

/** What operations of v2 refer to, by name. */
export function sharedParameters(model: SchemaModel): JsonObject {
  const named = allShared(model).map((parameter) => [sharedName(parameter), parameter] as const);
  return Object.fromEntries(
    named
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, parameter]) => [name, writtenOut(parameter)]),
  );
}

export function renderPathV2(item: PathItem, builder: SchemaBuilder): JsonObject {
  const rendered: JsonObject = {};
  if (item.parameters.length > 0) rendered.parameters = item.parameters.map(parameterV2);
  for (const operation of item.operations) {
    rendered[operation.method] = operationV2(operation, builder);
  }
  return rendered;
}

export function renderPathV3(item: PathItem, builder: SchemaBuilder): JsonObject {
  const rendered: JsonObject = {};
  if (item.parameters.length > 0) rendered.parameters = item.parameters.map(parameterV3);
  for (const operation of item.operations) {
    rendered[operation.method] = operationV3(operation, builder);
  }
  return rendered;
}

function operationV2(operation: Operation, builder: SchemaBuilder): JsonObject {
  const { requestBody } = operation;
  const parameters = operation.parameters.map(parameterV2);
  if (requestBody !== undefined) {
    parameters.unshift({
      name: "body",
      in: "body",
      ...(requestBody.required ? { required: true } : {}),
      schema: { ...builder.reference(requestBody.type) } as JsonObject,
    });
  }
  const responses: JsonObject = {};
  for (const { code, description, body } of operation.responses) {
    const schema = body === undefined ? undefined : bodySchema(body, builder);
    responses[code] = { description, ...(schema === undefined ? {} : { schema }) };
  }
  return {
    description: operation.description,
    consumes: [...(requestBody?.consumes ?? ["*/*"])],
    produces: [...operation.produces],
    schemes: ["https"],
    tags: [operation.tag],
    operationId: operation.id,
    ...(parameters.length === 0 ? {} : { parameters }),
    responses,
    ...extensions(operation),
  };
}

function operationV3(operation: Operation, builder: SchemaBuilder): JsonObject {
  const { requestBody } = operation;
  const responses: JsonObject = {};
  for (const { code, description, body } of operation.responses) {
    const content = body === undefined ? undefined : contentOf(body, operation.produces, builder);
    responses[code] = { description, ...(content === undefined ? {} : { content }) };
  }
  return {
    tags: [operation.tag],
    description: operation.description,
    operationId: operation.id,
    ...(operation.parameters.length === 0
      ? {}
      : { parameters: operation.parameters.map(parameterV3) }),
    ...(requestBody === undefined
      ? {}
      : {
          requestBody: {
            content: contentOf(
              { form: "type", type: requestBody.type },
              requestBody.consumes,
              builder,
            ),
            ...(requestBody.required ? { required: true } : {}),
          },
        }),
    responses,
    ...extensions(operation),
  };
}

function extensions({ action, groupVersionKind }: Operation): JsonObject {
  return {
    ...(action === undefined ? {} : { "x-kubernetes-action": action }),
    ...(groupVersionKind === undefined
      ? {}
      : { "x-kubernetes-group-version-kind": { ...groupVersionKind } }),
  };
}

function contentOf(body: Body, mediaTypes: readonly string[], builder: SchemaBuilder): JsonObject {
  const schema = bodySchema(body, builder);
  return Object.fromEntries(mediaTypes.map((mediaType) => [mediaType, { schema }]));
}

function bodySchema(body: Body, builder: SchemaBuilder): JsonObject {
  switch (body.form) {
    case "type":
      return { ...builder.reference(body.type) } as JsonObject;
    case "text":
      return { type: "string" };
    case "strings": {
      const members = body.members.map((name) => [name, { type: "string" }]);
      return { type: "object", properties: Object.fromEntries(members) };
    }
  }
}

function parameterV2(parameter: Parameter): JsonObject {
  if (!parameter.isShared) return writtenOut(parameter);
  return { $ref: `#/parameters/${sharedName(parameter)}` };
}

function sharedName({ name, in: place }: Parameter): string {
  return `${name}-${place}`;
}

function writtenOut({ name, in: place, type, description }: Parameter): JsonObject {
  return {
    name,
    in: place,
    type,
    ...(description === undefined ? {} : { description }),
    ...(place === "path" ? { required: true } : {}),
  };
}

function parameterV3({ name, in: place, type, description }: Parameter): JsonObject {
  return {
    name,
    in: place,
    ...(description === undefined ? {} : { description }),
    ...(place === "path" ? { required: true } : {}),
    schema: { type },
  };
}
