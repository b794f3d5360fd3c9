/**
 * get: reads one object from the view (S1-RV-01..03). The hottest path of the server: no parsing, no
 * copy, and one shared revision read of the store for a consistent read.
 */
import type { Revision } from "../../../storage/kv/store.js";
import { objectPath } from "../../../storage/objects/keys.js";
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import { missingObject } from "../../api/missing-object.js";
import { unreadableObjects } from "../../api/status.js";
import type { StoredResource } from "../../kinds/served-resource.js";
import type { RequestContext } from "../../request/request-state.js";
import { sendCompressed } from "../../response/compression.js";
import { sendBytes } from "../../response/send-bytes.js";
import { ChunkWriter } from "../chunk-writer.js";
import { stepwise } from "../long-pieces.js";
import type { Representation } from "../representation.js";
import { servedBytes } from "../representations/json-form.js";
import type { HistoricalReader } from "./historical-reader.js";
import { sendLong } from "./long-object.js";
import { prepareObjects } from "./prepare.js";
import { parseGetOptions } from "./read-options.js";
import { namespaceOf, type ReadServices } from "./resource-read.js";

export interface GetServices extends ReadServices {
  /** Reads the past. */
  readonly history: Pick<HistoricalReader, "object">;
}

const DONE = Promise.resolve();

/** Answers with one object. @throws {StatusError} 404, 406, 500, 503, 504 */
export function handleGet(
  ctx: RequestContext,
  resource: StoredResource,
  services: GetServices,
): Promise<void> {
  const representation = services.representations.of(ctx, resource, false);
  const wanted = parseGetOptions(ctx.state.info.query);
  const waiting = services.reader.reach(wanted, ctx.state);
  if (wanted.kind === "exact") {
    return answerPast(ctx, { resource, representation, services }, wanted.revision, waiting);
  }
  return waiting === undefined
    ? answer(ctx, resource, representation, services)
    : waiting.then(() => answer(ctx, resource, representation, services));
}

/** Runs once the view has the requested state. */
function answer(
  ctx: RequestContext,
  resource: StoredResource,
  representation: Representation,
  services: GetServices,
): Promise<void> {
  const { info } = ctx.state;
  const path = objectPath(namespaceOf(ctx, resource), info.name);
  const object = services.reader.view.partition(resource.partition).get(path);
  return convert(ctx, { resource, representation, services }, object);
}

/** The object as it was at a revision that the store keeps. @throws {StatusError} 404, 410 */
async function answerPast(
  ctx: RequestContext,
  asked: Asked,
  revision: Revision,
  waiting: Promise<void> | undefined,
): Promise<void> {
  await waiting;
  const { resource, services } = asked;
  const path = objectPath(namespaceOf(ctx, resource), ctx.state.info.name);
  const object = await services.history.object(resource, path, revision, ctx.state.signal);
  return await convert(ctx, asked, object);
}

function convert(
  ctx: RequestContext,
  asked: Asked,
  object: StoredObject | undefined,
): Promise<void> {
  const { resource } = asked;
  if (object === undefined) throw missingObject(resource, ctx.state.info.name);
  if (object.corruption !== undefined) throw unreadableObjects([object.path]);
  const read: Read = { ...asked, object };
  const preparing =
    resource.conversion?.remote === undefined
      ? undefined
      : prepareObjects(resource, [object], ctx.state);
  return preparing === undefined ? send(ctx, read) : preparing.then(() => send(ctx, read));
}

interface Asked {
  readonly resource: StoredResource;
  readonly representation: Representation;
  readonly services: GetServices;
}

interface Read extends Asked {
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
  const long = stepwise(representation, object);
  if (long !== undefined) {
    const steps = (out: ChunkWriter) => long.putObject(out, object);
    return sendLong(ctx, representation.contentType, steps, read.services);
  }
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
