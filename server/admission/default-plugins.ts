/**
 * Creates the plugins of this folder that need only the view and an authorizer. It creates all of them;
 * the flags choose (plugins.ts).
 */
import type { Naming } from "../api/naming.js";
import type { UserInfo } from "../request/user-info.js";
import type { AdmissionPlugin } from "./admission.js";
import { createCertificatePlugins, type MayUseSigner } from "./certificate-signers.js";
import { createDefaultIngressClass, createDefaultStorageClass } from "./default-class.js";
import { DefaultTolerationSeconds } from "./default-toleration-seconds.js";
import { LimitRanger } from "./limit-ranger.js";
import { NamespaceLifecycle } from "./namespace-lifecycle.js";
import { NodeRestriction } from "./node/node-restriction.js";
import { createOptionalPlugins } from "./optional-plugins.js";
import { PodSecurity } from "./pod-security/pod-security.js";
import type { PodSecuritySettings } from "./pod-security/settings.js";
import { Priority } from "./priority.js";
import { RuntimeClass } from "./runtime-class.js";
import { PersistentVolumeClaimResize, StorageObjectInUseProtection } from "./storage-objects.js";
import type { AdmissionView } from "./stored-objects.js";
import { TaintNodesByCondition } from "./taint-nodes-by-condition.js";

/** A permission that a plugin checks beyond the request's own. */
export interface PermissionQuestion {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
}

export interface DefaultPluginOptions {
  readonly view: AdmissionView;
  readonly naming: Naming;
  /** Whether the authorizer allows it, for all versions of the resource. */
  may(user: UserInfo, question: PermissionQuestion, signal: AbortSignal): Promise<boolean>;
  readonly notReadyTolerationSeconds?: number;
  readonly unreachableTolerationSeconds?: number;
  readonly podSecurity?: PodSecuritySettings | undefined;
}

export function createDefaultPlugins(options: DefaultPluginOptions): AdmissionPlugin[] {
  const { view, naming, may } = options;
  const { notReadyTolerationSeconds, unreachableTolerationSeconds } = options;
  return [
    new NamespaceLifecycle(naming),
    new LimitRanger(view, naming),
    new NodeRestriction({
      view,
      naming,
      // The audience is passed as the resource.
      mayRequestAudience: (user, { namespace, name }, audience, signal) => {
        const verb = "request-serviceaccounts-token-audience";
        return may(user, { verb, group: "", resource: audience, namespace, name }, signal);
      },
    }),
    new TaintNodesByCondition(naming),
    new PodSecurity(view, naming, options.podSecurity),
    new Priority(view, naming),
    new DefaultTolerationSeconds({
      naming,
      ...(notReadyTolerationSeconds !== undefined && {
        notReadySeconds: notReadyTolerationSeconds,
      }),
      ...(unreachableTolerationSeconds !== undefined && {
        unreachableSeconds: unreachableTolerationSeconds,
      }),
    }),
    createDefaultStorageClass(view, naming),
    new StorageObjectInUseProtection(naming),
    new PersistentVolumeClaimResize(view, naming),
    new RuntimeClass(view, naming),
    ...createCertificatePlugins(naming, mayUseSignerBy(naming, may)),
    createDefaultIngressClass(view, naming),
    ...createOptionalPlugins(naming),
  ];
}

/** Signers are objects only in the questions about them. */
export function mayUseSignerBy(
  { groupDomain }: Naming,
  may: DefaultPluginOptions["may"],
): MayUseSigner {
  const signers = { group: `certificates.${groupDomain}`, resource: "signers", namespace: "" };
  return (user, verb, name, signal) => may(user, { ...signers, verb, name }, signal);
}
