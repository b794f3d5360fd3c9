/** Conditions in an object's status: one per type, with the time of the last change. */
import { isRecord } from "../../../storage/base/is-record.js";
import type { ApiObject } from "../../api/meta.js";
import { formatTime } from "../../api/time.js";

export interface Condition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason?: string;
  readonly message?: string;
}

/** Replaces the condition of the same type, or appends it. */
export function withCondition<T extends ApiObject>(
  object: T,
  condition: Condition,
  nowMs: number,
): T {
  const status = isRecord(object.status) ? object.status : {};
  const before = conditionsOf(object);
  const known = before.find(({ type }) => type === condition.type);
  const isSame = known?.status === condition.status;
  const now = formatTime(nowMs);
  const lastTransitionTime = isSame ? (known?.lastTransitionTime ?? now) : now;
  const next = { lastProbeTime: null, lastTransitionTime, ...condition };
  const conditions =
    known === undefined ? [...before, next] : before.map((item) => (item === known ? next : item));
  return { ...object, status: { ...status, conditions } };
}

/** Whether the condition exists and is true. */
export function isConditionTrue(object: ApiObject, type: string): boolean {
  return conditionsOf(object).some((item) => item.type === type && item.status === "True");
}

export function conditionsOf(object: ApiObject): readonly Record<string, unknown>[] {
  const { status } = object;
  const conditions = isRecord(status) ? status.conditions : undefined;
  return Array.isArray(conditions) ? conditions.filter(isRecord) : [];
}
