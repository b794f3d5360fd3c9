/**
 * DefaultRule: a default that a row of the facts describes in words. The files of this folder hold
 * them, one file per API group, each under its row: "<type> <field>", with "#2" for the second row of
 * a field. Rules change the value they are given and nothing else.
 *
 * Values are decoded, so structs that are no pointers are there, and empty strings, lists and maps
 * that may be left out are absent.
 */

import type { JsonObject, JsonValue } from "../../api/meta.js";
import type { DefaultFact } from "../model.js";

export interface RuleContext {
  /** The row: where the vendor's names stand. */
  readonly fact: DefaultFact;
  now(): Date;
}

/** @param value a value of the row's type */
export type DefaultRule = (value: JsonObject, context: RuleContext) => void;

export type DefaultRules = Readonly<Record<string, DefaultRule>>;

/** A member that is an object; undefined when it is absent. */
export function objectIn(value: JsonObject | undefined, name: string): JsonObject | undefined {
  const member = value?.[name];
  return typeof member === "object" && member !== null && !Array.isArray(member)
    ? member
    : undefined;
}

/** The objects of a list; none when it is absent. */
export function itemsIn(value: JsonObject | undefined, name: string): readonly JsonObject[] {
  const member = value?.[name];
  return Array.isArray(member) ? (member as JsonObject[]) : [];
}

/** A member object that is made when it is absent. */
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

/** Sets a member that is absent or the empty string. */
export function fill(value: JsonObject | undefined, name: string, filling: JsonValue): void {
  if (value !== undefined && isUnset(value[name])) value[name] = filling;
}

/** Copies members that `target` does not have. */
export function fillMissing(target: JsonObject, source: JsonObject | undefined): void {
  for (const [key, value] of Object.entries(source ?? {})) {
    if (target[key] === undefined && value !== undefined) target[key] = value;
  }
}

/** Labels of an object's pod template to its own labels, when it has none. */
export function labelsFromTemplate(value: JsonObject): void {
  const labels = templateLabels(value);
  const metadata = objectIn(value, "metadata");
  if (labels !== undefined && metadata !== undefined && isUnset(metadata.labels)) {
    metadata.labels = { ...labels };
  }
}

/** Labels of `spec.template`; undefined when there are none. */
export function templateLabels(value: JsonObject): JsonObject | undefined {
  const template = objectIn(objectIn(value, "spec"), "template");
  return objectIn(objectIn(template, "metadata"), "labels");
}
