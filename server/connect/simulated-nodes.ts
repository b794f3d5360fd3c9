/** What requests to pods and nodes ask of a simulated cluster; the wiring gives it. */
import type { NodeFields, PodFields } from "./targets.js";

/** Nodes that are simulated, of servers of tests. */
export interface SimulatedNodes {
  /** Why no process can be reached there; undefined = it is an ordinary node. */
  whyUnreachable(node: NodeFields): string | undefined;
  /** The log of a container; undefined = the node's agent is to be asked. @throws {StatusError} */
  logOf(pod: PodFields, node: NodeFields, container: string): string | undefined;
}
