/**
 * The command line's settings for JSON web tokens and anonymous access, checked before the server
 * starts: either the flags --oidc-*, translated into the configuration file's structure, or the file
 * itself. An error is one clear line.
 */
import { createHash } from "node:crypto";
import { forbiddenField } from "../../api/field-errors.js";
import type { Naming } from "../../api/naming.js";
import type { FieldError } from "../../api/status.js";
import {
  type AnonymousConfiguration,
  type AuthenticationConfiguration,
  ConfigurationSyntaxError,
  type JwtAuthenticatorConfiguration,
  parseAuthenticationConfiguration,
} from "./configuration.js";
import { ALLOWED_ALGORITHMS } from "./token.js";
import {
  type CompiledJwtAuthenticator,
  validateAuthenticationConfiguration,
} from "./validate-configuration.js";

/** The relevant flags, by their Config keys. */
export interface JwtFlags {
  readonly oidcIssuerUrl: string;
  readonly oidcClientId: string;
  readonly oidcUsernameClaim: string;
  readonly oidcUsernamePrefix: string;
  readonly oidcGroupsClaim: string;
  readonly oidcGroupsPrefix: string;
  /** "claim=value", each. */
  readonly oidcRequiredClaim: readonly string[];
  readonly oidcCaFile: string;
  readonly oidcSigningAlgs: readonly string[];
  readonly authenticationConfig: string;
  readonly anonymousAuth: boolean;
}

export interface AuthenticationOptions {
  readonly flags: JwtFlags;
  readonly naming: Naming;
  /** Keys of the flags that are set on the command line. */
  readonly given: ReadonlySet<string>;
  readonly serviceAccountIssuers: readonly string[];
  /** AlwaysAllow is an authorizer: only a file can then enable anonymous requests (S2-ANON-01). */
  readonly isOpenToAll: boolean;
  /** The gate StructuredAuthenticationConfigurationEgressSelector. */
  readonly hasEgressSelector: boolean;
  /** Contents of the file of --oidc-ca-file; "" when the flag is not given. */
  readonly oidcAuthority: string;
  /** Contents of the file of --authentication-config; "" when the flag is not given. */
  readonly configurationText: string;
}

/** The checked settings of flags or file. */
export interface CheckedAuthentication {
  readonly authenticators: readonly CompiledJwtAuthenticator[];
  /** The algorithms that a token's header may name. */
  readonly algorithms: readonly string[];
  readonly anonymous: AnonymousConfiguration;
  /** "sha256:..." of the file, for the metric that compares replicas; "" without a file. */
  readonly hash: string;
}

/** Called at the start and for each change of the file. @throws {RangeError} with one line */
export function checkAuthentication(options: AuthenticationOptions): CheckedAuthentication {
  return options.flags.authenticationConfig === "" ? checkFlags(options) : checkFile(options);
}

/** A log line for surprising anonymous access, else undefined. */
export function anonymousWarning(
  { flags, isOpenToAll }: Pick<AuthenticationOptions, "flags" | "isOpenToAll">,
  { anonymous }: CheckedAuthentication,
): string | undefined {
  if (!isOpenToAll) return undefined;
  if (!anonymous.enabled) {
    return flags.anonymousAuth
      ? "anonymous requests are refused, as AlwaysAllow is one of the authorizers"
      : undefined;
  }
  const paths = anonymous.conditions.map(({ path }) => path).join(", ");
  return `AlwaysAllow is one of the authorizers and --authentication-config lets anonymous requests in: everybody may do everything${paths === "" ? "" : ` at ${paths}`}`;
}

function checkFile(options: AuthenticationOptions): CheckedAuthentication {
  const { given, configurationText } = options;
  if (hasOidcFlag(given)) {
    throw new RangeError("authentication-config file and oidc-* flags are mutually exclusive");
  }
  const configuration = parseFile(options);
  if (
    configuration.anonymous !== undefined &&
    given.has("anonymousAuth" satisfies keyof JwtFlags)
  ) {
    const why =
      "--anonymous-auth flag cannot be set when anonymous field is configured in authentication configuration file";
    throw refusal(options, [forbiddenField("anonymous", why)]);
  }
  const { errors, compiled } = validate(configuration, options);
  if (errors.length > 0) throw refusal(options, errors);
  return {
    authenticators: compiled,
    algorithms: ALLOWED_ALGORITHMS,
    anonymous: configuration.anonymous ?? anonymousOfFlag(options),
    hash: `sha256:${createHash("sha256").update(configurationText).digest("hex")}`,
  };
}

function parseFile({
  flags,
  naming,
  configurationText,
}: AuthenticationOptions): AuthenticationConfiguration {
  try {
    return parseAuthenticationConfiguration(configurationText, naming);
  } catch (error) {
    if (!(error instanceof ConfigurationSyntaxError)) throw error;
    const file = JSON.stringify(flags.authenticationConfig);
    throw new RangeError(
      `failed to load authentication configuration from file ${file}: ${error.message}`,
    );
  }
}

function refusal({ flags }: AuthenticationOptions, errors: readonly FieldError[]): RangeError {
  return new RangeError(
    `--authentication-config ${JSON.stringify(flags.authenticationConfig)}: invalid authentication configuration: ${aggregate(errors)}`,
  );
}

