/** Strategies of the certificates group: signing requests and trust bundles. */
import type { ApiObject } from "../../api/meta.js";
import { formatTime } from "../../api/time.js";
import { checkPathSegmentName } from "../../api/validation-names.js";
import type { StrategyTable } from "../../kinds/strategy.js";
import { membersAt, selectable } from "../generic/fields.js";
import { dropsStatus, replacedWhenSeen, statusOnly } from "../generic/status-parts.js";
import { conditionsOf, withDecisionsOf, withTimes } from "./signing-status.js";
import { validatesPodCertificateRequest } from "./validate-pod-certificate-request.js";
import { validatesSigningRequest } from "./validate-signing-request.js";
import { validatesTrustBundle } from "./validate-trust-bundle.js";

/** Kinds whose rules say all that there is to say of the spec. */
const rulesReportSpec = { ownFields: /^spec\./ };

export const certificateStrategies: StrategyTable = {
  "certificates/certificatesigningrequests": {
    ...validatesSigningRequest,
    validateName: checkPathSegmentName,
    /** The signer relies on the requester's identity, so the client cannot set it. */
    prepareForCreate(next, { user }) {
      delete next.status;
      const spec = membersAt(next, "spec");
      spec.username = user.name;
      spec.uid = user.uid;
      spec.groups = [...user.groups];
      spec.extra = user.extra;
    },
    prepareForUpdate(next, current, { subresource, nowMs }) {
      next.spec = current.spec;
      if (subresource === "status") keepDecisions(next, current, nowMs);
    },
    resetFields: {
      "": ["spec", "status"],
      status: ["spec", "status.conditions"],
      approval: ["spec", "status.certificate"],
    },
    ...selectable(["spec.signerName"]),
  },
  "certificates/clustertrustbundles": {
    ...replacedWhenSeen,
    ...validatesTrustBundle,
    ...rulesReportSpec,
    // With the signer's name before it, which the rules know.
    validateName: () => [],
    ...selectable(["spec.signerName"]),
  },
  "certificates/podcertificaterequests": {
    ...dropsStatus,
    ...statusOnly,
    resetFields: { status: ["spec"] },
    ...replacedWhenSeen,
    ...validatesPodCertificateRequest,
    ...rulesReportSpec,
    ...selectable(["spec.signerName", "spec.podName", "spec.nodeName"]),
  },
};

/** A report repeats decisions, and does not rewrite them. */
function keepDecisions(next: ApiObject, current: ApiObject, nowMs: number): void {
  const before = conditionsOf(current);
  const kept = withDecisionsOf(conditionsOf(next), before);
  if (kept.length === 0) return;
  membersAt(next, "status").conditions = withTimes(kept, before, formatTime(nowMs));
}
