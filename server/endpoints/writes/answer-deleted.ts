/**
 * Answers of deletes in the requested form (S1-DEL-12, S1-TABLE): a Status as is, a deleted object, or
 * all objects of a collection. For one object the registry returns JSON of the served version; rows and
 * metadata need a stored object, so for these rare requests the JSON is parsed again.
 */
import { toRevision } from "../../../storage/kv/store.js";
import { decodeStoredObject } from "../../../storage/objects/decode-object.js";
import { objectPath } from "../../../storage/objects/keys.js";
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import type { JsonObject } from "../../api/meta.js";
import type { StoredResource } from "../../kinds/served-resource.js";
import type { WriteResult } from "../../registry/registry.js";
import type { DeletedCollection } from "../../registry/write/delete-collection.js";
import type { RequestContext } from "../../request/request-state.js";
import { sendBytes } from "../../response/send-bytes.js";
import { parseJson } from "../../schema/parse-json.js";
import { ChunkWriter } from "../chunk-writer.js";
import { continuedMetadata } from "../continue-token.js";
import { listDocument, openPlainListBody } from "../reads/list-body.js";
import { PREPARED_MAX, prepareObjects } from "../reads/prepare.js";
import { listIdentityOf } from "../reads/resource-read.js";
import type { Representation } from "../representation.js";
import { answerExplanation } from "./explanation.js";
import {
  answerDocument,
  putObject,
  turnToAnswer,
  type WriteServices,
  waitOf,
} from "./write-services.js";

/** @param result a Status or an object of the resource */
export async function answerDeleted(
  ctx: RequestContext,
  resource: StoredResource,
  representation: Representation,
  result: WriteResult,
): Promise<void> {
  const turn = turnToAnswer(ctx);
  if (turn !== undefined) await turn;
  if (representation.isWholeObject) {
    await answerDocument(ctx, representation, result);
    return;
  }
  const document = parseJson(result.bytes) as JsonObject;
  if (document.kind === "Status" && document.apiVersion === "v1") {
    await answerDocument(ctx, representation, result);
    return;
  }
  const out = new ChunkWriter();
  await putObject(ctx, representation, out, readBack(resource, document));
  sendBytes(ctx, result.status, ["Content-Type", representation.contentType], out.take());
}

/** Sends a deleted collection at the client's pace, as a list is sent. */
export async function answerDeletedCollection(
  ctx: RequestContext,
  services: WriteServices,
  { resource, objects, revision, rest }: DeletedCollection,
): Promise<void> {
  const representation = services.representations.of(ctx, resource, true);
  const turn = turnToAnswer(ctx);
  if (turn !== undefined) await turn;
  const metadata =
    rest === undefined
      ? { resourceVersion: String(revision) }
      : continuedMetadata({ revision, ...rest }, listIdentityOf(ctx, resource));
  // A converter takes a page of objects at a time.
  for (let at = 0; at < objects.length; at += PREPARED_MAX) {
    const preparing = prepareObjects(resource, objects.slice(at, at + PREPARED_MAX), waitOf(ctx));
    if (preparing === undefined) break;
    await preparing;
  }
  if (ctx.state.findings !== undefined) {
    answerExplanation(ctx, listDocument(resource, metadata, objects));
    return;
  }
  let itemsBytes = 0;
  for (const object of objects) itemsBytes += representation.itemBytes?.(object) ?? 0;
  const output = { ctx, resource, services, representation };
  const body = openPlainListBody(output, metadata, itemsBytes);
  for (const object of objects) {
    body.put(object);
    if (body.isFull && !(await body.flush())) return;
  }
  await body.end();
}

function readBack(resource: StoredResource, served: JsonObject): StoredObject {
  const { codec, conversion, storedCodec, strategy } = resource;
  const { object } = codec.decode(served);
  const stored = conversion === undefined ? object : conversion.toStored(object);
  const { resourceVersion = "0", ...metadata } = stored.metadata;
  const { name = "", namespace = "" } = metadata;
  const key = { path: objectPath(namespace, name), namespace, name };
  const value = Buffer.from(storedCodec.encode({ ...stored, metadata }));
  const revision = toRevision(Number(resourceVersion));
  return decodeStoredObject(key, value, revision, { extractFields: strategy.selectableFields });
}
