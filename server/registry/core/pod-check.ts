/**
 * PodCheck: the shared state of the rules for one pod or pod template. Made for each validation;
 * the rules add to `errors` and change nothing else.
 */
import type { LongWork } from "../../api/long-work.js";
import type { Naming } from "../../api/naming.js";
import type { FieldError } from "../../api/status.js";
import type { PodSpec, Volume } from "./pod-types.js";

export interface PodCheck {
  readonly errors: FieldError[];
  readonly long?: LongWork | undefined;
  readonly naming: Naming;
  readonly spec: PodSpec;
  /** What is stored, of which a newer rule may tolerate its own breach; undefined for a new object. */
  readonly before?: PodSpec | undefined;
  /** Whether it is a pod rather than a template; some rules are milder for templates. */
  readonly isPod: boolean;
  /** A pod's name; "" for templates and for names still to be generated. */
  readonly podName: string;
  /** Volumes by name, except invalid ones. */
  readonly volumes: Map<string, Volume>;
  readonly claimNames: ReadonlySet<string>;
}
