/**
 * Checks of names and other short texts: DNS labels and subdomains, path segments, label keys and
 * values. Each check returns all error messages of a value, none when it is valid. The texts are
 * those of kube-apiserver (apimachinery util/validation), as people search for them.
 */

/** Checks one value; `isPrefix` is true for a generateName, which may end in a dash. */
export type NameCheck = (name: string, isPrefix: boolean) => string[];

const DNS_LABEL_CHARS_MAX = 63;
const DNS_SUBDOMAIN_CHARS_MAX = 253;
const LABEL_VALUE_CHARS_MAX = 63;
const QUALIFIED_NAME_CHARS_MAX = 63;

const DNS_1123_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const DNS_1035_LABEL = "[a-z]([-a-z0-9]*[a-z0-9])?";
const DNS_1123_SUBDOMAIN = `${DNS_1123_LABEL}(\\.${DNS_1123_LABEL})*`;
const QUALIFIED_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const LABEL_VALUE = `(${QUALIFIED_NAME})?`;

// Without the nested quantifiers of the texts above, so that no input makes them slow.
const DNS_1123_LABEL_TEST = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const DNS_1035_LABEL_TEST = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;
const DNS_1123_SUBDOMAIN_TEST = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const QUALIFIED_NAME_TEST = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;

const OK: string[] = Object.freeze([]) as unknown as string[];

/** A domain such as "web.example.com": the default for names. */
export const checkDnsSubdomainName: NameCheck = (name, isPrefix) =>
  checkDnsSubdomain(isPrefix ? maskTrailingDash(name) : name);

/** The same as declarative validation has it, which counts bytes in its message. */
export const checkLongName: NameCheck = (name, isPrefix) =>
  checkDnsSubdomainName(name, isPrefix).map((why) =>
    why.startsWith("must be no more than ") ? why.replace("characters", "bytes") : why,
  );

/** A label such as "web": names that become part of a host name. */
export const checkDnsLabelName: NameCheck = (name, isPrefix) =>
  checkDnsLabel(isPrefix ? maskTrailingDash(name) : name);

/** A label that starts with a letter: names of Services. */
export const checkDns1035LabelName: NameCheck = (name, isPrefix) =>
  checkDns1035Label(isPrefix ? maskTrailingDash(name) : name);

/** Any single path segment of a URL: RBAC kinds and few others. */
export const checkPathSegmentName: NameCheck = (name, isPrefix) => {
  const messages: string[] = [];
  if (!isPrefix && (name === "." || name === "..")) messages.push(`may not be '${name}'`);
  for (const illegal of ["/", "%"]) {
    if (name.includes(illegal)) messages.push(`may not contain '${illegal}'`);
  }
  return messages;
};

export function checkDnsSubdomain(value: string): string[] {
  if (value.length <= DNS_SUBDOMAIN_CHARS_MAX && DNS_1123_SUBDOMAIN_TEST.test(value)) return OK;
  const messages: string[] = [];
  if (value.length > DNS_SUBDOMAIN_CHARS_MAX) messages.push(tooLong(DNS_SUBDOMAIN_CHARS_MAX));
  if (!DNS_1123_SUBDOMAIN_TEST.test(value)) {
    messages.push(
      regexMessage(
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
        DNS_1123_SUBDOMAIN,
        "example.com",
      ),
    );
  }
  return messages;
}

export function checkDnsLabel(value: string): string[] {
  if (value.length <= DNS_LABEL_CHARS_MAX && DNS_1123_LABEL_TEST.test(value)) return OK;
  const messages: string[] = [];
  if (value.length > DNS_LABEL_CHARS_MAX) messages.push(tooLong(DNS_LABEL_CHARS_MAX));
  if (!DNS_1123_LABEL_TEST.test(value)) {
    // kube-apiserver tells the client when only the dots are wrong.
    messages.push(
      DNS_1123_SUBDOMAIN_TEST.test(value)
        ? "must not contain dots"
        : regexMessage(
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
            DNS_1123_LABEL,
            "my-name",
            "123-abc",
          ),
    );
  }
  return messages;
}

export function checkDns1035Label(value: string): string[] {
  if (value.length <= DNS_LABEL_CHARS_MAX && DNS_1035_LABEL_TEST.test(value)) return OK;
  const messages: string[] = [];
  if (value.length > DNS_LABEL_CHARS_MAX) messages.push(tooLong(DNS_LABEL_CHARS_MAX));
  if (!DNS_1035_LABEL_TEST.test(value)) {
    messages.push(
      regexMessage(
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
        DNS_1035_LABEL,
        "my-name",
        "abc-123",
      ),
    );
  }
  return messages;
}

/** "example.com/MyName" or "MyName": keys of labels and annotations, names of finalizers. */
export function checkQualifiedName(value: string): string[] {
  const slash = value.indexOf("/");
  if (slash < 0 && value.length <= QUALIFIED_NAME_CHARS_MAX && QUALIFIED_NAME_TEST.test(value)) {
    return OK;
  }
  if (value.lastIndexOf("/") !== slash) {
    return [
      `a valid label key ${regexMessage(QUALIFIED_NAME_RULE, QUALIFIED_NAME, "MyName", "my.name", "123-abc")} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  }
  const messages: string[] = [];
  const name = value.slice(slash + 1);
  if (slash >= 0) {
    const prefix = value.slice(0, slash);
    if (prefix === "") messages.push("prefix part must be non-empty");
    else {
      const problems = checkDnsSubdomain(prefix);
      messages.push(...problems.map((text) => `prefix part ${text.replace(CHARACTERS, "bytes")}`));
    }
  }
  if (name === "") messages.push("name part must be non-empty");
  else if (name.length > QUALIFIED_NAME_CHARS_MAX) {
    messages.push(`name part ${tooLong(QUALIFIED_NAME_CHARS_MAX, "bytes")}`);
  }
  if (!QUALIFIED_NAME_TEST.test(name)) {
    messages.push(
      `name part ${regexMessage(QUALIFIED_NAME_RULE, QUALIFIED_NAME, "MyName", "my.name", "123-abc")}`,
    );
  }
  return messages;
}

const CHARACTERS = /characters$/;

const QUALIFIED_NAME_RULE =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";

export function checkLabelValue(value: string): string[] {
  const isWellFormed = value === "" || QUALIFIED_NAME_TEST.test(value);
  if (isWellFormed && value.length <= LABEL_VALUE_CHARS_MAX) return OK;
  const messages: string[] = [];
  if (value.length > LABEL_VALUE_CHARS_MAX) messages.push(tooLong(LABEL_VALUE_CHARS_MAX, "bytes"));
  if (!isWellFormed) {
    messages.push(
      regexMessage(
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
        LABEL_VALUE,
        "MyValue",
        "my_value",
        "12345",
      ),
    );
  }
  return messages;
}

/** Names are of characters, keys and values of labels of bytes, in kube-apiserver's words. */
function tooLong(max: number, unit: "characters" | "bytes" = "characters"): string {
  return `must be no more than ${max} ${unit}`;
}

function regexMessage(rule: string, pattern: string, ...examples: string[]): string {
  const list = examples.map((example) => `'${example}'`).join(",  or ");
  return `${rule} (e.g. ${list}, regex used for validation is '${pattern}')`;
}

/** A generated suffix follows the trailing dash, so the dash is no error. */
function maskTrailingDash(name: string): string {
  return name.length > 1 && name.endsWith("-") ? `${name.slice(0, -2)}a` : name;
}
