/**
 * The reviews of authorization: virtual resources that ask the authorizer for its decision about a
 * request, for the caller (Self...), for any user (SubjectAccessReview), or for any user in one
 * namespace (Local...). The answer is that of the real request: it is the same authorizer (S2-SAR).
 */

import { invalidValue } from "../../api/field-errors.js";
import type { ApiObject } from "../../api/meta.js";
import { Problems } from "../../api/problems.js";
import { badRequest, type FieldError, invalid } from "../../api/status.js";
import type {
  AuthorizationAttributes,
  AuthorizationResult,
  AuthorizedRequest,
  Authorizer,
} from "../../authz/authorizer.js";
import type { RulesSource } from "../../authz/subject-rules.js";
import type { VirtualOperation, VirtualRequest } from "../../kinds/served-resource.js";
import { createUser, type UserInfo } from "../../request/user-info.js";
import { type ReviewSelectors, readSelectors, validateSelectors } from "./selector-attributes.js";

interface ResourceAttributes extends ReviewSelectors {
  namespace?: string;
  verb?: string;
  group?: string;
  version?: string;
  resource?: string;
  subresource?: string;
  name?: string;
}

interface ReviewSpec {
  resourceAttributes?: ResourceAttributes;
  nonResourceAttributes?: { path?: string; verb?: string };
  user?: string;
  groups?: string[];
  uid?: string;
  extra?: Record<string, string[] | null>;
}

export interface AuthorizationReviewOptions {
  readonly authorizer: Authorizer;
  /** Default: the authorizer's decision about a request for everything. */
  readonly rules?: RulesSource;
}

const GROUP = "authorization";

/** The group's virtual resources by "group/resource", with groups without their domain. */
export function createAuthorizationReviews(
  options: AuthorizationReviewOptions,
): Readonly<Record<string, VirtualOperation>> {
  const { authorizer } = options;
  const rules = options.rules ?? askForEverything(authorizer);
  return {
    [`${GROUP}/selfsubjectaccessreviews`]: {
      create({ object, user }, signal) {
        refuseAny(object, [...checkSelf(object), ...checkMetadata(object, [])]);
        return review(authorizer, object, user, signal);
      },
    },
    [`${GROUP}/subjectaccessreviews`]: {
      create({ object }, signal) {
        refuseAny(object, [...checkSubject(object), ...checkMetadata(object, [])]);
        return review(authorizer, object, subjectOf(object), signal);
      },
    },
    [`${GROUP}/localsubjectaccessreviews`]: {
      create({ object, namespace }, signal) {
        refuseAny(object, [
          ...checkSubject(object),
          ...checkMetadata(object, ["namespace"]),
          ...checkLocal(object, namespace),
        ]);
        return review(authorizer, object, subjectOf(object), signal);
      },
    },
    [`${GROUP}/selfsubjectrulesreviews`]: {
      create: (request, signal) => reviewRules(rules, request, signal),
    },
  };
}

function specOf(object: ApiObject): ReviewSpec {
  return (object.spec ?? {}) as ReviewSpec;
}

function subjectOf(object: ApiObject): UserInfo {
  const { user = "", groups = [], uid = "", extra = {} } = specOf(object);
  const facts = Object.entries(extra).map(([key, values]) => [key, values ?? []] as const);
  return createUser({ name: user, uid, groups, extra: Object.fromEntries(facts) });
}

/** Exactly one request is asked about (S2-SAR-06). */
function checkAttributes(object: ApiObject): FieldError[] {
  const { resourceAttributes: resource, nonResourceAttributes: path } = specOf(object);
  const errors = new Problems();
  if (resource !== undefined && path !== undefined) {
    const why = "cannot be specified in combination with resourceAttributes";
    errors.push(invalidValue("spec.nonResourceAttributes", path, why));
  }
  if (resource === undefined && path === undefined) {
    const why = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
    errors.push(invalidValue("spec.resourceAttributes", null, why));
  }
  return errors;
}

function checkSelf(object: ApiObject): FieldError[] {
  return [...checkAttributes(object), ...checkSelectors(object)];
}

function checkSubject(object: ApiObject): FieldError[] {
  const { user = "", groups = [] } = specOf(object);
  const errors = checkAttributes(object);
  if (user === "" && groups.length === 0) {
    const why = "at least one of user or group must be specified";
    errors.push(invalidValue("spec.user", user, why));
  }
  return [...errors, ...checkSelectors(object)];
}

function checkSelectors(object: ApiObject): FieldError[] {
  const { resourceAttributes } = specOf(object);
  if (resourceAttributes === undefined) return [];
  return validateSelectors(resourceAttributes, "spec.resourceAttributes");
}

