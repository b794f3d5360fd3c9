/**
 * Plugins for certificate requests. CertificateApproval, CertificateSigning and
 * ClusterTrustBundleAttest require a permission on the signer that the request names;
 * CertificateSubjectRestriction refuses requests for membership in the masters group.
 */

import { deepEqual } from "../api/deep-equal.js";
import type { ApiObject } from "../api/meta.js";
import type { Naming } from "../api/naming.js";
import { isUpkeep } from "../api/upkeep.js";
import { signalOf } from "../request/lazy-signal.js";
import { MASTERS_GROUP, type UserInfo } from "../request/user-info.js";
import {
  type AdmissionAttributes,
  type AdmissionPlugin,
  handlesOnly,
  refuse,
  WRITES,
} from "./admission.js";
import { parseSigningRequest } from "./node/signing-request.js";

/**
 * Whether the user has the verb on the "signers" resource of that name in the certificates group. The
 * wiring asks the authorizer.
 */
export type MayUseSigner = (
  user: UserInfo,
  verb: "approve" | "sign" | "attest",
  name: string,
  signal: AbortSignal,
) => Promise<boolean>;

/** The permission may name the signer or its whole domain. */
export function mayUseSignerOrDomain(mayUseSigner: MayUseSigner): MayUseSigner {
  return async (user, verb, signer, signal) =>
    (await mayUseSigner(user, verb, signer, signal)) ||
    (await mayUseSigner(user, verb, `${signer.split("/")[0]}/*`, signal));
}

/** Returns the plugins in chain order. */
export function createCertificatePlugins(
  naming: Naming,
  mayUseSigner: MayUseSigner,
): AdmissionPlugin[] {
  const group = `certificates.${naming.groupDomain}`;
  const may = mayUseSignerOrDomain(mayUseSigner);
  const check = async (
    attributes: AdmissionAttributes,
    verb: "approve" | "sign" | "attest",
    signal: AbortSignal,
  ) => {
    const { user, object, oldObject } = attributes;
    // A status update cannot name another signer than the stored request does.
    const signer = signerOf(verb === "attest" ? object : oldObject);
    if (await may(user, verb, signer, signal)) return;
    const what = verb === "attest" ? "attest for" : `${verb} requests with`;
    throw refuse(attributes, `user not permitted to ${what} signerName ${JSON.stringify(signer)}`);
  };
  const requests = (operation: "CREATE" | "UPDATE", subresource: string) =>
    handlesOnly({ group, resource: "certificatesigningrequests" }, [operation], [subresource]);
  return [
    {
      name: "CertificateApproval",
      handles: requests("UPDATE", "approval"),
      validate: (attributes, signal) => check(attributes, "approve", signalOf(signal)),
    },
    {
      name: "CertificateSigning",
      handles: requests("UPDATE", "status"),
      validate(attributes, signal) {
        const [next, before] = [attributes.object, attributes.oldObject].map(statusOf);
        const isSame =
          deepEqual(next?.certificate, before?.certificate) &&
          deepEqual(next?.conditions ?? [], before?.conditions ?? []);
        return isSame ? undefined : check(attributes, "sign", signalOf(signal));
      },
    },
    {
      name: "ClusterTrustBundleAttest",
      handles: handlesOnly({ group, resource: "clustertrustbundles" }, WRITES),
      validate(attributes, signal) {
        const { object, oldObject } = attributes;
        if (signerOf(object) === "") return undefined;
        const isKept =
          object !== undefined && oldObject !== undefined && isUpkeep(object, oldObject);
        return isKept ? undefined : check(attributes, "attest", signalOf(signal));
      },
    },
    {
      name: "CertificateSubjectRestriction",
      handles: requests("CREATE", ""),
      validate(attributes) {
        refuseMasters(attributes, `${naming.labelDomain}/kube-apiserver-client`);
        return undefined;
      },
    },
  ];
}

function signerOf(object: ApiObject | undefined): string {
  return ((object?.spec ?? {}) as { signerName?: string }).signerName ?? "";
}

function statusOf(object: ApiObject | undefined) {
  return (object?.status ?? {}) as { certificate?: string; conditions?: readonly unknown[] };
}

/** Membership in the group cannot be revoked, so no certificate may grant it. */
function refuseMasters(attributes: AdmissionAttributes, clientSigner: string): void {
  const { object } = attributes;
  if (signerOf(object) !== clientSigner) return;
  const { request = "" } = (object?.spec ?? {}) as { request?: string };
  // Validation of the type refuses a request that cannot be parsed.
  if (parseSigningRequest(request)?.organizations.includes(MASTERS_GROUP) !== true) return;
  const why = `use of ${clientSigner} signer with ${MASTERS_GROUP} group is not allowed`;
  throw refuse(attributes, why);
}
