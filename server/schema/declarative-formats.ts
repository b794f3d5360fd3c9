/** The string formats that declarative rules name. Pure. */
import {
  checkDnsLabel,
  checkDnsSubdomain,
  checkPathSegmentName,
  checkQualifiedName,
} from "../api/validation-names.js";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const C_IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/;
const IDENTIFIER_CHARS_MAX = 32;
const DOMAIN_CHARS_MAX = 63;
const POOL_CHARS_MAX = 253;

/** The violations of a format; none for unknown formats. */
export function checkFormat(format: string, text: string): readonly string[] {
  return FORMATS[format]?.(text) ?? [];
}

const FORMATS: Readonly<Record<string, (text: string) => readonly string[]>> = {
  "k8s-short-name": checkDnsLabel,
  "k8s-long-name": checkDnsSubdomain,
  "k8s-long-name-caseless": (text) => checkDnsSubdomain(text.toLowerCase()),
  "k8s-label-key": checkQualifiedName,
  "k8s-path-segment-name": (text) => checkPathSegmentName(text, false),
  "k8s-uuid": (text) =>
    UUID.test(text)
      ? []
      : ["must be a lowercase UUID in RFC 4122 format (e.g. 123e4567-e89b-12d3-a456-426614174000)"],
  "k8s-resource-pool-name": checkPoolName,
  "k8s-extended-resource-name": checkExtendedResource,
  "k8s-resource-fully-qualified-name": checkQualifiedIdentifier,
};

/** Domains joined by slashes: a driver's pool of devices. */
function checkPoolName(text: string): readonly string[] {
  if (text.length > POOL_CHARS_MAX) return [`must be no more than ${POOL_CHARS_MAX} bytes`];
  return text.split("/").flatMap((part) => checkDnsSubdomain(part));
}

/** "example.com/gpu", but not a request for one. */
function checkExtendedResource(text: string): readonly string[] {
  if (!text.includes("/")) return ['a name must be a domain-prefixed path (such as "acme.io/foo")'];
  if (text.startsWith("requests.")) return ["must not start with 'requests.'"];
  return checkQualifiedName(`requests.${text}`);
}

/** "example.com/memory_size": an attribute or capacity of a device, with its domain. */
function checkQualifiedIdentifier(text: string): readonly string[] {
  const slash = text.indexOf("/");
  if (slash < 0) return ["must be a fully qualified name: a domain, '/' and a C identifier"];
  const [domain, name] = [text.slice(0, slash), text.slice(slash + 1)];
  const messages = [...checkDnsSubdomain(domain)];
  if (domain.length > DOMAIN_CHARS_MAX)
    messages.push(`must be no more than ${DOMAIN_CHARS_MAX} bytes`);
  if (!C_IDENTIFIER.test(name)) {
    messages.push(
      "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')",
    );
  }
  if (name.length > IDENTIFIER_CHARS_MAX) {
    messages.push(`must be no more than ${IDENTIFIER_CHARS_MAX} bytes`);
  }
  return messages;
}
