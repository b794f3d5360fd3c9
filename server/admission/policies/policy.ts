/**
 * Policies and bindings as admission uses them: parsed from stored objects, compiled on first use and
 * kept as long as the stored object. A policy that does not compile (it was stored under other rules, or
 * a kind is gone) fails each evaluation, and its failure policy decides.
 */
import type { ApiObject } from "../../api/meta.js";
import type { LabelSelector } from "../../api/validation-selectors.js";
import type { Maybe } from "../../api/validation-values.js";
import type { CelEnvironment, CelObjectType, CelProgram, CelType } from "../../cel/environment.js";
import { DYN, parseType, type Type } from "../../cel/types.js";
import { type CompiledLater, compileLater } from "../matching/compile-later.js";
import {
  type Condition,
  compileConditions,
  type WrittenCondition,
} from "../matching/conditions.js";
import type { MatchCriteria } from "../matching/criteria-index.js";
import { createPolicyEnvironment } from "../matching/request-environment.js";
import type { ResourceRule } from "../matching/resource-rules.js";

export interface WrittenMatchResources {
  readonly resourceRules?: Maybe<readonly ResourceRule[]>;
  readonly excludeResourceRules?: Maybe<readonly ResourceRule[]>;
  readonly matchPolicy?: Maybe<string>;
  readonly namespaceSelector?: Maybe<LabelSelector>;
  readonly objectSelector?: Maybe<LabelSelector>;
}

export interface ParamKind {
  readonly apiVersion: string;
  readonly kind: string;
}

interface WrittenVariable {
  readonly name: string;
  readonly expression: string;
}

interface WrittenValidation {
  readonly expression: string;
  readonly message?: Maybe<string>;
  readonly messageExpression?: Maybe<string>;
  readonly reason?: Maybe<string>;
}

/** The stored `spec` of both kinds of policies. */
export interface PolicySpec {
  readonly paramKind?: Maybe<ParamKind>;
  readonly matchConstraints?: Maybe<WrittenMatchResources>;
  readonly validations?: Maybe<readonly WrittenValidation[]>;
  readonly failurePolicy?: Maybe<string>;
  readonly auditAnnotations?: Maybe<
    readonly { readonly key: string; readonly valueExpression: string }[]
  >;
  readonly matchConditions?: Maybe<readonly WrittenCondition[]>;
  readonly variables?: Maybe<readonly WrittenVariable[]>;
  readonly mutations?: Maybe<
    readonly {
      readonly patchType: string;
      readonly applyConfiguration?: Maybe<{ readonly expression?: string }>;
      readonly jsonPatch?: Maybe<{ readonly expression?: string }>;
    }[]
  >;
  readonly reinvocationPolicy?: Maybe<string>;
}

/** The program, or the error of its compilation. */
export type Compiled = CompiledLater<CelProgram>;

export interface Variable {
  readonly name: string;
  readonly expression: string;
  readonly program: Compiled;
}

export interface Validation {
  readonly expression: string;
  readonly program: Compiled;
  readonly message: string;
  readonly messageProgram: Compiled | undefined;
  /** The reason of the Status. */
  readonly reason: string;
}

export interface AuditAnnotation {
  readonly key: string;
  readonly expression: string;
  readonly program: Compiled;
}

export type PatchType = "ApplyConfiguration" | "JSONPatch";

export interface Mutation {
  readonly patchType: PatchType;
  readonly expression: string;
  readonly program: Compiled;
}

export interface Policy {
  readonly name: string;
  /** Whether it comes from a file. */
  readonly isStatic: boolean;
  readonly criteria: MatchCriteria;
  readonly ignoresFailures: boolean;
  readonly paramKind: ParamKind | undefined;
  readonly conditions: readonly Condition[];
  readonly variables: readonly Variable[];
  readonly variableNames: readonly string[];
  readonly validations: readonly Validation[];
  readonly auditAnnotations: readonly AuditAnnotation[];
  readonly mutations: readonly Mutation[];
  readonly isReinvocable: boolean;
}

