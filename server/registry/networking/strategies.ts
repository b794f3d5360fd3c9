/** Strategies of the networking group. */
import { checkCanonicalIp } from "../../api/validation-addresses.js";
import type { StrategyTable } from "../../kinds/strategy.js";
import { dropsStatus, specAndStatus } from "../generic/status-parts.js";
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
    warnings({ metadata }, current, { naming }) {
      const name = `${naming.labelDomain}/ingress.class`;
      if (current !== undefined || metadata.annotations?.[name] === undefined) return [];
      return [`annotation "${name}" is deprecated, please use 'spec.ingressClassName' instead`];
    },
    judgedBy: ["classes"],
  },
  "networking/ingressclasses": {
    ...validatesIngressClass,
    generationFields: ["spec"],
    judges: "classes",
  },
  "networking/networkpolicies": { ...validatesNetworkPolicy, generationFields: ["spec"] },
  "networking/ipaddresses": {
    ...validatesIpAddress,
    validateName: checkCanonicalIp,
  },
  "networking/servicecidrs": { ...dropsStatus, ...validatesServiceCidr },
};
