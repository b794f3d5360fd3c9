/**
 * Priority and fairness in the request chain: a request takes seats before it is authorized and gives
 * them back when its handler is done. Stands after impersonation, as the flow is that of the user who
 * acts, and before authorization, which may already cost something.
 *
 * A watch gives its seats back once its initial events are sent; other long-running requests take none.
 */
import { type StatusError, tooManyRequests } from "../api/status.js";
import type { FlowControl, HeldSeats } from "../flowcontrol/flow-control.js";
import { isLongRunning, isReadOnly, type RequestInfo } from "../request/request-info.js";
import type { RequestMiddleware } from "../request/request-state.js";
import type { Metrics } from "./metrics.js";

/** How often those who wait are looked at, while somebody does. */
const LOOK_MS = 250;

export interface FlowControlParts {
  readonly flowControl: FlowControl;
  /** How many seats a request takes. */
  readonly widthOf: (info: RequestInfo) => number;
  /** Seat-seconds that a write leaves behind: its watchers have to be told. */
  readonly workAfter: (info: RequestInfo) => number;
  readonly metrics: Pick<Metrics, "countTermination">;
}

export function withFlowControl(parts: FlowControlParts): RequestMiddleware {
  const { flowControl, widthOf, workAfter, metrics } = parts;
  const lookAtClock = clockWatcher(flowControl);
  return async function flowControlStep(ctx, next) {
    const { state } = ctx;
    const { info } = state;
    if (isLongRunning(info) && info.verb !== "watch") return await next();
    const entry = flowControl.enter(state, widthOf(info), performance.now());
    let seats: HeldSeats;
    if (entry.type === "seated") {
      seats = entry.seats;
    } else if (entry.type === "denied") {
      throw refusal(info, entry.denial);
    } else {
      lookAtClock();
      const span = state.trace?.begin("priorityandfairness");
      const outcome = await entry.wait(state.signal);
      span?.end();
      if (!("release" in outcome)) {
        if (outcome.reason === "cancelled") throw reasonOf(state.signal);
        throw refusal(info, outcome);
      }
      seats = outcome;
    }
    state.seats = seats;
    try {
      await next();
      if (!isReadOnly(info)) seats.release(performance.now(), workAfter(info));
    } finally {
      // Undefined when a watch has taken them over.
      state.seats?.release(performance.now());
    }
  };

  function refusal(
    info: RequestInfo,
    denial: { text: string; retryAfterSeconds: number },
  ): StatusError {
    metrics.countTermination(info, 429);
    const text = `Too many requests, please try again later: ${denial.text}.`;
    return tooManyRequests(text, denial.retryAfterSeconds);
  }
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
