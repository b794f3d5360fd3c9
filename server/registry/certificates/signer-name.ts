/** Rules for names of signers, which requests and trust bundles have. */
import { invalidValue, requiredValue, tooLongValue } from "../../api/field-errors.js";
import type { FieldError } from "../../api/status.js";
import { checkDnsLabel, checkDnsSubdomain } from "../../api/validation-names.js";

const DOMAIN_BYTES_MAX = 253;
/** A namespace and a name, as signers of a namespace have them. */
const PATH_BYTES_MAX = 63 + 1 + 253;

/** "example.com/name": the signer. */
export function validateSignerName(name: string, field: string, errors: FieldError[]): void {
  const segments = name.split("/");
  const [domain = "", path = ""] = segments;
  if (name === "") {
    errors.push(requiredValue(field));
    return;
  }
  if (segments.length !== 2) {
    const why = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
    errors.push(invalidValue(field, name, why));
    return;
  }
  const labels = domain.split(".");
  validateParts(domain, labels, { field, check: checkDnsLabel, errors });
  if (labels.length < 2) {
    const why = "should be a domain with at least two segments separated by dots";
    errors.push(invalidValue(field, domain, why));
  }
  validateParts(path, path.split("."), { field, check: checkDnsSubdomain, errors });
  const bytesMax = DOMAIN_BYTES_MAX + PATH_BYTES_MAX + 1;
  if (name.length > bytesMax) errors.push(tooLongValue(field, bytesMax));
}

/** Reports the first part that is wrong. */
function validateParts(
  whole: string,
  parts: readonly string[],
  {
    field,
    check,
    errors,
  }: { field: string; check: (part: string) => string[]; errors: FieldError[] },
): void {
  for (const part of parts) {
    const messages = check(part);
    for (const why of messages) {
      const reason = `validating label ${JSON.stringify(part)}: ${why}`;
      errors.push(invalidValue(field, whole, reason));
    }
    if (messages.length > 0) return;
  }
}