/** "field: message", and several as one list. */
function aggregate(errors: readonly FieldError[]): string {
  const texts = errors.map(({ field, message }) => `${field}: ${message}`);
  return texts.length === 1 ? (texts[0] as string) : `[${texts.join(", ")}]`;
}

function checkFlags(options: AuthenticationOptions): CheckedAuthentication {
  const { flags } = options;
  const anonymous = anonymousOfFlag(options);
  if (!hasOidcFlag(options.given)) {
    return { authenticators: [], algorithms: ALLOWED_ALGORITHMS, anonymous, hash: "" };
  }
  if (flags.oidcIssuerUrl === "" || flags.oidcClientId === "") {
    throw new RangeError(
      "oidc-issuer-url and oidc-client-id must be specified together when any oidc-* flags are set",
    );
  }
  const unsupported = flags.oidcSigningAlgs.find((name) => !ALLOWED_ALGORITHMS.includes(name));
  if (unsupported !== undefined) {
    throw new RangeError(
      `--oidc-signing-algs: unsupported signing alg: ${JSON.stringify(unsupported)}; supported are ${ALLOWED_ALGORITHMS.join(", ")}`,
    );
  }
  const { errors, compiled } = validate({ jwt: [translateFlags(options)] }, options);
  if (errors.length > 0) throw new RangeError(withFlagNames(aggregate(errors)));
  return {
    authenticators: compiled,
    algorithms: flags.oidcSigningAlgs.length === 0 ? DEFAULT_ALGORITHMS : flags.oidcSigningAlgs,
    anonymous,
    hash: "",
  };
}

/** The algorithm that OpenID Connect requires of every issuer (S2-OIDC-10). */
const DEFAULT_ALGORITHMS: readonly string[] = ["RS256"];

/** Any of these flags enables OpenID Connect. */
function hasOidcFlag(given: ReadonlySet<string>): boolean {
  return [...given].some((key) => key.startsWith("oidc"));
}

/** The flags as one authenticator of the file's structure. @throws {RangeError} */
function translateFlags({
  flags,
  oidcAuthority,
}: Pick<AuthenticationOptions, "flags" | "oidcAuthority">): JwtAuthenticatorConfiguration {
  const { oidcIssuerUrl, oidcUsernameClaim, oidcUsernamePrefix, oidcGroupsClaim } = flags;
  return {
    issuer: {
      url: oidcIssuerUrl,
      discoveryURL: "",
      certificateAuthority: oidcAuthority,
      audiences: [flags.oidcClientId],
      audienceMatchPolicy: "",
      egressSelectorType: "",
    },
    claimValidationRules: requiredClaims(flags.oidcRequiredClaim),
    claimMappings: {
      username: {
        claim: oidcUsernameClaim,
        prefix: usernamePrefix(oidcUsernamePrefix, oidcUsernameClaim, oidcIssuerUrl),
        expression: "",
      },
      groups: {
        claim: oidcGroupsClaim,
        expression: "",
        ...(oidcGroupsClaim === "" ? {} : { prefix: flags.oidcGroupsPrefix }),
      },
      uid: { claim: "", expression: "" },
      extra: [],
    },
    userValidationRules: [],
  };
}

/** "-" means none; without the flag every claim but the mail address gets the issuer as prefix (S2-OIDC-04, 05). */
function usernamePrefix(prefix: string, claim: string, issuer: string): string {
  if (prefix === "-") return "";
  return prefix === "" && claim !== "email" ? `${issuer}#` : prefix;
}

/** The last value of a repeated claim counts, as for every map flag. */
function requiredClaims(
  pairs: readonly string[],
): JwtAuthenticatorConfiguration["claimValidationRules"] {
  const values = new Map<string, string>();
  for (const pair of pairs) {
    const equals = pair.indexOf("=");
    const claim = pair.slice(0, Math.max(equals, 0)).trim();
    if (claim === "") {
      throw new RangeError(
        `--oidc-required-claim: malformed pair, expect claim=value: ${JSON.stringify(pair)}`,
      );
    }
    values.set(claim, pair.slice(equals + 1).trim());
  }
  return [...values].map(([claim, requiredValue]) => ({
    claim,
    requiredValue,
    expression: "",
    message: "",
  }));
}

function anonymousOfFlag({
  flags,
  isOpenToAll,
}: Pick<AuthenticationOptions, "flags" | "isOpenToAll">): AnonymousConfiguration {
  return { enabled: flags.anonymousAuth && !isOpenToAll, conditions: [] };
}

function validate(configuration: AuthenticationConfiguration, options: AuthenticationOptions) {
  return validateAuthenticationConfiguration(configuration, {
    naming: options.naming,
    disallowedIssuers: options.serviceAccountIssuers,
    hasEgressSelector: options.hasEgressSelector,
  });
}

/** Errors about flags name the flag instead of the path in the structure. */
function withFlagNames(text: string): string {
  const names: readonly (readonly [string, string])[] = [
    ["jwt[0].issuer.url", "--oidc-issuer-url"],
    ["jwt[0].issuer.audiences", "--oidc-client-id"],
    ["jwt[0].issuer.certificateAuthority", "--oidc-ca-file"],
    ["jwt[0].claimMappings.username", "--oidc-username-claim"],
  ];
  return names.reduce((result, [path, flag]) => result.replaceAll(path, flag), text);
}
