/** Rules for classes of devices, templates of claims, and rules that taint devices. */
import { deepEqual } from "../../api/deep-equal.js";
import { invalidValue, tooManyItems } from "../../api/field-errors.js";
import { Problems } from "../../api/problems.js";
import type { FieldError } from "../../api/status.js";
import { validateConditions } from "../../api/validation-conditions.js";
import type { StrategyContext } from "../../kinds/strategy.js";
import { isExtended } from "../core/resource-amounts.js";
import {
  validateDriver,
  validateLabelName,
  validateList,
  validatePoolName,
} from "./device-names.js";
import { validateConfiguration, validateTaint } from "./device-parts.js";
import { validateSelectors } from "./device-selectors.js";
import type { DeviceClass, DeviceTaintRule } from "./device-types.js";

const SETTINGS_MAX = 32;
const CONDITIONS_MAX = 8;

/** @param current undefined for a new class; what is as it was may be larger than is allowed today */
export function validateDeviceClass(
  { spec = {} }: DeviceClass,
  current: DeviceClass | undefined,
  { naming: { labelDomain }, long }: StrategyContext,
): FieldError[] {
  const errors = new Problems();
  const { selectors, config, extendedResourceName } = spec;
  validateSelectors(selectors, "spec.selectors", { errors, long });
  const isStored = current !== undefined && deepEqual(config ?? [], current.spec?.config ?? []);
  validateList(config, { max: SETTINGS_MAX, field: "spec.config", errors }, (settings, at) =>
    validateConfiguration(settings, at, errors, isStored),
  );
  if (typeof extendedResourceName === "string" && !isExtended(extendedResourceName, labelDomain)) {
    const why = "must be a valid extended resource name";
    errors.push(invalidValue("spec.extendedResourceName", extendedResourceName, why));
  }
  return errors;
}

/** @param current undefined for a new rule */
export function validateTaintRule(
  { spec = {} }: DeviceTaintRule,
  current: DeviceTaintRule | undefined,
): FieldError[] {
  const errors = new Problems();
  const { driver, pool, device } = spec.deviceSelector ?? {};
  const at = "spec.deviceSelector";
  if (typeof driver === "string") validateDriver(driver, `${at}.driver`, errors);
  if (typeof pool === "string") validatePoolName(pool, `${at}.pool`, errors);
  if (typeof device === "string") validateLabelName(device, `${at}.device`, errors);
  validateTaint(spec.taint ?? {}, "spec.taint", errors, current?.spec?.taint);
  return errors;
}

export function validateTaintRuleStatus({ status }: DeviceTaintRule): FieldError[] {
  const errors = new Problems();
  const field = "status.conditions";
  validateConditions(status?.conditions, field, errors);
  const count = status?.conditions?.length ?? 0;
  if (count > CONDITIONS_MAX) errors.push(tooManyItems(field, count, CONDITIONS_MAX));
  return errors;
}
