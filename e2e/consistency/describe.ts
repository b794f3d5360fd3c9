/** Operations, lists and watches as one line each, for the evidence of a violation. */
import type {
  Content,
  KeyedState,
  KeyOperation,
  ListOperation,
  Scope,
  WatchItem,
  WatchSession,
} from "./history.js";

export function describeOperation(operation: KeyOperation): string {
  return `${times(operation)} ${operation.key} ${callText(operation)} -> ${outcomeText(operation)}`;
}

export function describeList(list: ListOperation): string {
  const { version, match, limit, pages, items } = list;
  const parts = [
    `resourceVersion=${version === "" ? "unset" : version}`,
    ...(match === "" ? [] : [match]),
    ...(limit === 0 ? [] : [`limit=${limit}`]),
  ];
  const answer = `${items.length} items at ${[...new Set(pages)].join(", ")}`;
  return `${times(list)} list ${scopeText(list.scope)} ${parts.join(" ")} -> ${answer}`;
}

export function describeSession(session: WatchSession): string {
  const { start, items, ending } = session;
  const from = start.kind === "resume" ? `after ${start.after}` : `with state ${start.version}`;
  return `${times(session)} watch ${scopeText(session.scope)} ${from} -> ${items.length} items, ${ending}`;
}

export function describeItem(item: WatchItem): string {
  if (item.type === "BOOKMARK") {
    return `  BOOKMARK ${item.revision}${item.isInitialEnd ? " (initial events end)" : ""}`;
  }
  return `  ${item.type} ${describeState(item.state)}`;
}

export function describeState({ key, revision, content, judgedBy }: KeyedState): string {
  const definitions =
    judgedBy === undefined
      ? ""
      : ` (stored under definition ${judgedBy.written}, shown under ${judgedBy.shown.join(" and ")})`;
  return `${key} at ${revision}: ${contentText(content)}${definitions}`;
}

export function contentText({ w, v, p, color }: Content): string {
  return `w=${w} v=${v} p=${p} ${color}`;
}

function times(timed: {
  readonly client: string;
  readonly replica: number;
  readonly floor: number;
  readonly invokedMs: number;
  readonly completedMs: number;
}): string {
  const { client, replica, floor, invokedMs, completedMs } = timed;
  const end = completedMs === Number.POSITIVE_INFINITY ? "?" : completedMs.toFixed(1);
  return `[${invokedMs.toFixed(1)}..${end} ms] ${client} replica ${replica} (seen ${floor})`;
}

function callText({ call }: KeyOperation): string {
  switch (call.kind) {
    case "create":
      return `create ${contentText(call.content)}`;
    case "replace": {
      const condition = call.base === undefined ? "" : ` if ${call.base}`;
      return `replace${condition} ${contentText(call.content)}`;
    }
    case "patch":
      return `patch w=p=${call.w}`;
    case "delete": {
      const condition = call.base === undefined ? "" : ` if ${call.base}`;
      return `${call.isCollective === true ? "deletecollection" : "delete"}${condition}`;
    }
    case "get":
      return `get resourceVersion=${call.version === "" ? "unset" : call.version}`;
  }
}

function outcomeText({ outcome }: KeyOperation): string {
  if (outcome.type === "refused") return outcome.reason;
  if (outcome.type === "unknown") return `unknown (${outcome.why})`;
  if (outcome.state === undefined) return "done";
  return `at ${outcome.state.revision}: ${contentText(outcome.state.content)}`;
}

function scopeText({ namespace, name, color }: Scope): string {
  const parts = [namespace ?? "*", name ?? "*", ...(color === undefined ? [] : [color])];
  return parts.join("/");
}
