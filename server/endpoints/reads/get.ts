/**
 * get: reads one object from the view (S1-RV-01..03). The hottest path of the server: no parsing, no
 * copy, and one shared revision read of the store for a consistent read.
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

const DONE = Promise.resolve();

/** Answers with one object. @throws {StatusError} 404, 406, 500, 503, 504 */
export function handleGet(
  ctx: RequestContext,
  resource: StoredResource,
  services: ReadServices,
): Promise<void> {
  const representation = services.representations.of(ctx, resource, false);
  const wanted = parseGetOptions(ctx.state.info.query);
  const waiting = services.reader.reach(wanted, ctx.state);
  return waiting === undefined
    ? answer(ctx, resource, representation, services)
    : waiting.then(() => answer(ctx, resource, representation, services));
}

/** Runs once the view has the requested state. */
function answer(
  ctx: RequestContext,
  resource: StoredResource,
  representation: Representation,
  services: ReadServices,
): Promise<void> {
  const { info } = ctx.state;
  const path = objectPath(namespaceOf(ctx, resource), info.name);
  const object = services.reader.view.partition(resource.partition).get(path);
  if (object === undefined) throw notFound(resource, info.name);
  if (object.corruption !== undefined) throw unreadableObjects([path]);
  const read: Read = { resource, representation, services, object };
  const preparing =
    resource.conversion?.remote === undefined
      ? undefined
      : prepareObjects(resource, [object], ctx.state);
  return preparing === undefined ? send(ctx, read) : preparing.then(() => send(ctx, read));
}

interface Read {
  readonly resource: StoredResource;
  readonly representation: Representation;
  readonly services: ReadServices;
  readonly object: StoredObject;
}

function send(ctx: RequestContext, read: Read): Promise<void> {
  const { answers } = ctx.state;
  const { length } = read.object;
  if (answers === undefined || length < answers.bytesMin) return deliver(ctx, read);
  const holding = answers.hold(ctx, length);
  return holding === undefined ? deliver(ctx, read) : holding.then(() => deliver(ctx, read));
}

function deliver(ctx: RequestContext, read: Read): Promise<void> {
  const { resource, representation, object } = read;
  const { compression } = read.services;
  ctx.state.audit?.takeResponse(() => servedBytes(resource)(object).bytes);
  const headers = ["Content-Type", representation.contentType];
  const body = bodyOf(representation, object);
  if (compression !== undefined && body.length >= compression.minBytes) {
    return sendCompressed(ctx, 200, headers, body, compression);
  }
  sendBytes(ctx, 200, headers, body);
  return DONE;
}

function bodyOf(representation: Representation, object: StoredObject): Buffer {
  if (representation.isStoredForm) return object.bytes;
  const out = new ChunkWriter();
  representation.putObject(out, object);
  return out.take();
}
