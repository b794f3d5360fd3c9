/**
 * Descriptions, as `kubectl explain` prints them: the text for a type or field
 * (server/types/facts/words), followed by short sentences from the facts, for example on defaults and
 * list keys. Members of every object's envelope have sentences of their own.
 */
import type { JsonValue } from "../../api/meta.js";
import type { Field, StructType } from "../../schema/model.js";

/** A type's text, else "Deployment is an object of group apps, version v1.", and its markers. */
export function describeType(
  type: StructType,
  kind: { readonly group: string; readonly version: string } | undefined,
  words: string | undefined,
): string | undefined {
  const parts: string[] = [];
  if (words !== undefined) parts.push(words);
  else if (kind !== undefined) parts.push(describeKind(type, kind));
  if (type.customJson) parts.push(`${type.name} has several forms in JSON.`);
  if (type.attributes.deprecated !== undefined) parts.push("It is deprecated.");
  if (type.isUnion) parts.push("At most one of its members may be set.");
  return parts.length === 0 ? undefined : parts.join(" ");
}

function describeKind(
  type: StructType,
  kind: { readonly group: string; readonly version: string },
): string {
  const item = listItemOf(type);
  if (item !== undefined) return `${type.name} is a list of ${item} objects.`;
  const group = kind.group === "" ? "the core group" : `group ${kind.group}`;
  return `${type.name} is an object of ${group}, version ${kind.version}.`;
}

/** "Deployment" for DeploymentList: a kind with list metadata and items of that type. */
function listItemOf(type: StructType): string | undefined {
  const items = type.fields.find(({ name }) => name === "items");
  return type.name.endsWith("List") && items?.type.kind === "list"
    ? type.name.slice(0, -"List".length)
    : undefined;
}

/** The facts about a field beyond its name and type. */
export interface FieldKnowledge {
  readonly words: string | undefined;
  readonly enumValues: readonly string[] | undefined;
  /** A default that code sets and the schema does not publish. */
  readonly codeDefault: JsonValue | undefined;
}

/** The description of a field; undefined if nothing is known. */
export function describeField(
  owner: StructType,
  field: Field,
  { words, enumValues, codeDefault }: FieldKnowledge,
): string | undefined {
  const parts: string[] = [];
  const text = words ?? envelopeMember(owner, field);
  if (text !== undefined) parts.push(text);
  if (field.deprecated && field.name !== "selfLink") parts.push("Deprecated.");
  if (field.discriminator) parts.push("Names which of the other fields is set.");
  const exclusive = field.oneOf ?? field.zeroOrOneOf;
  if (exclusive !== undefined) parts.push("Excludes the other members of its group.");
  parts.push(...describeMarkers(field));
  const defaultValue = field.default ?? codeDefault;
  if (defaultValue !== undefined) parts.push(`Defaults to ${JSON.stringify(defaultValue)}.`);
  const enumeration = describeEnum(enumValues);
  if (enumeration !== undefined) parts.push(enumeration);
  return parts.length === 0 ? undefined : parts.join(" ");
}

function envelopeMember(owner: StructType, field: Field): string | undefined {
  if (!owner.isKind) return undefined;
  switch (field.name) {
    case "metadata":
      return describeMetadata(listItemOf(owner) !== undefined);
    case "items":
      return "The objects of the list.";
    case "spec":
      return `The desired state of the ${owner.name}.`;
    case "status":
      return `The observed state of the ${owner.name}. Written by the system.`;
    default:
      return undefined;
  }
}

export function describeMetadata(isList: boolean): string {
  return isList ? "Standard metadata of the list." : "Standard metadata of the object.";
}

function describeMarkers(field: Field): string[] {
  const parts: string[] = [];
  if (field.listType === "map") {
    const keys = field.listMapKeys ?? [];
    parts.push(`Items are told apart by ${keys.join(" and ")}.`);
  }
  if (field.listType === "set") parts.push("Items are unique.");
  if (field.listType === "atomic") parts.push("The list is replaced as a whole.");
  if (field.mapType === "atomic" || field.structType === "atomic") {
    parts.push("The value is replaced as a whole.");
  }
  if (field.gates.length > 0) {
    parts.push(`Needs the feature ${field.gates.join(" and ")} to be enabled.`);
  }
  return parts;
}

function describeEnum(values: readonly string[] | undefined): string | undefined {
  if (values === undefined) return undefined;
  const lines = values.map((value) => ` - \`${JSON.stringify(value)}\``);
  return `Possible enum values:\n${lines.join("\n")}`;
}

/** Standard query and path parameters, by name. */
const PARAMETER_DESCRIPTIONS: Readonly<Record<string, string>> = {
  allowWatchBookmarks: "Asks a watch to send BOOKMARK events with a recent resource version.",
  continue: "Token of a previous page of a list, to get the next one.",
  dryRun: "When present, the request is processed but nothing is stored. Valid value: All.",
  fieldManager: "Name of the party that makes the change, for field ownership.",
  fieldSelector: "Restricts the objects by their fields. Defaults to everything.",
  fieldValidation:
    "What to do with unknown and duplicate fields: Ignore, Warn (the default) or Strict.",
  force: "Takes over fields that other managers own. Only for apply.",
  gracePeriodSeconds: "Seconds before the object is removed; 0 means at once.",
  ignoreStoreReadErrorWithClusterBreakingPotential:
    "Deletes an object that can no longer be read. Dangerous.",
  labelSelector: "Restricts the objects by their labels. Defaults to everything.",
  limit: "The largest number of objects in one page of a list.",
  name: "Name of the object.",
  namespace: "Namespace of the object.",
  orphanDependents: "Deprecated: use propagationPolicy.",
  path: "Path behind the object to which the request is passed on.",
  pretty: "If true, the output is indented.",
  propagationPolicy: "What happens to dependents: Orphan, Background or Foreground.",
  resourceVersion: "Which version of the data may answer the request.",
  resourceVersionMatch: "How resourceVersion is applied: NotOlderThan or Exact.",
  sendInitialEvents: "Lets a watch begin with the current state, ended by a marked bookmark.",
  timeoutSeconds: "Duration after which the server ends the call.",
  watch: "Streams changes instead of listing.",
};

export function describeParameter(name: string): string | undefined {
  return PARAMETER_DESCRIPTIONS[name];
}
