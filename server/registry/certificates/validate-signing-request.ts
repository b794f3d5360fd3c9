/** Rules for CertificateSigningRequests: a request in PEM, a signer by name, usages. */

import { readCertificateRequest } from "../../../storage/x509/certificate-request.js";
import { MalformedDer } from "../../../storage/x509/der.js";
import { duplicateValue, invalidValue, requiredValue } from "../../api/field-errors.js";
import type { ApiObject } from "../../api/meta.js";
import { Problems } from "../../api/problems.js";
import type { FieldError } from "../../api/status.js";
import { type Maybe, validateChoice, type Whole } from "../../api/validation-values.js";
import type { StrategyContext } from "../../kinds/strategy.js";
import { type Rules, validated } from "../generic/validated.js";
import { validateSignerName } from "./signer-name.js";
import { validateSigningStatus } from "./signing-status.js";

interface SigningRequest extends ApiObject {
  spec?: {
    readonly request?: Maybe<string>;
    readonly signerName?: string;
    readonly usages?: Maybe<readonly string[]>;
    readonly expirationSeconds?: Maybe<Whole>;
  };
  status?: object;
}

const EXPIRATION_SECONDS_MIN = 600;

/** In the order in which messages name them. */
const USAGES = [
  "any",
  "cert sign",
  "client auth",
  "code signing",
  "content commitment",
  "crl sign",
  "data encipherment",
  "decipher only",
  "digital signature",
  "email protection",
  "encipher only",
  "ipsec end system",
  "ipsec tunnel",
  "ipsec user",
  "key agreement",
  "key encipherment",
  "microsoft sgc",
  "netscape sgc",
  "ocsp signing",
  "s/mime",
  "server auth",
  "signing",
  "timestamping",
];

const signingRequestRules: Rules<SigningRequest> = {
  object: (next, context, current) => [
    ...validateSpec(next, context, current),
    ...validateSigningStatus(next, current, ""),
  ],
  status: (next, current, context) => [
    ...validateSpec(next, context, current),
    ...validateSigningStatus(next, current, "status"),
  ],
};

function validateSpec(
  { spec = {} }: SigningRequest,
  { naming }: StrategyContext,
  current: SigningRequest | undefined,
): FieldError[] {
  // It does not change, so what was accepted once is not judged again.
  if (current !== undefined) return [];
  const errors = new Problems();
  const { request, signerName = "" } = spec;
  const problem = requestProblem(Buffer.from(request ?? "", "base64"));
  if (problem !== undefined) errors.push(invalidValue("spec.request", request ?? null, problem));
  const usages = spec.usages ?? [];
  if (usages.length === 0) errors.push(requiredValue("spec.usages"));
  usages.forEach((usage, index) => {
    validateChoice(usage, `spec.usages[${index}]`, USAGES, errors);
  });
  const seen = new Set<string>();
  usages.forEach((usage, index) => {
    if (seen.has(usage)) errors.push(duplicateValue(`spec.usages[${index}]`, usage));
    seen.add(usage);
  });
  if (signerName === `${naming.labelDomain}/legacy-unknown`) {
    const why = "the legacy signerName is not allowed via this API version";
    errors.push(invalidValue("spec.signerName", signerName, why));
  } else if (signerName !== "") validateSignerName(signerName, "spec.signerName", errors);
  const seconds = spec.expirationSeconds ?? undefined;
  if (seconds !== undefined && seconds < EXPIRATION_SECONDS_MIN) {
    const why = `may not specify a duration less than ${EXPIRATION_SECONDS_MIN} seconds (10 minutes)`;
    errors.push(invalidValue("spec.expirationSeconds", seconds, why));
  }
  return errors;
}

/** Why it is no request, or not one by who has the key. */
function requestProblem(pem: Buffer): string | undefined {
  try {
    return readCertificateRequest(pem).signatureProblem;
  } catch (error) {
    if (error instanceof MalformedDer) return error.message;
    throw error;
  }
}

export const validatesSigningRequest = validated(signingRequestRules);
