/**
 * The rules of AuthenticationConfiguration, with kube-apiserver's paths and messages, and the
 * compiled CEL expressions of a valid one. Pure: no file, no network.
 */

import { withoutTrailingSlashes } from "../../../storage/base/trailing-slashes.js";
import {
  duplicateValue,
  invalidValue,
  requiredValue,
  tooManyItems,
} from "../../api/field-errors.js";
import type { Naming } from "../../api/naming.js";
import { Problems } from "../../api/problems.js";
import type { FieldError } from "../../api/status.js";
import { checkDnsSubdomain } from "../../api/validation-names.js";
import { CelCompileError, type CelProgram } from "../../cel/environment.js";
import { parseAuthorities } from "../../client/authorities.js";
import type {
  AuthenticationConfiguration,
  ClaimMappings,
  IssuerConfiguration,
  JwtAuthenticatorConfiguration,
  PrefixedClaimOrExpression,
} from "./configuration.js";
import { createExpressionCompiler, type ExpressionCompiler } from "./expressions.js";

/** More issuers are a mistake or call for a broker (S2-AUTHC-02). */
const AUTHENTICATORS_MAX = 64;

export interface ValidationOptions {
  readonly naming: Naming;
  /** Issuers of service-account tokens; no other issuer may use their names (S2-AUTHC-03). */
  readonly disallowedIssuers: readonly string[];
  /** The gate StructuredAuthenticationConfigurationEgressSelector. */
  readonly hasEgressSelector: boolean;
}

/** A condition that must hold. */
export interface CompiledRule {
  readonly program: CelProgram;
  readonly expression: string;
  /** The administrator's message if it does not hold; may be "". */
  readonly message: string;
}

/** One authenticator, ready to run: if a program is undefined, the claim applies. */
export interface CompiledJwtAuthenticator {
  readonly configuration: JwtAuthenticatorConfiguration;
  readonly username: CelProgram | undefined;
  readonly groups: CelProgram | undefined;
  readonly uid: CelProgram | undefined;
  readonly extra: readonly { readonly key: string; readonly program: CelProgram }[];
  readonly claimRules: readonly CompiledRule[];
  readonly userRules: readonly CompiledRule[];
}

export interface ValidationResult {
  readonly errors: readonly FieldError[];
  /** One per authenticator; valid only without errors. */
  readonly compiled: readonly CompiledJwtAuthenticator[];
}

export function validateAuthenticationConfiguration(
  { jwt, anonymous }: AuthenticationConfiguration,
  options: ValidationOptions,
): ValidationResult {
  if (jwt.length > AUTHENTICATORS_MAX) {
    return { errors: [tooManyItems("jwt", jwt.length, AUTHENTICATORS_MAX)], compiled: [] };
  }
  const errors = new Problems();
  const compiled: CompiledJwtAuthenticator[] = [];
  const compiler = createExpressionCompiler();
  const issuers = new Set<string>();
  const discoveryUrls = new Set<string>();
  jwt.forEach((authenticator, index) => {
    const path = `jwt[${index}]`;
    const { url, discoveryURL } = authenticator.issuer;
    validateIssuer(authenticator.issuer, `${path}.issuer`, options, errors);
    compiled.push(
      new AuthenticatorCompiler(compiler, options, errors).compile(authenticator, path),
    );
    if (issuers.has(url)) errors.push(duplicateValue(`${path}.issuer.url`, url));
    issuers.add(url);
    if (discoveryURL === "") return;
    if (discoveryUrls.has(discoveryURL)) {
      errors.push(duplicateValue(`${path}.issuer.discoveryURL`, discoveryURL));
    }
    discoveryUrls.add(discoveryURL);
  });
  if (anonymous !== undefined && !anonymous.enabled && anonymous.conditions.length > 0) {
    const why = "enabled should be set to true when conditions are defined";
    errors.push(invalidValue("anonymous.conditions", anonymous.conditions, why));
  }
  return { errors, compiled };
}

