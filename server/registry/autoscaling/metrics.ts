/**
 * Converts one metric of a HorizontalPodAutoscaler. The newer form has a `metric` and a `target`
 * (or `current`) of a stated type; the older one has the same in flat fields.
 */
import { isRecord } from "../../../storage/base/is-record.js";

type Members = Record<string, unknown>;

/** A metric's target in autoscaling/v1 form. */
export function metricToOlder(metric: Members): Members {
  return convert(metric, {
    resource: ({ name, target, container }) => {
      const { averageUtilization, averageValue } = members(target);
      return compact({
        name,
        targetAverageUtilization: averageUtilization,
        targetAverageValue: averageValue,
        container,
      });
    },
    pods: ({ metric: id, target }) => {
      const { name, selector } = members(id);
      return compact({
        metricName: name,
        targetAverageValue: members(target).averageValue,
        selector,
      });
    },
    object: ({ describedObject, metric: id, target }) => {
      const { name, selector } = members(id);
      const { value, averageValue } = members(target);
      // The flat field is required.
      const targetValue = value ?? "0";
      return compact({
        target: describedObject,
        metricName: name,
        targetValue,
        selector,
        averageValue,
      });
    },
    external: ({ metric: id, target }) => {
      const { name, selector } = members(id);
      const { value, averageValue } = members(target);
      return compact({
        metricName: name,
        metricSelector: selector,
        targetValue: value,
        targetAverageValue: averageValue,
      });
    },
  });
}

/** The reverse of `metricToOlder`. */
export function metricToNewer(metric: Members): Members {
  return convert(metric, {
    resource: ({ name, container, targetAverageUtilization, targetAverageValue }) => ({
      ...compact({ name, container }),
      target:
        targetAverageUtilization === undefined
          ? { type: "AverageValue", averageValue: targetAverageValue }
          : { type: "Utilization", averageUtilization: targetAverageUtilization },
    }),
    pods: ({ metricName, selector, targetAverageValue }) => ({
      metric: compact({ name: metricName, selector }),
      target: { type: "AverageValue", averageValue: targetAverageValue },
    }),
    object: ({ target, metricName, targetValue, selector, averageValue }) => ({
      describedObject: target,
      metric: compact({ name: metricName, selector }),
      target: valueTarget(targetValue, averageValue),
    }),
    external: ({ metricName, metricSelector, targetValue, targetAverageValue }) => ({
      metric: compact({ name: metricName, selector: metricSelector }),
      target: valueTarget(targetValue, targetAverageValue),
    }),
  });
}

function valueTarget(value: unknown, averageValue: unknown): Members {
  return averageValue === undefined
    ? { type: "Value", value }
    : { type: "AverageValue", averageValue };
}

/** A measured metric in autoscaling/v1 form. */
export function currentToOlder(metric: Members): Members {
  return convert(metric, {
    resource: ({ name, current, container }) => {
      const { averageUtilization, averageValue } = members(current);
      return compact({
        name,
        currentAverageUtilization: averageUtilization,
        currentAverageValue: averageValue ?? "0",
        container,
      });
    },
    pods: ({ metric: id, current }) => {
      const { name, selector } = members(id);
      const currentAverageValue = members(current).averageValue ?? "0";
      return compact({ metricName: name, currentAverageValue, selector });
    },
    object: ({ describedObject, metric: id, current }) => {
      const { name, selector } = members(id);
      const { value, averageValue } = members(current);
      const currentValue = value ?? "0";
      return compact({
        target: describedObject,
        metricName: name,
        currentValue,
        selector,
        averageValue,
      });
    },
    external: ({ metric: id, current }) => {
      const { name, selector } = members(id);
      const { value, averageValue } = members(current);
      return compact({
        metricName: name,
        metricSelector: selector,
        currentValue: value ?? "0",
        currentAverageValue: averageValue,
      });
    },
  });
}

/** The reverse of `currentToOlder`. */
export function currentToNewer(metric: Members): Members {
  return convert(metric, {
    resource: ({ name, container, currentAverageUtilization, currentAverageValue }) => ({
      ...compact({ name, container }),
      current: compact({
        averageValue: currentAverageValue,
        averageUtilization: currentAverageUtilization,
      }),
    }),
    pods: ({ metricName, selector, currentAverageValue }) => ({
      metric: compact({ name: metricName, selector }),
      current: compact({ averageValue: currentAverageValue }),
    }),
    object: ({ target, metricName, currentValue, selector, averageValue }) => ({
      describedObject: target,
      metric: compact({ name: metricName, selector }),
      current: compact({ value: currentValue, averageValue }),
    }),
    external: ({ metricName, metricSelector, currentValue, currentAverageValue }) => ({
      metric: compact({ name: metricName, selector: metricSelector }),
      current: compact({ value: currentValue, averageValue: currentAverageValue }),
    }),
  });
}

type Source = "resource" | "pods" | "object" | "external";

/** Converts the member that is set; a container's resource is like a pod's, plus its name. */
function convert(
  metric: Members,
  converters: Readonly<Record<Source, (source: Members) => Members>>,
): Members {
  const result: Members = { type: metric.type };
  for (const name of ["object", "pods", "resource", "containerResource", "external"]) {
    const source = metric[name];
    if (!isRecord(source)) continue;
    result[name] = converters[name === "containerResource" ? "resource" : (name as Source)](source);
  }
  return result;
}

function members(value: unknown): Members {
  return isRecord(value) ? value : {};
}

/** Without the members that have no value. */
function compact(values: Members): Members {
  const entries = Object.entries(values).filter(
    ([, value]) => value !== undefined && value !== null,
  );
  return Object.fromEntries(entries);
}
