/**
 * The signer guard as a validating plugin: who writes the status of a PodCertificateRequest needs the verb `sign` on its
 * signer, or on the signer's whole domain. It cannot be switched off, so no flag names it. What it finds is an error of
 * the object's fields (422), as existing clients know it.
 */
import type { AdmissionPlugin } from "../../admission/admission.js";
import { handlesOnly } from "../../admission/admission.js";
import { type MayUseSigner, mayUseSignerOrDomain } from "../../admission/certificate-signers.js";
import { deepEqual } from "../../api/deep-equal.js";
import { forbiddenField } from "../../api/field-errors.js";
import type { Naming } from "../../api/naming.js";
import { invalid } from "../../api/status.js";
import { signalOf } from "../../request/lazy-signal.js";
import { valueAt } from "../generic/fields.js";

export function createSignerGuard(
  { groupDomain }: Naming,
  mayUseSigner: MayUseSigner,
): AdmissionPlugin {
  const may = mayUseSignerOrDomain(mayUseSigner);
  return {
    name: "SignerGuard",
    isGuard: true,
    handles: handlesOnly(
      { group: `certificates.${groupDomain}`, resource: "podcertificaterequests" },
      ["UPDATE"],
      ["status"],
    ),
    validate({ object, oldObject, resource, name, user }, signal) {
      if (oldObject === undefined || deepEqual(object?.status ?? {}, oldObject.status ?? {})) {
        return undefined;
      }
      const signer = String(valueAt(oldObject, ["spec", "signerName"]) ?? "");
      return may(user, "sign", signer, signalOf(signal)).then((isAllowed) => {
        if (isAllowed) return;
        const why = `User ${JSON.stringify(user.name)} is not permitted to "sign" for signer ${JSON.stringify(signer)}`;
        throw invalid(resource, name, [forbiddenField("spec.signerName", why)]);
      });
    },
  };
}
