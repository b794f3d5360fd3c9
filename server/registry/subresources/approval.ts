/**
 * approval of a CertificateSigningRequest: only conditions change, and a decision is not taken back.
 * Authorization and admission decide who may approve for which signer.
 */

import { isRecord } from "../../../storage/base/is-record.js";
import { formatTime } from "../../api/time.js";
import { conditionsOf, validateSigningStatus, withTimes } from "../certificates/signing-status.js";
import type { PartDefinition } from "./definition.js";

export const approval: PartDefinition = {
  part: {
    merge(sent, current, { nowMs }) {
      const status = isRecord(current.status) ? current.status : {};
      const conditions = withTimes(conditionsOf(sent), conditionsOf(current), formatTime(nowMs));
      const { spec } = current;
      return { ...sent, spec, status: { ...status, conditions } };
    },
    validate: (next, current) => validateSigningStatus(next, current, "approval"),
  },
};
