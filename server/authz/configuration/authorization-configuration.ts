/**
 * AuthorizationConfiguration: the authorizers in order, and the connections to webhooks (S2-AZC-01..16). A
 * YAML or JSON file is decoded strictly here; legacy-modes.ts translates the flags --authorization-* into
 * the same structure.
 *
 *   authorization-configuration.ts  structure, strict decoding, defaults
 *   validate-configuration.ts       the rules, with kube-apiserver's words, and the compiled conditions
 *   legacy-modes.ts                 --authorization-mode and --authorization-webhook-*
 *   load-configuration.ts           reads the files, the one named by the flag and those that it names
 *   authorizer-chain.ts             from a loaded configuration to authorizers in order
 *   reloadable-authorizer.ts        the chain in force, replaced when a file has changed
 */
import type { Naming } from "../../api/naming.js";
import { parseYaml, YamlSyntaxError } from "../../codec/yaml.js";
import { parseDuration } from "../../request/duration.js";
import { JsonSyntaxError } from "../../schema/json-parser.js";

export interface AuthorizationConfiguration {
  readonly authorizers: readonly AuthorizerConfiguration[];
}

export interface AuthorizerConfiguration {
  readonly type: string;
  readonly name: string;
  /** Set for type Webhook only. */
  readonly webhook?: WebhookConfiguration;
}

/** An unset string is "", an unset duration 0. */
export interface WebhookConfiguration {
  readonly authorizedTtlMs: number;
  readonly cacheAuthorizedRequests: boolean;
  readonly unauthorizedTtlMs: number;
  readonly cacheUnauthorizedRequests: boolean;
  readonly timeoutMs: number;
  readonly subjectAccessReviewVersion: string;
  readonly matchConditionSubjectAccessReviewVersion: string;
  readonly failurePolicy: string;
  readonly connectionInfo: { readonly type: string; readonly kubeConfigFile: string };
  readonly matchConditions: readonly { readonly expression: string }[];
}

/** The configuration is invalid. The message is one line. */
export class AuthorizationConfigurationError extends Error {
  override readonly name = "AuthorizationConfigurationError";
}

export const WEBHOOK_TYPE = "Webhook";
/** In the order of messages. */
export const AUTHORIZER_TYPES: readonly string[] = [
  "ABAC",
  "AlwaysAllow",
  "AlwaysDeny",
  "Node",
  "RBAC",
  WEBHOOK_TYPE,
];

/** S2-AZC-04, S2-AZC-06. */
const AUTHORIZED_TTL_MS = 5 * 60_000;
const UNAUTHORIZED_TTL_MS = 30_000;

const KIND = "AuthorizationConfiguration";
/** All of them have the same fields. */
const VERSIONS: readonly string[] = ["v1", "v1beta1", "v1alpha1"];

/** @throws {AuthorizationConfigurationError} */
export function parseAuthorizationConfiguration(
  text: string,
  naming: Naming,
): AuthorizationConfiguration {
  const { value, duplicateFields } = readYaml(text);
  const root = new Fields(value, "");
  checkVersion(root, naming);
  const problems = duplicateFields.map((path) => `duplicate field "${path}"`);
  root.checkNames(["apiVersion", "kind", "authorizers"], problems);
  const configuration = {
    authorizers: root
      .list("authorizers")
      .map((item, index) => parseAuthorizer(new Fields(item, `authorizers[${index}]`), problems)),
  };
  if (problems.length > 0) throw problem(`strict decoding error: ${problems.join(", ")}`);
  return configuration;
}

function readYaml(text: string) {
  if (text.trim() === "") throw problem("empty config data");
  try {
    return parseYaml(text);
  } catch (error) {
    if (!(error instanceof YamlSyntaxError || error instanceof JsonSyntaxError)) throw error;
    throw problem(String(error.message.split("\n", 1)[0]));
  }
}

function checkVersion(root: Fields, naming: Naming): void {
  const [kind, apiVersion] = [root.text("kind"), root.text("apiVersion")];
  if (kind === "") throw problem("Object 'Kind' is missing");
  if (apiVersion === "") throw problem("Object 'apiVersion' is missing");
  const known = VERSIONS.map((version) => `apiserver.config.${naming.groupDomain}/${version}`);
  if (kind !== KIND || !known.includes(apiVersion)) {
    throw problem(
      `no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)}; ` +
        `this file is an ${KIND} of ${known.join(", ")}`,
    );
  }
}

