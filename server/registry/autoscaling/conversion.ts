/**
 * Converts autoscaling/v1 HorizontalPodAutoscaler to and from autoscaling/v2, the stored version. The
 * older version has only one metric, CPU utilization; the rest is kept in annotations with
 * kube-apiserver's names and contents, so a round trip loses nothing.
 */
import { isRecord } from "../../../storage/base/is-record.js";
import type { ApiObject } from "../../api/meta.js";
import type { Naming } from "../../api/naming.js";
import type { Conversion } from "../../kinds/conversion.js";
import { membersAt } from "../generic/fields.js";
import { behaviorFromValue, behaviorToText } from "./behavior.js";
import { currentToNewer, currentToOlder, metricToNewer, metricToOlder } from "./metrics.js";
import {
  type AnnotationNames,
  annotationNames,
  withoutRoundTrip,
} from "./round-trip-annotations.js";

type Members = Record<string, unknown>;

/** The target of an autoscaler that names no metric. */
const DEFAULT_UTILIZATION = 80;

export function createAutoscalerConversion(naming: Naming): Conversion {
  const names = annotationNames(naming);
  return {
    toStored: (served) => toNewer(served, names),
    fromStored: (stored) => toOlder(stored, names),
  };
}

function toOlder(stored: ApiObject, names: AnnotationNames): ApiObject {
  const { metrics, behavior, ...spec } = membersAt(stored, "spec");
  const { currentMetrics, conditions, ...status } = membersAt(stored, "status");
  const annotations = withoutRoundTrip(stored.metadata.annotations, names);

  const all = listOf(metrics);
  const main = all.find(isProcessorUtilization);
  if (main !== undefined) spec.targetCPUUtilizationPercentage = utilizationOf(main, "target");
  const others = all.filter((metric) => !isProcessorUtilization(metric));
  if (others.length > 0) annotations[names.metrics] = JSON.stringify(others.map(metricToOlder));
  if (isRecord(behavior)) annotations[names.behavior] = behaviorToText(behavior);

  const measured = listOf(currentMetrics);
  const processor = measured.find(isProcessor);
  const utilization = processor && utilizationOf(processor, "current");
  if (utilization !== undefined) status.currentCPUUtilizationPercentage = utilization;
  if (measured.length > 0) {
    annotations[names.currentMetrics] = JSON.stringify(measured.map(currentToOlder));
  }
  const states = listOf(conditions);
  if (states.length > 0) annotations[names.conditions] = JSON.stringify(states);
  // The older form always writes it.
  status.currentReplicas ??= 0;
  return { ...stored, metadata: withAnnotations(stored, annotations), spec, status };
}

function toNewer(served: ApiObject, names: AnnotationNames): ApiObject {
  const { targetCPUUtilizationPercentage, ...spec } = membersAt(served, "spec");
  const { currentCPUUtilizationPercentage, ...status } = membersAt(served, "status");
  const texts = served.metadata.annotations ?? {};

  const metrics = readList(texts[names.metrics]).map(metricToNewer);
  if (typeof targetCPUUtilizationPercentage === "number") {
    metrics.push(processorMetric(targetCPUUtilizationPercentage));
  }
  if (metrics.length === 0) metrics.push(processorMetric(DEFAULT_UTILIZATION));
  spec.metrics = metrics;
  const behavior = behaviorFromValue(read(texts[names.behavior]));
  if (behavior !== undefined) spec.behavior = behavior;

  // The annotation is more exact than the single number.
  const measured = readList(texts[names.currentMetrics]).map(currentToNewer);
  if (measured.length === 0 && typeof currentCPUUtilizationPercentage === "number") {
    const current = { averageUtilization: currentCPUUtilizationPercentage };
    measured.push({ type: "Resource", resource: { name: "cpu", current } });
  }
  status.currentMetrics = measured.length > 0 ? measured : null;
  const conditions = readList(texts[names.conditions]);
  if (conditions.length > 0) status.conditions = conditions;
  const annotations = withoutRoundTrip(texts, names);
  return { ...served, metadata: withAnnotations(served, annotations), spec, status };
}

function processorMetric(averageUtilization: number): Members {
  const target = { type: "Utilization", averageUtilization };
  return { type: "Resource", resource: { name: "cpu", target } };
}

function isProcessor(metric: Members): boolean {
  const { resource } = metric;
  return metric.type === "Resource" && isRecord(resource) && resource.name === "cpu";
}

function isProcessorUtilization(metric: Members): boolean {
  return isProcessor(metric) && utilizationOf(metric, "target") !== undefined;
}

function utilizationOf(metric: Members, part: "target" | "current"): number | undefined {
  const values = isRecord(metric.resource) ? metric.resource[part] : undefined;
  const utilization = isRecord(values) ? values.averageUtilization : undefined;
  return typeof utilization === "number" ? utilization : undefined;
}

function withAnnotations({ metadata }: ApiObject, annotations: Record<string, string>) {
  const { annotations: _replaced, ...rest } = metadata;
  return Object.keys(annotations).length === 0 ? rest : { ...rest, annotations };
}

/** The value of an annotation; what is no JSON says nothing. */
function read(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function readList(text: string | undefined): Members[] {
  return listOf(read(text));
}

function listOf(value: unknown): Members[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}
