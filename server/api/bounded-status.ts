/**
 * The size of a refusal: what a client sent stands in its message, its name and its causes, and each validation
 * bounds what it shows, but in characters, of which an encoding makes up to six bytes each, and not all names are looked at.
 * So the last one who has the Status cuts what is still too long.
 */
import { firstOf } from "./shown-value.js";
import type { Status, StatusCause } from "./status.js";

/** As JSON. Other encodings indent it, and have to stay below 64 KiB. */
export const STATUS_BYTES_MAX = 56 * 1024;
/** Bytes that JSON makes of a UTF-16 unit at most: "\u0001". */
const BYTES_PER_UNIT = 6;
/** UTF-16 units of one text; messages and causes are made with fewer of them. */
const TEXT_UNITS_MAX = 20_000;
/** Texts are cut to it before causes are left out. */
const TEXT_UNITS_MIN = 256;
const CUT = "...";

/** The Status itself, unless it is too long. */
export function boundedStatus(status: Status): Status {
  if (unitsOf(status) * BYTES_PER_UNIT <= STATUS_BYTES_MAX) return status;
  let units = TEXT_UNITS_MAX;
  let bounded = withTexts(status, units, Number.POSITIVE_INFINITY);
  while (Buffer.byteLength(JSON.stringify(bounded)) > STATUS_BYTES_MAX) {
    const causes = bounded.details?.causes?.length ?? 0;
    if (units === TEXT_UNITS_MIN && causes === 0) break;
    bounded = withTexts(bounded, units, units === TEXT_UNITS_MIN ? causes >> 1 : causes);
    units = Math.max(TEXT_UNITS_MIN, units >> 1);
  }
  return bounded;
}

function unitsOf({ message = "", reason = "", details }: Status): number {
  let units = message.length + reason.length;
  if (details === undefined) return units;
  const { name = "", group = "", kind = "", uid = "", causes = [] } = details;
  units += name.length + group.length + kind.length + uid.length;
  for (const { reason: why = "", message: text = "", field = "" } of causes) {
    units += why.length + text.length + field.length;
  }
  return units;
}

function withTexts(status: Status, units: number, causesMax: number): Status {
  const { details } = status;
  const causes = details?.causes?.slice(0, causesMax);
  return {
    ...cutTexts(status, units),
    ...(details !== undefined && {
      details: {
        ...cutTexts(details, units),
        ...(causes !== undefined && {
          causes: causes.map((cause): StatusCause => cutTexts(cause, units)),
        }),
      },
    }),
  };
}

function cutTexts<T extends object>(values: T, units: number): T {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      typeof value === "string" && value.length > units ? firstOf(value, units) + CUT : value,
    ]),
  ) as T;
}
