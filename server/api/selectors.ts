/**
 * Selectors: the grammars of `labelSelector` and `fieldSelector` (S1-PATH-14, S1-PATH-15), compiled
 * into one predicate over stored objects. It is parsed once per request and evaluated once per
 * object, so it only looks up and compares.
 */
import type { FieldValues, Labels, StoredObject } from "../../storage/objects/stored-object.js";
import { type FieldRequirement, parseFieldSelector } from "./selector-fields.js";
import { parseLabelSelector } from "./selector-labels.js";
import { compileRequirements } from "./selector-rules.js";
import { cutPath } from "./shown-value.js";
import { badRequest } from "./status.js";

/** The selectable parts of an object; a StoredObject has them. */
export type SelectableObject = Pick<StoredObject, "namespace" | "name"> & {
  readonly labels: Labels;
  readonly fields: FieldValues;
};

export interface Selector {
  matches(object: SelectableObject): boolean;
  /** Matches all objects, in all namespaces. */
  readonly isEverything: boolean;
  /** Whether it filters by labels or fields (then a list has no remaining count). */
  readonly isFiltered: boolean;
  /** The only name that can match, from `metadata.name=`. */
  readonly name: string | undefined;
  /** The only namespace that can match, from the URL or from `metadata.namespace=`; "" = all. */
  readonly namespace: string;
  /** Whether it asks for fields other than name and namespace, for which a large object may have to be parsed. */
  readonly asksFields: boolean;
  /** Whether objects have to be converted before they can be matched. */
  readonly asksServedFields: boolean;
  /** Other fields that the selector requires to equal one value, by path. */
  readonly fixedFields: FieldValues;
}

export interface SelectorOptions {
  /** From the URL; "" = all namespaces, or cluster scope. */
  readonly namespace: string;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  /** Besides metadata.name and metadata.namespace. */
  readonly selectableFieldNames?: readonly string[] | undefined;
  /** Reads the fields of the version that is served; absent = the object has them. */
  readonly fieldsOf?: ((object: SelectableObject) => FieldValues) | undefined;
  /** A client's field name -> the objects' name of the field. */
  readonly selectableFieldAliases?: Readonly<Record<string, string>> | undefined;
}

const NAME_FIELD = "metadata.name";
const NAMESPACE_FIELD = "metadata.namespace";
const NO_FIELDS: FieldValues = Object.freeze({});

/** @throws {StatusError} 400 for bad syntax and for unselectable fields */
export function compileSelector(options: SelectorOptions): Selector {
  const { namespace } = options;
  const labels =
    options.labelSelector === undefined || options.labelSelector === ""
      ? []
      : parseLabelSelector(options.labelSelector);
  const fields =
    options.fieldSelector === undefined || options.fieldSelector === ""
      ? []
      : parseFieldSelector(options.fieldSelector).map((term) => selectable(term, options));
  if (labels.length === 0 && fields.length === 0) return selectNamespace(namespace);

  const fixed = (path: string) =>
    fields.find((term) => term.path === path && term.operator === "equals")?.value;
  const others = fields.filter(
    ({ path, operator }) =>
      operator === "equals" && path !== NAME_FIELD && path !== NAMESPACE_FIELD,
  );
  const tests = compileFields(fields, options.fieldsOf);
  if (namespace !== "") tests.unshift((object) => object.namespace === namespace);
  if (labels.length > 0) {
    const matchesLabels = compileRequirements(labels);
    tests.push((object) => matchesLabels(object.labels));
  }
  const asksOthers = fields.some(({ path }) => path !== NAME_FIELD && path !== NAMESPACE_FIELD);
  return {
    matches: (object) => tests.every((test) => test(object)),
    isEverything: false,
    isFiltered: true,
    asksFields: asksOthers,
    asksServedFields: asksOthers && options.fieldsOf !== undefined,
    name: fixed(NAME_FIELD),
    namespace: namespace === "" ? (fixed(NAMESPACE_FIELD) ?? "") : namespace,
    fixedFields:
      others.length === 0
        ? NO_FIELDS
        : Object.fromEntries(others.map(({ path, value }) => [path, value])),
  };
}

/** The term with the objects' name of its field. @throws {StatusError} 400 */
function selectable(term: FieldRequirement, options: SelectorOptions): FieldRequirement {
  const { selectableFieldNames, selectableFieldAliases } = options;
  const { path } = term;
  if (path === NAME_FIELD || path === NAMESPACE_FIELD) return term;
  if (selectableFieldNames?.includes(path)) return term;
  if (selectableFieldAliases !== undefined && Object.hasOwn(selectableFieldAliases, path)) {
    return { ...term, path: selectableFieldAliases[path] as string };
  }
  const shown = cutPath(path);
  throw badRequest(
    selectableFieldNames !== undefined
      ? `field label not supported: ${shown}`
      : `${JSON.stringify(shown)} is not a known field selector: only "${NAME_FIELD}", "${NAMESPACE_FIELD}"`,
  );
}

function selectNamespace(namespace: string): Selector {
  return {
    matches: namespace === "" ? () => true : (object) => object.namespace === namespace,
    isEverything: namespace === "",
    isFiltered: false,
    asksFields: false,
    asksServedFields: false,
    name: undefined,
    namespace,
    fixedFields: NO_FIELDS,
  };
}

type Test = (object: SelectableObject) => boolean;

/** One test for each field, however often the selector names it: few fields can be selected by. */
function compileFields(
  terms: readonly FieldRequirement[],
  fieldsOf: SelectorOptions["fieldsOf"] = ({ fields }) => fields,
): Test[] {
  const rules = new Map<string, FieldRule>();
  for (const { path, operator, value } of terms) {
    const rule = rules.get(path) ?? { equals: new Set(), differs: new Set() };
    rules.set(path, rule);
    rule[operator].add(value);
  }
  return [...rules].map(([path, rule]) => compileField(path, rule, fieldsOf));
}

interface FieldRule {
  readonly equals: Set<string>;
  readonly differs: Set<string>;
}

function compileField(
  path: string,
  { equals, differs }: FieldRule,
  fieldsOf: NonNullable<SelectorOptions["fieldsOf"]>,
): Test {
  if (equals.size > 1) return () => false;
  const [only] = equals;
  const test = (value: string) =>
    (only === undefined || value === only) && (differs.size === 0 || !differs.has(value));
  if (path === NAME_FIELD) return (object) => test(object.name);
  if (path === NAMESPACE_FIELD) return (object) => test(object.namespace);
  return (object) => test(fieldsOf(object)[path] ?? "");
}
