/**
 * Converts autoscaling/v1 HorizontalPodAutoscaler to and from autoscaling/v2, the stored version. The
 * older version has only one metric, CPU utilization; the rest is kept in annotations with the
 * existing API's names and contents, so a round trip loses nothing.
 */
import { isRecord } from "../../../storage/base/is-record.js";
import type { ApiObject } from "../../api/meta.js";
import type { Naming } from "../../api/naming.js";
import type { Conversion } from "../../kinds/conversion.js";
import { membersAt } from "../generic/fields.js";
import { currentToNewer, currentToOlder, metricToNewer, metricToOlder } from "./metrics.js";

type Members = Record<string, unknown>;

interface AnnotationNames {
  readonly metrics: string;
  readonly currentMetrics: string;
  readonly conditions: string;
  readonly behavior: string;
}

export function createAutoscalerConversion({ labelDomain }: Naming): Conversion {
  const prefix = `autoscaling.alpha.${labelDomain}`;
  const names: AnnotationNames = {
    metrics: `${prefix}/metrics`,
    currentMetrics: `${prefix}/current-metrics`,
    conditions: `${prefix}/conditions`,
    behavior: `${prefix}/behavior`,
  };
  return {
    toStored: (served) => toNewer(served, names),
    fromStored: (stored) => toOlder(stored, names),
  };
}

function toOlder(stored: ApiObject, names: AnnotationNames): ApiObject {
  const { metrics, behavior, ...spec } = membersAt(stored, "spec");
  const { currentMetrics, conditions, ...status } = membersAt(stored, "status");
  const annotations = { ...stored.metadata.annotations };

  const all = listOf(metrics);
  const main = all.find(isProcessorUtilization);
  if (main !== undefined) spec.targetCPUUtilizationPercentage = utilizationOf(main, "target");
  const others = all.filter((metric) => metric !== main);
  if (others.length > 0) annotations[names.metrics] = JSON.stringify(others.map(metricToOlder));
  if (behavior !== undefined && behavior !== null) {
    annotations[names.behavior] = JSON.stringify(behavior);
  }

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
  const annotations = { ...served.metadata.annotations };

  const metrics: Members[] = [];
  if (typeof targetCPUUtilizationPercentage === "number") {
    metrics.push({
      type: "Resource",
      resource: { name: "cpu", target: utilizationTarget(targetCPUUtilizationPercentage) },
    });
  }
  metrics.push(...takeList(annotations, names.metrics).map(metricToNewer));
  if (metrics.length > 0) spec.metrics = metrics;
  const behavior = take(annotations, names.behavior);
  if (isRecord(behavior)) spec.behavior = behavior;

  // The annotation is more exact than the single number.
  const measured = takeList(annotations, names.currentMetrics).map(currentToNewer);
  if (measured.length === 0 && typeof currentCPUUtilizationPercentage === "number") {
    const current = { averageUtilization: currentCPUUtilizationPercentage };
    measured.push({ type: "Resource", resource: { name: "cpu", current } });
  }
  status.currentMetrics = measured.length > 0 ? measured : null;
  const conditions = takeList(annotations, names.conditions);
  if (conditions.length > 0) status.conditions = conditions;
  return { ...served, metadata: withAnnotations(served, annotations), spec, status };
}

function utilizationTarget(averageUtilization: number): Members {
  return { type: "Utilization", averageUtilization };
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

/** Removes an annotation and returns its value; invalid JSON is left in place. */
function take(annotations: Record<string, string>, name: string): unknown {
  const text = annotations[name];
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    delete annotations[name];
    return value;
  } catch {
    return undefined;
  }
}

function takeList(annotations: Record<string, string>, name: string): Members[] {
  return listOf(take(annotations, name));
}

function listOf(value: unknown): Members[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}
