/**
 * AuthenticationConfiguration: the trusted issuers of JSON web tokens and the mapping of their claims to
 * users (S2-AUTHC). A YAML or JSON file is decoded strictly here: an unknown or repeated field is an
 * error. validate-configuration.ts checks the values; flags.ts translates the flags --oidc-* into the same
 * structure.
 *
 *   configuration.ts           the file's structure and its strict decoding
 *   validate-configuration.ts  the rules, and the compiled form that authenticators run on
 *   flags.ts                   one check of flags and file at the start: one clear line, or the result
 *   expressions.ts             CEL over `claims` and `user`
 *   fetch-text.ts              HTTPS with deadlines, bounds and certificate rules
 *   host-roots.ts              the authorities that the machine trusts
 *   issuer-keys.ts             discovery and keys of one issuer, kept fresh in the background
 *   token.ts                   from bytes to verified claims
 *   verify-by-issuer.ts        the two together
 *   distributed-claims.ts      claims that stand at an address which the token names
 *   user-mapping.ts            from claims to a user
 *   jwt-authenticator.ts       the authenticator: issuers, cache of verified tokens, reload
 */
import { isRecord } from "../../../storage/base/is-record.js";
import type { Naming } from "../../api/naming.js";
import { parseYaml, YamlSyntaxError } from "../../codec/yaml.js";
import { JsonSyntaxError } from "../../schema/json-parser.js";

export interface AuthenticationConfiguration {
  readonly jwt: readonly JwtAuthenticatorConfiguration[];
  /** undefined: the flag --anonymous-auth decides. */
  readonly anonymous?: AnonymousConfiguration;
}

export interface AnonymousConfiguration {
  readonly enabled: boolean;
  /** The only paths open to anonymous requests; empty = all. */
  readonly conditions: readonly { readonly path: string }[];
}

export interface JwtAuthenticatorConfiguration {
  readonly issuer: IssuerConfiguration;
  readonly claimValidationRules: readonly ClaimValidationRule[];
  readonly claimMappings: ClaimMappings;
  readonly userValidationRules: readonly UserValidationRule[];
}

/** Unset strings are "" in all of these. */
export interface IssuerConfiguration {
  readonly url: string;
  readonly discoveryURL: string;
  /** PEM; "" = the authorities of the machine. */
  readonly certificateAuthority: string;
  readonly audiences: readonly string[];
  readonly audienceMatchPolicy: string;
  readonly egressSelectorType: string;
}

export interface ClaimValidationRule {
  readonly claim: string;
  readonly requiredValue: string;
  readonly expression: string;
  readonly message: string;
}

export interface UserValidationRule {
  readonly expression: string;
  readonly message: string;
}

export interface PrefixedClaimOrExpression {
  readonly claim: string;
  /** undefined = not given, which is an error with a claim; "" = no prefix. */
  readonly prefix?: string;
  readonly expression: string;
}

export interface ClaimMappings {
  readonly username: PrefixedClaimOrExpression;
  readonly groups: PrefixedClaimOrExpression;
  readonly uid: { readonly claim: string; readonly expression: string };
  readonly extra: readonly { readonly key: string; readonly valueExpression: string }[];
}

/** The text is not a valid configuration. The message is one line and quotes no contents. */
export class ConfigurationSyntaxError extends Error {
  override readonly name = "ConfigurationSyntaxError";
}

const KIND = "AuthenticationConfiguration";
const VERSIONS = ["v1", "v1beta1", "v1alpha1"];

/** The shape of a field: a leaf, a list of a shape, or an object of named shapes. */
type Shape = "string" | "boolean" | readonly [Shape] | { readonly [field: string]: Shape };

const CLAIM_OR_EXPRESSION = { claim: "string", prefix: "string", expression: "string" } as const;

/** All three versions have the same fields. */
const SHAPE: Shape = {
  kind: "string",
  apiVersion: "string",
  jwt: [
    {
      issuer: {
        url: "string",
        discoveryURL: "string",
        certificateAuthority: "string",
        audiences: ["string"],
        audienceMatchPolicy: "string",
        egressSelectorType: "string",
      },
      claimValidationRules: [
        { claim: "string", requiredValue: "string", expression: "string", message: "string" },
      ],
      claimMappings: {
        username: CLAIM_OR_EXPRESSION,
        groups: CLAIM_OR_EXPRESSION,
        uid: { claim: "string", expression: "string" },
        extra: [{ key: "string", valueExpression: "string" }],
      },
      userValidationRules: [{ expression: "string", message: "string" }],
    },
  ],
  anonymous: { enabled: "boolean", conditions: [{ path: "string" }] },
};

/** @throws {ConfigurationSyntaxError} */
export function parseAuthenticationConfiguration(
  text: string,
  naming: Naming,
): AuthenticationConfiguration {
  if (text.trim() === "") throw new ConfigurationSyntaxError("empty config data");
  const { value, duplicateFields } = readYaml(text);
  if (!isRecord(value)) throw new ConfigurationSyntaxError("the document is not an object");
  checkTypeMeta(value, naming);
  const [duplicate] = duplicateFields;
  if (duplicate !== undefined) {
    throw new ConfigurationSyntaxError(`strict decoding error: duplicate field "${duplicate}"`);
  }
  checkShape(value, SHAPE, "");
  return toConfiguration(value);
}

