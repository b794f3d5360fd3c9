/**
 * The authorization extension: `authorizer.group('apps').resource('deployments').check('create')`. The
 * caller binds an authorizer; only `check` queries it. A check costs a third of an evaluation's
 * budget, so an expression can make only a few.
 */
import { checkDnsLabel, checkDnsSubdomain } from "../../api/validation-names.js";
import { FLAT } from "../cost/call-costs.js";
import { CHECKED, SELECTED } from "../cost/extension-costs.js";
import { Failure } from "../errors.js";
import { method, type Overload } from "../overloads.js";
import { OpaqueValue } from "../values.js";

export interface AuthorizationQuestion {
  /** The account to check for; undefined = the request's user. */
  readonly serviceAccount: { readonly namespace: string; readonly name: string } | undefined;
  readonly verb: string;
  /** Set for non-resource requests. */
  readonly path?: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** As written; "" = none. */
  readonly fieldSelector: string;
  readonly labelSelector: string;
}

export interface AuthorizationAnswer {
  readonly isAllowed: boolean;
  readonly reason: string;
  /** An error of the check; "" = none. */
  readonly error: string;
}

/** May throw something other than a Failure to have the expression evaluated again later. */
export type AskAuthorizer = (question: AuthorizationQuestion) => AuthorizationAnswer;

export const AUTHORIZER_TYPE = "kubernetes.authorization.Authorizer";
export const RESOURCE_CHECK_TYPE = "kubernetes.authorization.ResourceCheck";
const GROUP_CHECK_TYPE = "kubernetes.authorization.GroupCheck";
const PATH_CHECK_TYPE = "kubernetes.authorization.PathCheck";
const DECISION_TYPE = "kubernetes.authorization.Decision";

const NO_RESOURCE: Omit<AuthorizationQuestion, "serviceAccount" | "verb"> = {
  group: "",
  resource: "",
  subresource: "",
  namespace: "",
  name: "",
  fieldSelector: "",
  labelSelector: "",
};

/** Values that never compare equal and cannot leave an expression. */
abstract class Hidden extends OpaqueValue {
  override equals(other: OpaqueValue): boolean {
    return other === this;
  }

  override toJson(): null {
    return null;
  }
}

export class AuthorizerValue extends Hidden {
  override readonly typeName = AUTHORIZER_TYPE;
  readonly ask: AskAuthorizer;
  readonly account: AuthorizationQuestion["serviceAccount"];

  constructor(ask: AskAuthorizer, account?: AuthorizationQuestion["serviceAccount"]) {
    super();
    this.ask = ask;
    this.account = account;
  }

  /** Returns a refined check. */
  about(question: Partial<AuthorizationQuestion>): ResourceCheck {
    return new ResourceCheck(this, { ...NO_RESOURCE, ...question });
  }
}

class PathCheck extends Hidden {
  override readonly typeName = PATH_CHECK_TYPE;
  readonly authorizer: AuthorizerValue;
  readonly path: string;

  constructor(authorizer: AuthorizerValue, path: string) {
    super();
    this.authorizer = authorizer;
    this.path = path;
  }
}

class GroupCheck extends Hidden {
  override readonly typeName = GROUP_CHECK_TYPE;
  readonly authorizer: AuthorizerValue;
  readonly group: string;

  constructor(authorizer: AuthorizerValue, group: string) {
    super();
    this.authorizer = authorizer;
    this.group = group;
  }
}

class ResourceCheck extends Hidden {
  override readonly typeName = RESOURCE_CHECK_TYPE;
  readonly authorizer: AuthorizerValue;
  readonly question: Omit<AuthorizationQuestion, "serviceAccount" | "verb">;

  constructor(authorizer: AuthorizerValue, question: ResourceCheck["question"]) {
    super();
    this.authorizer = authorizer;
    this.question = question;
  }

  with(changes: Partial<AuthorizationQuestion>): ResourceCheck {
    return new ResourceCheck(this.authorizer, { ...this.question, ...changes });
  }
}

class DecisionValue extends Hidden {
  override readonly typeName = DECISION_TYPE;
  readonly answer: AuthorizationAnswer;

  constructor(answer: AuthorizationAnswer) {
    super();
    this.answer = answer;
  }
}

function check(
  { ask, account }: AuthorizerValue,
  question: Omit<AuthorizationQuestion, "serviceAccount" | "verb">,
  verb: string,
): DecisionValue {
  return new DecisionValue(ask({ ...question, verb, serviceAccount: account }));
}

function serviceAccount(authorizer: AuthorizerValue, namespace: string, name: string) {
  if (checkDnsLabel(namespace).length > 0) {
    throw new Failure(`Invalid service account namespace`);
  }
  if (checkDnsSubdomain(name).length > 0) throw new Failure(`Invalid service account name`);
  return new AuthorizerValue(authorizer.ask, { namespace, name });
}

function pathCheck(authorizer: AuthorizerValue, path: string): PathCheck {
  if (path === "") throw new Failure("path must not be empty");
  return new PathCheck(authorizer, path);
}

/** A refinement of a resource check: `.namespace('x')`. */
function part(name: "subresource" | "namespace" | "name" | "fieldSelector" | "labelSelector") {
  return method(
    name,
    `${RESOURCE_CHECK_TYPE}, string`,
    RESOURCE_CHECK_TYPE,
    (resource: ResourceCheck, text: string) => resource.with({ [name]: text }),
    name.endsWith("Selector") ? SELECTED : FLAT,
  );
}

export const AUTHORIZATION: readonly Overload[] = [
  method("path", `${AUTHORIZER_TYPE}, string`, PATH_CHECK_TYPE, pathCheck, FLAT),
  method(
    "group",
    `${AUTHORIZER_TYPE}, string`,
    GROUP_CHECK_TYPE,
    (authorizer: AuthorizerValue, group: string) => new GroupCheck(authorizer, group),
    FLAT,
  ),
  method(
    "serviceAccount",
    `${AUTHORIZER_TYPE}, string, string`,
    AUTHORIZER_TYPE,
    serviceAccount,
    FLAT,
  ),
  method(
    "resource",
    `${GROUP_CHECK_TYPE}, string`,
    RESOURCE_CHECK_TYPE,
    ({ authorizer, group }: GroupCheck, resource: string) => authorizer.about({ group, resource }),
    FLAT,
  ),
  ...(["subresource", "namespace", "name", "fieldSelector", "labelSelector"] as const).map(part),
  method(
    "check",
    `${PATH_CHECK_TYPE}, string`,
    DECISION_TYPE,
    ({ authorizer, path }: PathCheck, verb: string) =>
      check(authorizer, { ...NO_RESOURCE, path }, verb),
    CHECKED,
  ),
  method(
    "check",
    `${RESOURCE_CHECK_TYPE}, string`,
    DECISION_TYPE,
    ({ authorizer, question }: ResourceCheck, verb: string) => check(authorizer, question, verb),
    CHECKED,
  ),
  method("allowed", DECISION_TYPE, "bool", ({ answer }: DecisionValue) => answer.isAllowed, FLAT),
  method("reason", DECISION_TYPE, "string", ({ answer }: DecisionValue) => answer.reason, FLAT),
  method(
    "errored",
    DECISION_TYPE,
    "bool",
    ({ answer }: DecisionValue) => answer.error !== "",
    FLAT,
  ),
  method("error", DECISION_TYPE, "string", ({ answer }: DecisionValue) => answer.error, FLAT),
];