function validateIssuer(
  issuer: IssuerConfiguration,
  path: string,
  { disallowedIssuers, hasEgressSelector }: ValidationOptions,
  errors: FieldError[],
): void {
  const { url, discoveryURL, certificateAuthority, egressSelectorType } = issuer;
  if (url === "") errors.push(requiredValue(`${path}.url`));
  else validateUrl(url, `${path}.url`, disallowedIssuers, errors);

  if (discoveryURL !== "") {
    const field = `${path}.discoveryURL`;
    if (url !== "" && withoutTrailingSlashes(url) === withoutTrailingSlashes(discoveryURL)) {
      const why = "discoveryURL must be different from URL";
      errors.push(invalidValue(field, discoveryURL, why));
    }
    validateUrl(discoveryURL, field, [], errors);
  }
  validateAudiences(issuer, path, errors);

  const problem = certificateAuthority === "" ? undefined : problemOfBundle(certificateAuthority);
  if (problem !== undefined) {
    errors.push(invalidValue(`${path}.certificateAuthority`, "<omitted>", problem));
  }
  if (egressSelectorType === "") return;
  const field = `${path}.egressSelectorType`;
  if (!hasEgressSelector) {
    const why =
      "egress selector is not supported when StructuredAuthenticationConfigurationEgressSelector feature gate is disabled";
    errors.push(invalidValue(field, egressSelectorType, why));
  }
  if (egressSelectorType !== "controlplane" && egressSelectorType !== "cluster") {
    const why = "egress selector must be either controlplane or cluster";
    errors.push(invalidValue(field, egressSelectorType, why));
  }
}

function validateUrl(
  text: string,
  field: string,
  disallowedIssuers: readonly string[],
  errors: FieldError[],
): void {
  const refuse = (why: string) => errors.push(invalidValue(field, text, why));
  if (disallowedIssuers.includes(text)) {
    const list = [...disallowedIssuers].sort().join(" ");
    refuse(`URL must not overlap with disallowed issuers: [${list}]`);
  }
  if (!/^https:/i.test(text)) {
    refuse("URL scheme must be https");
    return;
  }
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || url.host === "") {
    refuse("not a valid URL");
    return;
  }
  if (url.username !== "" || url.password !== "") {
    refuse("URL must not contain a username or password");
  }
  if (url.search !== "") refuse("URL must not contain a query");
  if (url.hash !== "") refuse("URL must not contain a fragment");
}

function validateAudiences(
  { audiences, audienceMatchPolicy }: IssuerConfiguration,
  path: string,
  errors: FieldError[],
): void {
  const field = `${path}.audiences`;
  if (audiences.length === 0) {
    errors.push(requiredValue(field, `at least one ${field} is required`));
    return;
  }
  audiences.forEach((audience, index) => {
    if (audience === "") errors.push(requiredValue(`${field}[${index}]`));
    if (audiences.indexOf(audience) < index) {
      errors.push(duplicateValue(`${field}[${index}]`, audience));
    }
  });
  if (audienceMatchPolicy === "MatchAny") return;
  if (audiences.length > 1 || audienceMatchPolicy !== "") {
    const why =
      audiences.length > 1
        ? "audienceMatchPolicy must be MatchAny for multiple audiences"
        : "audienceMatchPolicy must be empty or MatchAny for single audience";
    errors.push(invalidValue(`${path}.audienceMatchPolicy`, audienceMatchPolicy, why));
  }
}

/** Why a PEM bundle is unusable; undefined if it is usable. */
function problemOfBundle(pem: string): string | undefined {
  try {
    if (parseAuthorities(pem).length > 0) return undefined;
    return "data does not contain any valid RSA or ECDSA certificates";
  } catch {
    return "a certificate can not be read";
  }
}

/** Checks and compiles the rules and mappings of one authenticator. */
class AuthenticatorCompiler {
  readonly #compiler: ExpressionCompiler;
  readonly #options: ValidationOptions;
  readonly #errors: FieldError[];
  /** Programs in which reading `claims.email_verified` counts (S2-AUTHC-16). */
  readonly #judges: CelProgram[] = [];

  constructor(compiler: ExpressionCompiler, options: ValidationOptions, errors: FieldError[]) {
    this.#compiler = compiler;
    this.#options = options;
    this.#errors = errors;
  }