function parseAuthorizer(fields: Fields, problems: string[]): AuthorizerConfiguration {
  fields.checkNames(["type", "name", "webhook"], problems);
  const webhook = fields.object("webhook");
  return {
    type: fields.text("type"),
    name: fields.text("name"),
    ...(webhook === undefined ? {} : { webhook: parseWebhook(webhook, problems) }),
  };
}

function parseWebhook(fields: Fields, problems: string[]): WebhookConfiguration {
  fields.checkNames(
    [
      ...["authorizedTTL", "cacheAuthorizedRequests", "unauthorizedTTL"],
      ...["cacheUnauthorizedRequests", "timeout", "subjectAccessReviewVersion"],
      ...["matchConditionSubjectAccessReviewVersion", "failurePolicy", "connectionInfo"],
      "matchConditions",
    ],
    problems,
  );
  const connection = fields.object("connectionInfo");
  connection?.checkNames(["type", "kubeConfigFile"], problems);
  return {
    authorizedTtlMs: fields.duration("authorizedTTL") || AUTHORIZED_TTL_MS,
    cacheAuthorizedRequests: fields.flag("cacheAuthorizedRequests", true),
    unauthorizedTtlMs: fields.duration("unauthorizedTTL") || UNAUTHORIZED_TTL_MS,
    cacheUnauthorizedRequests: fields.flag("cacheUnauthorizedRequests", true),
    timeoutMs: fields.duration("timeout"),
    subjectAccessReviewVersion: fields.text("subjectAccessReviewVersion"),
    matchConditionSubjectAccessReviewVersion: fields.text(
      "matchConditionSubjectAccessReviewVersion",
    ),
    failurePolicy: fields.text("failurePolicy"),
    connectionInfo: {
      type: connection?.text("type") ?? "",
      kubeConfigFile: connection?.text("kubeConfigFile") ?? "",
    },
    matchConditions: fields.list("matchConditions").map((item, index) => {
      const condition = new Fields(item, fields.pathOf(`matchConditions[${index}]`));
      condition.checkNames(["expression"], problems);
      return { expression: condition.text("expression") };
    }),
  };
}

/** Typed access to the members of an object; null means unset. */
class Fields {
  readonly #members: Readonly<Record<string, unknown>>;
  readonly #path: string;

  constructor(value: unknown, path: string) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      throw problem(`${path === "" ? "the document" : path}: expected an object`);
    }
    this.#members = value as Record<string, unknown>;
    this.#path = path;
  }

  pathOf(name: string): string {
    return this.#path === "" ? name : `${this.#path}.${name}`;
  }

  checkNames(known: readonly string[], problems: string[]): void {
    for (const name of Object.keys(this.#members)) {
      if (!known.includes(name)) problems.push(`unknown field "${this.pathOf(name)}"`);
    }
  }

  text(name: string): string {
    const value = this.#get(name) ?? "";
    if (typeof value !== "string") throw problem(`${this.pathOf(name)}: expected a string`);
    return value;
  }

  flag(name: string, absent: boolean): boolean {
    const value = this.#get(name) ?? absent;
    if (typeof value !== "boolean") throw problem(`${this.pathOf(name)}: expected true or false`);
    return value;
  }

  /** Milliseconds; 0 if unset. */
  duration(name: string): number {
    const text = this.text(name);
    if (text === "") return 0;
    const durationMs = parseDuration(text);
    if (durationMs === undefined) {
      throw problem(`${this.pathOf(name)}: time: invalid duration ${JSON.stringify(text)}`);
    }
    return durationMs;
  }

  list(name: string): readonly unknown[] {
    const value = this.#get(name) ?? [];
    if (!Array.isArray(value)) throw problem(`${this.pathOf(name)}: expected a list`);
    return value;
  }

  object(name: string): Fields | undefined {
    const value = this.#get(name);
    return value === undefined ? undefined : new Fields(value, this.pathOf(name));
  }

  #get(name: string): unknown {
    return this.#members[name] ?? undefined;
  }
}

function problem(message: string): AuthorizationConfigurationError {
  return new AuthorizationConfigurationError(message);
}
