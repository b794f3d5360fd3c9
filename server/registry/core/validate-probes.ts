/**
 * Rules for probes and lifecycle hooks of a container. Required members have been checked from the
 * facts before.
 */
import { forbiddenField, invalidValue, requiredValue } from "../../api/field-errors.js";
import type { FieldError } from "../../api/status.js";
import {
  type Maybe,
  NOT_NEGATIVE,
  validateChoice,
  validatePortOrName,
  type Whole,
} from "../../api/validation-values.js";
import type { PodCheck } from "./pod-check.js";
import type { Lifecycle, LifecycleHandler, Probe, ProbeHandler } from "./pod-types.js";

/** Liveness and startup probes need exactly one success. */
export function validateRepeatedProbe(probe: Probe, field: string, check: PodCheck): void {
  validateProbe(probe, field, check);
  if (probe.successThreshold === 1) return;
  const threshold = probe.successThreshold ?? 0;
  check.errors.push(invalidValue(`${field}.successThreshold`, threshold, "must be 1"));
}

export function validateReadinessProbe(probe: Probe, field: string, check: PodCheck): void {
  validateProbe(probe, field, check);
  const grace = probe.terminationGracePeriodSeconds ?? undefined;
  if (grace === undefined) return;
  const at = `${field}.terminationGracePeriodSeconds`;
  check.errors.push(invalidValue(at, grace, "must not be set for readinessProbes"));
}

const PROBE_COUNTS = [
  "initialDelaySeconds",
  "timeoutSeconds",
  "periodSeconds",
  "successThreshold",
  "failureThreshold",
] as const;

function validateProbe(probe: Probe, field: string, check: PodCheck): void {
  const { errors } = check;
  validateHandler(probe, field, check);
  for (const name of PROBE_COUNTS) {
    const value = probe[name];
    if (value !== undefined && value < 0) {
      errors.push(invalidValue(`${field}.${name}`, value, NOT_NEGATIVE));
    }
  }
  const grace = probe.terminationGracePeriodSeconds ?? undefined;
  if (grace !== undefined && grace <= 0) {
    const at = `${field}.terminationGracePeriodSeconds`;
    errors.push(invalidValue(at, grace, "must be greater than 0"));
  }
}

export function validateLifecycle(lifecycle: Lifecycle, field: string, check: PodCheck): void {
  if (lifecycle.postStart) validateHandler(lifecycle.postStart, `${field}.postStart`, check);
  if (lifecycle.preStop) validateHandler(lifecycle.preStop, `${field}.preStop`, check);
}

type Handler = ProbeHandler & LifecycleHandler;

const HANDLERS = ["exec", "httpGet", "tcpSocket", "grpc", "sleep"] as const;

/** A handler has one action: the first one given counts, others are refused. */
function validateHandler(handler: Handler, field: string, check: PodCheck): void {
  const { errors } = check;
  let first: string | undefined;
  for (const name of HANDLERS) {
    if (!handler[name]) continue;
    if (first === undefined) {
      first = name;
      validateAction(handler, name, { field: `${field}.${name}`, check });
    } else {
      errors.push(forbiddenField(`${field}.${name}`, "may not specify more than 1 handler type"));
    }
  }
  if (first === undefined) errors.push(requiredValue(field, "must specify a handler type"));
}

function validateAction(
  handler: Handler,
  name: (typeof HANDLERS)[number],
  { field, check }: { field: string; check: PodCheck },
): void {
  const { errors, spec } = check;
  if (name === "exec") {
    if ((handler.exec?.command?.length ?? 0) === 0) errors.push(requiredValue(`${field}.command`));
  } else if (name === "httpGet") {
    validateHttpGet(handler.httpGet, field, errors);
  } else if (name === "sleep") {
    validateSleep(handler.sleep?.seconds, field, {
      grace: spec.terminationGracePeriodSeconds,
      errors,
    });
  } else {
    // A port that is not given is 0 for gRPC, where it is a number.
    const port = handler[name]?.port ?? (name === "grpc" ? 0 : undefined);
    validatePortOrName(port, `${field}.port`, errors);
  }
}

const SCHEMES = ["HTTP", "HTTPS"];
const HEADER_NAME = /^[-A-Za-z0-9]+$/;

function validateHttpGet(http: Handler["httpGet"], field: string, errors: FieldError[]): void {
  if ((http?.path ?? "") === "") errors.push(requiredValue(`${field}.path`));
  validatePortOrName(http?.port, `${field}.port`, errors);
  const { scheme = "HTTP" } = http ?? {};
  validateChoice(scheme, `${field}.scheme`, SCHEMES, errors);
  for (const { name } of http?.httpHeaders ?? []) {
    if (HEADER_NAME.test(name)) continue;
    const why =
      "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')";
    errors.push(invalidValue(`${field}.httpHeaders`, name, why));
  }
}

function validateSleep(
  seconds: Maybe<Whole>,
  field: string,
  { grace, errors }: { grace: Maybe<Whole>; errors: FieldError[] },
): void {
  const value = seconds ?? 0;
  if (grace === undefined || grace === null || (value >= 0 && value <= grace)) return;
  const why = `must be non-negative and less than terminationGracePeriodSeconds (${grace})`;
  errors.push(invalidValue(field, value, why));
}
