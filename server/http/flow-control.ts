/**
 * Priority and fairness in the request chain: a request takes seats before it is authorized and
 * releases them when its handler is done. Runs after impersonation, as the acting user determines the
 * flow, and before authorization, which may already be costly.
 *
 * A watch releases its seats after its initial events; other long-running requests take none.
 */
import { nextTurn } from "../../storage/base/next-turn.js";
import { type StatusError, tooManyRequests } from "../api/status.js";
import type { FlowControl, HeldSeats } from "../flowcontrol/flow-control.js";
import type { TurnPlace } from "../flowcontrol/turn-place.js";
import type { Turns } from "../flowcontrol/turns.js";
import { isLongRunning, isReadOnly, type RequestInfo } from "../request/request-info.js";
import type {
  AnswerTurns,
  RequestContext,
  RequestMiddleware,
  RequestState,
} from "../request/request-state.js";
import { answerUnderWay } from "./answer-under-way.js";
import type { Metrics } from "./metrics.js";

/** Interval of the check for overdue waits, while any request waits. */
const LOOK_MS = 250;
/** Approximate later cost of a write: its body has to be read, and the feed brings it back. */
const WRITE_LATER_MS = 0.2;

export interface FlowControlParts {
  readonly flowControl: FlowControl;
  readonly turns: Turns;
  /** How many seats a request takes. */
  readonly widthOf: (info: RequestInfo) => number;
  /** How many have to be told of a write. */
  readonly watchersOf: (info: RequestInfo) => number;
  readonly metrics: Pick<Metrics, "countTermination">;
}

export function withFlowControl(parts: FlowControlParts): RequestMiddleware {
  const { flowControl, turns, widthOf, watchersOf, metrics } = parts;
  const answerTurns = toAnswerTurns(parts);
  const lookAtClock = clockWatcher(flowControl);
  return async function flowControlStep(ctx, next) {
    const { state } = ctx;
    const { info } = state;
    if (isLongRunning(info) && info.verb !== "watch") return await next();
    state.turns = answerTurns;
    let nowMs = performance.now();
    const laterMs = isReadOnly(info) ? 0 : WRITE_LATER_MS;
    if (!turns.isFree(nowMs, laterMs)) {
      await waitForTurn(ctx, parts, laterMs);
      nowMs = performance.now();
    }
    const entry = flowControl.enter(state, widthOf(info), nowMs);
    let seats: HeldSeats;
    if (entry.type === "seated") {
      seats = entry.seats;
    } else if (entry.type === "denied") {
      throw refuse(info, entry.denial, metrics);
    } else {
      lookAtClock();
      const span = state.trace?.begin("priorityandfairness");
      const outcome = await entry.wait(state.signal);
      span?.end();
      if (!("release" in outcome)) {
        if (outcome.reason === "cancelled") throw reasonOf(state.signal);
        throw refuse(info, outcome, metrics);
      }
      seats = outcome;
    }
    state.seats = seats;
    try {
      await next();
      if (!isReadOnly(info)) seats.release(performance.now(), watchersOf(info));
    } finally {
      // Undefined when a watch has taken them over.
      state.seats?.release(performance.now());
    }
  };
}

function refuse(
  info: RequestInfo,
  denial: { readonly text: string; readonly retryAfterSeconds: number },
  metrics: FlowControlParts["metrics"],
): StatusError {
  metrics.countTermination(info, 429);
  const text = `Too many requests, please try again later: ${denial.text}.`;
  return tooManyRequests(text, denial.retryAfterSeconds);
}

/** Exempt requests never wait. */
async function waitForTurn(
  ctx: RequestContext,
  { flowControl, turns, metrics }: FlowControlParts,
  laterMs: number,
): Promise<void> {
  const { state, res } = ctx;
  const { user, info } = state;
  const place = flowControl.turnPlaceOf(user, info);
  if (place === undefined) return;
  if (!turns.hasRoomFor(place)) {
    const text = `priority level "${place.level}": ${turns.waiting} requests wait for their turn`;
    throw refuse(info, { text, retryAfterSeconds: 1 }, metrics);
  }
  readNextLater(ctx, turns, place);
  const span = state.trace?.begin("priorityandfairness");
  await turns.wait(place, laterMs);
  span?.end();
  if (res.closed || res.destroyed || performance.now() >= state.deadlineMs) {
    state.signal.throwIfAborted();
  }
}

/** A connection of HTTP/1.1 is a request at a time: the next one may wait where it is sent. */
function readNextLater({ req, res }: RequestContext, turns: Turns, place: TurnPlace): void {
  const { socket } = req;
  if (req.httpVersionMajor > 1 || req.headers.upgrade !== undefined) return;
  if (!turns.isOnlyFlowOf(socket, place)) return;
  res.once("close", () => {
    const next = answerUnderWay(socket);
    // One that has been read already, of a client that did not wait for the answer, may need the rest of its body.
    if (res.shouldKeepAlive && !socket.destroyed && next === undefined)
      turns.readLater(socket, place);
  });
}

function toAnswerTurns({ flowControl, turns }: FlowControlParts): AnswerTurns {
  return {
    next({ user, info }: RequestState) {
      if (turns.isFree(performance.now())) return undefined;
      const place = flowControl.turnPlaceOf(user, info);
      return place === undefined ? nextTurn() : turns.wait(place);
    },
    toAnswer({ user, info }: RequestState) {
      if (turns.isFree(performance.now())) return undefined;
      const place = flowControl.turnPlaceOf(user, info);
      return place === undefined ? undefined : turns.waitToEnd(place);
    },
  };
}

/** The abort reason, which the client gets if it is still connected. */
function reasonOf(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new Error("the request was cancelled");
}

/** Ends overdue waits, with a timer that only runs while requests wait. */
function clockWatcher(flowControl: FlowControl): () => void {
  let isLooking = false;
  const look = () => {
    flowControl.tick(performance.now());
    isLooking = flowControl.isAnybodyWaiting;
    if (isLooking) setTimeout(look, LOOK_MS).unref();
  };
  return () => {
    if (!isLooking) setTimeout(look, LOOK_MS).unref();
    isLooking = true;
  };
}
