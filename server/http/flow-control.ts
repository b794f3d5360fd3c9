/**
 * Priority and fairness in the request chain: a request takes seats before it is authorized and gives
 * them back when its handler is done. Stands after impersonation, as the flow is that of the user who
 * acts, and before authorization, which may already cost something.
 *
 * A watch gives its seats back once its initial events are sent; other long-running requests take none.
 */
import { nextTurn } from "../../storage/base/next-turn.js";
import { type StatusError, tooManyRequests } from "../api/status.js";
import type { FlowControl, HeldSeats } from "../flowcontrol/flow-control.js";
import type { Turns } from "../flowcontrol/turns.js";
import { isLongRunning, isReadOnly, type RequestInfo } from "../request/request-info.js";
import type {
  AnswerTurns,
  RequestContext,
  RequestMiddleware,
  RequestState,
} from "../request/request-state.js";
import type { Metrics } from "./metrics.js";

/** How often those who wait are looked at, while somebody does. */
const LOOK_MS = 250;
/** What a write has to do besides, about: its body has to be read, and the feed brings what it has put. */
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
  { state, res }: RequestContext,
  { flowControl, turns, metrics }: FlowControlParts,
  laterMs: number,
): Promise<void> {
  const { user, info } = state;
  const place = flowControl.turnPlaceOf(user, info);
  if (place === undefined) return;
  if (!turns.hasRoomFor(place)) {
    const text = `priority level "${place.level}": ${turns.waiting} requests wait for their turn`;
    throw refuse(info, { text, retryAfterSeconds: 1 }, metrics);
  }
  const span = state.trace?.begin("priorityandfairness");
  await turns.wait(place, laterMs);
  span?.end();
  if (res.closed || res.destroyed || performance.now() >= state.deadlineMs) {
    state.signal.throwIfAborted();
  }
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

/** The reason of an aborted signal is what the client hears, if it is still there. */
function reasonOf(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new Error("the request was cancelled");
}

/** Ends waits that are too long, with a timer that runs only while somebody waits. */
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
