/**
 * PodCheck: what the rules of one pod or pod template share while they run. Made per validation and
 * thrown away; the rules add to `errors` and change nothing else.
 */
import type { Naming } from "../../api/naming.js";
import type { FieldError } from "../../api/status.js";
import type { PodSpec, Volume } from "./pod-types.js";

export interface PodCheck {
  readonly errors: FieldError[];
  readonly naming: Naming;
  readonly spec: PodSpec;
  /** A pod itself rather than a template, which is judged more mildly in places. */
  readonly isPod: boolean;
  /** Of a pod; "" for templates and names that are still to be made. */
  readonly podName: string;
  /** Volumes by name, without those that are wrong in themselves. */
  readonly volumes: Map<string, Volume>;
  readonly claimNames: ReadonlySet<string>;
}
