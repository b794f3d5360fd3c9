/** create: POST to a collection (S1-CRUD-01), and to virtual resources (S1-CRUD-07). */
import { admitUnstored, runAction } from "../../registry/generic/admit.js";
import { createObject } from "../../registry/generic/create.js";
import { decodeInput } from "../../registry/generic/decode-input.js";
import { fillNamespace } from "../../registry/generic/metadata.js";
import type { ServedResource } from "../../registry/generic/served-resource.js";
import type { RequestContext } from "../../request/request-state.js";
import { readObject } from "./request-body.js";
import { parseWriteOptions } from "./write-options.js";
import {
  answerDocument,
  answerObject,
  bodyKindOf,
  namespaceOf,
  type WriteServices,
} from "./write-services.js";

/** @throws {StatusError} */
export async function handleCreate(
  ctx: RequestContext,
  resource: ServedResource,
  services: WriteServices,
): Promise<void> {
  const { registry, representations } = services;
  const options = parseWriteOptions(ctx, registry.naming, "CreateOptions");
  // Before anything is stored: a form that cannot be made is refused, not discovered afterwards.
  const representation = representations.of(ctx, resource, false);
  const input = await readObject(
    ctx,
    bodyKindOf(resource),
    options.fieldValidation,
    services.decoders,
  );
  const namespace = namespaceOf(ctx, resource);
  const { info, signal, user } = ctx.state;
  if (resource.action !== undefined) {
    const object = decodeInput(resource, input, options);
    fillNamespace(object.metadata, resource.isNamespaced, namespace);
    // On a collection the object names itself.
    const name = info.name === "" ? (object.metadata.name ?? "") : info.name;
    const request = { object, namespace, name, options, subresource: info.subresource };
    answerDocument(ctx, representation, await runAction(registry, resource, request, signal));
    return;
  }
  if (resource.virtual === undefined) {
    const request = { resource, namespace, input, options };
    answerObject(ctx, resource, services, await createObject(registry, request, signal));
    return;
  }
  const sent = decodeInput(resource, input, options);
  fillNamespace(sent.metadata, resource.isNamespaced, namespace);
  const target = { resource, subresource: "", namespace, name: sent.metadata.name ?? "", options };
  const object = await admitUnstored(registry.admission, target, sent, signal);
  const answer = await resource.virtual.create({ object, namespace, user }, signal);
  const bytes = Buffer.from(`${resource.codec.encode(answer)}\n`);
  answerDocument(ctx, representation, { status: 201, bytes });
}
