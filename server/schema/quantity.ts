/**
 * Quantities ("500m", "1Gi"): parsing and the canonical form that clients read. Exact at any size: a
 * value is an integer times a power of ten. Pure; used by the codec, by defaults and for sums of
 * resources.
 */

/** The family of a quantity's suffix; formatting uses the same one. */
type QuantityFormat = "decimal" | "binary" | "exponent";

export interface Quantity {
  /** The value is `digits` times ten to the power of `scale`. */
  readonly digits: bigint;
  readonly scale: number;
  readonly format: QuantityFormat;
  /** The original text, which kube-apiserver keeps in some cases. */
  readonly text?: string;
}

export const ZERO_QUANTITY: Quantity = { digits: 0n, scale: 0, format: "decimal" };

/** The error for a malformed quantity. */
export const QUANTITY_RULE =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

const PATTERN = /^([+-]?)(\d*)(?:\.(\d*))?(?:([eEinumkKMGTP]+[-+]?\d*))?$/;
const EXPONENT = /^[eE]([-+]?\d{1,4})$/;

const DECIMAL_SUFFIXES: ReadonlyMap<string, number> = new Map([
  ["n", -9],
  ["u", -6],
  ["m", -3],
  ["", 0],
  ["k", 3],
  ["M", 6],
  ["G", 9],
  ["T", 12],
  ["P", 15],
  ["E", 18],
]);
const DECIMAL_NAMES = new Map([...DECIMAL_SUFFIXES].map(([suffix, power]) => [power, suffix]));
const BINARY_SUFFIXES = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"] as const;

/** Longer texts are rejected, because parsing their digits costs too much time. */
const TEXT_LENGTH_MAX = 256;
/** The finest scale that is kept. */
const SCALE_MIN = -9;
const DECIMAL_SCALE_MAX = 18;
const BINARY_MAX = 2n ** 63n - 1n;
/** kube-apiserver keeps canonical-looking texts of up to this many digits. */
const PLAIN_DIGITS_MAX = 18;

/** Matches almost every quantity of clients; these are canonical already. */
const USUAL = /^(?:0|[1-9]\d{0,2}(?:m|k|M|G|T|[KMGT]i)?)$/;

/** The canonical form of a quantity; undefined if invalid. */
export function canonicalQuantity(text: string): string | undefined {
  if (USUAL.test(text)) return text;
  const quantity = parseQuantity(text.trim());
  return quantity === undefined ? undefined : formatQuantity(quantity);
}

/** undefined if the text is not a quantity. */
export function parseQuantity(text: string): Quantity | undefined {
  if (text.length > TEXT_LENGTH_MAX) return undefined;
  const match = PATTERN.exec(text);
  if (match === null || text === "") return undefined;
  const [, sign = "", padded = "", fraction = "", suffix = ""] = match;
  const whole = padded.replace(/^0+/, "");
  if (!/\d/.test(text)) return undefined;
  const power = suffixPower(suffix);
  if (power === undefined) return undefined;
  const shifted = (whole === "" ? "0" : whole) + fraction;
  const digits = BigInt(shifted) * (sign === "-" ? -1n : 1n) * power.factor;
  const scale = power.scale - fraction.length;
  const isPlain = shifted.length <= PLAIN_DIGITS_MAX && scale >= SCALE_MIN;
  if (power.format === "binary") return boundedBinary(digits, scale, shifted, text);
  const isKept =
    isPlain && digits !== 0n && scale % 3 === 0 && !shifted.endsWith("000") && shifted[0] !== "0";
  return { ...roundUp(digits, scale, SCALE_MIN), format: power.format, ...(isKept && { text }) };
}

interface Power {
  readonly factor: bigint;
  readonly scale: number;
  readonly format: QuantityFormat;
}

function suffixPower(suffix: string): Power | undefined {
  const scale = DECIMAL_SUFFIXES.get(suffix);
  if (scale !== undefined) return { factor: 1n, scale, format: "decimal" };
  const binary = BINARY_SUFFIXES.indexOf(suffix as "Ki");
  if (binary > 0) return { factor: 1024n ** BigInt(binary), scale: 0, format: "binary" };
  const exponent = EXPONENT.exec(suffix)?.[1];
  if (exponent === undefined) return undefined;
  return { factor: 1n, scale: Number(exponent), format: "exponent" };
}

