/**
 * NodeRestriction: a node writes only its own objects (S2-NODE-06). The Node authorizer decides by verb
 * and name; this plugin inspects the objects: the node of a pod that is deleted, evicted or updated, the
 * labels and taints of a Node, the binding of a token. Requests of other users pass.
 */

import { deepEqual } from "../../api/deep-equal.js";
import type { ApiObject } from "../../api/meta.js";
import type { Naming } from "../../api/naming.js";
import { notFound, type StatusError } from "../../api/status.js";
import { type SignalSource, signalOf } from "../../request/lazy-signal.js";
import { nodeNameOf } from "../../request/node-identity.js";
import type { UserInfo } from "../../request/user-info.js";
import {
  type AdmissionAttributes,
  type AdmissionOperation,
  type AdmissionPlugin,
  type AdmissionResource,
  PODS,
  refuse,
} from "../admission.js";
import { type AdmissionView, findObject } from "../stored-objects.js";
import { checkMirrorPod } from "./mirror-pod.js";
import { forbiddenLabelChanges } from "./node-labels.js";
import { podMentionsAudience } from "./pod-audiences.js";
import { parseSigningRequest } from "./signing-request.js";

export interface NodeRestrictionOptions {
  readonly view: AdmissionView;
  readonly naming: Naming;
  /**
   * Whether the node may request tokens of the service account for an audience that its pod does not
   * mention (verb request-serviceaccounts-token-audience); absent = it may not.
   */
  mayRequestAudience?(
    user: UserInfo,
    serviceAccount: { readonly namespace: string; readonly name: string },
    audience: string,
    signal: AbortSignal,
  ): Promise<boolean>;
}

interface NodeObject extends ApiObject {
  spec?: { taints?: readonly unknown[]; nodeName?: string; configSource?: unknown };
}

interface TokenRequest extends ApiObject {
  spec?: {
    /** null = none. */
    audiences?: readonly string[] | null;
    boundObjectRef?: { apiVersion?: string; kind?: string; name?: string; uid?: string } | null;
  };
}

type Check = (
  node: string,
  attributes: AdmissionAttributes,
  signal: AbortSignal,
) => Promise<void> | undefined;

const NODES = { group: "", resource: "nodes" };

export class NodeRestriction implements AdmissionPlugin {
  readonly name = "NodeRestriction";
  readonly #view: AdmissionView;
  readonly #naming: Naming;
  readonly #options: NodeRestrictionOptions;
  /** By "group/resource", the core group as "". */
  readonly #checks: ReadonlyMap<string, Check>;

