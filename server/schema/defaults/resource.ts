/** Defaults of the resource group that depend on other fields, or on the time. */

import type { JsonObject } from "../../api/meta.js";
import { formatTime } from "../../api/time.js";
import { type DefaultRules, fill, isUnset } from "./rule.js";

function countOne(request: JsonObject): void {
  const isUncounted = isUnset(request.count) || request.count === 0;
  if (isUncounted && request.allocationMode === "ExactCount") request.count = 1;
}

/** In the first beta a request with a class is its own exact request. */
export function defaultFlatDeviceRequest(request: JsonObject): void {
  if (isUnset(request.deviceClassName)) return;
  fill(request, "allocationMode", "ExactCount");
  countOne(request);
}

export const resourceDefaults: DefaultRules = {
  "ExactDeviceRequest count": countOne,
  "DeviceTaint timeAdded": (taint, { now }) => {
    fill(taint, "timeAdded", formatTime(now().getTime()));
  },
};
