/**
 * Reads stored FlowSchemas and PriorityLevelConfigurations into a form for classifying requests, with
 * the API's defaults. Objects were validated when they were written; unreadable parts are left out.
 */
import type { ApiObject } from "../api/meta.js";
import type { Queuing } from "./queue-set.js";

/** A priority level as configured. */
export interface LevelSetting {
  readonly name: string;
  readonly uid: string;
  readonly isExempt: boolean;
  /** Share of the server's seats, relative to the other levels. */
  readonly shares: number;
  /** The share of its seats that others may borrow. */
  readonly lendablePercent: number;
  /** How much it may borrow, relative to its own seats; undefined = everything that others lend. */
  readonly borrowingLimitPercent: number | undefined;
  /** undefined = requests that find no seat are refused at once. */
  readonly queuing: Queuing | undefined;
}

/** The subjects and requests that a rule matches. */
export interface RuleSetting {
  readonly users: ReadonlySet<string>;
  readonly groups: ReadonlySet<string>;
  /** "namespace:name"; the name may be "*". */
  readonly serviceAccounts: ReadonlySet<string>;
  readonly resourceRules: readonly ResourceRule[];
  readonly pathRules: readonly PathRule[];
}

export interface ResourceRule {
  readonly verbs: ReadonlySet<string>;
  readonly groups: ReadonlySet<string>;
  /** Also "pods/status". */
  readonly resources: ReadonlySet<string>;
  readonly isClusterScope: boolean;
  readonly namespaces: ReadonlySet<string>;
}

export interface PathRule {
  readonly verbs: ReadonlySet<string>;
  /** Exact, "*", or a prefix that ends in "/*". */
  readonly paths: readonly string[];
}

/** A flow schema as configured. */
export interface SchemaSetting {
  readonly name: string;
  readonly uid: string;
  readonly level: string;
  /** The smallest matching value decides, then the name. */
  readonly precedence: number;
  /** How its requests are divided into flows; undefined = one flow. */
  readonly distinguisher: "ByUser" | "ByNamespace" | undefined;
  readonly rules: readonly RuleSetting[];
}

/** Defaults of the API. */
const DEFAULT_SHARES = 30;
const DEFAULT_QUEUING: Queuing = { queues: 64, handSize: 8, queueLengthLimit: 50 };
const DEFAULT_PRECEDENCE = 1000;
/** Bounds of the API. */
const SHARES_MAX = 2 ** 31 - 1;
const QUEUES_MAX = 10_000_000;
/** More cards than a dealer has bits for. */
const HAND_SIZE_MAX = 16;

export function toLevelSetting({ metadata, ...object }: ApiObject): LevelSetting {
  const spec = membersOf(object.spec);
  const isExempt = spec.type === "Exempt";
  const limits = membersOf(isExempt ? spec.exempt : spec.limited);
  const response = membersOf(limits.limitResponse);
  const queuing = membersOf(response.queuing);
  const { borrowingLimitPercent } = limits;
  return {
    name: metadata.name ?? "",
    uid: metadata.uid ?? "",
    isExempt,
    shares: within(limits.nominalConcurrencyShares, isExempt ? 0 : DEFAULT_SHARES, 0, SHARES_MAX),
    lendablePercent: within(limits.lendablePercent, 0, 0, 100),
    borrowingLimitPercent:
      typeof borrowingLimitPercent === "number" ? Math.max(0, borrowingLimitPercent) : undefined,
    queuing: isExempt || response.type !== "Queue" ? undefined : toQueuing(queuing),
  };
}

/** What validation refuses, but may be stored by others, is brought within the bounds. */
function toQueuing({ queues, handSize, queueLengthLimit }: Members): Queuing {
  const count = within(queues, DEFAULT_QUEUING.queues, 1, QUEUES_MAX);
  return {
    queues: count,
    handSize: within(handSize, DEFAULT_QUEUING.handSize, 1, Math.min(count, HAND_SIZE_MAX)),
    queueLengthLimit: within(
      queueLengthLimit,
      DEFAULT_QUEUING.queueLengthLimit,
      1,
      Number.MAX_SAFE_INTEGER,
    ),
  };
}

export function toSchemaSetting({ metadata, ...object }: ApiObject): SchemaSetting {
  const spec = membersOf(object.spec);
  const { type } = membersOf(spec.distinguisherMethod);
  return {
    name: metadata.name ?? "",
    uid: metadata.uid ?? "",
    level: String(membersOf(spec.priorityLevelConfiguration).name ?? ""),
    precedence: numberOf(spec.matchingPrecedence, DEFAULT_PRECEDENCE),
    distinguisher: type === "ByUser" || type === "ByNamespace" ? type : undefined,
    rules: listOf(spec.rules).map(toRule),
  };
}

function toRule(rule: Members): RuleSetting {
  const users = new Set<string>();
  const groups = new Set<string>();
  const serviceAccounts = new Set<string>();
  for (const subject of listOf(rule.subjects)) {
    const { name = "", namespace = "" } = membersOf(
      subject.user ?? subject.group ?? subject.serviceAccount,
    );
    if (subject.kind === "User") users.add(String(name));
    if (subject.kind === "Group") groups.add(String(name));
    if (subject.kind === "ServiceAccount") serviceAccounts.add(`${namespace}:${name}`);
  }
  return {
    users,
    groups,
    serviceAccounts,
    resourceRules: listOf(rule.resourceRules).map((one) => ({
      verbs: textsOf(one.verbs),
      groups: textsOf(one.apiGroups),
      resources: textsOf(one.resources),
      isClusterScope: one.clusterScope === true,
      namespaces: textsOf(one.namespaces),
    })),
    pathRules: listOf(rule.nonResourceRules).map((one) => ({
      verbs: textsOf(one.verbs),
      paths: [...textsOf(one.nonResourceURLs)],
    })),
  };
}

type Members = Readonly<Record<string, unknown>>;

function membersOf(value: unknown): Members {
  return typeof value === "object" && value !== null ? (value as Members) : {};
}

function listOf(value: unknown): readonly Members[] {
  return Array.isArray(value) ? value.map(membersOf) : [];
}

function textsOf(value: unknown): ReadonlySet<string> {
  return new Set(Array.isArray(value) ? value.map(String) : []);
}

function within(value: unknown, fallback: number, min: number, max: number): number {
  return Math.min(max, Math.max(min, Math.trunc(numberOf(value, fallback))));
}

function numberOf(value: unknown, fallback: number): number {
  return typeof value === "number" && !Number.isNaN(value) ? value : fallback;
}
