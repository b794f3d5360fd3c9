/**
 * get and list of computed resources. Their objects are made per request and have no version; a list has
 * no pages and cannot be watched.
 */
import { toRevision } from "../../../storage/kv/store.js";
import { decodeStoredObject } from "../../../storage/objects/decode-object.js";
import { withoutRevision } from "../../../storage/objects/resource-version.js";
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import type { ApiObject } from "../../api/meta.js";
import { compileSelector } from "../../api/selectors.js";
import { notFound } from "../../api/status.js";
import type { ComputedResource, ComputedSource } from "../../kinds/served-resource.js";
import type { RequestContext } from "../../request/request-state.js";
import { sendBytes } from "../../response/send-bytes.js";
import { ChunkWriter } from "../chunk-writer.js";
import type { Representation } from "../representation.js";
import type { RepresentationSource } from "../representations/representation-source.js";

/** Keyed by the catalog's name of the resource. */
export type ComputedSources = Readonly<Record<string, ComputedSource>>;

export interface ComputedServices {
  readonly sources: ComputedSources;
  readonly representations: RepresentationSource;
}

/** @throws {StatusError} 400, 404, 406 */
export async function handleComputed(
  ctx: RequestContext,
  resource: ComputedResource,
  { sources, representations }: ComputedServices,
): Promise<void> {
  const { info } = ctx.state;
  const isList = info.verb === "list";
  const representation = representations.of(ctx, resource, isList);
  const selector = compileSelector({
    namespace: "",
    labelSelector: isList ? info.query.get("labelSelector") : "",
    fieldSelector: isList ? info.query.get("fieldSelector") : "",
  });
  const made = (await sources[resource.source]?.()) ?? [];
  const objects = made.map((object) => encode(resource, object));
  const out = new ChunkWriter();
  if (isList) {
    putList(
      out,
      representation,
      objects.filter((object) => selector.matches(object)),
    );
  } else {
    const object = objects.find(({ name }) => name === info.name);
    if (object === undefined) throw notFound(resource, info.name);
    representation.putObject(out, object);
  }
  sendBytes(ctx, 200, ["Content-Type", representation.contentType], out.take());
}

function encode({ codec }: ComputedResource, object: ApiObject): StoredObject {
  const { name = "" } = object.metadata;
  const value = Buffer.from(codec.encode(object));
  return withoutRevision(
    decodeStoredObject({ path: name, namespace: "", name }, value, toRevision(0), undefined),
  );
}

function putList(
  out: ChunkWriter,
  representation: Representation,
  objects: readonly StoredObject[],
): void {
  let itemsBytes = 0;
  for (const object of objects) itemsBytes += representation.itemBytes?.(object) ?? 0;
  representation.putListHead(out, { resourceVersion: "" }, itemsBytes);
  for (const [index, object] of objects.entries()) {
    representation.putItem(out, object, index === 0);
  }
  representation.putListFoot(out, objects.length === 0);
}
