/**
 * Priority and fairness in the request chain: a request takes seats before it is authorized and
 * releases them when its handler is done. Runs after impersonation, as the acting user determines the
 * flow, and before authorization, which may already be costly.
 *
 * A watch releases its seats after its initial events; other long-running requests take none.
 */
import { nextTurn } from "../../storage/base/next-turn.js";
import { type StatusError, tooManyRequests } from "../api/status.js";
import type { Entry, FlowControl } from "../flowcontrol/flow-control.js";
import type { TurnPlace } from "../flowcontrol/turn-place.js";
import type { Turns } from "../flowcontrol/turns.js";
import { answerUnderWay } from "../http/answer-under-way.js";
import type { Metrics } from "../metrics/metrics.js";
import { waitForOthers } from "../request/lazy-signal.js";
import { isLongRunning, isReadOnly, type RequestInfo } from "../request/request-info.js";
import type { AnswerTurns, RequestContext, RequestState } from "../request/request-state.js";
import { bracket, type RequestStep } from "../request/step.js";

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

export function withFlowControl(parts: FlowControlParts): RequestStep {
  const { flowControl, turns, widthOf, watchersOf } = parts;
  const answerTurns = toAnswerTurns(parts);
  const lookAtClock = clockWatcher(flowControl);

  function takeSeats(ctx: RequestContext, nowMs: number): Promise<void> | undefined {
    const { state } = ctx;
    const entry = flowControl.enter(state, widthOf(state.info), nowMs);
    if (entry.type === "seated") {
      state.seats = entry.seats;
      return undefined;
    }
    if (entry.type === "denied") throw refuse(state.info, entry.denial, parts.metrics);
    lookAtClock();
    return waitForSeats(ctx, entry, parts);
  }

  return bracket(
    function flowControlStep(ctx) {
      const { state } = ctx;
      const { info } = state;
      if (isLongRunning(info) && info.verb !== "watch") return undefined;
      state.turns = answerTurns;
      const nowMs = performance.now();
      const laterMs = isReadOnly(info) ? 0 : WRITE_LATER_MS;
      if (turns.isFree(nowMs, laterMs)) {
        if (flowControl.turnLevel !== undefined) turns.countFor(flowControl.turnLevel, nowMs);
        return takeSeats(ctx, nowMs);
      }
      return waitForTurn(ctx, parts, laterMs).then(() => takeSeats(ctx, performance.now()));
    },
    ({ state: { seats, info } }, failure) => {
      // A watch has handed them over.
      if (seats === undefined) return failure;
      const isWritten = failure === undefined && !isReadOnly(info);
      seats.release(performance.now(), isWritten ? watchersOf(info) : undefined);
      return failure;
    },
  );
}

async function waitForSeats(
  { state }: RequestContext,
  entry: Extract<Entry, { readonly type: "waiting" }>,
  { metrics }: FlowControlParts,
): Promise<void> {
  const span = state.trace?.begin("priorityandfairness");
  const outcome = await waitForOthers(state, entry.wait(state.signal));
  span?.end();
  if ("release" in outcome) state.seats = outcome;
  else if (outcome.reason === "cancelled") throw reasonOf(state.signal);
  else throw refuse(state.info, outcome, metrics);
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

/** Exempt requests never wait, except in a control plane. */
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
  await waitForOthers(state, turns.wait(place, laterMs));
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
      const place = flowControl.turnPlaceOf(user, info);
      if (place !== undefined) return turns.goOn(place);
      return turns.isFree(performance.now()) ? undefined : nextTurn();
    },
    toAnswer({ user, info }: RequestState) {
      const nowMs = performance.now();
      if (turns.isFree(nowMs)) {
        if (flowControl.turnLevel !== undefined) turns.countFor(flowControl.turnLevel, nowMs);
        return undefined;
      }
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
