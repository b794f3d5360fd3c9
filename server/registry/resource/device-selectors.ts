/**
 * Selectors of devices: expressions about `device` that a scheduler evaluates. They are compiled and
 * their cost estimated as upstream does; sizes are those that slices may have.
 */
import {
  forbiddenField,
  invalidValue,
  requiredValue,
  tooLongValue,
} from "../../api/field-errors.js";
import type { FieldError } from "../../api/status.js";
import type { Maybe } from "../../api/validation-values.js";
import { type CelProgram, type CelType, createCelEnvironment } from "../../cel/environment.js";
import { parseType } from "../../cel/types.js";
import { validateList } from "./device-names.js";
import type { Selector } from "./device-types.js";

const SELECTORS_MAX = 32;
const EXPRESSION_BYTES_MAX = 10 * 1024;
/** Of one evaluation. */
const COST_MAX = 1_000_000;

const DOMAINS_MAX = 32;
const NAMES_MAX = 32;
const ATTRIBUTE_BYTES_MAX = 64;

const quantity: CelType = { known: parseType("kubernetes.Quantity") };
const attribute: CelType = { known: parseType("any") };

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
  sizeLimits: {
    "device.driver": 63,
    "device.allowMultipleAllocations": 1,
    "device.attributes": DOMAINS_MAX,
    "device.attributes[]": NAMES_MAX,
    "device.attributes[][]": ATTRIBUTE_BYTES_MAX,
    "device.capacity": DOMAINS_MAX,
    "device.capacity[]": NAMES_MAX,
  },
});

export function validateSelectors(
  selectors: Maybe<readonly Selector[]>,
  field: string,
  errors: FieldError[],
): void {
  validateList(selectors, { max: SELECTORS_MAX, field, errors }, ({ cel }, at) => {
    if (cel) validateExpression(cel.expression ?? "", `${at}.cel.expression`, errors);
    else errors.push(requiredValue(`${at}.cel`));
  });
}

function validateExpression(expression: string, field: string, errors: FieldError[]): void {
  if (Buffer.byteLength(expression) > EXPRESSION_BYTES_MAX) {
    errors.push(tooLongValue(field, EXPRESSION_BYTES_MAX));
    return;
  }
  let program: CelProgram;
  try {
    program = environment.compile(expression, ["dyn"]);
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
