/**
 * Rules for PodCertificateRequests: whom a certificate is for, by which key and for how long. A request does not change. Its
 * status is written once: the certificate that was issued for that key, or that there will be none.
 */
import { type Certificate, parseCertificate } from "../../../storage/x509/certificate.js";
import { MalformedDer } from "../../../storage/x509/der.js";
import { type PemEntry, pemEntries } from "../../../storage/x509/pem-entries.js";
import { deepEqual } from "../../api/deep-equal.js";
import {
  invalidValue,
  invalidValues,
  invalidWhole,
  requiredValue,
  tooLongValue,
  unsupportedValue,
} from "../../api/field-errors.js";
import type { ApiObject } from "../../api/meta.js";
import { Problems } from "../../api/problems.js";
import type { FieldError } from "../../api/status.js";
import { type Condition, validateConditions } from "../../api/validation-conditions.js";
import { checkQualifiedName } from "../../api/validation-names.js";
import { type Maybe, validateDnsSubdomain, type Whole } from "../../api/validation-values.js";
import type { StrategyContext } from "../../kinds/strategy.js";
import { validated } from "../generic/validated.js";
import { type KeyProof, keyProblem, requestedKey } from "./pod-certificate-key.js";
import { validateSignerName } from "./signer-name.js";

interface RequestSpec extends KeyProof {
  readonly signerName?: string;
  readonly podName?: string;
  readonly podUID?: string;
  readonly serviceAccountName?: string;
  readonly serviceAccountUID?: string;
  readonly nodeName?: string;
  readonly nodeUID?: string;
  readonly maxExpirationSeconds?: Maybe<Whole>;
  readonly unverifiedUserAnnotations?: Maybe<Readonly<Record<string, string>>>;
}

interface RequestStatus {
  readonly conditions?: Maybe<readonly Condition[]>;
  readonly certificateChain?: string;
  readonly notBefore?: Maybe<string>;
  readonly beginRefreshAt?: Maybe<string>;
  readonly notAfter?: Maybe<string>;
}

interface PodCertificateRequest extends ApiObject {
  spec?: RequestSpec;
  status?: RequestStatus;
}

const UID_BYTES_MAX = 128;
const ANNOTATIONS_BYTES_MAX = 256 * 1024;
const NO_DOMAIN = 'must be a domain-prefixed key (such as "acme.io/foo")';
const DAY_SECONDS = 24 * 60 * 60;
const EXPIRATION_SECONDS_MIN = 60 * 60;
/** Of signers of the cluster's own domain, and of others. */
const OWN_EXPIRATION_SECONDS_MAX = DAY_SECONDS;
const EXPIRATION_SECONDS_MAX = 91 * DAY_SECONDS;

const CHAIN_BYTES_MAX = 100 * 1024;
const CHAIN = "status.certificateChain";
/** How the request ended. */
const ENDINGS = ["Issued", "Denied", "Failed"];
const MINUTE_MS = 60_000;
/** How far the clock of a signer may be off. */
const OFF_MS_MAX = 5 * MINUTE_MS;
/** Between the renewal and either end of the validity. */
const REFRESH_MARGIN_MS = 10 * MINUTE_MS;
const LIFETIME_MS_MIN = 60 * MINUTE_MS;

export const validatesPodCertificateRequest = validated<PodCertificateRequest>({
  object: () => [],
  create: ({ spec = {} }, context) => validateSpec(spec, context),
  change: ({ spec = {} }, current) =>
    deepEqual(spec, current.spec ?? {}) ? [] : [invalidValue("spec", spec, "field is immutable")],
  status: (next, current, context) => validateStatus(next, current.status ?? {}, context),
});

