/**
 * DefaultTolerationSeconds: lets pods stay for a while on a node that is not ready or unreachable, unless
 * they set a time themselves.
 */
import type { Naming } from "../api/naming.js";
import {
  type AdmissionAttributes,
  type AdmissionPlugin,
  handlesOnly,
  PODS,
  WRITES,
} from "./admission.js";
import type { Toleration } from "./tolerations.js";

export interface DefaultTolerationOptions {
  readonly naming: Naming;
  /** `--default-not-ready-toleration-seconds`; kube-apiserver's default is 300. */
  readonly notReadySeconds?: number;
  /** `--default-unreachable-toleration-seconds`; kube-apiserver's default is 300. */
  readonly unreachableSeconds?: number;
}

const DEFAULT_SECONDS = 300;
const EFFECT = "NoExecute";

export class DefaultTolerationSeconds implements AdmissionPlugin {
  readonly name = "DefaultTolerationSeconds";
  readonly handles = handlesOnly(PODS, WRITES);
  readonly #defaults: readonly Toleration[];

  constructor({ naming, notReadySeconds, unreachableSeconds }: DefaultTolerationOptions) {
    const of = (taint: string, tolerationSeconds = DEFAULT_SECONDS): Toleration => ({
      key: `node.${naming.labelDomain}/${taint}`,
      operator: "Exists",
      effect: EFFECT,
      tolerationSeconds,
    });
    this.#defaults = [of("not-ready", notReadySeconds), of("unreachable", unreachableSeconds)];
  }

  mutate({ object }: AdmissionAttributes): boolean {
    if (object === undefined) return false;
    const spec = (object.spec ?? {}) as { tolerations?: Toleration[] };
    const { tolerations = [] } = spec;
    const missing = this.#defaults.filter(
      ({ key }) => !tolerations.some((toleration) => concerns(toleration, key ?? "")),
    );
    if (missing.length === 0) return false;
    spec.tolerations = [...tolerations, ...missing.map((toleration) => ({ ...toleration }))];
    return true;
  }
}

/** Whether the pod's own toleration covers the taint. */
function concerns({ key = "", effect = "" }: Toleration, taint: string): boolean {
  return (key === "" || key === taint) && (effect === "" || effect === EFFECT);
}
