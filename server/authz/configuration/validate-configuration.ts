/**
 * The rules of an AuthorizationConfiguration, in kube-apiserver's order and wording. Pure: the contents of
 * files are passed in. Also compiles the match conditions.
 */

import { isAbsolute } from "node:path";
import {
  duplicateValue,
  invalidValue,
  requiredValue,
  tooManyItems,
  unsupportedValue,
} from "../../api/field-errors.js";
import { Problems } from "../../api/problems.js";
import type { FieldError } from "../../api/status.js";
import { checkDnsSubdomain } from "../../api/validation-names.js";
import { formatDuration } from "../../request/duration.js";
import {
  type CompileCondition,
  MATCH_CONDITIONS_MAX,
  type MatchCondition,
} from "../webhook/match-conditions.js";
import {
  AUTHORIZER_TYPES,
  type AuthorizationConfiguration,
  AuthorizationConfigurationError,
  type AuthorizerConfiguration,
  WEBHOOK_TYPE,
  type WebhookConfiguration,
} from "./authorization-configuration.js";

/** The result of reading a path of the configuration. */
export type ReadFile =
  | { readonly text: string }
  /** Why there is no text, for example "no such file or directory". */
  | { readonly problem: string; readonly isOther?: boolean };

export interface ValidationSurroundings {
  readonly compile: CompileCondition;
  /** By path: every absolute kubeConfigFile of the configuration. */
  readonly files: ReadonlyMap<string, ReadFile>;
  /** Types that must be present and, besides Webhook, the only ones; set for reloads (S2-AZC-20). */
  readonly enabledTypes?: ReadonlySet<string>;
}

export type ConditionsByAuthorizer = ReadonlyMap<string, readonly MatchCondition[]>;

const TIMEOUT_MAX_MS = 30_000;
const REVIEW_VERSIONS = ["v1", "v1beta1"];
const FAILURE_POLICIES = ["NoOpinion", "Deny"];

/** @throws {AuthorizationConfigurationError} with all problems in one line */
export function validateAuthorizationConfiguration(
  configuration: AuthorizationConfiguration,
  surroundings: ValidationSurroundings,
): ConditionsByAuthorizer {
  const validation = new Validation(surroundings);
  validation.check(configuration.authorizers);
  const texts = validation.errors.map(({ field, message }) =>
    field === "" ? message : `${field}: ${message}`,
  );
  if (texts.length > 0) throw new AuthorizationConfigurationError(listOf(texts));
  return validation.conditions;
}

class Validation {
  readonly errors: FieldError[] = new Problems();
  readonly conditions = new Map<string, readonly MatchCondition[]>();
  readonly #surroundings: ValidationSurroundings;

  constructor(surroundings: ValidationSurroundings) {
    this.#surroundings = surroundings;
  }

  check(authorizers: readonly AuthorizerConfiguration[]): void {
    if (authorizers.length === 0) {
      this.#add(requiredValue("authorizers", "at least one authorization mode must be defined"));
    }
    const types = new Set<string>();
    const names = new Set<string>();
    for (const [index, authorizer] of authorizers.entries()) {
      const path = `authorizers[${index}]`;
      if (!this.#checkType(authorizer.type, types, `${path}.type`)) continue;
      types.add(authorizer.type);
      this.#checkName(authorizer, names, `${path}.name`);
      names.add(authorizer.name);
      this.#checkMember(authorizer, path);
    }
    this.#checkEnabled(types);
  }

  #checkType(type: string, seen: ReadonlySet<string>, path: string): boolean {
    const before = this.errors.length;
    if (type === "") this.#add(requiredValue(path));
    else if (!AUTHORIZER_TYPES.includes(type)) {
      this.#add(unsupportedValue(path, type, AUTHORIZER_TYPES));
    } else if (type !== WEBHOOK_TYPE && seen.has(type)) this.#add(duplicateValue(path, type));
    return this.errors.length === before;
  }

