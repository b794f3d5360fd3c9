/** Defaults of the core group that depend on other fields. */

import type { JsonObject } from "../../api/meta.js";
import { roundUpToMilli } from "../quantity.js";
import { defaultHugePageLimits, defaultPodRequests } from "./pod-resources.js";
import {
  type DefaultRules,
  ensureObject,
  fill,
  fillAbsent,
  fillMissing,
  isUnset,
  itemsIn,
  labelsFromTemplate,
  objectIn,
  templateLabels,
} from "./rule.js";

function containersOf(pod: JsonObject): readonly JsonObject[] {
  const spec = objectIn(pod, "spec");
  return [...itemsIn(spec, "containers"), ...itemsIn(spec, "initContainers")];
}

/** UTF-16 units of an image's name without tag and digest. */
const IMAGE_NAME_CHARS_MAX = 255;
const IMAGE_TAG = /^\w[\w.-]{0,127}$/;
const IMAGE_DIGEST = /^sha(?:256:[0-9a-f]{64}|384:[0-9a-f]{96}|512:[0-9a-f]{128})$/;
const IMAGE_PART = /^[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*$/;
const HOST_PART = "[A-Za-z\\d](?:[A-Za-z\\d-]*[A-Za-z\\d])?";
const IMAGE_HOST = new RegExp(
  `^(?:${HOST_PART}(?:\\.${HOST_PART})*|\\[[\\da-fA-F:]+\\])(?::\\d+)?$`,
);
const IMAGE_ID = /^[0-9a-f]{64}$/;

/**
 * Whether an image reference uses the moving tag: "nginx", "nginx:latest", "r:5000/nginx". What is no reference uses
 * none (https://distribution.github.io/distribution/spec/api/).
 */
function isLatest(image: unknown): boolean {
  if (typeof image !== "string" || image === "" || IMAGE_ID.test(image)) return false;
  const [reference = "", ...digests] = image.split("@");
  const [digest] = digests;
  if (digests.length > 1 || (digest !== undefined && !IMAGE_DIGEST.test(digest))) return false;
  const colon = reference.indexOf(":", reference.lastIndexOf("/") + 1);
  const name = colon < 0 ? reference : reference.slice(0, colon);
  const tag = colon < 0 ? undefined : reference.slice(colon + 1);
  if (!isImageName(name) || (tag !== undefined && !IMAGE_TAG.test(tag))) return false;
  return tag === "latest" || (tag === undefined && digest === undefined);
}

function isImageName(name: string): boolean {
  if (name.length > IMAGE_NAME_CHARS_MAX) return false;
  const [first = "", ...others] = name.split("/");
  const isHost = others.length > 0 && (first === "localhost" || /[.:A-Z]/.test(first));
  if (!(isHost ? IMAGE_HOST : IMAGE_PART).test(first)) return false;
  return others.every((part) => IMAGE_PART.test(part));
}

function fillPullPolicy(name: string, image: string, wantsLatest: boolean) {
  return (value: JsonObject): void => {
    if (isLatest(value[image]) === wantsLatest) {
      fill(value, name, wantsLatest ? "Always" : "IfNotPresent");
    }
  };
}

const ofLatest = fillPullPolicy("imagePullPolicy", "image", true);
const ofOthers = fillPullPolicy("imagePullPolicy", "image", false);

const isContainerLimit = (item: JsonObject) => item.type === "Container";

/**
 * `serviceAccount` is the former name of `serviceAccountName`. Both are shown; if they differ or only one
 * is sent, the newer one wins.
 */
export function mirrorAccountName(spec: JsonObject): void {
  const name = isUnset(spec.serviceAccountName) ? spec.serviceAccount : spec.serviceAccountName;
  if (name === undefined || isUnset(name)) return;
  spec.serviceAccountName = name;
  spec.serviceAccount = name;
}

export const coreDefaults: DefaultRules = {
  "Pod spec.containers[].resources.requests": (pod) => {
    for (const container of containersOf(pod)) {
      const limits = objectIn(objectIn(container, "resources"), "limits");
      if (limits === undefined) continue;
      fillMissing(ensureObject(ensureObject(container, "resources"), "requests"), limits);
    }
  },
  "Pod spec.containers[].ports[].hostPort": (pod) => {
    if (objectIn(pod, "spec")?.hostNetwork !== true) return;
    for (const port of containersOf(pod).flatMap((container) => itemsIn(container, "ports"))) {
      fill(port, "hostPort", port.containerPort ?? 0);
    }
  },
  "Pod spec.resources.limits": defaultHugePageLimits,
  "Pod spec.resources.requests": defaultPodRequests,
  "Container imagePullPolicy": ofLatest,
  "Container imagePullPolicy#2": ofOthers,
  "ImageVolumeSource pullPolicy": (source) => {
    fill(source, "pullPolicy", isLatest(source.reference) ? "Always" : "IfNotPresent");
  },
  "Volume emptyDir": (volume) => {
    // Any other member besides the name is a source.
    if (Object.keys(volume).every((key) => key === "name")) volume.emptyDir = {};
  },
  "ResourceList *": (list) => {
    for (const [key, text] of Object.entries(list)) list[key] = roundUpToMilli(String(text));
  },
  "Namespace metadata.labels[*]": (namespace, { fact }) => {
    const metadata = objectIn(namespace, "metadata");
    const key = /\["(.+)"\]/.exec(fact.field)?.[1];
    if (metadata === undefined || isUnset(metadata.name) || key === undefined) return;
    ensureObject(metadata, "labels")[key] = metadata.name;
  },
  "NodeStatus allocatable": (status) => {
    const capacity = objectIn(status, "capacity");
    if (capacity !== undefined) fill(status, "allocatable", { ...capacity });
  },
  "LimitRangeItem default": (item) => {
    if (isContainerLimit(item)) fillMissing(ensureObject(item, "default"), objectIn(item, "max"));
  },
  "LimitRangeItem defaultRequest": (item) => {
    if (!isContainerLimit(item)) return;
    const requests = ensureObject(item, "defaultRequest");
    fillMissing(requests, objectIn(item, "default"));
    fillMissing(requests, objectIn(item, "min"));
  },
  "ReplicationController spec.selector": (controller) => {
    const labels = templateLabels(controller);
    if (labels !== undefined) fill(objectIn(controller, "spec"), "selector", { ...labels });
  },
  "ReplicationController metadata.labels": (value) => labelsFromTemplate(value),
  "Service spec.sessionAffinityConfig": (service) => {
    const spec = objectIn(service, "spec");
    if (spec?.sessionAffinity === "None") delete spec.sessionAffinityConfig;
  },
  "Service spec.sessionAffinityConfig.clientIP.timeoutSeconds": (service, { fact }) => {
    const spec = objectIn(service, "spec");
    if (spec?.sessionAffinity !== "ClientIP") return;
    const clientIp = ensureObject(ensureObject(spec, "sessionAffinityConfig"), "clientIP");
    fill(clientIp, "timeoutSeconds", fact.value ?? null);
  },
  "Service spec.ports[].targetPort": (service) => {
    for (const port of itemsIn(objectIn(service, "spec"), "ports")) {
      if (isUnset(port.targetPort) || port.targetPort === 0) port.targetPort = port.port ?? 0;
    }
  },
  "Service spec.externalTrafficPolicy": (service) => {
    const spec = objectIn(service, "spec");
    if (spec === undefined) return;
    const isExternal =
      spec.type === "NodePort" ||
      spec.type === "LoadBalancer" ||
      (spec.type === "ClusterIP" && !isUnset(spec.externalIPs));
    if (isExternal) fill(spec, "externalTrafficPolicy", "Cluster");
  },
  "Service spec.internalTrafficPolicy": (service) => {
    const spec = objectIn(service, "spec");
    if (["ClusterIP", "NodePort", "LoadBalancer"].includes(String(spec?.type))) {
      fillAbsent(spec, "internalTrafficPolicy", "Cluster");
    }
  },
  "Service spec.allocateLoadBalancerNodePorts": (service) => {
    const spec = objectIn(service, "spec");
    if (spec?.type === "LoadBalancer") fill(spec, "allocateLoadBalancerNodePorts", true);
  },
  "Service status.loadBalancer.ingress[].ipMode": (service) => {
    if (objectIn(service, "spec")?.type !== "LoadBalancer") return;
    for (const ingress of itemsIn(
      objectIn(objectIn(service, "status"), "loadBalancer"),
      "ingress",
    )) {
      if (!isUnset(ingress.ip)) fillAbsent(ingress, "ipMode", "VIP");
    }
  },
};
