/**
 * DefaultRule: a default that a row of the facts describes in words. This folder has one file per API
 * group, with each rule under its row: "<type> <field>", and "#2" for the second row of a field. Rules
 * only change the given value.
 *
 * Values are decoded: structs without a pointer are present, and empty optional strings, lists and maps
 * are absent.
 */

import type { JsonObject, JsonValue } from "../../api/meta.js";
import type { DefaultFact } from "../model.js";

export interface RuleContext {
  /** The row, in the vendor's names. */
  readonly fact: DefaultFact;
  now(): Date;
}

/** @param value a value of the row's type */
export type DefaultRule = (value: JsonObject, context: RuleContext) => void;

export type DefaultRules = Readonly<Record<string, DefaultRule>>;

/** A member object; undefined if absent. */
export function objectIn(value: JsonObject | undefined, name: string): JsonObject | undefined {
  const member = value?.[name];
  return typeof member === "object" && member !== null && !Array.isArray(member)
    ? member
    : undefined;
}

/** The objects of a list; empty if absent. */
export function itemsIn(value: JsonObject | undefined, name: string): readonly JsonObject[] {
  const member = value?.[name];
  return Array.isArray(member) ? (member as JsonObject[]) : [];
}

/** A member object, created if absent. */
export function ensureObject(value: JsonObject, name: string): JsonObject {
  const member = objectIn(value, name);
  if (member !== undefined) return member;
  const made: JsonObject = {};
  value[name] = made;
  return made;
}

export function isUnset(value: JsonValue | undefined): boolean {
  return value === undefined || value === null || value === "";
}

/** Sets a member that is absent or "". */
export function fill(value: JsonObject | undefined, name: string, filling: JsonValue): void {
  if (value !== undefined && isUnset(value[name])) value[name] = filling;
}

/** Sets a member that is absent: that of a pointer, whose "" is a value of its own. */
export function fillAbsent(value: JsonObject | undefined, name: string, filling: JsonValue): void {
  if (value !== undefined && (value[name] ?? null) === null) value[name] = filling;
}

/** Copies members that `target` lacks. */
export function fillMissing(target: JsonObject, source: JsonObject | undefined): void {
  for (const [key, value] of Object.entries(source ?? {})) {
    if (target[key] === undefined && value !== undefined) target[key] = value;
  }
}

/**
 * Copies the pod template's labels to an object without labels. @param isShared to be the same record, by which the
 * strategy sees that they are no labels of the client
 */
export function labelsFromTemplate(value: JsonObject, isShared = false): void {
  const labels = templateLabels(value);
  const metadata = objectIn(value, "metadata");
  if (labels !== undefined && metadata !== undefined && isUnset(metadata.labels)) {
    metadata.labels = isShared ? labels : { ...labels };
  }
}

/** Labels of `spec.template`; undefined if there are none. */
export function templateLabels(value: JsonObject): JsonObject | undefined {
  const template = objectIn(objectIn(value, "spec"), "template");
  return objectIn(objectIn(template, "metadata"), "labels");
}