export interface ParamRef {
  readonly name?: Maybe<string>;
  readonly namespace?: Maybe<string>;
  readonly selector?: Maybe<LabelSelector>;
  readonly parameterNotFoundAction?: Maybe<string>;
}

export type ValidationAction = "Deny" | "Warn" | "Audit";

export interface Binding {
  readonly name: string;
  /** Whether it comes from a file; then it binds policies from files. */
  readonly isStatic: boolean;
  readonly policyName: string;
  readonly paramRef: ParamRef | undefined;
  readonly criteria: MatchCriteria;
  readonly actions: ReadonlySet<ValidationAction>;
}

const REASON_DEFAULT = "Invalid";
/** The types that the expression of an audit annotation may return. */
export const STRING_OR_NULL: readonly CelType[] = ["string", { known: parseType("null") }];
export const VARIABLES_TYPE = "kubernetes.variables";

export function readPolicy(object: ApiObject, isStatic = false): Policy {
  const { metadata } = object;
  const spec = ((object as unknown as { spec?: PolicySpec }).spec ?? {}) as PolicySpec;
  const environments = new PolicyEnvironments(spec);
  const compile = (expression: string, types: readonly CelType[]) =>
    compileLater(expression.length, () => environments.whole.compile(expression, types));
  const compileMessage = (expression: string) =>
    compileLater(expression.length, () => environments.messages.compile(expression, ["string"]));
  const validations = (spec.validations ?? []).map((written): Validation => {
    const { expression, message, messageExpression, reason } = written;
    return {
      expression,
      program: compile(expression, ["bool"]),
      message: message ?? "",
      messageProgram: messageExpression ? compileMessage(messageExpression) : undefined,
      reason: reason || REASON_DEFAULT,
    };
  });
  return {
    name: metadata.name ?? "",
    isStatic,
    criteria: criteriaOf(spec.matchConstraints),
    ignoresFailures: spec.failurePolicy === "Ignore",
    paramKind: spec.paramKind ?? undefined,
    conditions: compileConditions(environments.conditions, spec.matchConditions ?? []),
    variables: environments.variables,
    variableNames: environments.variables.map(({ name }) => name),
    validations,
    auditAnnotations: (spec.auditAnnotations ?? []).map(({ key, valueExpression }) => ({
      key,
      expression: valueExpression,
      program: compile(valueExpression, STRING_OR_NULL),
    })),
    mutations: (spec.mutations ?? []).map(({ patchType, applyConfiguration, jsonPatch }) => {
      const isPatch = patchType === "JSONPatch";
      const { expression = "" } = (isPatch ? jsonPatch : applyConfiguration) ?? {};
      return {
        patchType: isPatch ? "JSONPatch" : "ApplyConfiguration",
        expression,
        program: compile(expression, mutationTypes(isPatch)),
      };
    }),
    isReinvocable: spec.reinvocationPolicy === "IfNeeded",
  };
}

/** The types that the expression of a mutation may return. */
export function mutationTypes(isPatch: boolean): readonly CelType[] {
  const list = { list: { known: parseType("JSONPatch") } } as const;
  // An empty list has no element type.
  return isPatch ? [list, { list: "dyn" }] : [{ known: parseType("Object") }];
}

/** Declarations of one policy that extend or retype the common ones. */
export interface PolicyDeclarations {
  readonly variables: Readonly<Record<string, CelType>>;
  readonly types: readonly CelObjectType[];
}

/**
 * The environments of one policy. Match conditions see no variables; each variable sees the earlier ones
 * with their inferred types; all other expressions see every variable.
 */
export class PolicyEnvironments {
  readonly conditions: CelEnvironment;
  readonly variables: readonly Variable[];
  readonly #own: PolicyDeclarations;
  readonly #hasMutations: boolean;
  #whole: CelEnvironment | undefined;
  #messages: CelEnvironment | undefined;
  /** How many variables `#whole` has. */
  #declared = 0;

