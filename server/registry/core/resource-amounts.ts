/**
 * Names and amounts of resources ("cpu", "memory", "example.com/gpu") in containers, quotas, limits
 * and nodes: the known names, and the amounts allowed for them.
 */
import { invalidValue, invalidValues, unsupportedValue } from "../../api/field-errors.js";
import type { FieldError } from "../../api/status.js";
import { checkQualifiedName } from "../../api/validation-names.js";
import { NOT_NEGATIVE } from "../../api/validation-values.js";
import { compareQuantities, parseQuantity, ZERO_QUANTITY } from "../../schema/quantity.js";

const COUNTED_OBJECTS = [
  "pods",
  "resourcequotas",
  "services",
  "replicationcontrollers",
  "secrets",
  "configmaps",
  "persistentvolumeclaims",
  "services.nodeports",
  "services.loadbalancers",
] as const;
const COMPUTE = ["cpu", "memory", "ephemeral-storage"] as const;
const QUOTA_COMPUTE = COMPUTE.flatMap((name) => [name, `requests.${name}`, `limits.${name}`]);

const CONTAINER_RESOURCES: ReadonlySet<string> = new Set(COMPUTE);
const QUOTA_RESOURCES: ReadonlySet<string> = new Set([
  ...QUOTA_COMPUTE,
  ...COUNTED_OBJECTS,
  "requests.storage",
]);
const STANDARD_RESOURCES: ReadonlySet<string> = new Set([...QUOTA_RESOURCES, "storage"]);
const WHOLE_RESOURCES: ReadonlySet<string> = new Set(COUNTED_OBJECTS);

/** Whether a quota knows the resource by a name of the API's own. */
export function isQuotaResource(name: string): boolean {
  return QUOTA_RESOURCES.has(name) || isHugePages(name) || name.startsWith("requests.hugepages-");
}

export function isHugePages(name: string): boolean {
  return name.startsWith("hugepages-");
}

/** Whether the name belongs to the API itself rather than to a device plug-in. */
function isNative(name: string, labelDomain: string): boolean {
  return !name.includes("/") || name.includes(`${labelDomain}/`);
}

/** A resource of a device plug-in, such as "example.com/gpu". */
export function isExtended(name: string, labelDomain: string): boolean {
  if (isNative(name, labelDomain) || name.startsWith("requests.")) return false;
  return checkQualifiedName(`requests.${name}`).length === 0;
}

/** Whether limits may be larger than requests. */
export function allowsOvercommit(name: string, labelDomain: string): boolean {
  return isNative(name, labelDomain) && !isHugePages(name);
}

/** The kinds of objects, which allow different names. */
export type ResourceUse = "container" | "pod" | "quota" | "any";

export interface ResourceRules {
  readonly labelDomain: string;
  readonly use: ResourceUse;
  readonly errors: FieldError[];
}

export function validateResourceName(
  name: string,
  field: string,
  { labelDomain, use, errors }: ResourceRules,
): void {
  if (CONTAINER_RESOURCES.has(name) && (use !== "pod" || POD_RESOURCES.includes(name))) return;
  const messages = checkQualifiedName(name);
  errors.push(...invalidValues(field, name, messages));
  if (use === "pod") {
    validatePodResourceName(name, field, { isNamed: messages.length === 0, errors });
    return;
  }
  if (name.includes("/")) {
    if (use !== "container") return;
    if (!isNative(name, labelDomain) && !isExtended(name, labelDomain)) {
      errors.push(invalidValue(field, name, "doesn't follow extended resource name standard"));
    }
    return;
  }
  const isHuge = isHugePages(name) || name.startsWith("requests.hugepages-");
  if (messages.length === 0 && !STANDARD_RESOURCES.has(name) && !isHuge) {
    const why = "must be a standard resource type or fully qualified";
    errors.push(invalidValue(field, name, why));
  }
  if (use === "container" && !isHugePages(name)) {
    errors.push(invalidValue(field, name, "must be a standard resource for containers"));
  }
  if (use === "quota" && !isQuotaResource(name)) {
    errors.push(invalidValue(field, name, "must be a standard resource for quota"));
  }
}

/** What a pod shares among its containers. */
const POD_RESOURCES = ["cpu", "hugepages-", "memory"];

