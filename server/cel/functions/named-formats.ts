/**
 * The format extension: `format.dns1123Label().validate(text)` returns a string's violations of a format,
 * or none. Messages are those of the API for names and values.
 */
import {
  checkDns1035Label,
  checkDns1035LabelName,
  checkDnsLabel,
  checkDnsLabelName,
  checkDnsSubdomain,
  checkDnsSubdomainName,
  checkLabelValue,
  checkQualifiedName,
} from "../../api/validation-names.js";
import { Failure } from "../errors.js";
import { fn, method, type Overload } from "../overloads.js";
import { parseTimestamp } from "../text.js";
import { ListValue, OpaqueValue, Optional } from "../values.js";
import { isUrl } from "./urls.js";

type Check = (text: string) => readonly string[];

class FormatValue extends OpaqueValue {
  override readonly typeName = "kubernetes.NamedFormat";
  readonly name: string;
  readonly check: Check;

  constructor(name: string, check: Check) {
    super();
    this.name = name;
    this.check = check;
  }

  override equals(other: OpaqueValue): boolean {
    return other instanceof FormatValue && other.name === this.name;
  }

  override toJson(): string {
    return this.name;
  }
}

const UUID = /^[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}$/;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const DATE = /^\d{4}-\d\d-\d\d$/;

/** Returns the message if the test fails. */
function must(message: string, test: (text: string) => boolean): Check {
  return (text) => (test(text) ? [] : [message]);
}

function isTime(text: string): boolean {
  try {
    parseTimestamp(text);
    return true;
  } catch (error) {
    if (error instanceof Failure) return false;
    throw error;
  }
}

const CHECKS: Readonly<Record<string, Check>> = {
  dns1123Label: checkDnsLabel,
  dns1123Subdomain: checkDnsSubdomain,
  dns1035Label: checkDns1035Label,
  qualifiedName: checkQualifiedName,
  dns1123LabelPrefix: (text) => checkDnsLabelName(text, true),
  dns1123SubdomainPrefix: (text) => checkDnsSubdomainName(text, true),
  dns1035LabelPrefix: (text) => checkDns1035LabelName(text, true),
  labelValue: checkLabelValue,
  uri: must("invalid URI for request", isUrl),
  uuid: must("does not match the UUID format", (text) => UUID.test(text)),
  byte: must("invalid base64", (text) => text.length % 4 === 0 && BASE64.test(text)),
  date: must("invalid date", (text) => DATE.test(text) && isTime(`${text}T00:00:00Z`)),
  datetime: must("invalid datetime", isTime),
};

const FORMATS: ReadonlyMap<string, FormatValue> = new Map(
  Object.entries(CHECKS).map(([name, check]) => [name, new FormatValue(name, check)]),
);

const TYPE = "kubernetes.NamedFormat";

export const NAMED_FORMATS: readonly Overload[] = [
  ...[...FORMATS].map(([name, format]) => fn(`format.${name}`, "", TYPE, () => format)),
  fn("format.named", "string", `optional<${TYPE}>`, (name: string) => {
    const format = FORMATS.get(name);
    return format === undefined ? Optional.none : new Optional(format);
  }),
  method(
    "validate",
    `${TYPE}, string`,
    "optional<list<string>>",
    ({ check }: FormatValue, text: string) => {
      const messages = check(text);
      return messages.length === 0 ? Optional.none : new Optional(new ListValue(messages));
    },
    // Each message is shorter than this, however long the text is.
    { cost: ([, size = 1]) => Math.ceil(size * 0.1), resultSize: () => 1_024 },
  ),
];
