/** delete and deletecollection, with their options from the body or the query (S1-DEL-01). */

import { invalidValue } from "../../api/field-errors.js";
import type { JsonObject, JsonValue } from "../../api/meta.js";
import { Problems } from "../../api/problems.js";
import { compileSelector } from "../../api/selectors.js";
import { badRequest, type FieldError, invalidOptions } from "../../api/status.js";
import { jsonToText } from "../../codec/json.js";
import type { StoredResource } from "../../kinds/served-resource.js";
import { deleteObject } from "../../registry/write/delete.js";
import {
  type DeletedCollection,
  deleteCollection,
} from "../../registry/write/delete-collection.js";
import { deleteCorruptObject } from "../../registry/write/delete-corrupt.js";
import {
  checkDeleteOptions,
  type DeleteOptions,
  IGNORE_READ_ERRORS_FIELD,
  type RawDeleteOptions,
} from "../../registry/write/delete-options.js";
import { pauseOf } from "../../registry/write/long-write.js";
import type { Query } from "../../request/query.js";
import type { RequestContext } from "../../request/request-state.js";
import { parseContinueToken } from "../continue-token.js";
import { expiredToken, isExpired } from "../reads/list-start.js";
import { parseListOptions } from "../reads/read-options.js";
import { listIdentityOf, selectableOf } from "../reads/resource-read.js";
import { answerDeleted, answerDeletedCollection } from "./answer-deleted.js";
import { decodeObject, encodingOf, readBytes } from "./request-body.js";
import { optionalBoolean, parseDryRun, remarksOf } from "./write-options.js";
import { namespaceOf, type WriteServices, waitOf } from "./write-services.js";

/** The assumed kind of a body that does not state it. */
const OPTIONS_KIND = { group: "", version: "v1", kind: "DeleteOptions" };

/** Of the audit record of a request that asked for unsafe deletion, also of a refused one. */
const UNSAFE_ANNOTATION = "unsafe-delete-ignore-read-error";

/** @throws {StatusError} */
export async function handleDelete(
  ctx: RequestContext,
  resource: StoredResource,
  services: WriteServices,
): Promise<void> {
  const { registry, representations } = services;
  const { info, user } = ctx.state;
  const warn = (text: string) => ctx.state.addWarning(text);
  // Checked before anything is deleted, so that an unavailable form is refused up front.
  const representation = representations.of(ctx, resource, false);
  const options = await readDeleteOptions(ctx, services);
  ctx.state.notes?.nameBase(options.preconditions?.resourceVersion);
  const target = { resource, namespace: namespaceOf(ctx, resource), name: info.name, user };
  if (options.ignoresReadErrors === true) {
    const { groupDomain } = registry.naming;
    ctx.state.audit?.annotations.set(`apiserver.${groupDomain}/${UNSAFE_ANNOTATION}`, "");
    await services.authorizeUnsafeDelete?.(ctx, resource);
    const result = await deleteCorruptObject(registry, target, waitOf(ctx));
    await answerDeleted(ctx, resource, representation, result);
    return;
  }
  const result = await deleteObject(
    registry,
    { ...target, options, warn, remarks: remarksOf(ctx, registry.naming), request: ctx.state },
    waitOf(ctx),
  );
  await answerDeleted(ctx, resource, representation, result);
}

/** @throws {StatusError} */
export async function handleDeleteCollection(
  ctx: RequestContext,
  resource: StoredResource,
  services: WriteServices,
): Promise<void> {
  const { registry, representations } = services;
  const { query } = ctx.state.info;
  // Checked before anything is deleted, so that an unavailable form is refused up front.
  representations.of(ctx, resource, true);
  const { wanted, limit, continueToken } = parseListOptions(query, registry.naming);
  // An older state is nothing to delete by; one that is gone on with deletes by name what was found, as in kube-apiserver.
  if (wanted.kind === "exact") {
    throw badRequest("a collection cannot be deleted as it was at an exact version");
  }
  const identity = listIdentityOf(ctx, resource);
  const start = continueToken === "" ? undefined : parseContinueToken(continueToken, identity);
  const options = await readDeleteOptions(ctx, services);
  if (options.ignoresReadErrors === true) {
    const why = "is not allowed with DELETECOLLECTION, try again after removing the option";
    const error = invalidValue(IGNORE_READ_ERRORS_FIELD, true, why);
    throw invalidOptions(registry.naming, "DeleteOptions", [error]);
  }
  const namespace = namespaceOf(ctx, resource);
  const selector = compileSelector({
    namespace,
    labelSelector: query.get("labelSelector"),
    fieldSelector: query.get("fieldSelector"),
    ...selectableOf(resource),
  });
  const { user } = ctx.state;
  const warn = (text: string) => ctx.state.addWarning(text);
  const remarks = remarksOf(ctx, registry.naming);
  const request = ctx.state;
  const about = { resource, namespace, selector, limit, options, user, warn, remarks, request };
  const target = start === undefined ? about : { ...about, start };
  let deleted: DeletedCollection;
  try {
    deleted = await deleteCollection(registry, target, waitOf(ctx));
  } catch (error) {
    throw start !== undefined && isExpired(error) ? expiredToken(start, identity) : error;
  }
  await answerDeletedCollection(ctx, services, deleted);
}

