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
import { byName, FLAT, matchingCost, sizeOf } from "../cost/call-costs.js";
import { scaled } from "../cost/ranges.js";
import { REGEX_FACTOR, TRAVERSAL_FACTOR } from "../costs.js";
import { Failure } from "../errors.js";
import { fn, method, type Overload } from "../overloads.js";
import { parseTimestamp } from "../text.js";
import { ListValue, OpaqueValue, Optional } from "../values.js";
import { requestUriProblem } from "./request-uri.js";

type Check = (text: string) => readonly string[];

class FormatValue extends OpaqueValue {
  override readonly typeName = "kubernetes.NamedFormat";
  readonly name: string;
  readonly check: Check;
  /** Characters of the regular expression that its cost stands for. */
  readonly patternSize: number;

  constructor(name: string, check: Check, patternSize: number) {
    super();
    this.name = name;
    this.check = check;
    this.patternSize = patternSize;
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

function listed(problem: string | undefined): readonly string[] {
  return problem === undefined ? [] : [problem];
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

/** Each with the size of kube-apiserver's pattern. */
const CHECKS: Readonly<Record<string, readonly [check: Check, patternSize: number]>> = {
  dns1123Label: [checkDnsLabel, 30],
  dns1123Subdomain: [checkDnsSubdomain, 60],
  dns1035Label: [checkDns1035Label, 30],
  qualifiedName: [checkQualifiedName, 60],
  dns1123LabelPrefix: [(text) => checkDnsLabelName(text, true), 30],
  dns1123SubdomainPrefix: [(text) => checkDnsSubdomainName(text, true), 60],
  dns1035LabelPrefix: [(text) => checkDns1035LabelName(text, true), 30],
  labelValue: [checkLabelValue, 40],
  uri: [(text) => listed(requestUriProblem(text)), 1103],
  uuid: [must("does not match the UUID format", (text) => UUID.test(text)), 70],
  byte: [must("invalid base64", (text) => text.length % 4 === 0 && BASE64.test(text)), 84],
  date: [must("invalid date", (text) => DATE.test(text) && isTime(`${text}T00:00:00Z`)), 71],
  datetime: [must("invalid datetime", isTime), 71],
};

const FORMATS: ReadonlyMap<string, FormatValue> = new Map(
  Object.entries(CHECKS).map(([name, [check, patternSize]]) => [
    name,
    new FormatValue(name, check, patternSize),
  ]),
);

/** The estimate stands for a pattern of this size. */
const PATTERN_SIZE_MAX = 128;

const VALIDATED = byName(
  (parts) => {
    const through = scaled(parts[1]?.size.max ?? 0, TRAVERSAL_FACTOR);
    return { cost: scaled(through, PATTERN_SIZE_MAX * REGEX_FACTOR) };
  },
  ([format, text]) =>
    format instanceof FormatValue ? matchingCost(sizeOf(text), format.patternSize) : 1,
);

const TYPE = "kubernetes.NamedFormat";

export const NAMED_FORMATS: readonly Overload[] = [
  ...[...FORMATS].map(([name, format]) => fn(`format.${name}`, "", TYPE, () => format, FLAT)),
  fn(
    "format.named",
    "string",
    `optional<${TYPE}>`,
    (name: string) => {
      const format = FORMATS.get(name);
      return format === undefined ? Optional.none : new Optional(format);
    },
    FLAT,
  ),
  method(
    "validate",
    `${TYPE}, string`,
    "optional<list<string>>",
    ({ check }: FormatValue, text: string) => {
      const messages = check(text);
      return messages.length === 0 ? Optional.none : new Optional(new ListValue(messages));
    },
    VALIDATED,
  ),
];
