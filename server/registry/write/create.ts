/** Create: stores a new object, under its name or a generated one. */

import type { ApiObject } from "../../api/meta.js";
import { badRequest, conflict, internalError } from "../../api/status.js";
import { withConversions } from "../../kinds/conversion.js";
import type { StoredResource } from "../../kinds/served-resource.js";
import { type SignalSource, signalOf } from "../../request/lazy-signal.js";
import {
  decodeInSteps,
  type InputOptions,
  type ObjectInput,
  refuseOtherNames,
} from "../generic/decode-input.js";
import { createIdentity, fillNamespace, generateName, type Identity } from "../generic/metadata.js";
import type { ObjectResult, Registry, WriteOptions } from "../registry.js";
import { servedBytes, servedCurrent, servedUnstored } from "./current.js";
import { type CreateTarget, decideCreate } from "./decide-create.js";
import { afterCostlySteps, pauseOf } from "./long-write.js";
import { type Outcome, runWrite } from "./write.js";

export interface CreateRequest extends CreateTarget {
  readonly input: ObjectInput;
}

/** Generated names tried for one object before the client is told to retry (S1-META-03). */
const GENERATED_NAMES_MAX = 8;

/** Stores a new object. @throws {StatusError} */
export async function createObject(
  registry: Registry,
  request: CreateRequest,
  signal: SignalSource,
): Promise<ObjectResult> {
  const { resource, namespace, options, input } = request;
  const decode = await decodeOnce(resource, input, options);
  const { name = "", generateName: prefix = "" } = decode.first.metadata;
  const isGenerated = name === "" && prefix !== "";
  let current = isGenerated ? generateName(prefix) : name;
  let identity: Identity | undefined;
  let namesLeft = isGenerated ? GENERATED_NAMES_MAX : 1;
  const outcome = await runWrite(
    registry,
    {
      resource,
      namespace,
      isDryRun: options.isDryRun,
      name: () => current,
      decide(seen, deadline) {
        if (seen.current !== undefined && --namesLeft > 0) {
          current = generateName(prefix);
          return "again";
        }
        const decide = (served: ApiObject) => {
          identity ??= createIdentity(registry.clock.now());
          fillNamespace(served.metadata, resource.isNamespaced, namespace);
          refuseOtherNames(resource, input);
          const made = { served, proposedName: current, identity };
          return decideCreate(registry, request, made, seen, deadline);
        };
        const served = decode.next();
        return served instanceof Promise ? served.then(decide) : decide(served);
      },
      lost: () => internalError(`${namespace} changes too often to create objects in it`),
    },
    signal,
  );
  // What is stored has its bytes; of a dry run they are made for the answer.
  if (!outcome.isStored) await pauseOf(options.request)?.();
  if (resource.conversion?.remote === undefined) return answerCreated(resource, outcome);
  return await withConversions(
    () => answerCreated(resource, outcome),
    () => signalOf(signal),
  );
}

export interface DecodedInput {
  /** The client's object. */
  readonly first: ApiObject;
  /** The object for an attempt, which may change it; decoded anew from the second attempt on, in turns. */
  next(): ApiObject | Promise<ApiObject>;
}

/**
 * Decodes at once, so that an invalid body is refused before any look-up, and warnings are reported
 * once. @throws {StatusError} 400
 */
export function decodeOnce(
  resource: StoredResource,
  input: ObjectInput,
  options: InputOptions & Pick<WriteOptions, "decoded" | "request">,
): DecodedInput | Promise<DecodedInput> {
  const pause = pauseOf(options.request);
  const steps = decodeInSteps(resource, input, options, pause !== undefined);
  return afterCostlySteps({ pause, request: options.request }, steps, (first) => {
    options.decoded?.(input.value, first);
    let unused: ApiObject | undefined = first;
    return {
      first,
      next() {
        const next = unused;
        unused = undefined;
        if (next !== undefined) return next;
        const silent: InputOptions = { fieldValidation: "Ignore", warn() {} };
        const again = decodeInSteps(resource, input, silent, pause !== undefined);
        return afterCostlySteps({ pause, request: options.request }, again, (decoded) => decoded);
      },
    };
  });
}

/**
 * An object that a PUT or an apply creates has the name of the URL, and no uid: a uid refers to an
 * object that the client has seen (S1-META-07). @throws {StatusError} 400, 409
 */
export function refuseOtherObject(
  resource: StoredResource,
  { metadata }: ApiObject,
  urlName: string,
): void {
  metadata.name ||= urlName;
  const { name, uid = "" } = metadata;
  if (name !== urlName) {
    throw badRequest(
      `the name of the object (${name}) does not match the name on the URL (${urlName})`,
    );
  }
  if (uid !== "") {
    const why = `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`;
    throw conflict(resource, name, why);
  }
}

/** The answer to a create, by whichever verb. */
export function answerCreated(
  resource: StoredResource,
  { decision: { object, value }, revision, isStored, stored }: Outcome,
): ObjectResult {
  if (stored !== undefined) {
    return { status: 201, bytes: servedCurrent(resource, stored), stored: object, revision };
  }
  const bytes =
    isStored && value !== undefined
      ? servedBytes(resource, value, object.metadata.uid ?? "", revision)
      : servedUnstored(resource, object, undefined, value);
  return { status: 201, bytes, stored: object, revision };
}
