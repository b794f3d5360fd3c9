/** update: PUT of an object or a subresource. */

import type { StoredResource } from "../../kinds/served-resource.js";
import { updateObject } from "../../registry/write/update.js";
import type { RequestContext } from "../../request/request-state.js";
import { readObject, revisionSent } from "./request-body.js";
import { parseWriteOptions } from "./write-options.js";
import {
  answerObject,
  bodyKindOf,
  decodersOf,
  namespaceOf,
  type WriteServices,
  waitOf,
} from "./write-services.js";

/** @throws {StatusError} */
export async function handleUpdate(
  ctx: RequestContext,
  resource: StoredResource,
  services: WriteServices,
): Promise<void> {
  const { registry, representations } = services;
  const { info } = ctx.state;
  const options = parseWriteOptions(ctx, registry.naming, "UpdateOptions");
  const representation = representations.of(ctx, resource, false);
  const input = await readObject(
    ctx,
    bodyKindOf(resource),
    options.fieldValidation,
    decodersOf(services, resource),
  );
  ctx.state.notes?.nameBase(revisionSent(input.value));
  const target = {
    resource,
    namespace: namespaceOf(ctx, resource),
    name: info.name,
    subresource: info.subresource,
    options,
    input,
    authorizeCreate: async () => services.authorizeCreate?.(ctx, resource),
  };
  const result = await updateObject(registry, target, waitOf(ctx));
  await answerObject(ctx, resource, representation, result);
}
