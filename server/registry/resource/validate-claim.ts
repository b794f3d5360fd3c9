/** Rules for claims of devices, in a ResourceClaim and in a template of one: requests and their settings. */
import { invalidValue, requiredValue } from "../../api/field-errors.js";
import type { RuleUse } from "../../api/long-work.js";
import type { FieldError } from "../../api/status.js";
import { validateDnsSubdomain } from "../../api/validation-values.js";
import { validateFullName, validateLabelName, validateList } from "./device-names.js";
import { validateConfiguration, validateToleration } from "./device-parts.js";
import { validateSelectors } from "./device-selectors.js";
import type {
  ClaimSpec,
  DeviceClaim,
  DeviceConstraint,
  DeviceRequest,
  ExactRequest,
} from "./device-types.js";

/** Requests, constraints, settings, and names of requests that these refer to. */
const ITEMS_MAX = 32;
const ALTERNATIVES_MAX = 8;

const NO_REQUEST =
  "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";

/** Names of requests, with those of their alternatives. */
export type RequestNames = ReadonlyMap<string, ReadonlySet<string>>;

export function requestNamesOf(devices: DeviceClaim | null | undefined): RequestNames {
  const names = new Map<string, ReadonlySet<string>>();
  for (const { name = "", firstAvailable } of devices?.requests ?? []) {
    names.set(name, new Set((firstAvailable ?? []).map((one) => one.name ?? "")));
  }
  return names;
}

export function validateClaimSpec(spec: ClaimSpec | undefined, field: string, use: RuleUse): void {
  const { errors } = use;
  const { requests, constraints, config } = spec?.devices ?? {};
  const names = requestNamesOf(spec?.devices);
  const at = `${field}.devices`;
  const keyOf = ({ name = "" }: DeviceRequest) => name;
  const whole = { max: ITEMS_MAX, errors };
  validateList(requests, { ...whole, field: `${at}.requests`, keyOf }, (request, path) =>
    validateRequest(request, path, use),
  );
  validateList(constraints, { ...whole, field: `${at}.constraints` }, (constraint, path) =>
    validateConstraint(constraint, path, names, errors),
  );
  validateList(config, { ...whole, field: `${at}.config` }, (settings, path) => {
    validateRequestNames(settings.requests, `${path}.requests`, names, errors);
    validateConfiguration(settings, path, errors);
  });
}

function validateRequest(
  { name, exactly, firstAvailable }: DeviceRequest,
  field: string,
  use: RuleUse,
): void {
  const { errors } = use;
  validateLabelName(name, `${field}.name`, errors);
  const hasAlternatives = (firstAvailable ?? []).length > 0;
  const one = "exactly one of `exactly` or `firstAvailable` is required";
  if (exactly && hasAlternatives) {
    errors.push(invalidValue(field, null, `${one}, but multiple fields are set`));
  } else if (exactly) {
    validateExactRequest(exactly, `${field}.exactly`, use);
  } else if (hasAlternatives) {
    const at = `${field}.firstAvailable`;
    const keyOf = ({ name: own = "" }: ExactRequest) => own;
    const check = { max: ALTERNATIVES_MAX, field: at, errors, keyOf };
    validateList(firstAvailable, check, (alternative, path) => {
      validateLabelName(alternative.name, `${path}.name`, errors);
      validateExactRequest(alternative, path, use);
    });
  } else {
    errors.push(requiredValue(field, one));
  }
}

/** The closed sets of values are the facts'; the class is not, as the first beta has requests without one. */
function validateExactRequest(request: ExactRequest, field: string, use: RuleUse): void {
  const { errors } = use;
  const { deviceClassName = "", selectors, allocationMode = "", count = 0, tolerations } = request;
  if (deviceClassName === "") errors.push(requiredValue(`${field}.deviceClassName`));
  else validateDnsSubdomain(deviceClassName, `${field}.deviceClassName`, errors);
  validateSelectors(selectors, `${field}.selectors`, use);
  if (allocationMode === "All" && count !== 0) {
    const why = `must not be specified when allocationMode is '${allocationMode}'`;
    errors.push(invalidValue(`${field}.count`, count, why));
  } else if (allocationMode === "ExactCount" && count <= 0) {
    errors.push(invalidValue(`${field}.count`, count, "must be greater than zero"));
  }
  tolerations?.forEach((toleration, index) => {
    validateToleration(toleration, `${field}.tolerations[${index}]`, errors);
  });
}

function validateConstraint(
  { requests, matchAttribute, distinctAttribute }: DeviceConstraint,
  field: string,
  names: RequestNames,
  errors: FieldError[],
): void {
  validateRequestNames(requests, `${field}.requests`, names, errors);
  if (typeof matchAttribute === "string") {
    validateFullName(matchAttribute, `${field}.matchAttribute`, errors);
  } else if (typeof distinctAttribute === "string") {
    validateFullName(distinctAttribute, `${field}.distinctAttribute`, errors);
  } else {
    const why = `exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set`;
    errors.push(requiredValue(field, why));
  }
}

/** Names of requests of the claim, each once. */
export function validateRequestNames(
  references: readonly string[] | null | undefined,
  field: string,
  names: RequestNames,
  errors: FieldError[],
): void {
  const keyOf = (name: string) => name;
  validateList(references, { max: ITEMS_MAX, field, errors, keyOf }, (name, path) =>
    validateRequestName(name, path, names, errors),
  );
}

/** "request", or "request/alternative". */
export function validateRequestName(
  name: string,
  field: string,
  names: RequestNames,
  errors: FieldError[],
): void {
  const segments = name.split("/", 3);
  const [request = "", alternative] = segments;
  if (segments.length > 2) {
    errors.push(invalidValue(field, name, NO_REQUEST));
    return;
  }
  for (const segment of segments) validateLabelName(segment, field, errors);
  const alternatives = names.get(request);
  const isKnown =
    alternatives !== undefined && (alternative === undefined || alternatives.has(alternative));
  if (!isKnown) errors.push(invalidValue(field, name, NO_REQUEST));
}
