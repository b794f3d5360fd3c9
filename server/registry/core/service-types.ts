/** The parts of a Service that its strategy reads and writes, as the facts of core/v1 describe them. */
import type { ApiObject } from "../../api/meta.js";
import type { Maybe, Whole } from "../../api/validation-values.js";

export interface ServicePort {
  name?: string;
  protocol?: string;
  appProtocol?: Maybe<string>;
  port: Whole;
  targetPort?: Maybe<Whole | string>;
  nodePort?: number;
}

export type IpFamily = "IPv4" | "IPv6";

export interface ServiceSpec {
  ports?: Maybe<ServicePort[]>;
  selector?: Maybe<Record<string, string>>;
  clusterIP?: string;
  clusterIPs?: string[];
  type?: string;
  externalIPs?: Maybe<string[]>;
  sessionAffinity?: string;
  sessionAffinityConfig?: Maybe<{
    clientIP?: Maybe<{ timeoutSeconds?: Maybe<Whole> }>;
  }>;
  loadBalancerIP?: string;
  loadBalancerSourceRanges?: Maybe<string[]>;
  externalName?: string;
  externalTrafficPolicy?: string;
  healthCheckNodePort?: number;
  ipFamilies?: IpFamily[];
  ipFamilyPolicy?: Maybe<string>;
  allocateLoadBalancerNodePorts?: Maybe<boolean>;
  loadBalancerClass?: Maybe<string>;
  internalTrafficPolicy?: Maybe<string>;
  trafficDistribution?: Maybe<string>;
}

export interface ServiceObject extends ApiObject {
  spec?: ServiceSpec;
  status?: {
    loadBalancer?: Maybe<{
      ingress?: Maybe<readonly { ip?: string; hostname?: string; ipMode?: Maybe<string> }[]>;
    }>;
  };
}

/** The address of a headless Service, whose pods are found by name. */
const HEADLESS = "None";

export function isHeadless({ clusterIPs }: ServiceSpec): boolean {
  return clusterIPs?.length === 1 && clusterIPs[0] === HEADLESS;
}

/** Every Service but an alias for another name has a cluster address, or "None". */
export function needsClusterIp({ type }: ServiceSpec): boolean {
  return type !== "ExternalName";
}

export function hasNodePorts({ type }: ServiceSpec): boolean {
  return type === "NodePort" || type === "LoadBalancer";
}

export function needsNodePorts(spec: ServiceSpec): boolean {
  return hasNodePorts(spec) && spec.allocateLoadBalancerNodePorts !== false;
}

/** A load balancer that uses only nodes with a pod checks them over a separate port. */
export function needsHealthCheckPort({ type, externalTrafficPolicy }: ServiceSpec): boolean {
  return type === "LoadBalancer" && externalTrafficPolicy === "Local";
}

/** Whether it is reachable from outside the cluster. */
export function isExternal(spec: ServiceSpec): boolean {
  return hasNodePorts(spec) || (spec.type === "ClusterIP" && (spec.externalIPs?.length ?? 0) > 0);
}
