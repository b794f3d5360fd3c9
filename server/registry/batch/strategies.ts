/** The strategies of the batch group. */
import { isRecord } from "../../../storage/base/is-record.js";
import type { ApiObject } from "../../api/meta.js";
import { checkDnsSubdomain } from "../../api/validation-names.js";
import type { StrategyTable } from "../../kinds/strategy.js";
import { membersAt, selectable } from "../generic/fields.js";
import { specAndStatus } from "../generic/status-parts.js";
import { validatesCronJob, validatesJob } from "./validate-batch.js";

/** A job's name is the CronJob's plus eleven characters of time, and must fit a label. */
const CRON_JOB_NAME_CHARS_MAX = 52;

export const batchStrategies: StrategyTable = {
  "batch/cronjobs": {
    ...specAndStatus,
    ...validatesCronJob,
    validateName(name, isPrefix) {
      const checked = isPrefix && name.endsWith("-") ? `${name.slice(0, -1)}a` : name;
      const messages = [...checkDnsSubdomain(checked)];
      if (!isPrefix && name.length > CRON_JOB_NAME_CHARS_MAX) {
        messages.push(`must be no more than ${CRON_JOB_NAME_CHARS_MAX} characters`);
      }
      return messages;
    },
  },
  "batch/jobs": {
    ...specAndStatus,
    // The first jobs orphaned their pods on deletion, and this version still does by default.
    garbageCollection: "orphan",
    defaultPropagationWarning:
      "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning",
    prepareForCreate(next, { naming }) {
      delete next.status;
      const spec = membersAt(next, "spec");
      if (spec.manualSelector === true) return;
      const labels = generateSelector(next, spec, naming.labelDomain);
      // The type's default on read: a job without labels gets those of its pods.
      if (Object.keys(next.metadata.labels ?? {}).length === 0) next.metadata.labels = labels;
    },
    ...validatesJob,
    ...selectable(["status.successful"], { "status.successful": "0" }),
  },
};

/** Selects a job's pods by its uid, so that jobs cannot adopt each other's. @returns their labels */
function generateSelector(
  job: ApiObject,
  spec: Record<string, unknown>,
  labelDomain: string,
): Record<string, string> {
  const { name = "", uid = "" } = job.metadata;
  const uidLabel = `batch.${labelDomain}/controller-uid`;
  const metadata = membersAt(membersAt(spec, "template"), "metadata");
  const labels = {
    ...(isRecord(metadata.labels) ? (metadata.labels as Record<string, string>) : {}),
    "controller-uid": uid,
    "job-name": name,
    [uidLabel]: uid,
    [`batch.${labelDomain}/job-name`]: name,
  };
  metadata.labels = labels;
  const selector = isRecord(spec.selector) ? spec.selector : {};
  const matchLabels = isRecord(selector.matchLabels) ? selector.matchLabels : {};
  spec.selector = { ...selector, matchLabels: { ...matchLabels, [uidLabel]: uid } };
  return { ...labels };
}
