/**
 * Wiring of the memory of answers. The view knows a list's size in advance. Exemptions come from
 * priority and fairness, or from the two in-flight limits when they are used instead.
 */
import type { RegistryView } from "../../storage/cache/registry-view.js";
import { withAnswerMemory } from "../chain/answer-memory.js";
import type { InFlightLimits } from "../chain/in-flight.js";
import { type AnswerMemory, FlowGroup } from "../flowcontrol/answer-memory.js";
import { listMemory } from "../flowcontrol/width.js";
import type { CatalogSource } from "../kinds/live-catalog.js";
import type { Metrics } from "../metrics/metrics.js";
import type { RequestStep } from "../request/step.js";
import type { FlowControlStep } from "./flow-control.js";
import { sizesOf } from "./listed-sizes.js";

const NAME = "apiserver_answer_memory";

export function createAnswerMemory(options: {
  /** Of all control planes of the process. */
  readonly memory: AnswerMemory;
  readonly isRoot: boolean;
  readonly view: RegistryView;
  readonly catalog: CatalogSource;
  readonly metrics: Metrics;
  readonly flowControl: FlowControlStep | undefined;
  readonly inFlightLimits: InFlightLimits;
}): RequestStep {
  const { memory, isRoot, metrics, flowControl, inFlightLimits } = options;
  observe(metrics, memory);
  const sizeOf = sizesOf(options);
  return withAnswerMemory({
    memory,
    group: isRoot ? undefined : new FlowGroup(),
    listMemory: (info, isKept) => listMemory(info, (namespace) => sizeOf(info, namespace), isKept),
    isExempt: flowControl?.isExempt ?? inFlightLimits.isExempt,
    metrics,
  });
}

function observe(metrics: Metrics, memory: AnswerMemory): void {
  const gauges: readonly [string, string, () => number][] = [
    ["bytes", "Memory that answers and bodies under way have claimed.", () => memory.bytes],
    ["limit_bytes", "What they may claim together.", () => memory.bytesMax],
    ["waiting_requests", "Requests that wait for memory.", () => memory.waiting],
  ];
  for (const [name, help, read] of gauges) {
    metrics.gauge({ name: `${NAME}_${name}`, help }, (set) => set(read()));
  }
  metrics.gauge(
    {
      name: `${NAME}_rejected_requests_total`,
      help: "Requests that got no memory for their answer.",
      labelNames: ["reason"],
    },
    (set) => {
      for (const [reason, count] of memory.refused) set(count, reason);
    },
  );
}