  #checkName({ type, name }: AuthorizerConfiguration, seen: ReadonlySet<string>, path: string) {
    if (name === "") {
      this.#add(requiredValue(path));
      return;
    }
    if (seen.has(name)) {
      this.#add(duplicateValue(path, name));
      return;
    }
    const problems = checkDnsSubdomain(name);
    if (problems.length > 0) {
      this.#add(invalidValue(path, name, `authorizer name is invalid: ${problems.join(", ")}`));
    }
    const expected = nameOfMode(type);
    if (type !== WEBHOOK_TYPE && name !== expected) {
      const message = `expected name ${expected} for authorizer ${type} instead of ${name}`;
      this.#add({ reason: "FieldValueInvalid", field: "", message });
    }
  }

  #checkMember({ type, name, webhook }: AuthorizerConfiguration, path: string): void {
    if (type !== WEBHOOK_TYPE) {
      if (webhook === undefined) return;
      this.#add(
        invalidValue(`${path}.webhook`, "non-null", "may only be specified when type=Webhook"),
      );
    } else if (webhook === undefined) {
      this.#add(requiredValue(`${path}.webhook`, "required when type=Webhook"));
    } else {
      // kube-apiserver omits "webhook" in these paths.
      this.#checkWebhook(webhook, path);
      this.conditions.set(name, this.#compile(webhook, path));
    }
  }

  #checkWebhook(webhook: WebhookConfiguration, path: string): void {
    const { timeoutMs, authorizedTtlMs, unauthorizedTtlMs } = webhook;
    if (timeoutMs === 0) this.#add(requiredValue(`${path}.timeout`));
    else if (timeoutMs > TIMEOUT_MAX_MS || timeoutMs < 0) {
      const text = formatDuration(timeoutMs);
      this.#add(invalidValue(`${path}.timeout`, text, "must be > 0s and <= 30s"));
    }
    this.#checkTtl(authorizedTtlMs, `${path}.authorizedTTL`);
    this.#checkTtl(unauthorizedTtlMs, `${path}.unauthorizedTTL`);
    this.#checkChoice(
      webhook.subjectAccessReviewVersion,
      REVIEW_VERSIONS,
      `${path}.subjectAccessReviewVersion`,
    );
    const conditionVersion = webhook.matchConditionSubjectAccessReviewVersion;
    const conditionPath = `${path}.matchConditionSubjectAccessReviewVersion`;
    // kube-apiserver requires it only with conditions, but documents it as required (S2-AZC-10).
    this.#checkChoice(conditionVersion, ["v1"], conditionPath);
    this.#checkChoice(webhook.failurePolicy, FAILURE_POLICIES, `${path}.failurePolicy`);
    this.#checkConnection(webhook.connectionInfo, `${path}.connectionInfo`);
  }

  #checkTtl(ttlMs: number, path: string): void {
    if (ttlMs < 0) this.#add(invalidValue(path, formatDuration(ttlMs), "must be > 0s"));
  }

  #checkChoice(value: string, choices: readonly string[], path: string): void {
    if (value === "") this.#add(requiredValue(path));
    else if (!choices.includes(value)) this.#add(unsupportedValue(path, value, choices));
  }

  #checkConnection(
    { type, kubeConfigFile }: WebhookConfiguration["connectionInfo"],
    path: string,
  ): void {
    switch (type) {
      case "":
        this.#add(requiredValue(`${path}.type`));
        break;
      case "InClusterConfig":
        // It would call this server itself, which asks the webhook before it answers (S2-AZC-15).
        this.#add(
          invalidValue(`${path}.type`, type, "not allowed for the server that hosts the API"),
        );
        break;
      case "KubeConfigFile":
        this.#checkKubeConfigFile(kubeConfigFile, `${path}.kubeConfigFile`);
        break;
      default:
        this.#add(unsupportedValue(`${path}.type`, type, ["InClusterConfig", "KubeConfigFile"]));
    }
  }

  #checkKubeConfigFile(file: string, path: string): void {
    if (file === "") {
      this.#add(requiredValue(path));
      return;
    }
    if (!isAbsolute(file)) {
      this.#add(invalidValue(path, file, "must be an absolute path"));
      return;
    }
    const content = this.#surroundings.files.get(file) ?? { problem: "was not read" };
    if ("text" in content) return;
    const why = content.isOther
      ? content.problem
      : `error loading file: stat ${file}: ${content.problem}`;
    this.#add(invalidValue(path, file, why));
  }

  #compile({ matchConditions }: WebhookConfiguration, path: string): MatchCondition[] {
    if (matchConditions.length > MATCH_CONDITIONS_MAX) {
      this.#add(
        tooManyItems(`${path}.matchConditions`, matchConditions.length, MATCH_CONDITIONS_MAX),
      );
      return [];
    }
    const seen = new Set<string>();
    const compiled: MatchCondition[] = [];
    for (const [index, { expression }] of matchConditions.entries()) {
      const field = `${path}.matchConditions[${index}].expression`;
      if (expression.trim() === "") this.#add(requiredValue(field));
      else if (seen.has(expression)) this.#add(duplicateValue(field, expression));
      else {
        seen.add(expression);
        try {
          compiled.push({ expression, program: this.#surroundings.compile(expression) });
        } catch (error) {
          // The first line is enough: further lines repeat the position.
          const [why] = (error as Error).message.split("\n", 1);
          this.#add(invalidValue(field, expression, `compilation failed: ${why}`));
        }
      }
    }
    return compiled;
  }

  #checkEnabled(types: ReadonlySet<string>): void {
    const { enabledTypes } = this.#surroundings;
    if (enabledTypes === undefined) return;
    const isMissing = (type: string) => type !== WEBHOOK_TYPE && !types.has(type);
    const missing = [...enabledTypes].filter(isMissing).sort();
    if (missing.length > 0) this.#addText(`missing required types: [${missing.join(" ")}]`);
    for (const type of types) {
      if (type === WEBHOOK_TYPE || enabledTypes.has(type)) continue;
      this.#addText(
        `authorizer type ${type} is not allowed if it was not enabled at initial server startup`,
      );
    }
  }

  #add(error: FieldError): void {
    this.errors.push(error);
  }

  #addText(message: string): void {
    this.#add({ reason: "FieldValueInvalid", field: "", message });
  }
}

/** The name of an authorizer other than a webhook: its type in lower case. */
export function nameOfMode(type: string): string {
  return type.toLowerCase();
}

function listOf(texts: readonly string[]): string {
  return texts.length === 1 ? String(texts[0]) : `[${texts.join(", ")}]`;
}
