/** Strategies of the networking group. */

import type { ApiObject } from "../../api/meta.js";
import { checkCanonicalIp } from "../../api/validation-addresses.js";
import type { Maybe } from "../../api/validation-values.js";
import type { StrategyTable } from "../../kinds/strategy.js";
import { balancerWarnings, warnOfBlock } from "../generic/address-warnings.js";
import { valueAt } from "../generic/fields.js";
import { dropsStatus, specAndStatus, statusOnly } from "../generic/status-parts.js";
import { WarningList } from "../generic/warning-list.js";
import {
  validatesIngress,
  validatesIngressClass,
  validatesIpAddress,
  validatesNetworkPolicy,
  validatesServiceCidr,
} from "./validate-networking.js";

export const networkingStrategies: StrategyTable = {
  "networking/ingresses": {
    ...specAndStatus,
    ...validatesIngress,
    // A backend that is both of a service and a resource is looked into no further.
    ownFields: /^spec\..*ackend\.(?:resource|service)\./,
    warnings({ metadata, ...ingress }, current, { naming }) {
      const name = `${naming.labelDomain}/ingress.class`;
      if (current !== undefined || metadata.annotations?.[name] === undefined) return [];
      if (valueAt({ metadata, ...ingress }, ["spec", "ingressClassName"]) !== undefined) return [];
      return [`annotation "${name}" is deprecated, please use 'spec.ingressClassName' instead`];
    },
    statusWarnings: balancerWarnings,
    judgedBy: ["classes"],
  },
  "networking/ingressclasses": {
    ...validatesIngressClass,
    generationFields: ["spec"],
    judges: "classes",
  },
  "networking/networkpolicies": {
    ...validatesNetworkPolicy,
    warnings: policyWarnings,
    generationFields: ["spec"],
  },
  "networking/ipaddresses": {
    ...validatesIpAddress,
    validateName: checkCanonicalIp,
  },
  "networking/servicecidrs": { ...dropsStatus, ...statusOnly, ...validatesServiceCidr },
};

interface Peer {
  readonly ipBlock?: Maybe<{ readonly cidr?: string; readonly except?: Maybe<readonly string[]> }>;
}

/** Of the blocks in a NetworkPolicy. */
function policyWarnings({ spec }: ApiObject): readonly string[] {
  const warnings = new WarningList();
  const { ingress, egress } = (spec ?? {}) as Record<
    string,
    Maybe<readonly Readonly<Record<string, Maybe<readonly Peer[]>>>[]>
  >;
  for (const [rules, name, peers] of [
    [ingress, "ingress", "from"],
    [egress, "egress", "to"],
  ] as const) {
    (rules ?? []).forEach((rule, index) => {
      (rule[peers] ?? []).forEach(({ ipBlock }, place) => {
        const at = `spec.${name}[${index}].${peers}[${place}].ipBlock`;
        if (ipBlock?.cidr !== undefined) warnOfBlock(ipBlock.cidr, `${at}.cidr`, warnings);
        (ipBlock?.except ?? []).forEach((block, number) => {
          warnOfBlock(block, `${at}.except[${number}]`, warnings);
        });
      });
    });
  }
  return warnings.texts;
}
