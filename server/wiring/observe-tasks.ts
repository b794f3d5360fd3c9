/** Wiring of background tasks that fail: a metric, and the end of the replica where a task asks for it. */
import type { TaskObserver } from "../../storage/base/lifecycle.js";
import type { Metrics } from "../metrics/metrics.js";

export interface ObservedTasks {
  readonly tasks: TaskObserver;
  /** Resolves with the failure that is to end the replica. */
  readonly failure: Promise<Error>;
}

export function observeTasks(metrics: Metrics): ObservedTasks {
  const failures = metrics.counter({
    name: "keelson_task_failures_total",
    help: "Number of times a background task failed, by its name.",
    labelNames: ["task"],
  });
  let end: (error: Error) => void = () => {};
  const failure = new Promise<Error>((resolve) => {
    end = resolve;
  });
  const tasks: TaskObserver = {
    failed: (name) => failures.add(1, name),
    ended: (name, error) => end(new Error(`the task "${name}" failed`, { cause: error })),
  };
  return { tasks, failure };
}
