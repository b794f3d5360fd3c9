/** What the write verbs share: the pieces that wiring hands them, and how they answer. */

import type { Revision } from "../../../storage/kv/store.js";
import { objectPath } from "../../../storage/objects/keys.js";
import { decodeStoredObject, withoutRevision } from "../../../storage/objects/stored-object.js";
import type { GroupVersionKind } from "../../api/names.js";
import {
  isCustom,
  isOwnShape,
  isStored,
  kindVersionOf,
  type ServedResource,
  type StoredResource,
} from "../../kinds/served-resource.js";
import type { ObjectResult, Registry } from "../../registry/generic/registry.js";
import type { Actions } from "../../registry/write/action.js";
import type { RequestContext } from "../../request/request-state.js";
import { ChunkWriter } from "../chunk-writer.js";
import type { Representation } from "../representation.js";
import type { RepresentationSource } from "../representations/representation-source.js";
import type { ObjectDecoders } from "./request-body.js";

export interface WriteServices {
  readonly registry: Registry;
  readonly actions: Actions;
  readonly decoders: ObjectDecoders;
  readonly representations: RepresentationSource;
  /** Whether the asker may create what a PUT does not find (S1-GEN-18). @throws {StatusError} 403 */
  readonly authorizeCreate?: (ctx: RequestContext, resource: StoredResource) => Promise<void>;
  /**
   * Whether the asker may delete what cannot be read, besides the permission to delete (S1-UNS-03);
   * absent = the gate is off. @throws {StatusError} 403
   */
  readonly authorizeUnsafeDelete?: (ctx: RequestContext, resource: StoredResource) => Promise<void>;
}

const JSON_TYPE = "application/json";

/** The namespace that an object of the resource has; "" for cluster scope, also of Namespaces. */
export function namespaceOf(ctx: RequestContext, resource: ServedResource): string {
  return resource.isNamespaced ? ctx.state.info.namespace : "";
}

/** Version and kind that the body of a write to the resource must have. */
export function bodyKindOf(resource: ServedResource): GroupVersionKind {
  return { ...kindVersionOf(resource), kind: resource.kind };
}

/** How the body may be written: custom kinds have no Protobuf form (C-20). */
export function decodersOf({ decoders }: WriteServices, resource: ServedResource): ObjectDecoders {
  const hasForm = !isCustom(resource) || (isStored(resource) && isOwnShape(resource));
  return hasForm ? decoders : { ...decoders, hasProtobuf: false };
}

/** Answers with a body that is ready. */
function answerBytes(ctx: RequestContext, status: number, bytes: Buffer): void {
  ctx.status = status;
  ctx.set("Content-Type", JSON_TYPE);
  ctx.body = bytes;
}

/** Answers with the compact JSON of any object, such as a Status, in the encoding asked for. */
export function answerDocument(
  ctx: RequestContext,
  representation: Representation,
  { status, bytes }: { readonly status: number; readonly bytes: Buffer },
): void {
  ctx.state.audit?.takeResponse(() => bytes);
  ctx.status = status;
  ctx.set("Content-Type", representation.documentType);
  ctx.body = representation.encodeDocument(bytes);
}

/** Answers with an object in the form that the client asked for. @throws {StatusError} 406 */
export function answerObject(
  ctx: RequestContext,
  resource: StoredResource,
  { representations }: WriteServices,
  result: ObjectResult,
): void {
  ctx.state.audit?.takeResponse(() => result.bytes);
  const representation = representations.of(ctx, resource, false);
  if (representation.isPlainJson) {
    answerBytes(ctx, result.status, result.bytes);
    return;
  }
  const { name = "", namespace = "" } = result.stored.metadata;
  const key = { path: objectPath(namespace, name), namespace, name };
  const value = Buffer.from(resource.storedCodec.encode(result.stored));
  const { selectableFields } = resource.strategy;
  const object = decodeStoredObject(key, value, result.revision as Revision, selectableFields);
  const out = new ChunkWriter();
  // A create that was rehearsed has no version.
  representation.putObject(out, result.revision === 0 ? withoutRevision(object) : object);
  ctx.status = result.status;
  ctx.set("Content-Type", representation.contentType);
  ctx.body = out.take();
}
