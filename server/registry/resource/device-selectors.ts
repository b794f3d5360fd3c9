/**
 * Selectors of devices: expressions about `device` that a scheduler evaluates. They are compiled and
 * their cost estimated as kube-apiserver does; sizes are those that slices may have.
 */
import { finishNow, type Steps } from "../../../storage/base/steps.js";
import {
  forbiddenField,
  invalidValue,
  requiredValue,
  tooLongValue,
} from "../../api/field-errors.js";
import type { RuleUse } from "../../api/long-work.js";
import type { FieldError } from "../../api/status.js";
import type { Maybe } from "../../api/validation-values.js";
import {
  type CelProgram,
  type CelType,
  createCelEnvironment,
  type Declared,
  scalarOf,
} from "../../cel/environment.js";
import { parseType } from "../../cel/types.js";
import { validateList } from "./device-names.js";
import type { Selector } from "./device-types.js";

const SELECTORS_MAX = 32;
const EXPRESSION_BYTES_MAX = 10 * 1024;
/** Of one evaluation. */
const COST_MAX = 1_000_000;

/** Domains, and names in one of them. */
const ENTRIES_MAX = 32;
const DOMAIN_BYTES_MAX = 63;
const NAME_BYTES_MAX = 32;
const ATTRIBUTE_BYTES_MAX = 64;

const quantity: CelType = { known: parseType("kubernetes.Quantity") };
const attribute: CelType = { known: parseType("any") };

/** Sizes of a map, whose entries have the same bound under any name, or none by name. */
function declaredMap(key: number, element: Declared, named?: Declared): Declared {
  return { max: ENTRIES_MAX, key: scalarOf(key), element, field: () => named };
}

const attributeSize = scalarOf(ATTRIBUTE_BYTES_MAX);
const attributes = declaredMap(NAME_BYTES_MAX, attributeSize, attributeSize);
const SIZES: Readonly<Record<string, Declared>> = {
  driver: scalarOf(63),
  allowMultipleAllocations: scalarOf(1),
  attributes: declaredMap(DOMAIN_BYTES_MAX, attributes),
  capacity: declaredMap(DOMAIN_BYTES_MAX, declaredMap(NAME_BYTES_MAX, scalarOf(0))),
};
const device: Declared = {
  max: 0,
  key: undefined,
  element: undefined,
  field: (name) => (Object.hasOwn(SIZES, name) ? SIZES[name] : undefined),
};

const environment = createCelEnvironment({
  variables: { device: { object: "kubernetes.DRADevice" } },
  types: [
    {
      name: "kubernetes.DRADevice",
      fields: {
        driver: "string",
        allowMultipleAllocations: "bool",
        // By domain and name.
        attributes: { map: { map: attribute } },
        capacity: { map: { map: quantity } },
      },
    },
  ],
  costLimit: COST_MAX,
  hasBind: true,
  declared: (variable) => (variable === "device" ? device : undefined),
});

export function validateSelectors(
  selectors: Maybe<readonly Selector[]>,
  field: string,
  { errors, long }: RuleUse,
): void {
  validateList(selectors, { max: SELECTORS_MAX, field, errors }, ({ cel }, at) => {
    if (!cel) errors.push(requiredValue(`${at}.cel`));
    else leaveExpression(cel.expression ?? "", `${at}.cel.expression`, { errors, long });
  });
}

/** To compile one of 10 KiB takes milliseconds, and a claim may have hundreds: of a large object each has its steps. */
function leaveExpression(expression: string, field: string, { errors, long }: RuleUse): void {
  if (long === undefined) finishNow(validateExpression(expression, field, errors));
  else {
    long.leave(function* (found) {
      yield* validateExpression(expression, field, found);
      yield;
    });
  }
}

function* validateExpression(expression: string, field: string, errors: FieldError[]): Steps<void> {
  if (Buffer.byteLength(expression) > EXPRESSION_BYTES_MAX) {
    errors.push(tooLongValue(field, EXPRESSION_BYTES_MAX));
    return;
  }
  let program: CelProgram;
  try {
    program = yield* environment.compileInSteps(expression, ["dyn"]);
  } catch (error) {
    const why = `compilation failed: ${(error as Error).message}`;
    errors.push(invalidValue(field, expression, why));
    return;
  }
  const { resultType, estimatedCostMax } = program;
  // Nobody knows the type of an attribute before the device is there.
  if (resultType !== "bool" && resultType !== "any") {
    const why = `must evaluate to bool or the unknown type, not ${resultType}`;
    errors.push(invalidValue(field, expression, why));
  } else if (estimatedCostMax > COST_MAX) {
    errors.push(forbiddenField(field, "too complex, exceeds cost limit"));
  }
}