function validateSpec(spec: RequestSpec, { naming }: StrategyContext): FieldError[] {
  const errors = new Problems();
  const { signerName = "", podUID = "" } = spec;
  validateSignerName(signerName, "spec.signerName", errors);
  validateAnnotations(spec.unverifiedUserAnnotations ?? {}, errors);
  for (const whose of ["pod", "serviceAccount", "node"] as const) {
    const [nameField, uidField] = [`${whose}Name`, `${whose}UID`] as const;
    const [name, uid] = [spec[nameField] ?? "", spec[uidField] ?? ""];
    validateDnsSubdomain(name, `spec.${nameField}`, errors);
    if (uid === "") errors.push(invalidValue(`spec.${uidField}`, uid, "must not be empty"));
    if (Buffer.byteLength(uid) > UID_BYTES_MAX) {
      errors.push(tooLongValue(`spec.${uidField}`, UID_BYTES_MAX));
    }
  }
  const seconds = spec.maxExpirationSeconds ?? undefined;
  if (seconds === undefined) {
    errors.push(requiredValue("spec.maxExpirationSeconds", "must be set"));
    return errors;
  }
  const domain = signerName.split("/")[0] ?? "";
  const isOwn = domain === naming.labelDomain || domain.endsWith(`.${naming.labelDomain}`);
  const max = isOwn ? OWN_EXPIRATION_SECONDS_MAX : EXPIRATION_SECONDS_MAX;
  if (seconds < EXPIRATION_SECONDS_MIN || seconds > max) {
    const why = `must be in the range [${EXPIRATION_SECONDS_MIN}, ${max}]`;
    errors.push(invalidValue("spec.maxExpirationSeconds", seconds, why));
  }
  const problem = keyProblem(spec, podUID);
  if (problem !== undefined) errors.push(problem);
  return errors;
}

function validateAnnotations(
  annotations: Readonly<Record<string, string>>,
  errors: FieldError[],
): void {
  const field = "spec.unverifiedUserAnnotations";
  let bytes = 0;
  for (const [written, value] of Object.entries(annotations)) {
    bytes += Buffer.byteLength(written) + Buffer.byteLength(value);
    const key = written.toLowerCase();
    const problems = checkQualifiedName(key);
    const isPlain = problems.length === 0 && !key.includes("/");
    errors.push(...invalidValues(field, key, isPlain ? [NO_DOMAIN] : problems));
  }
  if (bytes > ANNOTATIONS_BYTES_MAX) errors.push(tooLongValue(field, ANNOTATIONS_BYTES_MAX));
}

function validateStatus(
  { spec = {}, status = {} }: PodCertificateRequest,
  before: RequestStatus,
  { nowMs }: StrategyContext,
): FieldError[] {
  const errors = new Problems();
  const conditions = status.conditions ?? [];
  let endings = 0;
  for (const [index, { type = "", status: state = "" }] of conditions.entries()) {
    const at = `status.conditions.[${index}]`;
    if (!ENDINGS.includes(type)) {
      errors.push(unsupportedValue(`${at}.type`, type, ENDINGS));
      continue;
    }
    endings += 1;
    if (endings > 1) {
      const why = 'There may be at most one condition with type "Issued", "Denied", or "Failed"';
      errors.push(invalidValue(`${at}.type`, type, why));
    }
    if (state !== "True") errors.push(unsupportedValue(`${at}.status`, state, ["True"]));
  }
  validateConditions(conditions, "status.conditions", errors);
  if (errors.length > 0) return errors;

  if (endingOf(before) !== undefined) {
    return sameStatus(
      status,
      before,
      "immutable after PodCertificateRequest is issued, denied, or failed",
    );
  }
  const ending = endingOf(status);
  if (ending === undefined) {
    const why = 'status is immutable unless transitioning to "Issued", "Denied", or "Failed"';
    return sameStatus(status, before, why);
  }
  if (ending === "Issued") {
    const problem = issuedProblem(status, spec, nowMs);
    return Array.isArray(problem) ? problem : problem === undefined ? [] : [problem];
  }
  const why =
    "non-condition status fields must be empty when denying or failing the PodCertificateRequest";
  return sameStatus(status, { conditions }, why);
}

function endingOf({ conditions }: RequestStatus): string | undefined {
  return conditions?.find(({ type = "", status }) => ENDINGS.includes(type) && status === "True")
    ?.type;
}

function sameStatus(next: RequestStatus, wanted: RequestStatus, why: string): FieldError[] {
  const [shown, expected] = [next, wanted].map((status) => ({
    conditions: status.conditions ?? [],
    certificateChain: status.certificateChain ?? "",
    times: [status.notBefore, status.beginRefreshAt, status.notAfter].map((time) => time ?? ""),
  }));
  return deepEqual(shown, expected) ? [] : [invalidWhole("status", why)];
}

