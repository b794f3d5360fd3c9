/**
 * Answers of deletes: a Status as is, and the deleted object or list in the requested form (S1-DEL-12,
 * S1-TABLE). The registry returns JSON of the served version; rows and metadata need stored objects, so
 * for these rare requests the JSON is parsed again.
 */
import { toRevision } from "../../../storage/kv/store.js";
import { objectPath } from "../../../storage/objects/keys.js";
import { decodeStoredObject, type StoredObject } from "../../../storage/objects/stored-object.js";
import type { JsonObject } from "../../api/meta.js";
import { parseJson } from "../../codec/json.js";
import { listKindOf, type StoredResource } from "../../kinds/served-resource.js";
import type { WriteResult } from "../../registry/generic/registry.js";
import type { RequestContext } from "../../request/request-state.js";
import { sendBytes } from "../../response/send-bytes.js";
import { ChunkWriter } from "../chunk-writer.js";
import type { Representation } from "../representation.js";
import { answerDocument, turnToAnswer } from "./write-services.js";

/** @param result a Status, an object of the resource, or a list of objects */
export async function answerDeleted(
  ctx: RequestContext,
  resource: StoredResource,
  representation: Representation,
  result: WriteResult,
): Promise<void> {
  const turn = turnToAnswer(ctx);
  if (turn !== undefined) await turn;
  if (representation.isWholeObject) {
    answerDocument(ctx, representation, result);
    return;
  }
  const document = parseJson(result.bytes) as JsonObject;
  if (document.kind === "Status" && document.apiVersion === "v1") {
    answerDocument(ctx, representation, result);
    return;
  }
  const out = new ChunkWriter();
  if (document.kind === listKindOf(resource)) putList(out, resource, representation, document);
  else representation.putObject(out, readBack(resource, document));
  sendBytes(ctx, result.status, ["Content-Type", representation.contentType], out.take());
}

function putList(
  out: ChunkWriter,
  resource: StoredResource,
  representation: Representation,
  list: JsonObject,
): void {
  const { resourceVersion } = list.metadata as { resourceVersion: string };
  const objects = (list.items as JsonObject[]).map((item) => readBack(resource, item));
  let itemsBytes = 0;
  for (const object of objects) itemsBytes += representation.itemBytes?.(object) ?? 0;
  representation.putListHead(out, { resourceVersion }, itemsBytes);
  for (const [index, object] of objects.entries()) {
    representation.putItem(out, object, index === 0);
  }
  representation.putListFoot(out, objects.length === 0);
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
  return decodeStoredObject(key, value, revision, strategy.selectableFields);
}
