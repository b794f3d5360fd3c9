/**
 * The CEL environment of match conditions: one variable `request`, typed as the spec of a v1
 * SubjectAccessReview (S2-AZC-16). An expression with an excessive worst-case cost is refused when
 * the configuration is read (S2-AZC-25).
 */
import type { Naming } from "../../api/naming.js";
import {
  type CelEnvironment,
  type CelObjectType,
  createCelEnvironment,
} from "../../cel/environment.js";
import type { CompileCondition } from "./match-conditions.js";

/**
 * The cost limit of one expression for the largest request assumed below. Estimates are far above real
 * costs, so this is far above the budget: it only refuses deeply nested loops.
 */
const ESTIMATE_MAX = 100_000_000;

const NAME_CHARS_MAX = 256;
const TEXT_CHARS_MAX = 1_024;
const ITEMS_MAX = 100;

/** Sizes assumed for the worst case; a larger request may run into the budget. */
const SIZE_LIMITS: Readonly<Record<string, number>> = {
  "request.user": TEXT_CHARS_MAX,
  "request.uid": TEXT_CHARS_MAX,
  "request.groups": 10 * ITEMS_MAX,
  "request.groups[]": NAME_CHARS_MAX,
  "request.extra": ITEMS_MAX,
  "request.extra[]": ITEMS_MAX,
  "request.extra[][]": TEXT_CHARS_MAX,
  "request.nonResourceAttributes.path": 8 * TEXT_CHARS_MAX,
  "request.nonResourceAttributes.verb": NAME_CHARS_MAX,
  ...Object.fromEntries(
    ["namespace", "verb", "group", "version", "resource", "subresource", "name"].map((field) => [
      `request.resourceAttributes.${field}`,
      NAME_CHARS_MAX,
    ]),
  ),
  ...Object.fromEntries(
    ["fieldSelector", "labelSelector"].flatMap((field) => {
      const selector = `request.resourceAttributes.${field}`;
      return [
        [`${selector}.rawSelector`, TEXT_CHARS_MAX],
        [`${selector}.requirements`, ITEMS_MAX],
        [`${selector}.requirements[].key`, NAME_CHARS_MAX],
        [`${selector}.requirements[].operator`, NAME_CHARS_MAX],
        [`${selector}.requirements[].values`, ITEMS_MAX],
        [`${selector}.requirements[].values[]`, NAME_CHARS_MAX],
      ];
    }),
  ),
};

function objectTypes(vendor: string): CelObjectType[] {
  const selector = (name: string): CelObjectType => ({
    name: `${vendor}.${name}`,
    fields: {
      rawSelector: "string",
      requirements: { list: { object: `${vendor}.SelectorRequirement` } },
    },
  });
  return [
    {
      name: `${vendor}.SubjectAccessReviewSpec`,
      fields: {
        resourceAttributes: { object: `${vendor}.ResourceAttributes` },
        nonResourceAttributes: { object: `${vendor}.NonResourceAttributes` },
        user: "string",
        groups: { list: "string" },
        extra: { map: { list: "string" } },
        uid: "string",
      },
    },
    {
      name: `${vendor}.ResourceAttributes`,
      fields: {
        namespace: "string",
        verb: "string",
        group: "string",
        version: "string",
        resource: "string",
        subresource: "string",
        name: "string",
        fieldSelector: { object: `${vendor}.FieldSelectorAttributes` },
        labelSelector: { object: `${vendor}.LabelSelectorAttributes` },
      },
    },
    selector("FieldSelectorAttributes"),
    selector("LabelSelectorAttributes"),
    {
      name: `${vendor}.SelectorRequirement`,
      fields: { key: "string", operator: "string", values: { list: "string" } },
    },
    { name: `${vendor}.NonResourceAttributes`, fields: { path: "string", verb: "string" } },
  ];
}

/** The compiler of match conditions; its errors have one line. */
export function createConditionCompiler({ vendor }: Naming): CompileCondition {
  // Made for the first condition: most control planes ask no webhook.
  let environment: CelEnvironment | undefined;
  return (expression) => {
    environment ??= createCelEnvironment({
      variables: { request: { object: `${vendor}.SubjectAccessReviewSpec` } },
      types: objectTypes(vendor),
      sizeLimits: SIZE_LIMITS,
    });
    const program = environment.compile(expression, ["bool"]);
    if (program.estimatedCostMax > ESTIMATE_MAX) {
      const times = Math.ceil(program.estimatedCostMax / ESTIMATE_MAX);
      const factor = times > 100 ? "more than 100x" : `${times}x`;
      throw new Error(`estimated cost exceeds the budget by a factor of ${factor}`);
    }
    return program;
  };
}
