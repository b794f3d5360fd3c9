/** Wiring of what sees long turns: the histogram, the log line, and the page for administrators. */
import type { Logger } from "../../storage/base/logger.js";
import type { DocumentHandler } from "../http/routes.js";
import type { Metrics } from "../metrics/metrics.js";
import { TURN_BUCKETS, TurnWatch } from "../request/turn-watch.js";

export const LONG_TURNS_PATH = "/debug/turns";

export interface TurnWatchWiring {
  readonly watch: TurnWatch;
  readonly documents: Readonly<Record<string, DocumentHandler>>;
}

export function createTurnWatch(logger: Logger, metrics: Metrics): TurnWatchWiring {
  const durations = metrics.histogram({
    name: "apiserver_turn_duration_seconds",
    help: "Turns of the event loop in which requests worked for 5 ms and more.",
    buckets: [...TURN_BUCKETS],
  });
  const watch = new TurnWatch({ logger, durations: durations.cell() });
  const page = () => ({
    status: 200,
    headers: { "Content-Type": "application/json" },
    body: `${JSON.stringify({ longTurns: watch.longTurns.toReversed() }, undefined, 2)}\n`,
  });
  return { watch, documents: { [LONG_TURNS_PATH]: page } };
}
