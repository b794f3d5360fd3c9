/**
 * NodeAuthorizer: derives a node's permissions from the pods bound to it (S2-NODE). A node may read a
 * secret because one of its pods references it, or because a volume claimed by the pod does:
 *
 *   secret, config map, service account, resource claim ◄── pod ──► node
 *   secret ◄── persistent volume ──► claim ◄── pod ──► node
 *
 * All other permissions of a node are for its own objects by name (Node, Lease, CSINode), limited by a
 * field selector (pods, resource slices), or the same for all nodes (node-rules.ts). The NodeRestriction
 * admission plugin checks the contents of a node's writes.
 *
 * It has no opinion on users that are not nodes, and never denies: another authorizer may allow more.
 * Its indexes are exactly as fresh as the view, so a node loses access to a secret with the pod's
 * deletion, on the next request and on every replica.
 */
import type { Partition } from "../../../storage/cache/partition.js";
import { objectPath, type PartitionId, partitionId } from "../../../storage/objects/keys.js";
import type { Naming } from "../../api/naming.js";
import type { PodReferences } from "../../api/pod-references.js";
import { parseFieldSelector } from "../../api/selector-fields.js";
import { nodeNameOf } from "../../request/node-identity.js";
import type { UserInfo } from "../../request/user-info.js";
import {
  type AuthorizationAttributes,
  type AuthorizationResult,
  type AuthorizedRequest,
  type Authorizer,
  NO_OPINION,
} from "../authorizer.js";
import { NO_RULES, type RulesSource, type SubjectRules } from "../subject-rules.js";
import { decideWhenRead } from "../unread.js";
import { ClaimedVolumes } from "./claimed-volumes.js";
import { NodePods } from "./node-pods.js";
import { allowsByRule, createNodeRules, type NodeRules } from "./node-rules.js";

/** The part of the view that the authorizer reads. */
export interface NodeView {
  partition(id: PartitionId): Pick<Partition, "get" | "observe">;
}

/** The rules of one resource for the named node. */
type Decide = (node: string, request: AuthorizedRequest) => AuthorizationResult;

const ALLOW: AuthorizationResult = Object.freeze({ decision: "allow", reason: "" });
const UNLISTABLE: SubjectRules = Object.freeze({
  ...NO_RULES,
  incomplete: true,
  evaluationError: "node authorizer does not support user rule resolution",
});
const NODE_FIELD = "spec.nodeName";
const LEASE_VERBS: readonly string[] = ["get", "create", "update", "patch", "delete"];

export class NodeAuthorizer implements Authorizer, RulesSource {
  readonly name = "Node";
  readonly #view: NodeView;
  readonly #naming: Naming;
  readonly #pods: NodePods;
  readonly #volumes: ClaimedVolumes;
  readonly #rules: NodeRules;
  /** By "group/resource", the core group as "". */
  readonly #decisions: ReadonlyMap<string, Decide>;

  constructor(view: NodeView, naming: Naming) {
    this.#view = view;
    this.#naming = naming;
    const mirrorAnnotation = `${naming.labelDomain}/config.mirror`;
    this.#pods = new NodePods(view.partition(partitionId("", "pods")), mirrorAnnotation);
    this.#volumes = new ClaimedVolumes(view.partition(partitionId("", "persistentvolumes")));
    this.#rules = createNodeRules(naming);
    this.#decisions = this.#createDecisions();
  }

