/** What a namespace's labels say about its pods: which standard is enforced, noted in audit records, and warned about. */

import { invalidValue } from "../../api/field-errors.js";
import { Problems } from "../../api/problems.js";
import type { FieldError } from "../../api/status.js";
import type { StandardDefaults } from "./settings.js";
import { LEVELS, type Level, type Standard } from "./standards.js";

export interface NamespacePolicy {
  readonly enforce: Standard;
  readonly audit: Standard;
  readonly warn: Standard;
}

export interface ParsedPolicy {
  readonly policy: NamespacePolicy;
  /** Labels that make no sense; for them the strictest is enforced, nothing noted or warned about. */
  readonly errors: readonly FieldError[];
}

const VERSION = /^v1\.(0|[1-9]\d{0,5})$/;

/** Without labels and defaults every pod is allowed. */
export function parsePolicy(
  labels: Readonly<Record<string, string>>,
  labelDomain: string,
  defaults: StandardDefaults = {},
): ParsedPolicy {
  const errors = new Problems();
  const standard = (mode: "enforce" | "audit" | "warn", fallback: Level): Standard => {
    const key = `pod-security.${labelDomain}/${mode}`;
    const refuse = (label: string, value: string, why: string) => {
      errors.push(invalidValue(`metadata.labels[${label}]`, value, why));
    };
    const text = labels[key];
    let level = LEVELS.find((known) => known === (text ?? defaults[mode] ?? "privileged"));
    if (level === undefined) {
      refuse(key, text ?? "", `must be one of ${LEVELS.join(", ")}`);
      level = fallback;
    }
    const version = labels[`${key}-version`] ?? defaults[`${mode}-version`] ?? "latest";
    const match = VERSION.exec(version);
    if (match === null && version !== "latest") {
      refuse(`${key}-version`, version, 'must be "latest" or "v1.x"');
    }
    return { level, minor: match === null ? Number.POSITIVE_INFINITY : Number(match[1]) };
  };
  const enforce = standard("enforce", "restricted");
  const audit = standard("audit", "privileged");
  return { policy: { enforce, audit, warn: standard("warn", "privileged") }, errors };
}