  constructor(options: NodeRestrictionOptions) {
    const { view, naming } = options;
    const { groupDomain, nodeLeaseNamespace } = naming;
    this.#view = view;
    this.#naming = naming;
    this.#options = options;
    const withName = (check: (node: string, asked: AdmissionAttributes) => void): Check => {
      return (node, attributes) => {
        check(node, attributes);
        return undefined;
      };
    };
    this.#checks = new Map<string, Check>([
      ["/pods", withName((node, asked) => this.#checkPod(node, asked))],
      ["/nodes", withName((node, asked) => this.#checkNode(node, asked))],
      ["/persistentvolumeclaims", withName(checkClaim)],
      ["/serviceaccounts", (node, asked, signal) => this.#checkToken(node, asked, signal)],
      [
        `coordination.${groupDomain}/leases`,
        withName((node, asked) => checkLease(node, asked, nodeLeaseNamespace)),
      ],
      [
        `storage.${groupDomain}/csinodes`,
        withName((node, asked) => checkOwnName(node, asked, "CSINode")),
      ],
      [`resource.${groupDomain}/resourceslices`, withName(checkSlice)],
      [
        `certificates.${groupDomain}/certificatesigningrequests`,
        withName((_, asked) => this.#checkSigningRequest(asked)),
      ],
      [
        `certificates.${groupDomain}/podcertificaterequests`,
        withName((node, asked) => this.#checkPodCertificate(node, asked)),
      ],
    ]);
  }

  handles(operation: AdmissionOperation, { group, resource }: AdmissionResource): boolean {
    return operation !== "CONNECT" && this.#checks.has(`${group}/${resource}`);
  }

  /** Runs as a mutating plugin before webhooks, as kube-apiserver does, but changes nothing. */
  mutate(attributes: AdmissionAttributes, signal: SignalSource): boolean | Promise<boolean> {
    const { user, resource } = attributes;
    const node = nodeNameOf(user);
    if (node === undefined) return false;
    if (node === "") {
      throw refuse(attributes, `could not determine node from user ${JSON.stringify(user.name)}`);
    }
    const check = this.#checks.get(`${resource.group}/${resource.resource}`);
    return check?.(node, attributes, signalOf(signal))?.then(() => false) ?? false;
  }

  #checkPod(node: string, attributes: AdmissionAttributes): void {
    const { operation, subresource, object, oldObject } = attributes;
    const quoted = JSON.stringify(node);
    switch (subresource) {
      case "":
        if (operation === "CREATE" && object !== undefined) {
          const why = checkMirrorPod(this.#view, this.#naming, node, object);
          if (why instanceof Error) throw why;
          if (why !== undefined) throw refuse(attributes, why);
          return;
        }
        if (operation !== "DELETE") {
          const why = `unexpected operation ${JSON.stringify(operation)}, node ${quoted} can only create and delete mirror pods`;
          throw refuse(attributes, why);
        }
        if (isOn(oldObject, node)) return;
        throw refuse(
          attributes,
          `node ${quoted} can only delete pods with spec.nodeName set to itself`,
        );
      case "status":
        checkPodStatus(node, attributes);
        return;
      case "eviction":
        this.#checkEviction(node, attributes);
        return;
      default:
        throw refuse(
          attributes,
          `unexpected pod subresource ${JSON.stringify(subresource)}, only 'status' and 'eviction' are allowed`,
        );
    }
  }

  #checkEviction(node: string, attributes: AdmissionAttributes): void {
    const { operation, namespace, object } = attributes;
    if (operation !== "CREATE") throw unexpected(attributes);
    const name = attributes.name || (object?.metadata.name ?? "");
    if (name === "") throw refuse(attributes, "could not determine pod from request data");
    if (isOn(this.#findPod(namespace, name), node)) return;
    throw refuse(attributes, `node ${node} can only evict pods with spec.nodeName set to itself`);
  }

  #checkNode(node: string, attributes: AdmissionAttributes): void {
    const { operation, object, oldObject } = attributes;
    const quoted = JSON.stringify(node);
    const isWritten = operation === "CREATE" || operation === "UPDATE";
    const sourceOf = ({ spec }: NodeObject) => spec?.configSource ?? null;
    // A write to the status would leave these as they are; who sends others is refused, as kube-apiserver does.
    const sent = attributes.sent ?? object;
    const source = sent === undefined ? null : sourceOf(sent as NodeObject);
    if (operation === "CREATE" && source !== null) {
      // The words of kube-apiserver, which means nodes.
      const why = `node ${quoted} is not allowed to create pods with a non-nil configSource`;
      throw refuse(attributes, why);
    }
    if (operation === "CREATE" && object !== undefined) {
      const labels = forbiddenLabelChanges(this.#naming, object, undefined);
      if (labels.length > 0) {
        const why = `node ${quoted} is not allowed to set the following labels: ${labels.join(", ")}`;
        throw refuse(attributes, why);
      }
    }
    const asked = attributes.name || (object?.metadata.name ?? "");
    if (asked !== node) {
      throw refuse(
        attributes,
        `node ${quoted} is not allowed to modify node ${JSON.stringify(asked)}`,
      );
    }
    if (!isWritten || object === undefined || oldObject === undefined) return;
    if (source !== null && !deepEqual(source, sourceOf(oldObject as NodeObject))) {
      const why = `node ${quoted} is not allowed to update configSource to a new non-nil configSource`;
      throw refuse(attributes, why);
    }
    const taintsOf = ({ spec }: NodeObject) => spec?.taints ?? [];
    if (!deepEqual(taintsOf(sent as NodeObject), taintsOf(oldObject as NodeObject))) {
      throw refuse(attributes, `node ${quoted} is not allowed to modify taints`);
    }
    const labels = forbiddenLabelChanges(this.#naming, object, oldObject);
    if (labels.length > 0) {
      throw refuse(attributes, `is not allowed to modify labels: ${labels.join(", ")}`);
    }
    const ownersOf = ({ metadata }: ApiObject) => metadata.ownerReferences ?? [];
    if (!deepEqual(ownersOf(object), ownersOf(oldObject))) {
      throw refuse(attributes, `node ${quoted} is not allowed to modify ownerReferences`);
    }
  }

  #checkToken(
    node: string,
    attributes: AdmissionAttributes,
    signal: AbortSignal,
  ): Promise<void> | undefined {
    const { operation, subresource, namespace, name, object, user } = attributes;
    if (operation !== "CREATE" || subresource !== "token") return undefined;
    const spec = (object as TokenRequest | undefined)?.spec;
    const audiences = spec?.audiences ?? [];
    const { apiVersion, kind, name: podName = "", uid = "" } = spec?.boundObjectRef ?? {};
    if (apiVersion !== "v1" || kind !== "Pod" || podName === "") {
      throw refuse(attributes, "node requested token not bound to a pod");
    }
    if (uid === "") {
      throw refuse(attributes, "node requested token with a pod binding without a uid");
    }
    const pod = this.#findPod(namespace, podName);
    if (pod.metadata.uid !== uid) {
      const why = `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`;
      throw refuse(attributes, why);
    }
    if (!isOn(pod, node)) {
      throw refuse(attributes, "node requested token bound to a pod scheduled on a different node");
    }
    if (audiences.length > 1) {
      throw refuse(attributes, "node may only request 0 or 1 audiences");
    }
    const [audience = ""] = audiences;
    if (podMentionsAudience(this.#view, this.#naming, pod, audience)) return undefined;
    const refusal = refuse(
      attributes,
      `audience ${JSON.stringify(audience)} not found in pod spec volume`,
    );
    const { mayRequestAudience } = this.#options;
    if (mayRequestAudience === undefined) throw refusal;
    return mayRequestAudience(user, { namespace, name }, audience, signal).then((may) => {
      if (!may) throw refusal;
    });
  }

  /** A node may request certificates only in its own name. */
  #checkSigningRequest(attributes: AdmissionAttributes): void {
    const { operation, subresource, object, user } = attributes;
    if (operation !== "CREATE" || subresource !== "") return;
    const { labelDomain } = this.#naming;
    const { signerName, request } = (object?.spec ?? {}) as {
      signerName?: string;
      request?: string;
    };
    const isOfNodes =
      signerName === `${labelDomain}/kube-apiserver-client-kubelet` ||
      signerName === `${labelDomain}/kubelet-serving`;
    if (!isOfNodes) return;
    const parsed = parseSigningRequest(request ?? "");
    if (parsed === undefined) throw refuse(attributes, "unable to parse csr");
    if (parsed.commonName === user.name) return;
    throw refuse(attributes, `can only create a node CSR with CN=${user.name}`);
  }

  #checkPodCertificate(node: string, attributes: AdmissionAttributes): void {
    const { operation, subresource, namespace, object } = attributes;
    if (operation !== "CREATE" || subresource !== "") return;
    const asked = (object?.spec ?? {}) as Readonly<Record<string, string>>;
    const mismatch = (field: string, expected: unknown) =>
      refuse(
        attributes,
        `PodCertificateRequest ${field} ${JSON.stringify(asked[field] ?? "")} does not match ${JSON.stringify(expected ?? "")}`,
      );
    if (asked.nodeName !== node) throw mismatch("nodeName", node);
    const stored = findObject(this.#view, NODES, "", node);
    if (stored === undefined) throw notFound(NODES, node);
    if (asked.nodeUID !== stored.metadata.uid) throw mismatch("nodeUID", stored.metadata.uid);
    const pod = this.#findPod(namespace, asked.podName ?? "");
    if (!isOn(pod, node)) {
      throw refuse(attributes, "pod of the PodCertificateRequest is not bound to the node");
    }
    if (pod.metadata.annotations?.[`${this.#naming.labelDomain}/config.mirror`] !== undefined) {
      throw refuse(attributes, "pod of the PodCertificateRequest is a mirror pod");
    }
    if (asked.podUID !== pod.metadata.uid) throw mismatch("podUID", pod.metadata.uid);
    const { serviceAccountName = "" } = (pod.spec ?? {}) as { serviceAccountName?: string };
    if (asked.serviceAccountName !== serviceAccountName) {
      throw mismatch("serviceAccountName", serviceAccountName);
    }
    const accounts = { group: "", resource: "serviceaccounts" };
    const account = findObject(this.#view, accounts, namespace, serviceAccountName);
    if (account === undefined) throw notFound(accounts, serviceAccountName);
    if (asked.serviceAccountUID !== account.metadata.uid) {
      throw mismatch("serviceAccountUID", account.metadata.uid);
    }
  }

  /** @throws {StatusError} 404 */
  #findPod(namespace: string, name: string): ApiObject {
    const pod = findObject(this.#view, PODS, namespace, name);
    if (pod === undefined) throw notFound(PODS, name);
    return pod;
  }
}

function isOn(object: ApiObject | undefined, node: string): boolean {
  return ((object?.spec ?? {}) as { nodeName?: string }).nodeName === node;
}

function unexpected(attributes: AdmissionAttributes): StatusError {
  return refuse(attributes, `unexpected operation ${JSON.stringify(attributes.operation)}`);
}

/** Nodes may report the status of their pods, except for fields that steer other objects to them or grant more. */
function checkPodStatus(node: string, attributes: AdmissionAttributes): void {
  const { operation, object, oldObject } = attributes;
  if (operation !== "UPDATE" || object === undefined || oldObject === undefined) {
    throw unexpected(attributes);
  }
  const quoted = JSON.stringify(node);
  if (!isOn(oldObject, node)) {
    const why = `node ${quoted} can only update pod status for pods with spec.nodeName set to itself`;
    throw refuse(attributes, why);
  }
  if (!deepEqual(object.metadata.labels ?? {}, oldObject.metadata.labels ?? {})) {
    throw refuse(attributes, `node ${quoted} cannot update labels through pod status`);
  }
  const statusOf = ({ status }: ApiObject) => (status ?? {}) as Readonly<Record<string, unknown>>;
  const [next, before] = [statusOf(object), statusOf(oldObject)];
  if (!deepEqual(next.resourceClaimStatuses ?? [], before.resourceClaimStatuses ?? [])) {
    throw refuse(attributes, `node ${quoted} cannot update resource claim statuses`);
  }
  if (
    !deepEqual(next.extendedResourceClaimStatus ?? null, before.extendedResourceClaimStatus ?? null)
  ) {
    throw refuse(attributes, `node ${quoted} cannot update extended resource claim status`);
  }
}

/** Fields of a claim's status that a node's work on the volume changes. */
const CLAIM_STATUS_OF_NODES: readonly string[] = [
  "capacity",
  "conditions",
  "allocatedResources",
  "allocatedResourceStatuses",
  "modifyVolumeStatus",
  "currentVolumeAttributesClassName",
];

function checkClaim(node: string, attributes: AdmissionAttributes): void {
  const { operation, subresource, object, oldObject } = attributes;
  if (subresource !== "status") throw refuse(attributes, "may only update PVC status");
  if (operation !== "UPDATE" || object === undefined || oldObject === undefined) {
    throw unexpected(attributes);
  }
  if (deepEqual(restOfClaim(object), restOfClaim(oldObject))) return;
  const quoted = JSON.stringify(node);
  const why = `node ${quoted} is not allowed to update fields other than status.quantity and status.conditions`;
  throw refuse(attributes, why);
}

function restOfClaim({ metadata, status, ...rest }: ApiObject): object {
  const { managedFields: _, resourceVersion: __, ...others } = metadata;
  const kept = Object.entries((status ?? {}) as object).filter(
    ([field]) => !CLAIM_STATUS_OF_NODES.includes(field),
  );
  return { ...rest, metadata: others, status: Object.fromEntries(kept) };
}

function checkLease(node: string, attributes: AdmissionAttributes, namespace: string): void {
  if (attributes.namespace !== namespace) {
    const why = `can only access leases in the ${JSON.stringify(namespace)} system namespace`;
    throw refuse(attributes, why);
  }
  checkOwnName(node, attributes, "node lease");
}

function checkOwnName(node: string, attributes: AdmissionAttributes, what: string): void {
  const { object, name } = attributes;
  if ((object?.metadata.name ?? name) === node) return;
  throw refuse(attributes, `can only access ${what} with the same name as the requesting node`);
}

/** The authorizer checks the owner of an existing slice, but not of a whole collection. */
function checkSlice(node: string, attributes: AdmissionAttributes): void {
  const { operation, object, oldObject } = attributes;
  if (operation === "CREATE" && !isOn(object, node)) {
    const why = "can only create ResourceSlice with the same NodeName as the requesting node";
    throw refuse(attributes, why);
  }
  if (operation === "DELETE" && !isOn(oldObject, node)) {
    const why = "can only delete ResourceSlice with the same NodeName as the requesting node";
    throw refuse(attributes, why);
  }
}
