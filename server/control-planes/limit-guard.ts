/**
 * Refuses writes by which a control plane would have more objects, or more bytes, than its limits say. What was let
 * through and is not in the view yet counts too, so that many at once are not all let through by the same look.
 */
import { type Clock, systemClock } from "../../storage/base/clock.js";
import type { RegistryView } from "../../storage/cache/registry-view.js";
import type { Revision } from "../../storage/kv/store.js";
import {
  type AdmissionAttributes,
  type AdmissionPlugin,
  type Handles,
  refuse,
  WRITES,
} from "../admission/admission.js";
import type { ControlPlaneLimits } from "./control-plane-index.js";

/** What a control plane has now. */
export interface ControlPlaneSize {
  readonly objects: number;
  readonly bytes: number;
}

export function sizeOf(view: RegistryView): ControlPlaneSize {
  let objects = 0;
  let bytes = 0;
  for (const { size, objectBytes } of view.partitions) {
    objects += size;
    bytes += objectBytes;
  }
  return { objects, bytes };
}

/** A write that was let through. */
interface Admitted {
  readonly objects: number;
  /** At most, while `instead` is known. */
  bytes: number;
  /** What it takes the place of, whose length nobody had to know yet. */
  instead?: object | undefined;
  readonly sinceMs: number;
  /** When it was stored; undefined = it has not been yet. */
  revision?: Revision;
}

/** Its annotations become those of the pod; what else is created below an object is not stored. */
const BINDING = "binding";
/** An admitted write that is never stored, as another rule refuses it, is counted for this long. */
const COMMIT_MS_MAX = 1_000;

export class LimitGuard implements AdmissionPlugin {
  readonly name = "ControlPlaneLimits";
  readonly #view: RegistryView;
  readonly #limits: () => ControlPlaneLimits;
  readonly #clock: Clock;
  readonly #admitted = new Set<Admitted>();
  /** The last attempt of each write; the next attempt of the same write replaces it. */
  readonly #attempts = new WeakMap<object, Admitted>();

  /** @param limits as they are now */
  constructor(view: RegistryView, limits: () => ControlPlaneLimits, clock: Clock = systemClock) {
    this.#view = view;
    this.#limits = limits;
    this.#clock = clock;
  }

  readonly handles: Handles = (operation, _resource, subresource) =>
    operation === "CREATE"
      ? subresource === "" || subresource === BINDING
      : WRITES.includes(operation);

  validate(attributes: AdmissionAttributes): undefined {
    const { objects: objectsMax, bytes: bytesMax } = this.#limits();
    if (objectsMax === undefined && bytesMax === undefined) return;
    const { operation, subresource, object, oldObject, write } = attributes;
    const last = write && this.#attempts.get(write);
    if (last !== undefined) this.#admitted.delete(last);
    const { objects, bytes: atMost } = this.#size();
    const isNew = operation === "CREATE" && subresource === "";
    // Nothing of a review is stored.
    if (isNew && attributes.sideWrites === undefined) return;
    if (isNew && objectsMax !== undefined && objects >= objectsMax) {
      throw refuse(
        attributes,
        `the control plane has ${objects} objects, its limit is ${objectsMax}`,
      );
    }
    const count = isNew ? 1 : 0;
    if (bytesMax === undefined) {
      if (isNew) this.#admit(attributes, { objects: count, bytes: 0 });
      return;
    }
    const length = bytesOf(object);
    // Far from the limit nobody has to know how long what is replaced is.
    if (atMost + length <= bytesMax) {
      this.#admit(attributes, { objects: count, bytes: length, instead: oldObject });
      return;
    }
    for (const admitted of this.#admitted) measure(admitted);
    const { bytes } = this.#size();
    const more = length - bytesOf(oldObject);
    // A control plane beyond its limit may still get smaller.
    if (more > 0 && bytes + more > bytesMax) {
      const what = `the control plane has ${bytes} bytes, its limit is ${bytesMax}`;
      throw refuse(attributes, bytes < bytesMax ? `${what}, and this is ${more} more` : what);
    }
    if (isNew || more > 0) this.#admit(attributes, { objects: count, bytes: Math.max(0, more) });
  }

  #admit(
    { write, sideWrites, options }: AdmissionAttributes,
    size: Pick<Admitted, "objects" | "bytes" | "instead">,
  ): void {
    if (sideWrites === undefined || options.isDryRun) return;
    const admitted: Admitted = { ...size, sinceMs: this.#clock.monotonic() };
    this.#admitted.add(admitted);
    if (write !== undefined) this.#attempts.set(write, admitted);
    sideWrites.push({
      compares: [],
      puts: [],
      settled: ({ succeeded, revision }) => {
        if (succeeded) admitted.revision = revision;
        else this.#admitted.delete(admitted);
      },
    });
  }

  #size(): ControlPlaneSize {
    let { objects, bytes } = sizeOf(this.#view);
    const givenUpMs = this.#clock.monotonic() - COMMIT_MS_MAX;
    for (const admitted of this.#admitted) {
      const { revision, sinceMs } = admitted;
      const isOver = revision === undefined ? sinceMs < givenUpMs : revision <= this.#view.revision;
      if (isOver) this.#admitted.delete(admitted);
      else {
        objects += admitted.objects;
        bytes += admitted.bytes;
      }
    }
    return { objects, bytes };
  }
}

function measure(admitted: Admitted): void {
  admitted.bytes = Math.max(0, admitted.bytes - bytesOf(admitted.instead));
  admitted.instead = undefined;
}

/** The length of its JSON; 0 for no object. */
function bytesOf(object: object | undefined): number {
  return object === undefined ? 0 : Buffer.byteLength(JSON.stringify(object));
}
