/** Wiring of admission: which plugins look at every write, in order. */
import { systemClock } from "../storage/base/clock.js";
import type { Admission, AdmissionPlugin } from "./admission/admission.js";
import { AdmissionChain } from "./admission/chain.js";
import { ServiceAccountAdmission } from "./admission/service-account.js";
import type { Config } from "./config/config.js";
import type { Views } from "./wiring-storage.js";

/** @param guards come last: they see what is to be stored, and no flag switches them off */
export function createAdmission(
  { naming }: Config,
  { view, freshness }: Views,
  guards: readonly AdmissionPlugin[],
): Admission {
  const fresh = async () => {
    await freshness.fresh();
  };
  return new AdmissionChain([
    new ServiceAccountAdmission({ view, fresh, naming, clock: systemClock }),
    ...guards,
  ]);
}
