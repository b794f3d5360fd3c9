import type { Delivery } from "../delivery.js";

/** For partitions without watchers, and for watchers whose events nobody looks at. */
export const NO_DELIVERY: Pick<Delivery, "markAwake" | "appended"> = {
  markAwake: () => {},
  appended: () => {},
};
