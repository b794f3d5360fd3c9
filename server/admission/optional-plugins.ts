/**
 * Small plugins that are off unless the flags ask for them:
 *
 *   AlwaysPullImages             who may not pull an image may not run it from a node's cache either
 *   DenyServiceExternalIPs       no new external addresses of Services: nobody checks whose they are
 *   ExtendedResourceToleration   pods that ask for a device tolerate the taint that keeps others off
 */
import type { ApiObject } from "../api/meta.js";
import type { Naming } from "../api/naming.js";
import { type AdmissionPlugin, handlesOnly, PODS, refuse, WRITES } from "./admission.js";
import type { Container, PodContainers } from "./pod-amounts.js";
import type { Toleration } from "./tolerations.js";

export function createOptionalPlugins(naming: Naming): AdmissionPlugin[] {
  return [alwaysPullImages, extendedResourceToleration(naming), denyServiceExternalIPs];
}

interface Image {
  image?: string;
  imagePullPolicy?: string;
}

interface ImageUsers {
  readonly containers?: readonly Image[] | null;
  readonly initContainers?: readonly Image[];
  readonly ephemeralContainers?: readonly Image[];
  readonly volumes?: readonly { readonly image?: { pullPolicy?: string } }[];
}

const alwaysPullImages: AdmissionPlugin = {
  name: "AlwaysPullImages",
  handles: handlesOnly(PODS, WRITES, ["", "ephemeralcontainers"]),
  mutate({ object, oldObject }) {
    // Images of a running pod stay as they are; only new ones are checked.
    const known = new Set(oldObject === undefined ? [] : imagesOf(oldObject));
    let isChanged = false;
    for (const container of imageUsersOf(object)) {
      if (container.imagePullPolicy === "Always" || known.has(container.image ?? "")) continue;
      container.imagePullPolicy = "Always";
      isChanged = true;
    }
    if (oldObject !== undefined) return isChanged;
    for (const { image } of ((object?.spec ?? {}) as ImageUsers).volumes ?? []) {
      if (image === undefined || image.pullPolicy === "Always") continue;
      image.pullPolicy = "Always";
      isChanged = true;
    }
    return isChanged;
  },
  validate(attributes) {
    const { object, oldObject } = attributes;
    const known = new Set(oldObject === undefined ? [] : imagesOf(oldObject));
    const isBad = ({ image = "", imagePullPolicy }: Image) =>
      imagePullPolicy !== "Always" && !known.has(image);
    if (imageUsersOf(object).some(isBad)) {
      throw refuse(attributes, 'imagePullPolicy: Unsupported value: supported values: "Always"');
    }
    return undefined;
  },
};

function imageUsersOf(object: ApiObject | undefined): Image[] {
  const spec = (object?.spec ?? {}) as ImageUsers;
  const { containers, initContainers = [], ephemeralContainers = [] } = spec;
  return [...initContainers, ...(containers ?? []), ...ephemeralContainers];
}

function imagesOf(object: ApiObject): string[] {
  return imageUsersOf(object).map(({ image = "" }) => image);
}

const denyServiceExternalIPs: AdmissionPlugin = {
  name: "DenyServiceExternalIPs",
  handles: handlesOnly({ group: "", resource: "services" }, WRITES),
  validate(attributes) {
    const addressesOf = (service: ApiObject | undefined) =>
      ((service?.spec ?? {}) as { externalIPs?: readonly string[] }).externalIPs ?? [];
    const known = new Set(addressesOf(attributes.oldObject));
    if (addressesOf(attributes.object).every((address) => known.has(address))) {
      return undefined;
    }
    throw refuse(attributes, "Use of external IPs is denied by admission control");
  },
};

function extendedResourceToleration({ labelDomain }: Naming): AdmissionPlugin {
  /** System resources are not devices. */
  const isExtended = (name: string) => {
    const domain = name.slice(0, Math.max(0, name.indexOf("/")));
    if (domain === "" || domain === "requests" || name.startsWith("requests.")) return false;
    return domain !== labelDomain && !domain.endsWith(`.${labelDomain}`);
  };
  const asked = ({ resources }: Container) =>
    Object.keys({ ...resources?.requests, ...resources?.limits }).filter(isExtended);
  return {
    name: "ExtendedResourceToleration",
    handles: handlesOnly(PODS, WRITES),
    mutate({ object }) {
      if (object === undefined) return false;
      const spec = (object.spec ?? {}) as PodContainers & { tolerations?: Toleration[] };
      const { containers, initContainers = [], tolerations = [] } = spec;
      const all = [...(containers ?? []), ...initContainers];
      const names = [...new Set(all.flatMap(asked))].sort();
      const isTolerated = (name: string) =>
        tolerations.some(
          ({ key, operator, effect = "" }) =>
            key === name && operator === "Exists" && effect === "",
        );
      const missing = names.filter((name) => !isTolerated(name));
      if (missing.length === 0) return false;
      const added = missing.map((key) => ({ key, operator: "Exists" }));
      object.spec = { ...spec, tolerations: [...tolerations, ...added] };
      return true;
    },
  };
}
