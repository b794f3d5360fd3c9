/** create: POST to a collection (S1-CRUD-01), and to virtual resources (S1-CRUD-07). */
import { oneStep } from "../../../storage/base/steps.js";
import type { ApiObject } from "../../api/meta.js";
import { internalError } from "../../api/status.js";
import type {
  ActionResource,
  CreatableResource,
  VirtualResource,
} from "../../kinds/served-resource.js";
import { decodeInput, type ObjectInput } from "../../registry/generic/decode-input.js";
import { fillNamespace } from "../../registry/generic/metadata.js";
import type { Registry, WriteResult } from "../../registry/registry.js";
import { runAction } from "../../registry/write/action.js";
import { admitUnstored } from "../../registry/write/admit.js";
import { type CreateRequest, createObject } from "../../registry/write/create.js";
import { afterCostlySteps } from "../../registry/write/long-write.js";
import type { RequestContext } from "../../request/request-state.js";
import { readObject } from "./request-body.js";
import { parseWriteOptions } from "./write-options.js";
import {
  answerDocument,
  answerObject,
  bodyKindOf,
  decodersOf,
  namespaceOf,
  type WriteServices,
  waitOf,
} from "./write-services.js";

/** The length of a DNS subdomain, the longest kind of name. */
const NAME_CHARS_MAX = 253;

/** @throws {StatusError} */
export async function handleCreate(
  ctx: RequestContext,
  resource: CreatableResource,
  services: WriteServices,
): Promise<void> {
  const { registry, representations } = services;
  const options = parseWriteOptions(ctx, registry.naming, "CreateOptions");
  // Checked before anything is stored, so that an unavailable form is refused up front.
  const representation = representations.of(ctx, resource, false);
  const kind = bodyKindOf(resource);
  const decoders = decodersOf(services, resource);
  const input = await readObject(ctx, kind, options.fieldValidation, decoders);
  const namespace = namespaceOf(ctx, resource);
  ctx.state.createdName = nameSent(input);
  const sent = { namespace, input, options };
  switch (resource.form) {
    case "action":
      await answerDocument(ctx, representation, await act(ctx, services, { resource, ...sent }));
      break;
    case "virtual":
      await answerDocument(
        ctx,
        representation,
        await compute(ctx, registry, { resource, ...sent }),
      );
      break;
    default: {
      const result = await createObject(registry, { resource, ...sent }, waitOf(ctx));
      ctx.state.createdName = result.stored.metadata.name ?? "";
      await answerObject(ctx, resource, representation, result);
    }
  }
}

/** The request for storing an object, with another type of resource. */
interface Sent<Resource> extends Omit<CreateRequest, "resource"> {
  readonly resource: Resource;
}

/** "" if there is no name, or one too long to be valid. */
function nameSent({ value }: ObjectInput): string {
  // The value is unchecked JSON at this point.
  const name = (value as { metadata?: { name?: unknown } | null } | null)?.metadata?.name;
  return typeof name === "string" && name.length <= NAME_CHARS_MAX ? name : "";
}

/** A create that acts on the object that the URL, or the body, names (S1-GEN-08). */
async function act(
  { state: { info, signal } }: RequestContext,
  { registry, actions }: WriteServices,
  request: Sent<ActionResource>,
): Promise<WriteResult> {
  const { resource, namespace, options } = request;
  const action = actions[resource.action];
  if (action === undefined) throw internalError(`nobody runs ${resource.action}`);
  const object = decodeSent(request);
  // On a collection the body has the name.
  const name = info.name === "" ? (object.metadata.name ?? "") : info.name;
  const asked = { resource, object, namespace, name, options, subresource: info.subresource };
  return await runAction(registry, action, asked, signal);
}

/** A create whose answer is computed and not stored: the reviews (S1-CRUD-07). */
async function compute(
  { state }: RequestContext,
  registry: Registry,
  request: Sent<VirtualResource>,
): Promise<WriteResult> {
  const { signal, user } = state;
  const { resource, namespace, options } = request;
  const sent = decodeSent(request);
  const name = sent.metadata.name ?? "";
  const target = { resource, subresource: "", namespace, name, options };
  const object = await admitUnstored(registry.admission, target, sent, signal);
  const { codec, operation } = resource;
  const answer = await operation.create({ object, namespace, user }, signal);
  // However small what was sent is: a user may be bound to thousands of rules.
  const steps = codec.encodeInSteps?.(answer) ?? oneStep(codec.encode(answer));
  return await afterCostlySteps({ pause: undefined, request: state }, steps, (json) => ({
    status: 201,
    bytes: Buffer.from(`${json}\n`),
  }));
}

function decodeSent({ resource, namespace, input, options }: Sent<CreatableResource>): ApiObject {
  const object = decodeInput(resource, input, options);
  fillNamespace(object.metadata, resource.isNamespaced, namespace);
  return object;
}
