/** Rules for CertificateSigningRequests: a request in PEM, a signer by name, usages. */

import {
  duplicateValue,
  invalidValue,
  requiredValue,
  tooLongValue,
  unsupportedValue,
} from "../../api/field-errors.js";
import type { ApiObject } from "../../api/meta.js";
import { Problems } from "../../api/problems.js";
import type { FieldError } from "../../api/status.js";
import { checkDnsSubdomain } from "../../api/validation-names.js";
import type { Maybe, Whole } from "../../api/validation-values.js";
import { type Rules, validated } from "../generic/validated.js";

interface SigningRequest extends ApiObject {
  spec?: {
    readonly request?: Maybe<string>;
    readonly signerName?: string;
    readonly usages?: Maybe<readonly string[]>;
    readonly expirationSeconds?: Maybe<Whole>;
  };
  status?: { readonly conditions?: Maybe<readonly Condition[]> };
}

interface Condition {
  readonly type: string;
  readonly status: string;
}

const EXPIRATION_SECONDS_MIN = 600;

const signingRequestRules: Rules<SigningRequest> = {
  object({ spec = {}, status }) {
    const errors = new Problems();
    const { request, signerName = "" } = spec;
    const problem = requestProblem(Buffer.from(request ?? "", "base64"));
    if (problem !== undefined) errors.push(invalidValue("spec.request", request ?? "", problem));
    const usages = spec.usages ?? [];
    if (usages.length === 0) errors.push(requiredValue("spec.usages", "usages must be provided"));
    usages.forEach((usage, index) => {
      if (usages.indexOf(usage) === index) return;
      errors.push(duplicateValue(`spec.usages[${index}]`, usage));
    });
    if (signerName !== "") validateSignerName(signerName, "spec.signerName", errors);
    const seconds = spec.expirationSeconds ?? undefined;
    if (seconds !== undefined && seconds < EXPIRATION_SECONDS_MIN) {
      const why = `may not specify a duration less than ${EXPIRATION_SECONDS_MIN} seconds (10 minutes)`;
      errors.push(invalidValue("spec.expirationSeconds", seconds, why));
    }
    validateDecision(status?.conditions ?? [], errors);
    return errors;
  },
  status({ status }) {
    const errors = new Problems();
    validateDecision(status?.conditions ?? [], errors);
    return errors;
  },
};

const BLOCK = /^-----BEGIN ([A-Z0-9 ]+)-----\r?\n([\s\S]*?)-----END \1-----/m;
const DER_SEQUENCE = 0x30;
/** A tag, a length of at least two bytes, and some content. */
const DER_BYTES_MIN = 16;

/** Whether it is a request at all; the signer checks its content. */
function requestProblem(pem: Buffer): string | undefined {
  const [, type, body = ""] = BLOCK.exec(pem.toString("latin1")) ?? [];
  if (type !== "CERTIFICATE REQUEST" && type !== "NEW CERTIFICATE REQUEST") {
    return "PEM block type must be CERTIFICATE REQUEST";
  }
  const der = Buffer.from(body.replace(/^[^:\n]+:.*$/gm, ""), "base64");
  if (der.length >= DER_BYTES_MIN && der[0] === DER_SEQUENCE) return undefined;
  return "asn1: structure error: the request is no PKCS#10 certificate request";
}

const SIGNER_PATH = /^[a-z0-9]([-._~a-zA-Z0-9:]*[a-zA-Z0-9])?$/i;
const DOMAIN_BYTES_MAX = 253;
const PATH_BYTES_MAX = 253;

/** "example.com/name": the signer. */
function validateSignerName(name: string, field: string, errors: FieldError[]): void {
  const segments = name.split("/");
  const [domain = "", path = ""] = segments;
  if (segments.length !== 2) {
    const why = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
    errors.push(invalidValue(field, name, why));
    return;
  }
  for (const why of checkDnsSubdomain(domain)) {
    errors.push(invalidValue(field, domain, `validating label "${domain}": ${why}`));
  }
  if (!domain.includes(".")) {
    const why = "should be a domain with at least two segments separated by dots";
    errors.push(invalidValue(field, domain, why));
  }
  if (!SIGNER_PATH.test(path)) {
    errors.push(invalidValue(field, path, "must be a path of letters, digits, '-' and '.'"));
  }
  const bytesMax = DOMAIN_BYTES_MAX + PATH_BYTES_MAX + 1;
  if (name.length > bytesMax) errors.push(tooLongValue(field, bytesMax));
}

/** A request cannot be both approved and denied, and a decision's status must be True. */
function validateDecision(conditions: readonly Condition[], errors: FieldError[]): void {
  const field = "status.conditions";
  const decided = conditions.filter(({ type }) => type === "Approved" || type === "Denied");
  conditions.forEach(({ type, status }, index) => {
    if (conditions.findIndex((other) => other.type === type) < index) {
      errors.push(duplicateValue(`${field}[${index}].type`, type));
    }
    const isFinal = type === "Approved" || type === "Denied" || type === "Failed";
    if (isFinal && status !== "True" && status !== "") {
      errors.push(unsupportedValue(`${field}[${index}].status`, status, ["True"]));
    }
  });
  if (new Set(decided.map(({ type }) => type)).size < 2) return;
  const why = "Approved and Denied conditions are mutually exclusive";
  const index = conditions.findLastIndex(({ type }) => type === "Approved" || type === "Denied");
  errors.push(invalidValue(`${field}[${index}].type`, conditions[index]?.type, why));
}

export const validatesSigningRequest = validated(signingRequestRules);
