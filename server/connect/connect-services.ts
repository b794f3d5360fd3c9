/** What connecting to nodes, pods and services works with; filled by wiring. */
import type { Admission } from "../admission/admission.js";
import type { Naming } from "../api/naming.js";
import type { ServiceView } from "../client/service-address.js";
import type { ConnectionPools } from "../proxy/connection-pools.js";
import type { Barrier } from "../request/reach-now.js";
import type { RequestContext } from "../request/request-state.js";
import type { Kubelets } from "./kubelets.js";
import type { LastingAnswers } from "./lasting-answers.js";

export interface ConnectServices {
  readonly naming: Naming;
  readonly view: ServiceView;
  readonly freshness: Barrier;
  readonly admission: Admission | undefined;
  readonly kubelets: Kubelets;
  /** To pods, and to ports of nodes that are not their agent's. */
  readonly pools: ConnectionPools;
  /**
   * Asks for the permission to create, for upgrades that came by a method that only reads; absent = the
   * gate is off. @throws {StatusError} 403
   */
  readonly authorizeCreate?: (ctx: RequestContext) => Promise<void>;
  readonly features: ConnectFeatures;
  readonly counts: ConnectCounts;
  readonly lasting: LastingAnswers;
}

export interface ConnectFeatures {
  /** WebSockets of exec and attach may be translated. */
  readonly translates: boolean;
  /** WebSockets of forwarded ports may be taken as tunnels. */
  readonly tunnels: boolean;
  /** Node agents that take WebSockets get them. */
  readonly extendsWebSockets: boolean;
  /** Standard output and standard error of logs apart. */
  readonly splitsLogs: boolean;
}

/** Counters of upstream's names. */
export interface ConnectCounts {
  webSocket(subresource: string, way: "proxied_to_kubelet" | "translated_at_apiserver"): void;
  translated(code: number): void;
  tunneled(code: number): void;
}
