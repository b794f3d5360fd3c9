/** The strategies of the batch group. */
import type { ApiObject } from "../../api/meta.js";
import { checkDnsSubdomain } from "../../api/validation-names.js";
import { isMembers, membersAt, selectable } from "../generic/fields.js";
import type { StrategyTable } from "../generic/served-resource.js";
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
      if (spec.manualSelector !== true) generateSelector(next, spec, naming.labelDomain);
    },
    ...validatesJob,
    ...selectable(["status.successful"], { "status.successful": "0" }),
  },
};

/** Pods of a job are found by its uid, so that jobs cannot take each other's. */
function generateSelector(
  job: ApiObject,
  spec: Record<string, unknown>,
  labelDomain: string,
): void {
  const { name = "", uid = "" } = job.metadata;
  const uidLabel = `batch.${labelDomain}/controller-uid`;
  const metadata = membersAt(membersAt(spec, "template"), "metadata");
  metadata.labels = {
    ...(isMembers(metadata.labels) ? metadata.labels : {}),
    "controller-uid": uid,
    "job-name": name,
    [uidLabel]: uid,
    [`batch.${labelDomain}/job-name`]: name,
  };
  const selector = isMembers(spec.selector) ? spec.selector : {};
  const labels = isMembers(selector.matchLabels) ? selector.matchLabels : {};
  spec.selector = { ...selector, matchLabels: { ...labels, [uidLabel]: uid } };
}