/** A review has neither a namespace nor a name. */
function checkMetadata({ metadata }: ApiObject, allowed: readonly string[]): FieldError[] {
  const own = Object.entries(metadata).filter(
    ([name, value]) => name !== "managedFields" && !allowed.includes(name) && !isEmpty(value),
  );
  if (own.length === 0) return [];
  const why = allowed.length === 0 ? "must be empty" : `must be empty except for ${allowed}`;
  return [invalidValue("metadata", metadata, why)];
}

function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined || value === "" || value === 0) return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}

/** A local review stays in its namespace (S2-SAR-03). */
function checkLocal(object: ApiObject, namespace: string): FieldError[] {
  const { resourceAttributes: resource, nonResourceAttributes: path } = specOf(object);
  const errors = new Problems();
  if (resource !== undefined && (resource.namespace ?? "") !== namespace) {
    const field = "spec.resourceAttributes.namespace";
    errors.push(invalidValue(field, resource.namespace ?? "", "must match metadata.namespace"));
  }
  if (path !== undefined) {
    const why = "disallowed on this kind of request";
    errors.push(invalidValue("spec.nonResourceAttributes", path, why));
  }
  return errors;
}

/** @throws {StatusError} 422 with all errors */
function refuseAny(object: ApiObject, errors: readonly FieldError[]): void {
  if (errors.length === 0) return;
  const group = object.apiVersion.split("/")[0] ?? "";
  throw invalid({ group, kind: object.kind }, "", errors);
}

async function review(
  authorizer: Authorizer,
  object: ApiObject,
  user: UserInfo,
  signal: AbortSignal,
): Promise<ApiObject> {
  const { info, problems } = requestOf(object);
  const attributes: AuthorizationAttributes = { user, info };
  const result = await authorizer.authorize(attributes, { signal });
  return { ...object, status: statusOf(result, problems) };
}

function statusOf(
  { decision, reason, error }: AuthorizationResult,
  problems: readonly string[],
): Record<string, unknown> {
  const errors = [...(error === undefined ? [] : [messageOf(error)]), ...problems];
  return {
    allowed: decision === "allow",
    ...(decision === "deny" ? { denied: true } : {}),
    ...(reason === "" ? {} : { reason }),
    ...(errors.length === 0 ? {} : { evaluationError: errors.join("; ") }),
  };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The request under review, and the parts of the review that do not fit into one. */
function requestOf(object: ApiObject): {
  readonly info: AuthorizedRequest;
  readonly problems: readonly string[];
} {
  const { resourceAttributes: resource, nonResourceAttributes: path } = specOf(object);
  if (resource !== undefined) {
    const { query, problems } = readSelectors(resource, "spec.resourceAttributes");
    const info: AuthorizedRequest = {
      isResourceRequest: true,
      verb: resource.verb ?? "",
      path: "",
      group: resource.group ?? "",
      // A missing version stands for all of them.
      version: resource.version || "*",
      namespace: resource.namespace ?? "",
      resource: resource.resource ?? "",
      subresource: resource.subresource ?? "",
      name: resource.name ?? "",
      query,
    };
    return { info, problems };
  }
  const info: AuthorizedRequest = {
    isResourceRequest: false,
    verb: path?.verb ?? "",
    path: path?.path ?? "",
    group: "",
    version: "",
    namespace: "",
    resource: "",
    subresource: "",
    name: "",
  };
  return { info, problems: [] };
}

async function reviewRules(
  rules: RulesSource,
  { object, user }: VirtualRequest,
  signal: AbortSignal,
): Promise<ApiObject> {
  const { namespace = "" } = (object.spec ?? {}) as { namespace?: string };
  if (namespace === "") throw badRequest("no namespace on request");
  return { ...object, status: await rules.rulesFor(user, namespace, signal) };
}

const NO_RULES_TEXT = "the authorizer does not list rules";

/**
 * For authorizers without a list of rules: whether the user may do everything, or it is unknown.
 */
function askForEverything(authorizer: Authorizer): RulesSource {
  return {
    async rulesFor(user, namespace, signal) {
      const everything = { version: "*", subresource: "", name: "", namespace };
      const resources = await authorizer.authorize(
        {
          user,
          info: {
            ...everything,
            isResourceRequest: true,
            verb: "*",
            path: "",
            group: "*",
            resource: "*",
          },
        },
        { signal },
      );
      const paths = await authorizer.authorize(
        {
          user,
          info: {
            ...everything,
            namespace: "",
            version: "",
            isResourceRequest: false,
            verb: "*",
            path: "*",
            group: "",
            resource: "",
          },
        },
        { signal },
      );
      const isAll = resources.decision === "allow" && paths.decision === "allow";
      return {
        resourceRules:
          resources.decision === "allow"
            ? [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }]
            : [],
        nonResourceRules:
          paths.decision === "allow" ? [{ verbs: ["*"], nonResourceURLs: ["*"] }] : [],
        incomplete: !isAll,
        ...(isAll ? {} : { evaluationError: NO_RULES_TEXT }),
      };
    },
  };
}
