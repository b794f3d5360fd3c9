/**
 * token: answers a TokenRequest for a ServiceAccount with a token and stores nothing (S2-SA-07). A token
 * may be bound to a pod of the account, a Secret or a node; it expires with that object.
 */

import { objectPath } from "../../../storage/objects/keys.js";
import { invalidValue } from "../../api/field-errors.js";
import type { ApiObject } from "../../api/meta.js";
import { badRequest, conflict, type FieldError, invalid, notFound } from "../../api/status.js";
import { formatTime } from "../../api/time.js";
import type { Binding, ObjectClaim } from "../../authn/service-account/token-claims.js";
import type { TokenIssuer } from "../../authn/service-account/token-issuer.js";
import type { ActionResource } from "../../kinds/served-resource.js";
import { createIdentity } from "../generic/metadata.js";
import type { Registry, WriteResult } from "../registry.js";
import type { ActionRequest, ResourceAction } from "../write/action.js";
import { refresh } from "../write/commit.js";
import { parseCurrent } from "../write/current.js";

interface BoundObjectReference {
  readonly kind?: string;
  readonly apiVersion?: string;
  readonly name?: string;
  readonly uid?: string;
}

interface TokenRequestObject extends ApiObject {
  spec?: {
    audiences?: readonly string[] | null;
    /** Defaulted by the facts. */
    expirationSeconds?: number | bigint;
    boundObjectRef?: BoundObjectReference | null;
  };
}

interface PodObject extends ApiObject {
  spec?: { serviceAccountName?: string; nodeName?: string };
}

const LIFETIME_MIN_SECONDS = 600;
const LIFETIME_MAX_SECONDS = 2 ** 32;

/** The kinds that a token may be bound to. */
const BINDABLE: Readonly<
  Record<string, { readonly resource: string; readonly key: keyof Binding }>
> = {
  Pod: { resource: "pods", key: "pod" },
  Secret: { resource: "secrets", key: "secret" },
  Node: { resource: "nodes", key: "node" },
};

/** The action "/serviceaccounts/token". */
export function serviceAccountToken(issuer: TokenIssuer): ResourceAction {
  return {
    async run(registry, request) {
      const object = request.object as TokenRequestObject;
      refuseOtherAccount(registry, request);
      await refresh(registry);
      const scope = { registry, namespace: request.namespace };
      const account = claimOf(requireObject(scope, "serviceaccounts", request.name));
      const audiences = orDefault(object.spec?.audiences, issuer.settings.audiences);
      const errors = checkLifetime(object.spec?.expirationSeconds);
      if (errors.length > 0) throw invalid(kindOf(registry), "", errors);
      const reference = object.spec?.boundObjectRef ?? undefined;
      const binding = reference === undefined ? {} : bindingOf(scope, request.name, reference);
      const lifetimeSeconds = shortened(issuer, Number(object.spec?.expirationSeconds), request);
      const issued = await issuer.issueBound({
        account: { ...account, namespace: request.namespace },
        binding,
        audiences,
        lifetimeSeconds,
      });
      const { labelDomain } = registry.naming;
      const key = `authentication.${labelDomain}/issued-credential-id`;
      request.options.remarks?.annotate?.(key, issued.credentialId);
      return answer(request.resource, {
        ...object,
        metadata: {
          ...object.metadata,
          name: request.name,
          namespace: request.namespace,
          ...createIdentity(registry.clock.now()),
        },
        spec: { ...object.spec, audiences, expirationSeconds: lifetimeSeconds },
        status: { token: issued.token, expirationTimestamp: formatTime(issued.expiresAtMs) },
      });
    },
  };
}

function answer({ codec }: ActionResource, object: ApiObject): WriteResult {
  return { status: 201, bytes: Buffer.from(`${codec.encode(object)}\n`) };
}

function kindOf({ naming }: Registry) {
  return { group: `authentication.${naming.groupDomain}`, kind: "TokenRequest" };
}

