/**
 * Lamps: a custom kind, and the street in which its controller lights them. The street is outside of the
 * API and takes orders from the leader alone; it remembers what was done, so a test can say whether that
 * was right.
 */

import type { KubernetesObject } from "@kubernetes/client-node";
import { definitionOf, versionOf } from "../fixtures/definitions.js";
import type { Reign } from "./leader-election.js";

export const FINALIZER = "example.com/light";
export const LAMP_KIND = {
  group: "example.com",
  version: "v1",
  namespace: "default",
  plural: "lamps",
} as const;
export const LAMPS = "/apis/example.com/v1/namespaces/default/lamps";

export interface Lamp extends KubernetesObject {
  readonly spec: { readonly watts: number };
  readonly status?: {
    readonly watts?: number;
    readonly observedGeneration?: number;
    readonly term?: number;
  };
}

const integer = { type: "integer" };
const members = (properties: object) => ({ type: "object", properties });

const schema = members({
  spec: members({ watts: { ...integer, minimum: 0, maximum: 100 } }),
  status: members({ watts: integer, observedGeneration: integer, term: integer }),
});
export const LAMP_DEFINITION = definitionOf("lamps.example.com", "Lamp", {
  versions: [versionOf(schema, { subresources: { status: {} } })],
});

export function lamp(name: string, watts: number): object {
  return { apiVersion: "example.com/v1", kind: "Lamp", metadata: { name }, spec: { watts } };
}

export class Street {
  /** What should never be, in words. */
  readonly complaints: string[] = [];
  /** By uid. */
  readonly #lit = new Map<string, number>();
  readonly #removed = new Set<string>();
  readonly #reigns: Reign[] = [];
  #term = 0;

  /** Watts by uid. */
  get lit(): ReadonlyMap<string, number> {
    return this.#lit;
  }

  /** How many lamps were ever taken away. */
  get removed(): number {
    return this.#removed.size;
  }

  /** One after the other; a renewal prolongs one. */
  get reigns(): readonly Reign[] {
    return this.#reigns;
  }

  light(term: number, uid: string, watts: number): void {
    this.#obey(term);
    if (this.#removed.has(uid)) this.complaints.push(`${uid} is lit and was taken away`);
    this.#lit.set(uid, watts);
  }

  remove(term: number, uid: string): void {
    this.#obey(term);
    this.#lit.delete(uid);
    this.#removed.add(uid);
  }

  /** Nobody else leads, and a new leader has a new term. */
  crown(next: Reign): void {
    const last = this.#reigns.at(-1);
    if (last === undefined || last.identity !== next.identity || last.term !== next.term) {
      const isLater = last === undefined || (next.term > last.term && next.fromMs >= last.untilMs);
      if (!isLater) this.complaints.push(`${JSON.stringify(next)} after ${JSON.stringify(last)}`);
      this.#reigns.push(next);
      return;
    }
    this.#reigns[this.#reigns.length - 1] = { ...last, untilMs: next.untilMs };
  }

  /** Ends the reign of one who leads no longer. */
  abdicate(identity: string): void {
    const last = this.#reigns.at(-1);
    if (last?.identity !== identity) return;
    const untilMs = Math.min(last.untilMs, performance.now());
    this.#reigns[this.#reigns.length - 1] = { ...last, untilMs };
  }

  #obey(term: number): void {
    if (term < this.#term) this.complaints.push(`an order of term ${term} after ${this.#term}`);
    this.#term = term;
  }
}
