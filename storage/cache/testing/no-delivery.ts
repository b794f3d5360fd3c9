/** A delivery for partitions without watchers, and for watchers whose events nobody looks at. */
import type { Delivery } from "../delivery.js";

export const NO_DELIVERY: Pick<Delivery, "markAwake" | "appended"> = {
  markAwake: () => {},
  appended: () => {},
};