function validatePodResourceName(
  name: string,
  field: string,
  { isNamed, errors }: { isNamed: boolean; errors: FieldError[] },
): void {
  if (!isNamed || isHugePages(name)) return;
  if (!name.includes("/") && !STANDARD_RESOURCES.has(name)) {
    const why = "must be a standard resource type or fully qualified";
    errors.push(invalidValue(field, name, why));
  } else errors.push(unsupportedValue(field, name, POD_RESOURCES));
}

/** Amounts must not be negative, and must be whole for countable resources. */
export function validateResourceAmount(
  name: string,
  field: string,
  { amount, labelDomain, errors }: { amount: string; labelDomain: string; errors: FieldError[] },
): void {
  if (amount.startsWith("-")) errors.push(invalidValue(field, amount, NOT_NEGATIVE));
  const isWhole = WHOLE_RESOURCES.has(name) || isExtended(name, labelDomain);
  if (isWhole && !isWholeAmount(amount)) {
    errors.push(invalidValue(field, amount, "must be an integer"));
  }
}

function isWholeAmount(text: string): boolean {
  if (/^-?\d+[kMGTPE]?i?$/.test(text)) return true;
  const quantity = parseQuantity(text);
  if (quantity === undefined || quantity.scale >= 0) return true;
  return quantity.digits % 10n ** BigInt(-quantity.scale) === 0n;
}

/** Thousandths in one of each suffix; the common suffixes suffice. */
const THOUSANDTHS: Readonly<Record<string, number>> = {
  m: 1,
  "": 1e3,
  k: 1e6,
  Ki: 1024e3,
  M: 1e9,
  Mi: 1024 ** 2 * 1e3,
  G: 1e12,
  Gi: 1024 ** 3 * 1e3,
};

/** The amount in thousandths if the text is short and the result exact, else NaN. */
function toThousandths(text: string): number {
  let at = 0;
  let digits = 0;
  for (; at < text.length; at++) {
    const digit = text.charCodeAt(at) - 48;
    if (digit < 0 || digit > 9) break;
    digits = digits * 10 + digit;
  }
  const amount = digits * (THOUSANDTHS[text.slice(at)] ?? Number.NaN);
  return at > 0 && Number.isSafeInteger(amount) ? amount : Number.NaN;
}

/** Negative, zero or positive, like a comparator; the texts are canonical quantities. */
export function compareAmounts(left: string, right: string): number {
  if (left === right) return 0;
  const difference = toThousandths(left) - toThousandths(right);
  if (!Number.isNaN(difference)) return difference;
  return compareQuantities(
    parseQuantity(left) ?? ZERO_QUANTITY,
    parseQuantity(right) ?? ZERO_QUANTITY,
  );
}

export function isPositiveAmount(text: string): boolean {
  return !text.startsWith("-") && /[1-9]/.test(text);
}

/** The amount as messages show it: a whole number, away from zero. */
export function wholeAmount(text: string): number {
  const { digits, scale } = parseQuantity(text) ?? ZERO_QUANTITY;
  const amount = Number(digits) * 10 ** scale;
  return amount < 0 ? Math.floor(amount) : Math.ceil(amount);
}

/** One amount divided by another, for comparisons and messages; infinite when that is zero. */
export function ratioOfAmounts(amount: string, of: string): number {
  const [left, right] = [amount, of].map((text) => parseQuantity(text) ?? ZERO_QUANTITY);
  if (left === undefined || right === undefined) return Number.NaN;
  return (Number(left.digits) / Number(right.digits)) * 10 ** (left.scale - right.scale);
}

/** Whether an amount of huge pages is a number of pages of that size. */
export function isPageMultiple(name: string, amount: string): boolean {
  const page = parseQuantity(name.slice("hugepages-".length));
  const whole = parseQuantity(amount);
  if (page === undefined || whole === undefined || page.digits <= 0n) return true;
  const scale = Math.min(page.scale, whole.scale);
  const digitsAt = (quantity: { digits: bigint; scale: number }) =>
    quantity.digits * 10n ** BigInt(quantity.scale - scale);
  return digitsAt(whole) % digitsAt(page) === 0n;
}
