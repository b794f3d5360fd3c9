/** Strategy of HorizontalPodAutoscaler. */
import type { StrategyTable } from "../../kinds/strategy.js";
import { annotationNames, dropRoundTrip } from "./round-trip-annotations.js";
import { validatesAutoscaler } from "./validate-autoscaler.js";

export const autoscalingStrategies: StrategyTable = {
  "autoscaling/horizontalpodautoscalers": {
    ...validatesAutoscaler,
    // Of several sources only the first is looked into.
    ownFields: /^spec\.metrics\[\d+\]\./,
    prepareForCreate(next, context) {
      delete next.status;
      dropRoundTrip(next, annotationNames(context.naming));
    },
    prepareForUpdate(next, _current, context) {
      dropRoundTrip(next, annotationNames(context.naming));
    },
  },
};
