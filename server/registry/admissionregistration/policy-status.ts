/** Rules for the status of a validating policy: its conditions, and what the check of its types found. */
import { invalidValue, requiredValue } from "../../api/field-errors.js";
import type { ApiObject } from "../../api/meta.js";
import { Problems } from "../../api/problems.js";
import type { FieldError } from "../../api/status.js";
import { type Condition, validateConditions } from "../../api/validation-conditions.js";
import type { Maybe } from "../../api/validation-values.js";

interface PolicyStatus {
  readonly conditions?: Maybe<readonly Condition[]>;
  readonly typeChecking?: Maybe<{
    readonly expressionWarnings?: Maybe<
      readonly { readonly fieldRef?: string; readonly warning?: string }[]
    >;
  }>;
}

export function validatePolicyStatus({ status }: ApiObject): FieldError[] {
  const errors = new Problems();
  const { conditions, typeChecking } = (status ?? {}) as PolicyStatus;
  typeChecking?.expressionWarnings?.forEach(({ fieldRef = "", warning = "" }, index) => {
    const at = `status.typeChecking.expressionWarnings[${index}]`;
    if (warning === "") errors.push(requiredValue(`${at}.warning`));
    const ref = fieldRef.trim();
    const why = whyNoPath(ref);
    if (ref === "") errors.push(requiredValue(`${at}.fieldRef`));
    else if (why !== undefined) {
      errors.push(invalidValue(`${at}.fieldRef`, ref, `invalid JSONPath: ${why}`));
    }
  });
  validateConditions(conditions, "status.conditions", errors);
  return errors;
}

/** Names may be any but for braces; brackets close outside of quotes. */
function whyNoPath(path: string): string | undefined {
  const bare = path.replace(/\\.|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"/gs, "");
  const open = bare.indexOf("[");
  const brace = bare.indexOf("{");
  if (brace !== -1 && (open === -1 || brace < open)) {
    return "unrecognized character in action: U+007B '{'";
  }
  const rest = bare.replace(/\[[^[\]]*\]/g, "");
  return rest.includes("[") ? "unterminated array" : undefined;
}
