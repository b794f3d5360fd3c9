/**
 * LimitRanger: applies the LimitRanges of a namespace. They give defaults to containers without
 * requests and bound the requests of containers, pods and claims.
 */
import type { ApiObject } from "../api/meta.js";
import type { Naming } from "../api/naming.js";
import { compareQuantities, formatQuantity, type Quantity } from "../schema/quantity.js";
import {
  type AdmissionAttributes,
  type AdmissionPlugin,
  type Handles,
  refuse,
  WRITES,
} from "./admission.js";
import {
  type Amounts,
  amountsOf,
  type Container,
  type PodContainers,
  parseAmounts,
  podAmounts,
} from "./pod-amounts.js";
import { type AdmissionView, listObjects } from "./stored-objects.js";

interface Limit {
  type?: string;
  min?: Amounts;
  max?: Amounts;
  default?: Amounts;
  defaultRequest?: Amounts;
  maxLimitRequestRatio?: Amounts;
}

interface LimitRange extends ApiObject {
  spec?: { limits?: Limit[] };
}

interface Asked {
  readonly requests: ReadonlyMap<string, Quantity>;
  readonly limits: ReadonlyMap<string, Quantity>;
}

const LIMIT_RANGES = { group: "", resource: "limitranges" };

export class LimitRanger implements AdmissionPlugin {
  readonly name = "LimitRanger";
  readonly #view: AdmissionView;
  readonly #annotation: string;

  constructor(view: AdmissionView, { labelDomain }: Naming) {
    this.#view = view;
    this.#annotation = `${labelDomain}/limit-ranger`;
  }

  readonly handles: Handles = (operation, { group, resource }, subresource) => {
    if (group !== "") return false;
    const isWrite = WRITES.includes(operation);
    if (resource === "persistentvolumeclaims") return isWrite && subresource === "";
    if (resource !== "pods") return false;
    // Only a resize changes container resources later.
    return operation === (subresource === "resize" ? "UPDATE" : "CREATE") && hasLimits(subresource);
  };

