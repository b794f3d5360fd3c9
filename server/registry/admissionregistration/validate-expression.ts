/** Expressions of rules: that they are there, and compile to what is wanted of them. */
import { invalidValue, requiredValue } from "../../api/field-errors.js";
import type { FieldError } from "../../api/status.js";
import type { Maybe } from "../../api/validation-values.js";
import type { CelEnvironment, CelType } from "../../cel/environment.js";

export function validateExpression(
  expression: Maybe<string>,
  types: readonly CelType[],
  field: string,
  environment: CelEnvironment,
  errors: FieldError[],
): void {
  if ((expression ?? "").trim() === "") {
    errors.push(requiredValue(field, "expression is not specified"));
    return;
  }
  try {
    environment.compile(expression as string, types);
  } catch (error) {
    const why = `compilation failed: ${(error as Error).message}`;
    errors.push(invalidValue(field, expression, why));
  }
}