function issuedProblem(
  status: RequestStatus,
  spec: RequestSpec,
  nowMs: number,
): FieldError | FieldError[] | undefined {
  const { certificateChain: chain = "" } = status;
  if (Buffer.byteLength(chain) > CHAIN_BYTES_MAX) return tooLongValue(CHAIN, CHAIN_BYTES_MAX);
  const refused = (why: string) => invalidValue(CHAIN, chain, why);
  const [first, ...others] = pemEntries(chain);
  if (first === undefined) {
    return refused("issued certificate chain must contain at least one certificate");
  }
  const typeProblem = "issued certificate chain must consist entirely of CERTIFICATE PEM blocks";
  if (first.type !== "CERTIFICATE") return refused(typeProblem);
  const leaf = readCertificate(first);
  if (leaf === undefined) return refused("leaf certificate does not parse as valid X.509");
  const names = nameProblems(leaf);
  if (names.length > 0) return names;
  if (leaf.publicKey.info !== requestedKey(spec)) {
    return refused("leaf certificate was not issued to the requested public key");
  }
  const times = timeProblem(status, leaf, nowMs);
  if (times !== undefined) return times;
  const lifetimeMs = leaf.notAfterMs - leaf.notBeforeMs;
  if (lifetimeMs < LIFETIME_MS_MIN) {
    return invalidWhole(CHAIN, "leaf certificate lifetime must be >= 1 hour");
  }
  const seconds = spec.maxExpirationSeconds ?? 0;
  if (lifetimeMs > Number(seconds) * 1_000) {
    const why = `leaf certificate lifetime must be <= spec.maxExpirationSeconds (${seconds})`;
    return invalidWhole(CHAIN, why);
  }
  for (const entry of others) {
    if (entry.type !== "CERTIFICATE") return refused(typeProblem);
    if (readCertificate(entry) === undefined) {
      return refused("intermediate certificate does not parse as valid X.509");
    }
  }
  return undefined;
}

function readCertificate({ der }: PemEntry): Certificate | undefined {
  try {
    return parseCertificate(der);
  } catch (error) {
    if (error instanceof MalformedDer) return undefined;
    throw error;
  }
}

function nameProblems({ extensions }: Certificate): FieldError[] {
  const errors = new Problems();
  const { dns = [], emails = [] } = extensions.alternativeNames ?? {};
  for (const name of dns) {
    if (name === "") {
      errors.push(invalidValue(CHAIN, name, "leaf certificate should not contain empty DNSName"));
    }
    if (name.includes("..")) {
      const why = "leaf certificate's DNSName should not contain '..'";
      errors.push(invalidValue(CHAIN, name, why));
    }
    if (name.startsWith(".") || name.endsWith(".")) {
      const why = "leaf certificate's DNSName should not start or end with '.'";
      errors.push(invalidValue(CHAIN, name, why));
    }
  }
  for (const email of emails) {
    if (/^[^@\s]+@[^@\s]+$/.test(email)) continue;
    const why = "leaf certificate should not contain invalid EmailAddress";
    errors.push(invalidValue(CHAIN, email, why));
  }
  return errors;
}

/** The times that a status repeats are those of the leaf, and leave time for renewal. */
function timeProblem(
  { notBefore, beginRefreshAt, notAfter }: RequestStatus,
  leaf: Certificate,
  nowMs: number,
): FieldError | FieldError[] | undefined {
  const missing = new Problems();
  const consistent = "must be present and consistent with the issued certificate";
  if ((notBefore ?? "") === "") missing.push(requiredValue("status.notBefore", consistent));
  if ((notAfter ?? "") === "") missing.push(requiredValue("status.notAfter", consistent));
  if ((beginRefreshAt ?? "") === "") {
    const why = "must be present and in the range [notbefore+10min, notafter-10min]";
    missing.push(requiredValue("status.beginRefreshAt", why));
  }
  if (missing.length > 0) return missing;
  const [beginMs, refreshMs, endMs] = [notBefore, beginRefreshAt, notAfter].map((time) =>
    Date.parse(String(time)),
  ) as [number, number, number];
  if (beginMs !== leaf.notBeforeMs) {
    const why = "must be set to the NotBefore time encoded in the leaf certificate";
    return invalidValue("status.notBefore", notBefore, why);
  }
  if (Math.abs(beginMs - nowMs) > OFF_MS_MAX) {
    const why = "must be set to within 5 minutes of kube-apiserver's current time";
    return invalidValue("status.notBefore", notBefore, why);
  }
  if (endMs !== leaf.notAfterMs) {
    const why = "must be set to the NotAfter time encoded in the leaf certificate";
    return invalidValue("status.notAfter", notAfter, why);
  }
  if (refreshMs < beginMs + REFRESH_MARGIN_MS) {
    const why = "must be at least 10 minutes after status.notBefore";
    return invalidValue("status.beginRefreshAt", beginRefreshAt, why);
  }
  if (refreshMs > endMs - REFRESH_MARGIN_MS) {
    const why = "must be at least 10 minutes before status.notAfter";
    return invalidValue("status.beginRefreshAt", beginRefreshAt, why);
  }
  return undefined;
}