  mutate({ resource, namespace, object }: AdmissionAttributes): boolean {
    if (resource.resource !== "pods" || object === undefined) return false;
    const set: string[] = [];
    for (const limit of this.#limitsOf(namespace)) {
      if (limit.type !== "Container") continue;
      const { containers, initContainers = [] } = (object.spec ?? {}) as PodContainers;
      for (const container of containers ?? []) set.push(...fillIn(container, limit, "container"));
      for (const container of initContainers) {
        set.push(...fillIn(container, limit, "init container"));
      }
    }
    if (set.length === 0) return false;
    object.metadata.annotations = {
      ...object.metadata.annotations,
      [this.#annotation]: `LimitRanger plugin set: ${set.join("; ")}`,
    };
    return true;
  }

  validate(attributes: AdmissionAttributes): undefined {
    const { resource, namespace, object } = attributes;
    if (object === undefined) return;
    const check = resource.resource === "pods" ? checkPod : checkClaim;
    const problems = this.#limitsOf(namespace).flatMap((limit) => check(object, limit));
    if (problems.length === 0) return;
    throw refuse(attributes, problems.length === 1 ? `${problems[0]}` : `[${problems.join(", ")}]`);
  }

  #limitsOf(namespace: string): Limit[] {
    const ranges: LimitRange[] = listObjects(this.#view, LIMIT_RANGES, namespace);
    return ranges.flatMap(({ spec }) => spec?.limits ?? []);
  }
}

function hasLimits(subresource: string): boolean {
  return subresource === "" || subresource === "resize";
}

/** @returns descriptions of the filled-in values */
function fillIn(container: Container, limit: Limit, what: string): string[] {
  const set: string[] = [];
  for (const [field, defaults, word] of [
    ["requests", limit.defaultRequest ?? {}, "request"],
    ["limits", limit.default ?? {}, "limit"],
  ] as const) {
    const known = container.resources?.[field] ?? {};
    const missing = Object.keys(defaults).filter((name) => known[name] === undefined);
    if (missing.length === 0) continue;
    const added = Object.fromEntries(missing.map((name) => [name, defaults[name] as string]));
    container.resources = { ...container.resources, [field]: { ...known, ...added } };
    set.push(`${missing.sort().join(", ")} ${word} for ${what} ${container.name ?? ""}`);
  }
  return set;
}

/** What a pod may ask for as a whole, instead of the sum of its containers. */
const OF_WHOLE_PODS: readonly string[] = ["cpu", "memory"];

function wholeAmounts(
  spec: PodContainers & Pick<Container, "resources">,
  what: "requests" | "limits",
): ReadonlyMap<string, Quantity> {
  const whole = [...amountsOf(spec, what)].filter(([name]) => OF_WHOLE_PODS.includes(name));
  return new Map([...podAmounts(spec, what), ...whole]);
}

function checkPod(pod: ApiObject, limit: Limit): string[] {
  const spec = (pod.spec ?? {}) as PodContainers & Pick<Container, "resources">;
  if (limit.type === "Pod") {
    const asked = {
      requests: wholeAmounts(spec, "requests"),
      limits: wholeAmounts(spec, "limits"),
    };
    return checkAsked(asked, limit);
  }
  if (limit.type !== "Container") return [];
  return [...(spec.containers ?? []), ...(spec.initContainers ?? [])].flatMap((container) => {
    const asked = {
      requests: amountsOf(container, "requests"),
      limits: amountsOf(container, "limits"),
    };
    return checkAsked(asked, limit);
  });
}

/** Claims have no limits, so requests are checked. */
function checkClaim(claim: ApiObject, limit: Limit): string[] {
  if (limit.type !== "PersistentVolumeClaim") return [];
  const { resources } = (claim.spec ?? {}) as { resources?: { requests?: Amounts } };
  const requests = parseAmounts(resources?.requests ?? {});
  const asked = { requests, limits: new Map<string, Quantity>() };
  const tooLarge = bounds(limit.max).flatMap(([name, most]) => {
    const request = requests.get(name);
    if (request === undefined)
      return [`${usage("maximum", name, limit, most)}.  No request is specified`];
    if (compareQuantities(request, most) <= 0) return [];
    return [`${usage("maximum", name, limit, most)}, but request is ${formatQuantity(request)}`];
  });
  return [...checkMinimum(asked, limit), ...tooLarge];
}

function checkAsked(asked: Asked, limit: Limit): string[] {
  return [
    ...checkMinimum(asked, limit),
    ...checkMaximum(asked, limit),
    ...checkRatio(asked, limit),
  ];
}

function checkMinimum({ requests, limits }: Asked, limit: Limit): string[] {
  return bounds(limit.min).flatMap(([name, least]) => {
    const rule = usage("minimum", name, limit, least);
    const [request, most] = [requests.get(name), limits.get(name)];
    if (request === undefined) return [`${rule}.  No request is specified`];
    if (compareQuantities(request, least) < 0) {
      return [`${rule}, but request is ${formatQuantity(request)}`];
    }
    if (most === undefined || compareQuantities(most, least) >= 0) return [];
    return [`${rule}, but limit is ${formatQuantity(most)}`];
  });
}

function checkMaximum({ requests, limits }: Asked, limit: Limit): string[] {
  return bounds(limit.max).flatMap(([name, most]) => {
    const rule = usage("maximum", name, limit, most);
    const [request, asked] = [requests.get(name), limits.get(name)];
    if (asked === undefined) return [`${rule}.  No limit is specified`];
    if (compareQuantities(asked, most) > 0) {
      return [`${rule}, but limit is ${formatQuantity(asked)}`];
    }
    if (request === undefined || compareQuantities(request, most) <= 0) return [];
    return [`${rule}, but request is ${formatQuantity(request)}`];
  });
}

function checkRatio({ requests, limits }: Asked, limit: Limit): string[] {
  return bounds(limit.maxLimitRequestRatio).flatMap(([name, most]) => {
    const rule = `${name} max limit to request ratio per ${limit.type} is ${formatQuantity(most)}`;
    const [request, asked] = [requests.get(name), limits.get(name)].map((quantity) =>
      quantity === undefined ? 0 : toNumber(quantity),
    );
    if (request === undefined || request === 0) {
      return [`${rule}, but no request is specified or request is 0`];
    }
    if (asked === undefined || asked === 0) {
      return [`${rule}, but no limit is specified or limit is 0`];
    }
    const ratio = asked / request;
    if (ratio <= toNumber(most)) return [];
    return [`${rule}, but provided ratio is ${ratio.toFixed(6)}`];
  });
}

function bounds(amounts: Amounts = {}): [name: string, bound: Quantity][] {
  return [...parseAmounts(amounts)].sort(([left], [right]) => (left < right ? -1 : 1));
}

function usage(which: string, name: string, { type }: Limit, bound: Quantity): string {
  return `${which} ${name} usage per ${type} is ${formatQuantity(bound)}`;
}

/** Precise enough for a ratio. */
function toNumber({ digits, scale }: Quantity): number {
  return Number(digits) * 10 ** scale;
}
