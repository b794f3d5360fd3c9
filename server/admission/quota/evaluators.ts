/** Finds the evaluator of a resource, and evaluates resources that count one per object. */
import type { Naming } from "../../api/naming.js";
import { claimEvaluator } from "./claim-evaluator.js";
import { deviceEvaluator } from "./device-evaluator.js";
import type { DeviceFacts } from "./device-facts.js";
import type { Evaluator } from "./evaluator.js";
import { podEvaluator } from "./pod-evaluator.js";
import { serviceEvaluator } from "./service-evaluator.js";
import { ONE, type Usage } from "./usage.js";

/** Resources that had quota names of their own before `count/` names existed. */
const OLD_NAMES: ReadonlySet<string> = new Set([
  "configmaps",
  "resourcequotas",
  "replicationcontrollers",
  "secrets",
]);

/** The quota name of any resource. */
export function countName(group: string, resource: string): string {
  return group === "" ? `count/${resource}` : `count/${resource}.${group}`;
}

export class Evaluators {
  readonly #ignored: ReadonlySet<string>;
  readonly #known: Map<string, Evaluator>;

  constructor(naming: Naming, devices: DeviceFacts) {
    const { groupDomain } = naming;
    // Their objects are not stored, or not for long.
    this.#ignored = new Set([
      "/bindings",
      "/componentstatuses",
      "/events",
      `events.${groupDomain}/events`,
      `authentication.${groupDomain}/tokenreviews`,
      `authentication.${groupDomain}/selfsubjectreviews`,
      `authorization.${groupDomain}/subjectaccessreviews`,
      `authorization.${groupDomain}/selfsubjectaccessreviews`,
      `authorization.${groupDomain}/localsubjectaccessreviews`,
      `authorization.${groupDomain}/selfsubjectrulesreviews`,
    ]);
    const pods = podEvaluator(naming);
    this.#known = new Map([
      ["/pods", pods],
      ["/services", serviceEvaluator],
      ["/persistentvolumeclaims", claimEvaluator(naming)],
      [`resource.${groupDomain}/resourceclaims`, deviceEvaluator(naming, devices, pods)],
    ]);
  }

  /** undefined = no quota counts the resource. */
  of(group: string, resource: string): Evaluator | undefined {
    const key = `${group}/${resource}`;
    let evaluator = this.#known.get(key);
    if (evaluator === undefined && !this.#ignored.has(key)) {
      evaluator = countEvaluator(group, resource);
      // Bounded by the number of resources.
      this.#known.set(key, evaluator);
    }
    return evaluator;
  }
}

function countEvaluator(group: string, resource: string): Evaluator {
  const names = new Set([countName(group, resource)]);
  if (group === "" && OLD_NAMES.has(resource)) names.add(resource);
  const usage: Usage = new Map([...names].map((name) => [name, ONE]));
  return {
    charges: (operation, subresource) => operation === "CREATE" && subresource === "",
    uses: (name) => names.has(name),
    usage: () => usage,
    isCount: true,
  };
}
