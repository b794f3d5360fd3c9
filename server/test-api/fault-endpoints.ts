/** /debug/faults: orders faults, lists and removes them. */
import { isRecord } from "../../storage/base/is-record.js";
import type { JsonObject, JsonValue } from "../api/meta.js";
import { badRequest } from "../api/status.js";
import { type Endpoints, numberOf } from "./endpoints.js";
import {
  FAULT_TYPES,
  type Fault,
  type FaultKind,
  type FaultMatch,
  type FaultOrder,
  type Faults,
  verbsOf,
} from "./faults.js";

export const FAULTS_PATH = "/debug/faults";

const TIMES_MAX = 1_000_000;
const DELAY_MS_MAX = 600_000;
const MATCH_KEYS = ["verb", "group", "resource", "subresource", "namespace", "name", "user"];

export function faultEndpoints(faults: Faults): Endpoints {
  return {
    [FAULTS_PATH]: {
      GET: () => ({ items: faults.all.map(shown) }),
      POST: ({ body }) => shown(faults.order(readOrder(body))),
      DELETE: ({ query }) => ({ removed: faults.remove(query.get("id")) }),
    },
  };
}

function shown({ id, match, what, times, probability, hits }: Fault): object {
  // JSON has no Infinity.
  const bounded = Number.isFinite(times) ? { times } : {};
  return { id, match, what, ...bounded, probability, hits };
}

/** @throws {StatusError} 400 */
function readOrder({ match = {}, what, times, probability, ...others }: JsonObject): FaultOrder {
  refuseOthers("the order", Object.keys(others));
  const kind = readKind(what);
  const { verb, ...more } = readMatch(match);
  // A word that no request has would be a fault that never happens, and a test that passes.
  if (verb !== undefined && !verbsOf(kind.type).includes(verb)) {
    throw badRequest(`match.verb: ${kind.type} meets ${verbsOf(kind.type).join(", ")}`);
  }
  return {
    match: verb === undefined ? more : { verb, ...more },
    what: kind,
    times: numberOf("times", times, { fallback: Number.POSITIVE_INFINITY, max: TIMES_MAX }),
    probability: numberOf("probability", probability, { fallback: 1, max: 1 }),
  };
}

function readMatch(match: JsonValue): FaultMatch {
  if (!isRecord(match)) throw badRequest("match: not an object");
  refuseOthers(
    "match",
    Object.keys(match).filter((key) => !MATCH_KEYS.includes(key)),
  );
  for (const key of Object.keys(match)) textOf(`match.${key}`, match[key] as JsonValue);
  return match as FaultMatch;
}

function readKind(what: JsonValue | undefined): FaultKind {
  if (!isRecord(what)) throw badRequest("what: not an object");
  const { type, ...more } = what as JsonObject;
  const known = FAULT_TYPES.find((one) => one === type);
  if (known === undefined) throw badRequest(`what.type: not one of ${FAULT_TYPES.join(", ")}`);
  if (known === "delay") {
    const { delayMs, ...others } = more;
    refuseOthers("what", Object.keys(others));
    if (delayMs === undefined) throw badRequest("what.delayMs: how many milliseconds is missing");
    const limits = { fallback: 0, max: DELAY_MS_MAX };
    return { type: known, delayMs: numberOf("what.delayMs", delayMs, limits) };
  }
  if (known !== "status") {
    refuseOthers("what", Object.keys(more));
    return { type: known };
  }
  const { code, reason, message, retryAfterSeconds, ...others } = more;
  refuseOthers("what", Object.keys(others));
  const status = numberOf("what.code", code, { fallback: 0, max: 599 });
  if (!Number.isInteger(status) || status < 400) throw badRequest("what.code: not 400 to 599");
  const limits = { fallback: 0, max: 3_600 };
  return {
    type: known,
    code: status,
    reason: textOf("what.reason", reason),
    message: textOf("what.message", message),
    retryAfterSeconds:
      retryAfterSeconds === undefined
        ? undefined
        : numberOf("what.retryAfterSeconds", retryAfterSeconds, limits),
  };
}

function textOf(name: string, value: JsonValue | undefined): string | undefined {
  if (value === undefined || typeof value === "string") return value;
  throw badRequest(`${name}: not a text`);
}

function refuseOthers(where: string, keys: readonly string[]): void {
  const [first] = keys;
  if (first === undefined) return;
  throw badRequest(`${where}: unknown member ${JSON.stringify(first.slice(0, 100))}`);
}
