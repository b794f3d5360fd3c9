/**
 * The reviews of authorization: virtual resources that ask the authorizer what it would say to a
 * request, about the asker (Self...), about anybody (SubjectAccessReview), or about anybody in one
 * namespace (Local...). The answer is that of the real request: it is the same authorizer (S2-SAR).
 */
import { forbiddenField, invalidValue } from "../../api/field-errors.js";
import type { ApiObject } from "../../api/meta.js";
import { badRequest, type FieldError, invalid } from "../../api/status.js";
import type {
  AuthorizationAttributes,
  AuthorizedRequest,
  Authorizer,
  Verdict,
} from "../../authz/authorizer.js";
import type { RulesSource } from "../../authz/subject-rules.js";
import { createUser, type UserInfo } from "../../request/user-info.js";
import type { VirtualRequest, VirtualResource } from "../generic/served-resource.js";
import { queryOf, type ReviewSelectors, validateSelectors } from "./selector-attributes.js";

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
  extra?: Record<string, string[]>;
}

export interface AuthorizationReviewOptions {
  readonly authorizer: Authorizer;
  /** Default: what the authorizer says to a request for everything. */
  readonly rules?: RulesSource;
}

const GROUP = "authorization";

/** The virtual resources of the group, by "group/resource" with groups without their domain. */
export function createAuthorizationReviews(
  options: AuthorizationReviewOptions,
): Readonly<Record<string, VirtualResource>> {
  const { authorizer } = options;
  const rules = options.rules ?? askForEverything(authorizer);
  return {
    [`${GROUP}/selfsubjectaccessreviews`]: {
      create: ({ object, user }, signal) => review(authorizer, object, user, signal),
    },
    [`${GROUP}/subjectaccessreviews`]: {
      create: ({ object }, signal) => review(authorizer, object, subjectOf(object), signal),
    },
    [`${GROUP}/localsubjectaccessreviews`]: {
      create({ object, namespace }, signal) {
        checkLocal(object, namespace);
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

/** @throws {StatusError} 422 */
function subjectOf(object: ApiObject): UserInfo {
  const { user = "", groups = [], uid = "", extra = {} } = specOf(object);
  if (user === "" && groups.length === 0) {
    const why = "at least one of user or group must be specified";
    throw refuse(object, [invalidValue("spec.user", user, why)]);
  }
  return createUser({ name: user, uid, groups, extra });
}

/** A local review stays in its namespace (S2-SAR-03). @throws {StatusError} 422 */
function checkLocal(object: ApiObject, namespace: string): void {
  const { resourceAttributes, nonResourceAttributes } = specOf(object);
  const errors: FieldError[] = [];
  if (resourceAttributes !== undefined && resourceAttributes.namespace !== namespace) {
    errors.push(
      invalidValue(
        "spec.resourceAttributes.namespace",
        resourceAttributes.namespace ?? "",
        "must match metadata.namespace",
      ),
    );
  }
  if (nonResourceAttributes !== undefined) {
    errors.push(forbiddenField("spec.nonResourceAttributes", "disallowed on this kind of request"));
  }
  if (errors.length > 0) throw refuse(object, errors);
}

async function review(
  authorizer: Authorizer,
  object: ApiObject,
  user: UserInfo,
  signal: AbortSignal,
): Promise<ApiObject> {
  const attributes: AuthorizationAttributes = { user, info: requestOf(object) };
  const verdict = await authorizer.authorize(attributes, { signal });
  return { ...object, status: statusOf(verdict) };
}

function statusOf({ decision, reason, error }: Verdict): Record<string, unknown> {
  return {
    allowed: decision === "allow",
    ...(decision === "deny" ? { denied: true } : {}),
    ...(reason === "" ? {} : { reason }),
    ...(error === undefined ? {} : { evaluationError: messageOf(error) }),
  };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The request that is asked about. @throws {StatusError} 422 unless there is exactly one */
function requestOf(object: ApiObject): AuthorizedRequest {
  const { resourceAttributes: resource, nonResourceAttributes: path } = specOf(object);
  if (resource !== undefined && path !== undefined) {
    const why = "cannot be specified in combination with resourceAttributes";
    throw refuse(object, [invalidValue("spec.nonResourceAttributes", path, why)]);
  }
  if (resource !== undefined) {
    const errors = validateSelectors(resource, "spec.resourceAttributes");
    if (errors.length > 0) throw refuse(object, errors);
    return {
      isResourceRequest: true,
      verb: resource.verb ?? "",
      path: "",
      group: resource.group ?? "",
      version: resource.version ?? "",
      namespace: resource.namespace ?? "",
      resource: resource.resource ?? "",
      subresource: resource.subresource ?? "",
      name: resource.name ?? "",
      query: queryOf(resource),
    };
  }
  if (path === undefined) {
    const why = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
    throw refuse(object, [invalidValue("spec.resourceAttributes", null, why)]);
  }
  return {
    isResourceRequest: false,
    verb: path.verb ?? "",
    path: path.path ?? "",
    group: "",
    version: "",
    namespace: "",
    resource: "",
    subresource: "",
    name: "",
  };
}

function refuse(object: ApiObject, errors: readonly FieldError[]) {
  const group = object.apiVersion.split("/")[0] ?? "";
  return invalid({ group, kind: object.kind }, object.metadata.name ?? "", errors);
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

/** For authorizers that keep no list: may the user do everything, or can it not be told? */
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
