/** AlwaysAdmit and AlwaysDeny: plugins that say the same to every write, for configurations that name them. */
import { type AdmissionPlugin, refuse } from "./admission.js";

/** Has no say: a chain admits what no plugin refuses. */
export const alwaysAdmit: AdmissionPlugin = { name: "AlwaysAdmit", handles: () => false };

export const alwaysDeny: AdmissionPlugin = {
  name: "AlwaysDeny",
  validate(attributes) {
    throw refuse(attributes, "admission control is denying all modifications");
  },
};
