/**
 * Status conditions of a terminating namespace that explain why it still exists, in kube-apiserver's
 * words; people and tools read them.
 */
import { firstOf } from "../api/shown-value.js";
import { formatTime } from "../api/time.js";

export interface NamespaceCondition {
  type: string;
  status: "True" | "False";
  lastTransitionTime: string | null;
  reason: string;
  message: string;
}

/** The objects that a sweep over a namespace could not remove. */
export interface Leftovers {
  readonly count: number;
  /** "pods." or "deployments.apps" to the number of remaining objects. */
  readonly byResource: ReadonlyMap<string, number>;
  /** Finalizer to the number of objects with it. */
  readonly byFinalizer: ReadonlyMap<string, number>;
  /** Messages of refused deletions. */
  readonly failures: readonly string[];
  /** By group-version: why nobody knows what another server has of the namespace. */
  readonly undiscovered: ReadonlyMap<string, string>;
}

type Draft = Pick<NamespaceCondition, "type" | "status" | "reason" | "message">;

/** The conditions to store; undefined if unchanged. */
export function namespaceConditions(
  leftovers: Leftovers,
  current: readonly NamespaceCondition[],
  nowMs: number,
): NamespaceCondition[] | undefined {
  const drafts = [
    draft("NamespaceDeletionDiscoveryFailure", discoveryText(leftovers), {
      ok: ["ResourcesDiscovered", "All resources successfully discovered"],
      bad: ["DiscoveryFailed", "Discovery failed for some groups, "],
    }),
    draft("NamespaceDeletionContentFailure", failureText(leftovers), {
      ok: ["ContentDeleted", "All content successfully deleted, may be waiting on finalization"],
      bad: ["ContentDeletionFailed", "Failed to delete all resource types, "],
    }),
    draft("NamespaceContentRemaining", resourcesText(leftovers), {
      ok: ["ContentRemoved", "All content successfully removed"],
      bad: ["SomeResourcesRemain", "Some resources are remaining: "],
    }),
    draft("NamespaceFinalizersRemaining", finalizersText(leftovers), {
      ok: ["ContentHasNoFinalizers", "All content-preserving finalizers finished"],
      bad: ["SomeFinalizersRemain", "Some content in the namespace has finalizers remaining: "],
    }),
  ];
  let isChanged = false;
  const next = current.filter(({ type }) => !drafts.some((item) => item.type === type));
  for (const item of drafts) {
    const before = current.find(({ type }) => type === item.type);
    const isSame = before?.status === item.status && before.message === item.message;
    if (!isSame) isChanged = true;
    const moved = before?.status !== item.status;
    const lastTransitionTime = moved ? formatTime(nowMs) : (before?.lastTransitionTime ?? null);
    next.push({ ...item, lastTransitionTime });
  }
  return isChanged ? next : undefined;
}

/** Names and messages of users are in it, in any number. */
const MESSAGE_CHARS_MAX = 32_768;

/** Without text the condition is fine. */
function draft(
  type: string,
  text: string,
  words: { readonly ok: readonly [string, string]; readonly bad: readonly [string, string] },
): Draft {
  if (text === "") return { type, status: "False", reason: words.ok[0], message: words.ok[1] };
  return {
    type,
    status: "True",
    reason: words.bad[0],
    message: firstOf(words.bad[1] + text, MESSAGE_CHARS_MAX),
  };
}

function discoveryText({ undiscovered }: Leftovers): string {
  if (undiscovered.size === 0) return "";
  const groups = [...undiscovered].map(([groupVersion, why]) => `${groupVersion}: ${why}`).sort();
  const what = "unable to retrieve the complete list of server APIs";
  return `${undiscovered.size} failing: ${what}: ${groups.join(", ")}`;
}

function failureText({ failures }: Leftovers): string {
  return failures.length === 0 ? "" : `${failures.length} remaining: ${failures.join(", ")}`;
}

function resourcesText({ byResource }: Leftovers): string {
  return [...byResource]
    .map(([name, count]) => `${name} has ${count} resource instances`)
    .sort()
    .join(", ");
}

function finalizersText({ byFinalizer }: Leftovers): string {
  return [...byFinalizer]
    .map(([name, count]) => `${name} in ${count} resource instances`)
    .sort()
    .join(", ");
}