  /** @param own default: objects have any type */
  constructor({ paramKind, variables, mutations }: PolicySpec, own?: PolicyDeclarations) {
    this.#own = own ?? { variables: paramKind ? { params: "dyn" } : {}, types: [] };
    this.#hasMutations = (mutations?.length ?? 0) > 0;
    this.conditions = this.#create({ hasAuthorizer: true }, false);
    this.variables = (variables ?? []).map(({ name, expression }, at) => {
      const compile = () => this.#declaring(at).compile(expression, ["dyn"]);
      const program = compileLater(expression.length, compile);
      return { name, expression, program };
    });
  }

  get whole(): CelEnvironment {
    return this.#declaring(this.variables.length);
  }

  /** For message expressions, which have no authorizer. */
  get messages(): CelEnvironment {
    if (this.#messages === undefined) {
      this.#messages = this.#create({ hasAuthorizer: false });
      for (const variable of this.variables) declare(this.#messages, variable);
    }
    return this.#messages;
  }

  /**
   * The environment with so many variables declared: one for all of them, as a policy may have thousands. Each is compiled
   * where those before it are declared, and then declared itself.
   */
  #declaring(count: number): CelEnvironment {
    this.#whole ??= this.#create({ hasAuthorizer: true });
    while (this.#declared < count) {
      const variable = this.variables[this.#declared] as Variable;
      declare(this.#whole, variable);
      this.#declared++;
    }
    return this.#whole;
  }

  #create(
    { hasAuthorizer }: { readonly hasAuthorizer: boolean },
    hasVariables = true,
  ): CelEnvironment {
    const { variables, types } = this.#own;
    return createPolicyEnvironment({
      variables: { ...variables, ...(hasVariables && { variables: { object: VARIABLES_TYPE } }) },
      types: [...types, ...(hasVariables ? [{ name: VARIABLES_TYPE, fields: {} }] : [])],
      makesObjects: this.#hasMutations,
      hasAuthorizer,
    });
  }
}

function declare(environment: CelEnvironment, { name, expression, program }: Variable): void {
  // One without an expression is a mistake, and nothing to refer to.
  if (expression.trim() === "") return;
  const compiled = program();
  const type: CelType =
    compiled instanceof Error ? "dyn" : { known: typeOfVariable(compiled.type) };
  environment.declareField(VARIABLES_TYPE, name, type);
}

/** Objects in variables have any type, as on kube-apiserver; CEL's own values keep their types. */
function typeOfVariable(type: Type): Type {
  switch (type.kind) {
    case "simple":
      return type;
    case "list":
      return { kind: "list", element: typeOfVariable(type.element) };
    case "map":
      return { kind: "map", key: typeOfVariable(type.key), value: typeOfVariable(type.value) };
    default:
      return DYN;
  }
}

export function readBinding(object: ApiObject, isStatic = false): Binding {
  const { metadata, spec = {} } = object as unknown as {
    readonly metadata: ApiObject["metadata"];
    readonly spec?: {
      readonly policyName?: string;
      readonly paramRef?: Maybe<ParamRef>;
      readonly matchResources?: Maybe<WrittenMatchResources>;
      readonly validationActions?: Maybe<readonly ValidationAction[]>;
    };
  };
  return {
    name: metadata.name ?? "",
    isStatic,
    policyName: spec.policyName ?? "",
    paramRef: spec.paramRef ?? undefined,
    criteria: criteriaOf(spec.matchResources),
    actions: new Set(spec.validationActions ?? []),
  };
}

function criteriaOf(written: Maybe<WrittenMatchResources>): MatchCriteria {
  const { resourceRules, excludeResourceRules, matchPolicy } = written ?? {};
  return {
    rules: resourceRules ?? [],
    matchesAll: true,
    excluded: excludeResourceRules ?? [],
    matchPolicy,
    namespaceSelector: written?.namespaceSelector,
    objectSelector: written?.objectSelector,
  };
}
