/**
 * Rules for ClusterTrustBundles: certificates of authorities in PEM, each once, and a name that begins with the signer that
 * the bundle is of, so that nobody finds another's bundle below a signer's name.
 */
import { parseCertificate } from "../../../storage/x509/certificate.js";
import { MalformedDer } from "../../../storage/x509/der.js";
import { pemEntries } from "../../../storage/x509/pem-entries.js";
import { invalidValue, invalidValues, tooLongValue } from "../../api/field-errors.js";
import type { ApiObject } from "../../api/meta.js";
import { Problems } from "../../api/problems.js";
import type { FieldError } from "../../api/status.js";
import { checkDnsSubdomain } from "../../api/validation-names.js";
import { validated } from "../generic/validated.js";
import { validateSignerName } from "./signer-name.js";

interface TrustBundle extends ApiObject {
  spec?: { readonly signerName?: string; readonly trustBundle?: string };
}

const BUNDLE = "spec.trustBundle";
const BUNDLE_BYTES_MAX = 1024 * 1024;
/** What messages show in place of a bundle. */
const OMITTED = "<value omitted>";

export const validatesTrustBundle = validated<TrustBundle>({
  object(next, _context, current) {
    const errors = new Problems();
    const { signerName = "", trustBundle = "" } = next.spec ?? {};
    const name = next.metadata.name ?? "";
    errors.push(...invalidValues("metadata.name", name, nameProblems(name, signerName)));
    if (signerName !== "") validateSignerName(signerName, "spec.signerName", errors);
    // What was accepted once is not read again.
    if (current === undefined || trustBundle !== (current.spec?.trustBundle ?? "")) {
      validateBundle(trustBundle, errors);
    }
    return errors;
  },
  change(next, current) {
    const { signerName = "" } = next.spec ?? {};
    if (signerName === (current.spec?.signerName ?? "")) return [];
    return [invalidValue("spec.signerName", signerName, "field is immutable")];
  },
});

function nameProblems(name: string, signerName: string): string[] {
  if (signerName === "") {
    if (!name.includes(":")) return checkDnsSubdomain(name);
    return ['ClusterTrustBundle without signer name must not have ":" in its name'];
  }
  const prefix = `${signerName.replaceAll("/", ":")}:`;
  if (name.startsWith(prefix)) return checkDnsSubdomain(name.slice(prefix.length));
  return [`ClusterTrustBundle for signerName ${signerName} must be named with prefix ${prefix}`];
}

function validateBundle(bundle: string, errors: FieldError[]): void {
  if (Buffer.byteLength(bundle) > BUNDLE_BYTES_MAX) {
    errors.push(tooLongValue(BUNDLE, BUNDLE_BYTES_MAX));
    return;
  }
  const places = new Map<string, number[]>();
  const found = new Problems();
  let index = 0;
  for (const { type, hasHeaders, der } of pemEntries(bundle)) {
    const why = entryProblem(type, hasHeaders, der);
    if (why !== undefined) found.push(invalidValue(BUNDLE, OMITTED, `entry ${index} ${why}`));
    const key = der.toString("latin1");
    const known = places.get(key);
    if (known === undefined) places.set(key, [index]);
    else known.push(index);
    index += 1;
  }
  if (found.length === 0) {
    if (places.size === 0) {
      found.push(invalidValue(BUNDLE, OMITTED, "at least one trust anchor must be provided"));
    }
    for (const same of places.values()) {
      if (same.length < 2) continue;
      const why = `duplicate trust anchor (indices [${same.join(" ")}])`;
      found.push(invalidValue(BUNDLE, OMITTED, why));
    }
  }
  errors.push(...found);
}

function entryProblem(type: string, hasHeaders: boolean, der: Buffer): string | undefined {
  if (type !== "CERTIFICATE") return `has bad block type: ${type}`;
  if (hasHeaders) return "has PEM block headers";
  try {
    const { basicConstraints } = parseCertificate(der).extensions;
    return basicConstraints?.isAuthority === true ? undefined : "does not have the CA bit set";
  } catch (error) {
    if (error instanceof MalformedDer) return "does not parse as X.509";
    throw error;
  }
}
