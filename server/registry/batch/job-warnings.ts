/** Warnings about jobs that are accepted, and may surprise. */
import type { ApiObject } from "../../api/meta.js";
import type { StrategyContext } from "../../kinds/strategy.js";
import { workloadNameWarnings } from "../generic/name-warnings.js";
import { isNewGeneration } from "../generic/status-parts.js";
import { isIndexed, type Job, type JobSpec } from "./job-types.js";

const COMPLETIONS_HIGH = 100_000;
const PARALLELISM_HIGH = 10_000;

export function jobWarnings(next: ApiObject, current: ApiObject | undefined): readonly string[] {
  const { spec } = next as Job;
  if (current === undefined)
    return [...workloadNameWarnings(next, current), ...specWarnings(spec, "spec")];
  return isNewGeneration(next, current) ? specWarnings(spec, "spec") : [];
}

interface CronJob extends ApiObject {
  spec?: { readonly schedule?: string; readonly jobTemplate?: { readonly spec?: JobSpec } };
}

export function cronJobWarnings(
  next: ApiObject,
  current: ApiObject | undefined,
  { naming }: Pick<StrategyContext, "naming">,
): readonly string[] {
  const { spec = {} } = next as CronJob;
  const warnings: string[] = workloadNameWarnings(next, current);
  if (current === undefined || isNewGeneration(next, current)) {
    warnings.push(...specWarnings(spec.jobTemplate?.spec, "spec.jobTemplate.spec"));
  }
  if (current !== undefined && spec.schedule?.includes("TZ")) {
    warnings.push(
      `cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see https://${naming.labelDomain}/docs/concepts/workloads/controllers/cron-jobs/ for more details`,
    );
  }
  return warnings;
}

function specWarnings(spec: JobSpec | undefined, field: string): string[] {
  if (spec === undefined || !isIndexed(spec)) return [];
  const isHuge =
    (spec.completions ?? 0) > COMPLETIONS_HIGH && (spec.parallelism ?? 0) > PARALLELISM_HIGH;
  if (!isHuge) return [];
  return [
    `${field}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail`,
  ];
}