  authorize(
    attributes: AuthorizationAttributes,
  ): AuthorizationResult | Promise<AuthorizationResult> {
    const node = nodeNameOf(attributes.user);
    if (node === undefined) return NO_OPINION;
    return decideWhenRead(this.name, () => this.#decide(node, attributes));
  }

  /** @throws {Unread} */
  #decide(node: string, { user, info }: AuthorizationAttributes): AuthorizationResult {
    if (node === "") return noOpinion(`unknown node for user ${JSON.stringify(user.name)}`);
    if (!info.isResourceRequest) return NO_OPINION;
    const decide = this.#decisions.get(`${info.group}/${info.resource}`);
    if (decide !== undefined) return decide(node, info);
    return allowsByRule(this.#rules, info) ? ALLOW : NO_OPINION;
  }

  /** A node's permissions cannot be listed; other users have none here. */
  rulesFor(user: UserInfo): SubjectRules {
    return nodeNameOf(user) === undefined ? NO_RULES : UNLISTABLE;
  }

  #createDecisions(): ReadonlyMap<string, Decide> {
    const { groupDomain } = this.#naming;
    const storage = `storage.${groupDomain}`;
    const onNode = (group: string, resource: string): Decide => {
      const partition = this.#view.partition(partitionId(group, resource));
      return (node, request) =>
        related(node, request, ({ name }) => namesNode(partition.get(name), node));
    };
    return new Map<string, Decide>([
      ["/secrets", (node, request) => this.#decideSecret(node, request)],
      ["/configmaps", readNamespaced(this.#byPods(({ configMaps }, name) => configMaps.has(name)))],
      ["/persistentvolumeclaims", (node, request) => this.#decideClaim(node, request)],
      ["/persistentvolumes", get((node, { name }) => this.#hasVolume(node, name))],
      [
        `resource.${groupDomain}/resourceclaims`,
        get(this.#byPods(({ resourceClaims }, name) => resourceClaims.has(name))),
      ],
      [
        `${storage}/volumeattachments`,
        get((node, { name }) => {
          const attachment = this.#view.partition(partitionId(storage, "volumeattachments"));
          return namesNode(attachment.get(name), node);
        }),
      ],
      ["/serviceaccounts", (node, request) => this.#decideServiceAccount(node, request)],
      [
        `coordination.${groupDomain}/leases`,
        (node, request) => decideLease(node, request, this.#naming.nodeLeaseNamespace),
      ],
      [`${storage}/csinodes`, decideCsiNode],
      [
        `resource.${groupDomain}/resourceslices`,
        decideSlices(onNode(`resource.${groupDomain}`, "resourceslices")),
      ],
      ["/nodes", decideNode],
      ["/pods", (node, request) => this.#decidePod(node, request)],
      [
        `certificates.${groupDomain}/podcertificaterequests`,
        this.#decidePodCertificates(`certificates.${groupDomain}`),
      ],
    ]);
  }

  /** Whether one of the node's pods in the object's namespace references it. */
  #byPods(test: (references: PodReferences, name: string) => boolean): IsRelated {
    return (node, { namespace, name }) =>
      this.#pods.some(node, namespace, (references) => test(references, name));
  }

  #decideSecret(node: string, request: AuthorizedRequest): AuthorizationResult {
    const named = this.#byPods(({ secrets }, name) => secrets.has(name));
    const isRelated: IsRelated = (_, { namespace, name }) =>
      named(node, request) ||
      this.#volumes
        .claimsOfSecret(objectPath(namespace, name))
        .some((claim) => this.#hasClaim(node, claim));
    return readNamespaced(isRelated)(node, request);
  }

  #decideClaim(node: string, request: AuthorizedRequest): AuthorizationResult {
    const isRelated: IsRelated = (_, { namespace, name }) =>
      this.#hasClaim(node, objectPath(namespace, name));
    if (request.subresource !== "status") return get(isRelated)(node, request);
    if (request.verb !== "update" && request.verb !== "patch") {
      return noOpinion("can only get/update/patch this type");
    }
    return related(node, request, (asked) => isRelated(node, asked));
  }

  #hasClaim(node: string, claim: string): boolean {
    const slash = claim.indexOf("/");
    const name = claim.slice(slash + 1);
    return this.#pods.some(node, claim.slice(0, slash), ({ claims }) => claims.has(name));
  }

  #hasVolume(node: string, volume: string): boolean {
    const claim = this.#volumes.claimOf(volume);
    return claim !== undefined && this.#hasClaim(node, claim);
  }

  /** For tokens of the pods' service accounts, and to check where these may be used. */
  #decideServiceAccount(node: string, request: AuthorizedRequest): AuthorizationResult {
    const { verb, subresource, name } = request;
    const isRelated = this.#byPods(({ serviceAccount }, asked) => serviceAccount === asked);
    if (verb === "get" && subresource === "") return get(isRelated)(node, request);
    if (verb !== "create" || name === "") {
      return noOpinion("can only create tokens for individual service accounts");
    }
    if (subresource !== "token") {
      return noOpinion("can only create token subresource of serviceaccount");
    }
    return related(node, request, (asked) => isRelated(node, asked));
  }

  #decidePod(node: string, request: AuthorizedRequest): AuthorizationResult {
    const { verb, subresource, namespace, name } = request;
    const isOwn = () => this.#pods.isOn(node, namespace, name);
    switch (`${verb} ${subresource}`) {
      case "get ":
        return related(node, request, isOwn);
      case "list ":
      case "watch ":
        if (selectsNode(request, node)) return ALLOW;
        if (name !== "") return related(node, request, isOwn);
        return noOpinion("can only list/watch pods with spec.nodeName field selector");
      // The NodeRestriction plugin checks the pods.
      case "create ":
      case "delete ":
      case "update status":
      case "patch status":
      case "create eviction":
        return ALLOW;
      default:
        return NO_OPINION;
    }
  }

  #decidePodCertificates(group: string): Decide {
    const requests = this.#view.partition(partitionId(group, "podcertificaterequests"));
    return (node, request) => {
      const { verb, subresource, namespace, name } = request;
      if (subresource !== "") {
        return noOpinion("nodes may not access the status subresource of PodCertificateRequests");
      }
      switch (verb) {
        case "create":
          return ALLOW;
        case "get":
          return related(node, request, () =>
            namesNode(requests.get(objectPath(namespace, name)), node),
          );
        case "list":
        case "watch":
          if (selectsNode(request, node)) return ALLOW;
          return noOpinion(
            "can only list/watch podcertificaterequests with nodeName field selector",
          );
        default:
          return noOpinion(`nodes may not ${verb} podcertificaterequests`);
      }
    };
  }
}

type IsRelated = (node: string, request: AuthorizedRequest) => boolean;

function noOpinion(reason: string): AuthorizationResult {
  return { decision: "no-opinion", reason };
}

function related(
  node: string,
  request: AuthorizedRequest,
  isRelated: (request: AuthorizedRequest) => boolean,
): AuthorizationResult {
  if (request.name === "") return noOpinion("No Object name found");
  if (isRelated(request)) return ALLOW;
  return noOpinion(`no relationship found between node '${node}' and this object`);
}

/** Single objects, by name only. */
function get(isRelated: IsRelated): Decide {
  return (node, request) => {
    if (request.verb !== "get") {
      return noOpinion("can only get individual resources of this type");
    }
    if (request.subresource !== "") return noOpinion("cannot get subresource");
    return related(node, request, (asked) => isRelated(node, asked));
  };
}

/** Single objects, also through a list or watch that selects the name. */
function readNamespaced(isRelated: IsRelated): Decide {
  return (node, request) => {
    const { verb, subresource, namespace } = request;
    if (verb !== "get" && verb !== "list" && verb !== "watch") {
      return noOpinion("can only read resources of this type");
    }
    if (subresource !== "") return noOpinion("cannot read subresource");
    if (namespace === "") return noOpinion("can only read namespaced object of this type");
    return related(node, request, (asked) => isRelated(node, asked));
  };
}

/** The node's heartbeat. NodeRestriction checks the name of a new one. */
function decideLease(
  node: string,
  { verb, namespace, name }: AuthorizedRequest,
  leaseNamespace: string,
): AuthorizationResult {
  if (!LEASE_VERBS.includes(verb)) {
    return noOpinion("can only get, create, update, patch, or delete a node lease");
  }
  if (namespace !== leaseNamespace) {
    return noOpinion(
      `can only access leases in the ${JSON.stringify(leaseNamespace)} system namespace`,
    );
  }
  if (verb === "create" || name === node) return ALLOW;
  return noOpinion("can only access node lease with the same name as the requesting node");
}

function decideCsiNode(
  node: string,
  { verb, subresource, name }: AuthorizedRequest,
): AuthorizationResult {
  if (!LEASE_VERBS.includes(verb)) {
    return noOpinion("can only get, create, update, patch, or delete a CSINode");
  }
  if (subresource !== "") return noOpinion("cannot authorize CSINode subresources");
  if (verb === "create" || name === node) return ALLOW;
  return noOpinion("can only access CSINode with the same name as the requesting node");
}

function decideSlices(ofNode: Decide): Decide {
  return (node, request) => {
    if (request.subresource !== "") return noOpinion("cannot authorize ResourceSlice subresources");
    switch (request.verb) {
      case "create":
        return ALLOW;
      case "get":
      case "update":
      case "patch":
      case "delete":
        return ofNode(node, request);
      case "list":
      case "watch":
      case "deletecollection":
        if (selectsNode(request, node)) return ALLOW;
        return noOpinion(
          "can only list/watch/deletecollection resourceslices with nodeName field selector",
        );
      default:
        return noOpinion(
          "only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, patch, delete, deletecollection",
        );
    }
  };
}

function decideNode(
  node: string,
  { verb, subresource, name }: AuthorizedRequest,
): AuthorizationResult {
  switch (`${verb} ${subresource}`) {
    // NodeRestriction checks which node it writes.
    case "create ":
    case "update ":
    case "patch ":
    case "update status":
    case "patch status":
      return ALLOW;
    case "get ":
    case "list ":
    case "watch ":
      if (name === node) return ALLOW;
      if (name === "") {
        return noOpinion(`node '${node}' cannot read all nodes, only its own Node object`);
      }
      return noOpinion(`node '${node}' cannot read '${name}', only its own Node object`);
    default:
      return NO_OPINION;
  }
}

/** Whether the object belongs to this node; the view has the field ready where it is selectable. */
function namesNode(stored: ReturnType<Partition["get"]>, node: string): boolean {
  if (stored === undefined || stored.corruption !== undefined) return false;
  const field = stored.fields[NODE_FIELD];
  if (field !== undefined) return field === node;
  const { spec } = JSON.parse(stored.bytes.toString("utf8")) as { spec?: { nodeName?: string } };
  return spec?.nodeName === node;
}

/** Whether the request is limited to objects of the node. */
function selectsNode({ query }: AuthorizedRequest, node: string): boolean {
  const text = query?.get("fieldSelector") ?? "";
  if (text === "") return false;
  try {
    return parseFieldSelector(text).some(
      ({ path, operator, value }) => path === NODE_FIELD && operator === "equals" && value === node,
    );
  } catch {
    // The request fails later because of it; it grants nothing.
    return false;
  }
}
