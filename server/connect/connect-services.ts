/** The dependencies of connecting to nodes, pods and services, set by the wiring. */
import type { Admission } from "../admission/admission.js";
import type { Naming } from "../api/naming.js";
import type { ConnectionPools } from "../outbound/connection-pools.js";
import type { ServiceView } from "../outbound/services.js";
import type { LastingAnswers } from "../request/lasting-answers.js";
import type { Barrier } from "../request/reach-now.js";
import type { RequestContext } from "../request/request-state.js";
import type { Kubelets } from "./kubelets.js";
import type { SimulatedNodes } from "./simulated-nodes.js";

export interface ConnectServices {
  readonly naming: Naming;
  readonly view: ServiceView;
  readonly freshness: Barrier;
  readonly admission: Admission | undefined;
  readonly kubelets: Kubelets;
  /** To pods, and to node ports other than the agent's. */
  readonly pools: ConnectionPools;
  /**
   * Checks the create permission for upgrades requested with a read-only method; absent = the gate is off.
   * @throws {StatusError} 403
   */
  readonly authorizeCreate?: (ctx: RequestContext) => Promise<void>;
  readonly features: ConnectFeatures;
  readonly counts: ConnectCounts;
  readonly lasting: LastingAnswers;
  /** Absent = there are none. */
  readonly simulated?: SimulatedNodes;
}

export interface ConnectFeatures {
  /** Whether WebSockets of exec and attach may be translated to SPDY. */
  readonly translates: boolean;
  /** Whether WebSockets of forwarded ports may be tunnels. */
  readonly tunnels: boolean;
  /** Whether node agents that support WebSockets get them. */
  readonly extendsWebSockets: boolean;
  /** Whether logs can be split into standard output and standard error. */
  readonly splitsLogs: boolean;
}

/** Counters under kube-apiserver's names. */
export interface ConnectCounts {
  webSocket(subresource: string, way: "proxied_to_kubelet" | "translated_at_apiserver"): void;
  translated(code: number): void;
  tunneled(code: number): void;
}