async function readDeleteOptions(
  ctx: RequestContext,
  { decoders, authorizeUnsafeDelete }: WriteServices,
): Promise<DeleteOptions> {
  const { naming } = decoders;
  const { query } = ctx.state.info;
  const errors = new Problems();
  const isDryRun = parseDryRun(query.getAll("dryRun"), errors);
  const bytes = await readBytes(ctx);
  let options: RawDeleteOptions;
  if (bytes.length > 0) {
    const encoding = encodingOf(ctx, decoders);
    const decoding = { fieldValidation: "Ignore", pause: pauseOf(ctx.state) } as const;
    const { value } = await decodeObject(bytes, encoding, OPTIONS_KIND, decoding, decoders);
    options = fromBody(value, errors);
    // A dry run may be requested in either place.
    options = { ...options, isDryRun: options.isDryRun || isDryRun };
  } else {
    options = { ...fromQuery(query), isDryRun };
  }
  if (errors.length > 0) throw invalidOptions(naming, "DeleteOptions", errors);
  // With the gate off the field does not exist (S1-UNS-02).
  if (authorizeUnsafeDelete === undefined) options = { ...options, ignoresReadErrors: false };
  return checkDeleteOptions(naming, options);
}

function fromQuery(query: Query): Omit<RawDeleteOptions, "isDryRun"> {
  if (query.isEmpty) return {};
  const grace = query.get("gracePeriodSeconds");
  if (grace !== undefined && !/^-?\d{1,15}$/.test(grace)) {
    throw badRequest(`gracePeriodSeconds: ${JSON.stringify(grace)} is no whole number`);
  }
  return {
    gracePeriodSeconds: grace === undefined ? undefined : Number(grace),
    orphanDependents: optionalBoolean(query, "orphanDependents"),
    propagationPolicy: query.get("propagationPolicy"),
    ignoresReadErrors: optionalBoolean(query, IGNORE_READ_ERRORS_FIELD),
    preconditions: preconditionsOf(query),
  };
}

/** What a query says of the object to be deleted: an empty parameter says nothing. */
function preconditionsOf(query: Query): RawDeleteOptions["preconditions"] {
  const uid = query.get("uid") || undefined;
  const resourceVersion = query.get("resourceVersion") || undefined;
  return uid === undefined && resourceVersion === undefined ? undefined : { uid, resourceVersion };
}

function fromBody(body: JsonValue, errors: FieldError[]): RawDeleteOptions {
  const options = requireObject(body, "DeleteOptions");
  const kind = options.kind ?? "DeleteOptions";
  if (kind !== "DeleteOptions") {
    throw badRequest(
      `decoded object cannot be converted to DeleteOptions: it is a ${jsonToText(kind)}`,
    );
  }
  const preconditions = present(options.preconditions);
  const dryRun = present(options.dryRun) ?? [];
  if (!Array.isArray(dryRun)) throw wrongType("dryRun", "a list of strings");
  const grace = present(options.gracePeriodSeconds);
  if (grace !== undefined && (typeof grace !== "number" || !Number.isInteger(grace))) {
    throw wrongType("gracePeriodSeconds", "a whole number");
  }
  return {
    gracePeriodSeconds: grace,
    orphanDependents: flag(options, "orphanDependents"),
    ignoresReadErrors: flag(options, IGNORE_READ_ERRORS_FIELD),
    propagationPolicy: optionalText(options, "propagationPolicy"),
    preconditions:
      preconditions === undefined
        ? undefined
        : toPreconditions(requireObject(preconditions, "preconditions")),
    isDryRun: parseDryRun(dryRun.map(jsonToText), errors),
  };
}

function toPreconditions(value: JsonObject) {
  return {
    uid: optionalText(value, "uid"),
    resourceVersion: optionalText(value, "resourceVersion"),
  };
}

/** null counts as absent. */
function present(value: JsonValue | undefined): Exclude<JsonValue, null> | undefined {
  return value === null ? undefined : value;
}

function flag(object: JsonObject, field: string): boolean | undefined {
  const value = present(object[field]);
  if (value !== undefined && typeof value !== "boolean") throw wrongType(field, "true or false");
  return value;
}

function optionalText(object: JsonObject, field: string): string | undefined {
  const value = present(object[field]);
  if (value !== undefined && typeof value !== "string") throw wrongType(field, "a string");
  return value;
}

function requireObject(value: JsonValue, what: string): JsonObject {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  throw wrongType(what, "an object");
}

function wrongType(field: string, expected: string) {
  return badRequest(
    `DeleteOptions in version "v1" cannot be handled as DeleteOptions: ${field} must be ${expected}`,
  );
}
