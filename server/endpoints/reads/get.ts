/**
 * get: one object from the view (S1-RV-01..03). The hot path of the whole server: no parsing, no
 * copy, and for a consistent read one shared revision read of the store.
 */
import { objectPath } from "../../../storage/objects/keys.js";
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import { notFound, unreadableObjects } from "../../api/status.js";
import type { StoredResource } from "../../kinds/served-resource.js";
import type { RequestContext } from "../../request/request-state.js";
import { sendCompressed } from "../../response/compression.js";
import { sendBytes } from "../../response/send-bytes.js";
import { ChunkWriter } from "../chunk-writer.js";
import type { Representation } from "../representation.js";
import { servedBytes } from "../representations/json-form.js";
import { prepareObjects } from "./prepare.js";
import { parseGetOptions } from "./read-options.js";
import { namespaceOf, type ReadServices } from "./resource-read.js";

/** Answers with one object. @throws {StatusError} 404, 406, 500, 503, 504 */
export async function handleGet(
  ctx: RequestContext,
  resource: StoredResource,
  { reader, representations, compression }: ReadServices,
): Promise<void> {
  const { info } = ctx.state;
  const representation = representations.of(ctx, resource, false);
  const wanted = parseGetOptions(info.query);
  if (wanted.kind !== "any" || !reader.view.isSynced) await reader.reach(wanted, ctx.state);

  const path = objectPath(namespaceOf(ctx, resource), info.name);
  const object = reader.view.partition(resource.partition).get(path);
  if (object === undefined) throw notFound(resource, info.name);
  if (object.corruption !== undefined) throw unreadableObjects([path]);
  if (resource.conversion?.remote !== undefined) {
    await prepareObjects(resource, [object], ctx.state.signal);
  }

  ctx.state.audit?.takeResponse(() => servedBytes(resource)(object).bytes);
  const headers = ["Content-Type", representation.contentType];
  const body = bodyOf(representation, object);
  // Nearly always so; a promise less.
  if (compression === undefined || body.length < compression.minBytes) {
    sendBytes(ctx, 200, headers, body);
  } else {
    await sendCompressed(ctx, 200, headers, body, compression);
  }
}

function bodyOf(representation: Representation, object: StoredObject): Buffer {
  if (representation.isStoredForm) return object.bytes;
  const out = new ChunkWriter();
  representation.putObject(out, object);
  return out.take();
}