function readYaml(text: string) {
  try {
    return parseYaml(text);
  } catch (error) {
    if (error instanceof YamlSyntaxError || error instanceof JsonSyntaxError) {
      // Only the first line of the error is safe; the rest quotes the file.
      throw new ConfigurationSyntaxError(error.message.split("\n", 1)[0]);
    }
    throw error;
  }
}

function checkTypeMeta(value: Record<string, unknown>, naming: Naming): void {
  const { kind, apiVersion } = value;
  if (typeof kind !== "string" || kind === "") {
    throw new ConfigurationSyntaxError("Object 'Kind' is missing");
  }
  if (typeof apiVersion !== "string" || apiVersion === "") {
    throw new ConfigurationSyntaxError("Object 'apiVersion' is missing");
  }
  const group = `apiserver.config.${naming.groupDomain}`;
  if (kind !== KIND || !VERSIONS.some((version) => apiVersion === `${group}/${version}`)) {
    throw new ConfigurationSyntaxError(
      `no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)}; ` +
        `this file is a ${KIND} of ${VERSIONS.map((version) => `${group}/${version}`).join(", ")}`,
    );
  }
}

/** Null means unset. @throws {ConfigurationSyntaxError} */
function checkShape(value: unknown, shape: Shape, path: string): void {
  if (value === undefined || value === null) return;
  if (shape === "string" || shape === "boolean") {
    if (typeof value !== shape) throw wrongType(path, shape, value);
    return;
  }
  if (isListShape(shape)) {
    if (!Array.isArray(value)) throw wrongType(path, "list", value);
    value.forEach((item, index) => {
      if (item === null) throw wrongType(`${path}[${index}]`, nameOf(shape[0]), item);
      checkShape(item, shape[0], `${path}[${index}]`);
    });
    return;
  }
  if (!isRecord(value)) throw wrongType(path, "object", value);
  for (const [name, member] of Object.entries(value)) {
    const field = path === "" ? name : `${path}.${name}`;
    if (!Object.hasOwn(shape, name)) {
      throw new ConfigurationSyntaxError(`strict decoding error: unknown field "${field}"`);
    }
    checkShape(member, shape[name] as Shape, field);
  }
}

function isListShape(shape: Shape): shape is readonly [Shape] {
  return Array.isArray(shape);
}

function nameOf(shape: Shape): string {
  if (typeof shape === "string") return shape;
  return isListShape(shape) ? "list" : "object";
}

function wrongType(path: string, expected: string, value: unknown): ConfigurationSyntaxError {
  const found = Array.isArray(value) ? "list" : value === null ? "null" : typeof value;
  return new ConfigurationSyntaxError(`${path}: expected ${expected}, got ${found}`);
}

/** The checked value with all defaults filled in. */
function toConfiguration(value: Record<string, unknown>): AuthenticationConfiguration {
  const { jwt, anonymous } = value as {
    jwt?: readonly Loose<JwtAuthenticatorConfiguration>[] | null;
    anonymous?: Loose<AnonymousConfiguration> | null;
  };
  return {
    jwt: (jwt ?? []).map(toJwtAuthenticator),
    ...(anonymous === undefined || anonymous === null
      ? {}
      : {
          anonymous: {
            enabled: anonymous.enabled ?? false,
            conditions: (anonymous.conditions ?? []).map(({ path }) => ({ path: path ?? "" })),
          },
        }),
  };
}

/** The type after checkShape: the same names, each possibly missing or null. */
type Loose<T> = T extends string | boolean
  ? T
  : T extends readonly (infer Item)[]
    ? readonly Loose<Item>[]
    : { readonly [K in keyof T]?: Loose<T[K]> | null };

function toJwtAuthenticator({
  issuer,
  claimValidationRules,
  claimMappings,
  userValidationRules,
}: Loose<JwtAuthenticatorConfiguration>): JwtAuthenticatorConfiguration {
  const { username, groups, uid, extra } = claimMappings ?? {};
  return {
    issuer: {
      url: issuer?.url ?? "",
      discoveryURL: issuer?.discoveryURL ?? "",
      certificateAuthority: issuer?.certificateAuthority ?? "",
      audiences: issuer?.audiences ?? [],
      audienceMatchPolicy: issuer?.audienceMatchPolicy ?? "",
      egressSelectorType: issuer?.egressSelectorType ?? "",
    },
    claimValidationRules: (claimValidationRules ?? []).map((rule) => ({
      claim: rule.claim ?? "",
      requiredValue: rule.requiredValue ?? "",
      expression: rule.expression ?? "",
      message: rule.message ?? "",
    })),
    claimMappings: {
      username: toClaimOrExpression(username),
      groups: toClaimOrExpression(groups),
      uid: { claim: uid?.claim ?? "", expression: uid?.expression ?? "" },
      extra: (extra ?? []).map(({ key, valueExpression }) => ({
        key: key ?? "",
        valueExpression: valueExpression ?? "",
      })),
    },
    userValidationRules: (userValidationRules ?? []).map(({ expression, message }) => ({
      expression: expression ?? "",
      message: message ?? "",
    })),
  };
}

function toClaimOrExpression(
  mapping: Loose<PrefixedClaimOrExpression> | null | undefined,
): PrefixedClaimOrExpression {
  return {
    claim: mapping?.claim ?? "",
    expression: mapping?.expression ?? "",
    ...(typeof mapping?.prefix === "string" ? { prefix: mapping.prefix } : {}),
  };
}