  compile(configuration: JwtAuthenticatorConfiguration, path: string): CompiledJwtAuthenticator {
    const { claimMappings } = configuration;
    const claimRules = this.#claimRules(configuration, `${path}.claimValidationRules`);
    const mappings = `${path}.claimMappings`;
    const username = this.#prefixed(claimMappings.username, `${mappings}.username`, "string");
    if (claimMappings.username.claim === "" && claimMappings.username.expression === "") {
      const why = "claim or expression is required";
      this.#errors.push(requiredValue(`${mappings}.username`, why));
    }
    if (username !== undefined) this.#judges.push(username);
    const groups = this.#prefixed(claimMappings.groups, `${mappings}.groups`, "strings");
    const uid = this.#uid(claimMappings, `${mappings}.uid`);
    const extra = this.#extra(claimMappings, `${mappings}.extra`);
    this.#requireEmailCheck(username, claimMappings, `${mappings}.username.expression`);
    const userRules = this.#userRules(configuration, `${path}.userValidationRules`);
    return { configuration, username, groups, uid, extra, claimRules, userRules };
  }

  #claimRules(
    { claimValidationRules }: JwtAuthenticatorConfiguration,
    path: string,
  ): CompiledRule[] {
    const claims = new Set<string>();
    const expressions = new Set<string>();
    const compiled: CompiledRule[] = [];
    claimValidationRules.forEach(({ claim, requiredValue: wanted, expression, message }, index) => {
      const field = `${path}[${index}]`;
      if (claim !== "" && expression !== "") {
        this.#refuse(field, claim, "claim and expression can't both be set");
      } else if (claim !== "") {
        if (message !== "") {
          this.#refuse(`${field}.message`, message, "may not be specified when claim is set");
        }
        if (claims.has(claim)) this.#errors.push(duplicateValue(`${field}.claim`, claim));
        claims.add(claim);
      } else if (expression !== "") {
        if (wanted !== "") {
          const why = "may not be specified when expression is set";
          this.#refuse(`${field}.requiredValue`, wanted, why);
        }
        if (this.#isRepeated(expressions, expression, `${field}.expression`)) return;
        const program = this.#try(expression, `${field}.expression`, (source) =>
          this.#compiler.claimsCondition(source),
        );
        if (program === undefined) return;
        compiled.push({ program, expression, message });
        this.#judges.push(program);
      } else {
        this.#errors.push(requiredValue(field, "claim or expression is required"));
      }
    });
    return compiled;
  }

  #userRules({ userValidationRules }: JwtAuthenticatorConfiguration, path: string): CompiledRule[] {
    const expressions = new Set<string>();
    const compiled: CompiledRule[] = [];
    userValidationRules.forEach(({ expression, message }, index) => {
      const field = `${path}[${index}].expression`;
      if (expression === "") {
        this.#errors.push(requiredValue(field));
        return;
      }
      if (this.#isRepeated(expressions, expression, field)) return;
      const program = this.#try(expression, field, (source) =>
        this.#compiler.userCondition(source),
      );
      if (program !== undefined) compiled.push({ program, expression, message });
    });
    return compiled;
  }

  /** A claim with its prefix, or an expression. */
  #prefixed(
    { claim, prefix, expression }: PrefixedClaimOrExpression,
    path: string,
    result: "string" | "strings",
  ): CelProgram | undefined {
    if (claim !== "" && expression !== "") {
      this.#refuse(path, "", "claim and expression can't both be set");
      return undefined;
    }
    if (expression !== "") {
      if (prefix !== undefined) {
        this.#refuse(`${path}.prefix`, prefix, "may not be specified when expression is set");
      }
      return this.#try(expression, `${path}.expression`, (source) =>
        result === "string"
          ? this.#compiler.claimsToString(source)
          : this.#compiler.claimsToStrings(source),
      );
    }
    if (claim !== "" && prefix === undefined) {
      const why =
        "prefix is required when claim is set. It can be set to an empty string to disable prefixing";
      this.#errors.push(requiredValue(`${path}.prefix`, why));
    }
    return undefined;
  }

  #uid({ uid }: ClaimMappings, path: string): CelProgram | undefined {
    if (uid.claim !== "" && uid.expression !== "") {
      this.#refuse(path, "", "claim and expression can't both be set");
      return undefined;
    }
    if (uid.expression === "") return undefined;
    return this.#try(uid.expression, `${path}.expression`, (source) =>
      this.#compiler.claimsToString(source),
    );
  }

  #extra({ extra }: ClaimMappings, path: string): { key: string; program: CelProgram }[] {
    const keys = new Set<string>();
    const compiled: { key: string; program: CelProgram }[] = [];
    extra.forEach(({ key, valueExpression }, index) => {
      const field = `${path}[${index}].key`;
      this.#checkExtraKey(key, field);
      if (keys.has(key)) {
        this.#errors.push(duplicateValue(field, key));
        return;
      }
      keys.add(key);
      const valueField = `${path}[${index}].valueExpression`;
      if (valueExpression === "") {
        this.#errors.push(requiredValue(valueField));
        return;
      }
      const program = this.#try(valueExpression, valueField, (source) =>
        this.#compiler.claimsToStrings(source),
      );
      if (program === undefined) return;
      compiled.push({ key, program });
      this.#judges.push(program);
    });
    return compiled;
  }

  /** A path below a domain of its owner, such as "example.org/team" (S2-AUTHC-14). */
  #checkExtraKey(key: string, field: string): void {
    if (key === "") {
      this.#errors.push(requiredValue(field));
      return;
    }
    const slash = key.indexOf("/");
    const domain = key.slice(0, Math.max(slash, 0));
    const rest = key.slice(slash + 1);
    if (domain === "" || rest === "") {
      this.#refuse(field, key, 'must be a domain-prefixed path (such as "acme.io/foo")');
    } else {
      for (const problem of checkDnsSubdomain(domain)) this.#refuse(field, domain, problem);
      if (!EXTRA_PATH.test(rest)) {
        this.#refuse(field, rest, `Invalid path (regex used for validation is '${HTTP_PATH}')`);
      }
    }
    if (key !== key.toLowerCase()) this.#refuse(field, key, "must be lowercase");
    const { naming } = this.#options;
    const reserved = [...new Set([naming.groupDomain, naming.labelDomain])];
    if (reserved.some((own) => domain === own || domain.endsWith(`.${own}`))) {
      const owner = naming.vendor.charAt(0).toUpperCase() + naming.vendor.slice(1);
      const why = `${reserved.join(", ")} and their subdomains are reserved for ${owner} use`;
      this.#refuse(field, key, why);
    }
  }

  /** A user named by a mail address must own it. */
  #requireEmailCheck(
    username: CelProgram | undefined,
    { username: { expression } }: ClaimMappings,
    field: string,
  ): void {
    if (username?.references(["claims", "email"]) !== true) return;
    if (this.#judges.some((program) => program.references(["claims", "email_verified"]))) return;
    const why =
      "claims.email_verified must be used in claimMappings.username.expression or claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when claims.email is used in claimMappings.username.expression";
    this.#refuse(field, expression, why);
  }

  #isRepeated(seen: Set<string>, expression: string, field: string): boolean {
    if (seen.has(expression)) {
      this.#errors.push(duplicateValue(field, expression));
      return true;
    }
    seen.add(expression);
    return false;
  }

  #try(
    source: string,
    field: string,
    compile: (source: string) => CelProgram,
  ): CelProgram | undefined {
    try {
      return compile(source);
    } catch (error) {
      if (!(error instanceof CelCompileError)) throw error;
      // Further lines only repeat the position.
      const [problem] = error.message.split("\n", 1);
      this.#refuse(field, source, `compilation failed: ${problem}`);
      return undefined;
    }
  }

  #refuse(field: string, value: unknown, why: string): void {
    this.#errors.push(invalidValue(field, value, why));
  }
}

/** What RFC 3986 allows in a path, as kube-apiserver has it. */
const HTTP_PATH = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+";
const EXTRA_PATH = new RegExp(`^${HTTP_PATH}$`);