function boundedBinary(digits: bigint, scale: number, shifted: string, text: string): Quantity {
  const rounded = roundUp(digits, scale, SCALE_MIN);
  const magnitude = rounded.digits < 0n ? -rounded.digits : rounded.digits;
  const one = 10n ** BigInt(-rounded.scale);
  if (magnitude > BINARY_MAX * one) {
    return { digits: digits < 0n ? -BINARY_MAX : BINARY_MAX, scale: 0, format: "binary" };
  }
  if (magnitude < one) return { ...rounded, format: "decimal" };
  const isKept = scale === 0 && (BigInt(shifted) & 7n) !== 0n && shifted.length < 10;
  return { ...rounded, format: "binary", ...(isKept && { text }) };
}

/** The value at no finer scale than `scaleMin`, rounded away from zero. */
function roundUp(
  digits: bigint,
  scale: number,
  scaleMin: number,
): { digits: bigint; scale: number } {
  if (scale >= scaleMin) return { digits, scale };
  // Beyond this distance all digits round to one unit.
  const divisor = 10n ** BigInt(Math.min(scaleMin - scale, digits.toString().length + 1));
  const quotient = digits / divisor;
  const isExact = quotient * divisor === digits;
  const away = digits < 0n ? -1n : 1n;
  return { digits: isExact ? quotient : quotient + away, scale: scaleMin };
}

/** The quantity rounded up to thousandths, as decoding does for resource lists. */
export function roundUpToMilli(text: string): string {
  if (USUAL.test(text)) return text;
  const quantity = parseQuantity(text);
  if (quantity === undefined || quantity.scale >= -3) return text;
  return formatQuantity({
    ...roundUp(quantity.digits, quantity.scale, -3),
    format: quantity.format,
  });
}

export function compareQuantities(left: Quantity, right: Quantity): number {
  const scale = Math.min(left.scale, right.scale);
  const difference = digitsAt(left, scale) - digitsAt(right, scale);
  return difference === 0n ? 0 : difference < 0n ? -1 : 1;
}

export function addQuantities(left: Quantity, right: Quantity): Quantity {
  const scale = Math.min(left.scale, right.scale);
  const { format } = left.digits === 0n ? right : left;
  return { digits: digitsAt(left, scale) + digitsAt(right, scale), scale, format };
}

export function subtractQuantities(left: Quantity, right: Quantity): Quantity {
  return addQuantities(left, { digits: -right.digits, scale: right.scale, format: right.format });
}

/** The number, rounded up to a whole one. */
export function wholeOf(quantity: Quantity): bigint {
  const { digits, scale } = roundUpToWhole(quantity);
  return scale >= 0 ? digits * 10n ** BigInt(scale) : digits / 10n ** BigInt(-scale);
}

/** Whole, rounded away from zero. */
export function roundUpToWhole(quantity: Quantity): Quantity {
  if (quantity.scale >= 0) return quantity;
  return { ...roundUp(quantity.digits, quantity.scale, 0), format: quantity.format };
}

function digitsAt(quantity: Quantity, scale: number): bigint {
  return quantity.digits * 10n ** BigInt(quantity.scale - scale);
}

/** Canonical: no fraction, the largest suffix that fits, no precision lost. */
export function formatQuantity(quantity: Quantity): string {
  if (quantity.digits === 0n) return "0";
  if (quantity.text !== undefined) return quantity.text;
  return (quantity.format === "binary" ? binaryText(quantity) : undefined) ?? decimalText(quantity);
}

/** undefined if a binary suffix would round, or the value is below 1024. */
function binaryText(quantity: Quantity): string | undefined {
  const { digits, scale } = stripTens(quantity);
  if (scale < 0) return undefined;
  let value = digits * 10n ** BigInt(scale);
  if (value > -1024n && value < 1024n) return undefined;
  let power = 0;
  for (; power < BINARY_SUFFIXES.length - 1 && value % 1024n === 0n; power++) value /= 1024n;
  return `${value}${BINARY_SUFFIXES[power]}`;
}

function decimalText(quantity: Quantity): string {
  let { digits, scale } = stripTens(quantity);
  const isExponent = quantity.format === "exponent";
  const top = isExponent ? scale : Math.min(scale, DECIMAL_SCALE_MAX);
  // The largest multiple of three that does not need a fraction.
  const target = Math.floor(top / 3) * 3;
  digits *= 10n ** BigInt(scale - target);
  scale = target;
  if (!isExponent) return `${digits}${DECIMAL_NAMES.get(scale) ?? ""}`;
  return scale === 0 ? digits.toString() : `${digits}e${scale}`;
}

function stripTens({ digits, scale }: Quantity): { digits: bigint; scale: number } {
  let stripped = digits;
  let power = scale;
  while (stripped % 10n === 0n && stripped !== 0n) {
    stripped /= 10n;
    power++;
  }
  return { digits: stripped, scale: power };
}
