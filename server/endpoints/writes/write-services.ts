/** Shared by the write verbs: the services from the wiring, and their answers. */
import type { Revision } from "../../../storage/kv/store.js";
import { decodeStoredObject } from "../../../storage/objects/decode-object.js";
import { objectPath } from "../../../storage/objects/keys.js";
import { withoutRevision } from "../../../storage/objects/resource-version.js";
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import type { GroupVersionKind } from "../../api/names.js";
import { JSON_TYPE } from "../../codec/media-types.js";
import {
  isCustom,
  isOwnShape,
  isStored,
  kindVersionOf,
  type ServedResource,
  type StoredResource,
} from "../../kinds/served-resource.js";
import type { ObjectResult, Registry } from "../../registry/registry.js";
import type { Actions } from "../../registry/write/action.js";
import { afterSteps } from "../../registry/write/long-write.js";
import type { SignalSource } from "../../request/lazy-signal.js";
import type { RequestContext } from "../../request/request-state.js";
import { sendBytes } from "../../response/send-bytes.js";
import { ChunkWriter } from "../chunk-writer.js";
import { putInTurns, stepwise } from "../long-pieces.js";
import type { ListOutputServices } from "../reads/listing.js";
import type { Representation } from "../representation.js";
import type { RepresentationSource } from "../representations/representation-source.js";
import { answerExplanation } from "./explanation.js";
import type { ObjectDecoders } from "./request-body.js";

export interface WriteServices extends ListOutputServices {
  readonly registry: Registry;
  readonly actions: Actions;
  readonly decoders: ObjectDecoders;
  readonly representations: RepresentationSource;
  /** Checks that the user may create the object that a PUT does not find (S1-GEN-18). @throws {StatusError} 403 */
  readonly authorizeCreate?: (ctx: RequestContext, resource: StoredResource) => Promise<void>;
  /**
   * Checks that the user may delete unreadable objects, besides the delete permission (S1-UNS-03);
   * absent = the gate is off. @throws {StatusError} 403
   */
  readonly authorizeUnsafeDelete?: (ctx: RequestContext, resource: StoredResource) => Promise<void>;
}

/** The namespace of an object of the resource; "" for cluster scope, including Namespaces. */
export function namespaceOf(ctx: RequestContext, resource: ServedResource): string {
  return resource.isNamespaced ? ctx.state.info.namespace : "";
}

/**
 * The time limit of a write. A request with a short deadline passes its signal everywhere; for all others a
 * signal is created only where a wait takes long.
 */
export function waitOf({ state }: RequestContext): SignalSource {
  return state.deadlineMs - state.receivedAtMs < HURRY_MS ? state.signal : state;
}

/** Shorter than the store's own deadlines. */
const HURRY_MS = 10_000;

/** Version and kind that the body of a write to the resource must have. */
export function bodyKindOf(resource: ServedResource): GroupVersionKind {
  const { group, version } = kindVersionOf(resource);
  return { group, version, kind: resource.kind };
}

/** The decoders of a body: custom kinds have no Protobuf form (C-20), and take any form of a number. */
export function decodersOf({ decoders }: WriteServices, resource: ServedResource): ObjectDecoders {
  const hasForm = !isCustom(resource) || (isStored(resource) && isOwnShape(resource));
  return hasForm ? decoders : { ...decoders, hasProtobuf: false, keepsDecimals: false };
}

/**
 * The store answers many writes at once, and answering them is work: the fair queue decides the order. undefined
 * if there is nothing to wait for.
 */
export function turnToAnswer({ state }: RequestContext): Promise<void> | undefined {
  return state.turns?.toAnswer(state);
}

/** Sends a complete body. */
function answerBytes(ctx: RequestContext, status: number, bytes: Buffer): void {
  sendBytes(ctx, status, JSON_HEADERS, bytes);
}

const JSON_HEADERS = ["Content-Type", JSON_TYPE];

/** Sends the compact JSON of any object, for example a Status, in the requested encoding. */
export function answerDocument(
  ctx: RequestContext,
  representation: Representation,
  { status, bytes }: { readonly status: number; readonly bytes: Buffer },
): void | Promise<void> {
  ctx.state.audit?.takeDocument(bytes);
  if (ctx.state.findings !== undefined) {
    answerExplanation(ctx, bytes);
    return undefined;
  }
  const headers = ["Content-Type", representation.documentType];
  const long = stepwise(representation, bytes);
  if (long === undefined) {
    sendBytes(ctx, status, headers, representation.encodeDocument(bytes));
    return undefined;
  }
  const nextTurn = () => ctx.state.nextTurn();
  return afterSteps(nextTurn, long.encodeDocument(bytes), (body) =>
    sendBytes(ctx, status, headers, body),
  );
}

/** Sends an object in the requested form, when it is the request's turn. */
export async function answerObject(
  ctx: RequestContext,
  resource: StoredResource,
  representation: Representation,
  result: ObjectResult,
): Promise<void> {
  const turn = turnToAnswer(ctx);
  if (turn !== undefined) await turn;
  ctx.state.turnWatch?.begin(ctx.state);
  ctx.state.audit?.takeResponse(() => result.bytes);
  if (ctx.state.findings !== undefined) {
    answerExplanation(ctx, result.bytes);
    return;
  }
  if (representation.isPlainJson) {
    answerBytes(ctx, result.status, result.bytes);
    return;
  }
  const { name = "", namespace = "" } = result.stored.metadata;
  const key = { path: objectPath(namespace, name), namespace, name };
  const value = Buffer.from(resource.storedCodec.encode(result.stored));
  const { selectableFields } = resource.strategy;
  const object = decodeStoredObject(key, value, result.revision as Revision, {
    extractFields: selectableFields,
  });
  const out = new ChunkWriter();
  // A dry-run create has no version.
  const shown = result.revision === 0 ? withoutRevision(object) : object;
  await putObject(ctx, representation, out, shown);
  sendBytes(ctx, result.status, ["Content-Type", representation.contentType], out.take());
}

/** Writes an object, in turns if that takes long. */
export async function putObject(
  { state }: RequestContext,
  representation: Representation,
  out: ChunkWriter,
  object: StoredObject,
): Promise<void> {
  const steps = stepwise(representation, object)?.putObject(out, object);
  if (steps === undefined) representation.putObject(out, object);
  else {
    const never = () => false;
    await putInTurns(steps, never, () => state.nextTurn().then(() => true));
  }
}
