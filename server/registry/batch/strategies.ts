/** The strategies of the batch group. */
import { isRecord } from "../../../storage/base/is-record.js";
import type { ApiObject } from "../../api/meta.js";
import { checkDnsSubdomain } from "../../api/validation-names.js";
import type { StrategyTable } from "../../kinds/strategy.js";
import { membersAt, selectable } from "../generic/fields.js";
import { specAndStatus } from "../generic/status-parts.js";
import { validatesCronJob, validatesJob } from "./validate-batch.js";

/** A job's name is the schedule's with eleven characters of time behind it, and fits a label. */
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
    // Jobs of old clients left their pods behind, and this version still does unless told otherwise.
    garbageCollection: "orphan",
    defaultPropagationWarning:
      "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning",
    prepareForCreate(next, { naming }) {
      delete next.status;
      const spec = membersAt(next, "spec");
      if (spec.manualSelector === true) return;
      const labels = generateSelector(next, spec, naming.labelDomain);
      // As the type's defaults have it when it is read: without labels it has those of its pods.
      if (Object.keys(next.metadata.labels ?? {}).length === 0) next.metadata.labels = labels;
    },
    ...validatesJob,
    ...selectable(["status.successful"], { "status.successful": "0" }),
  },
};

/** Pods of a job are found by its uid, so that jobs cannot take each other's. @returns their labels */
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
