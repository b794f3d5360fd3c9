/** The strategies of the batch group. */
import { isRecord } from "../../../storage/base/is-record.js";
import type { ApiObject } from "../../api/meta.js";
import type { StrategyTable } from "../../kinds/strategy.js";
import { templated } from "../core/templated.js";
import { membersAt, selectable } from "../generic/fields.js";
import { specAndStatus } from "../generic/status-parts.js";
import { cronJobWarnings, jobWarnings } from "./job-warnings.js";
import { validatesCronJob, validatesJob } from "./validate-batch.js";

export const batchStrategies: StrategyTable = {
  "batch/cronjobs": templated("spec.jobTemplate.spec.template", {
    ...specAndStatus,
    ...validatesCronJob,
    warnings: cronJobWarnings,
  }),
  "batch/jobs": templated("spec.template", {
    ...specAndStatus,
    // The first jobs orphaned their pods on deletion, and this version still does by default.
    garbageCollection: "orphan",
    defaultPropagationWarning:
      "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning",
    prepareForCreate(next, { naming }) {
      delete next.status;
      const spec = membersAt(next, "spec");
      if (spec.manualSelector === true) return;
      generateSelector(next, spec, naming.labelDomain);
    },
    ...validatesJob,
    // A job without labels shows those of its pods, the generated ones too.
    hasStatusDefaults: true,
    warnings: jobWarnings,
    ...selectable(["status.successful"], { "status.successful": "0" }),
  }),
};

/** Selects a job's pods by its uid, so that jobs cannot adopt each other's. */
function generateSelector(
  job: ApiObject,
  spec: Record<string, unknown>,
  labelDomain: string,
): void {
  const { name = "", uid = "" } = job.metadata;
  const uidLabel = `batch.${labelDomain}/controller-uid`;
  const metadata = membersAt(membersAt(spec, "template"), "metadata");
  const templateLabels = isRecord(metadata.labels) ? metadata.labels : undefined;
  const labels = sorted({
    "controller-uid": uid,
    "job-name": name,
    [uidLabel]: uid,
    [`batch.${labelDomain}/job-name`]: name,
    // The user's own are left, and refused when they differ.
    ...templateLabels,
  });
  // Labels that the job took over from its pods follow them.
  if (templateLabels !== undefined && job.metadata.labels === templateLabels) {
    job.metadata.labels = { ...labels };
  }
  metadata.labels = labels;
  const selector = isRecord(spec.selector) ? spec.selector : {};
  const matchLabels = isRecord(selector.matchLabels) ? selector.matchLabels : {};
  spec.selector = { ...selector, matchLabels: sorted({ [uidLabel]: uid, ...matchLabels }) };
}

/** In the order in which maps are shown. */
function sorted(labels: Record<string, unknown>): Record<string, string> {
  const entries = Object.entries(labels as Record<string, string>);
  return Object.fromEntries(entries.sort(([left], [right]) => (left < right ? -1 : 1)));
}
