/**
 * TaintNodesByCondition: taints a new node, so that it gets no pods until the node controller finds it
 * ready and removes the taint.
 */
import type { Naming } from "../api/naming.js";
import { type AdmissionAttributes, type AdmissionPlugin, handlesOnly } from "./admission.js";

interface Taint {
  key?: string;
  effect?: string;
}

const EFFECT = "NoSchedule";

export class TaintNodesByCondition implements AdmissionPlugin {
  readonly name = "TaintNodesByCondition";
  readonly handles = handlesOnly({ group: "", resource: "nodes" }, ["CREATE"]);
  readonly #key: string;

  constructor({ labelDomain }: Naming) {
    this.#key = `node.${labelDomain}/not-ready`;
  }

  mutate({ object }: AdmissionAttributes): boolean {
    if (object === undefined) return false;
    const spec = (object.spec ?? {}) as { taints?: Taint[] };
    const { taints = [] } = spec;
    if (taints.some(({ key, effect }) => key === this.#key && effect === EFFECT)) return false;
    object.spec = { ...spec, taints: [...taints, { key: this.#key, effect: EFFECT }] };
    return true;
  }
}
