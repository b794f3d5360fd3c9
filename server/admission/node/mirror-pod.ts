/**
 * Mirror pods: API objects for the pods that a node runs from its own files. They are the only pods that
 * a node creates, and may not reference other objects, because a reference would let the node read them.
 */
import type { ApiObject } from "../../api/meta.js";
import type { Naming } from "../../api/naming.js";
import { podReferences } from "../../api/pod-references.js";
import { notFound, type StatusError } from "../../api/status.js";
import { type AdmissionView, findObject } from "../stored-objects.js";

interface Pod extends ApiObject {
  spec?: {
    nodeName?: string;
    resourceClaims?: readonly unknown[];
    volumes?: readonly {
      persistentVolumeClaim?: object;
      ephemeral?: object;
      projected?: {
        sources?: readonly { clusterTrustBundle?: object; podCertificate?: object }[];
      };
    }[];
  };
}

const NODES = { group: "", resource: "nodes" };

/** @returns why the node may not create the pod */
export function checkMirrorPod(
  view: AdmissionView,
  { labelDomain }: Naming,
  node: string,
  pod: ApiObject,
): string | StatusError | undefined {
  const quoted = JSON.stringify(node);
  const annotation = `${labelDomain}/config.mirror`;
  if (pod.metadata.annotations?.[annotation] === undefined) {
    return `pod does not have ${JSON.stringify(annotation)} annotation, node ${quoted} can only create mirror pods`;
  }
  if ((pod as Pod).spec?.nodeName !== node) {
    return `node ${quoted} can only create pods with spec.nodeName set to itself`;
  }
  const { ownerReferences = [] } = pod.metadata;
  const [owner] = ownerReferences;
  if (ownerReferences.length > 1) {
    return `node ${quoted} can only create pods with a single owner reference set to itself`;
  }
  if (owner?.apiVersion !== "v1" || owner.kind !== "Node" || owner.name !== node) {
    return `node ${quoted} can only create pods with an owner reference set to itself`;
  }
  if (owner.controller !== true) {
    return `node ${quoted} can only create pods with a controller owner reference set to itself`;
  }
  if (owner.blockOwnerDeletion === true) {
    return `node ${quoted} must not set blockOwnerDeletion on an owner reference`;
  }
  const stored = findObject(view, NODES, "", node);
  if (stored === undefined) return notFound(NODES, node);
  const { uid } = stored.metadata;
  if (owner.uid !== uid) return `node ${node} UID mismatch: expected ${owner.uid} got ${uid}`;
  const what = referencesOf(pod);
  return what === undefined
    ? undefined
    : `node ${quoted} can not create pods that reference ${what}`;
}

function referencesOf(pod: ApiObject): string | undefined {
  const { serviceAccount, secrets, configMaps } = podReferences(pod);
  if (serviceAccount !== "") return "a service account";
  if (secrets.size > 0) return "secrets";
  if (configMaps.size > 0) return "configmaps";
  const { volumes = [], resourceClaims = [] } = (pod as Pod).spec ?? {};
  for (const { persistentVolumeClaim, ephemeral, projected } of volumes) {
    if (persistentVolumeClaim !== undefined || ephemeral !== undefined) {
      return "persistentvolumeclaims";
    }
    for (const { clusterTrustBundle, podCertificate } of projected?.sources ?? []) {
      if (clusterTrustBundle !== undefined) return "clustertrustbundles";
      if (podCertificate !== undefined) return "podcertificates";
    }
  }
  return resourceClaims.length > 0 ? "resourceclaims" : undefined;
}