/** The body may omit the account; otherwise it must match the URL. */
function refuseOtherAccount(registry: Registry, { object, namespace, name }: ActionRequest): void {
  const { metadata } = object;
  const check = (field: "name" | "namespace", sent: string | undefined, own: string) => {
    if (sent === undefined || sent === "" || sent === own) return;
    const why = `must match the service account ${field} if specified`;
    throw invalid(kindOf(registry), name, [invalidValue(`metadata.${field}`, sent, why)]);
  };
  check("name", metadata.name, name);
  check("namespace", metadata.namespace, namespace);
}

function checkLifetime(seconds: number | bigint | undefined): FieldError[] {
  const field = "spec.expirationSeconds";
  if (seconds === undefined || seconds < LIFETIME_MIN_SECONDS) {
    return [invalidValue(field, seconds, "may not specify a duration less than 10 minutes")];
  }
  if (seconds > LIFETIME_MAX_SECONDS) {
    return [invalidValue(field, seconds, "may not specify a duration larger than 2^32 seconds")];
  }
  return [];
}

function orDefault(sent: readonly string[] | null | undefined, standard: readonly string[]) {
  return sent === undefined || sent === null || sent.length === 0 ? [...standard] : [...sent];
}

/** The granted lifetime: the requested one, or the longest that the operator allows. */
function shortened(issuer: TokenIssuer, asked: number, { options }: ActionRequest): number {
  const max = issuer.settings.expirationMaxSeconds;
  if (max === 0 || asked <= max) return asked;
  options.warn(`requested expiration of ${asked} seconds shortened to ${max} seconds`);
  return max;
}

/** @throws {StatusError} 400, 404, 409 */
function bindingOf(
  scope: ObjectSource,
  accountName: string,
  { kind = "", apiVersion = "", name = "", uid = "" }: BoundObjectReference,
): Binding {
  const [version = "", group = ""] = apiVersion.split("/").reverse();
  // Any version of the core group is taken, as kube-apiserver does.
  const bindable = group === "" ? BINDABLE[kind] : undefined;
  if (bindable === undefined) {
    throw badRequest(`cannot bind token to object of type ${group}/${version}, Kind=${kind}`);
  }
  if (name === "") throw badRequest("Name parameter required.");
  const object = requireObject(scope, bindable.resource, name);
  if (kind === "Pod" && (object as PodObject).spec?.serviceAccountName !== accountName) {
    throw badRequest(
      `cannot bind token for serviceaccount ${JSON.stringify(accountName)} to pod running with different serviceaccount name.`,
    );
  }
  const claim = claimOf(object);
  if (uid !== "" && uid !== claim.uid) {
    throw conflict(
      { group: "", resource: kind },
      name,
      `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`,
    );
  }
  const nodeName = kind === "Pod" ? ((object as PodObject).spec?.nodeName ?? "") : "";
  return {
    [bindable.key]: claim,
    ...(nodeName === "" ? {} : { node: nodeClaim(scope, nodeName) }),
  };
}

function claimOf({ metadata: { name = "", uid = "" } }: ApiObject): ObjectClaim {
  return { name, uid };
}

/** Where objects are looked up: one namespace and cluster-scoped resources. */
interface ObjectSource {
  readonly registry: Registry;
  readonly namespace: string;
}

/** @throws {StatusError} 404 */
function requireObject(scope: ObjectSource, resource: string, name: string): ApiObject {
  const object = lookUp(scope, resource, name);
  if (object === undefined) throw notFound({ group: "", resource }, name);
  return object;
}

function lookUp({ registry, namespace }: ObjectSource, resource: string, name: string) {
  const served = registry.catalog.current.findMain("", "v1", resource);
  if (served === undefined) return undefined;
  const path = objectPath(served.isNamespaced ? namespace : "", name);
  const stored = registry.view.partition(served.partition).get(path);
  return stored === undefined ? undefined : parseCurrent(stored);
}

/** The pod's node; a missing node is named without its uid. */
function nodeClaim(scope: ObjectSource, name: string): ObjectClaim {
  const object = lookUp(scope, "nodes", name);
  return object === undefined ? { name, uid: "" } : claimOf(object);
}
