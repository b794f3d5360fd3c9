/** Strategies of the certificates group: signing requests and trust bundles. */
import { isRecord } from "../../../storage/base/is-record.js";
import type { ApiObject } from "../../api/meta.js";
import type { StrategyTable } from "../../kinds/strategy.js";
import { membersAt, selectable, valueAt } from "../generic/fields.js";
import { dropsStatus, replacedWhenSeen } from "../generic/status-parts.js";
import { validatesSigningRequest } from "./validate-signing-request.js";

const DECISIONS: ReadonlySet<unknown> = new Set(["Approved", "Denied"]);

export const certificateStrategies: StrategyTable = {
  "certificates/certificatesigningrequests": {
    ...validatesSigningRequest,
    /** The signer relies on the requester's identity, so the client cannot set it. */
    prepareForCreate(next, { user }) {
      delete next.status;
      const spec = membersAt(next, "spec");
      spec.username = user.name;
      spec.uid = user.uid;
      spec.groups = [...user.groups];
      spec.extra = user.extra;
    },
    prepareForUpdate(next, current, { subresource }) {
      next.spec = current.spec;
      if (subresource === "status") keepDecisions(next, current);
    },
    ...selectable(["spec.signerName"]),
  },
  "certificates/clustertrustbundles": {
    ...replacedWhenSeen,
    ...selectable(["spec.signerName"]),
  },
  "certificates/podcertificaterequests": {
    ...dropsStatus,
    ...selectable(["spec.signerName", "spec.podName", "spec.nodeName"]),
  },
};

/** Approval has its own subresource: signers may not grant what they then sign. */
function keepDecisions(next: ApiObject, current: ApiObject): void {
  const kept = conditionsOf(current).filter(({ type }) => DECISIONS.has(type));
  const others = conditionsOf(next).filter(({ type }) => !DECISIONS.has(type));
  const status = membersAt(next, "status");
  if (kept.length + others.length === 0) delete status.conditions;
  else status.conditions = [...kept, ...others];
}

function conditionsOf(object: ApiObject): Record<string, unknown>[] {
  const conditions = valueAt(object, ["status", "conditions"]);
  return Array.isArray(conditions) ? conditions.filter(isRecord) : [];
}
