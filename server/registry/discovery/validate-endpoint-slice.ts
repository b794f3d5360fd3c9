/** Rules for EndpointSlices: number and type of addresses. */

import { deepEqual } from "../../api/deep-equal.js";
import {
  duplicateValue,
  invalidValue,
  invalidValues,
  requiredValue,
  tooManyItems,
} from "../../api/field-errors.js";
import { eachItem } from "../../api/long-work.js";
import type { ApiObject } from "../../api/meta.js";
import { Problems } from "../../api/problems.js";
import type { FieldError } from "../../api/status.js";
import { validateCanonicalIp, validateIpAnew } from "../../api/validation-addresses.js";
import { validateLabels } from "../../api/validation-metadata.js";
import { checkDnsLabel, checkDnsSubdomain, checkLabelValue } from "../../api/validation-names.js";
import { validateLabelKey } from "../../api/validation-selectors.js";
import {
  ipVersion,
  type Maybe,
  validateDnsLabel,
  validateDnsSubdomain,
} from "../../api/validation-values.js";
import { validateReachableIp } from "../core/validate-service.js";
import { checkImmutable } from "../generic/status-parts.js";
import { type Rules, validated } from "../generic/validated.js";

interface EndpointSlice extends ApiObject {
  addressType?: string;
  endpoints?: Maybe<readonly Endpoint[]>;
  ports?: Maybe<readonly { readonly name?: Maybe<string>; readonly appProtocol?: Maybe<string> }[]>;
}

interface Endpoint {
  readonly addresses?: Maybe<readonly string[]>;
  readonly hostname?: Maybe<string>;
  readonly nodeName?: Maybe<string>;
  readonly deprecatedTopology?: Maybe<Readonly<Record<string, string>>>;
  readonly hints?: Maybe<{
    readonly forZones?: Maybe<readonly { readonly name?: string }[]>;
    readonly forNodes?: Maybe<readonly { readonly name?: string }[]>;
  }>;
}

const ENDPOINTS_MAX = 1_000;
const ADDRESSES_MAX = 100;
const PORTS_MAX = 20_000;
const TOPOLOGY_MAX = 16;
const HINTS_MAX = 8;

const endpointSliceRules: Rules<EndpointSlice> = {
  object({ addressType = "", endpoints, ports }, { long }, current) {
    const errors = new Problems();
    validatePorts(ports ?? [], errors);
    // What an older release accepted may stay.
    if (current !== undefined && deepEqual(endpoints ?? [], current.endpoints ?? [])) return errors;
    const count = endpoints?.length ?? 0;
    if (count > ENDPOINTS_MAX) errors.push(tooManyItems("endpoints", count, ENDPOINTS_MAX));
    else {
      eachItem(endpoints ?? [], { errors, long }, (endpoint, index, found) => {
        validateEndpoint(endpoint, `endpoints[${index}]`, { addressType, errors: found });
      });
    }
    return errors;
  },
  change: (next, current) => checkImmutable(next, current, ["addressType"]),
};

function validateEndpoint(
  endpoint: Endpoint,
  field: string,
  { addressType, errors }: { addressType: string; errors: FieldError[] },
): void {
  const { addresses, hostname, nodeName, deprecatedTopology, hints } = endpoint;
  const count = addresses?.length ?? 0;
  if (count === 0) {
    errors.push(requiredValue(`${field}.addresses`, "must contain at least 1 address"));
  }
  if (count > ADDRESSES_MAX) errors.push(tooManyItems(`${field}.addresses`, count, ADDRESSES_MAX));
  addresses?.forEach((address, index) => {
    validateAddress(address, `${field}.addresses[${index}]`, { addressType, errors });
  });
  if (nodeName !== undefined && nodeName !== null)
    validateDnsSubdomain(nodeName, `${field}.nodeName`, errors);
  const labels = deprecatedTopology ?? {};
  const at = `${field}.deprecatedTopology`;
  const topologies = Object.keys(labels).length;
  if (topologies > TOPOLOGY_MAX) errors.push(tooManyItems(at, topologies, TOPOLOGY_MAX));
  validateLabels(labels, at, errors);
  const name = hostname ?? undefined;
  if (name !== undefined) validateDnsLabel(name, `${field}.hostname`, errors);
  if (hints) validateHints(hints, `${field}.hints`, errors);
}

/** Where the endpoint is best used from. */
function validateHints(
  { forZones, forNodes }: NonNullable<Endpoint["hints"]>,
  field: string,
  errors: FieldError[],
): void {
  const lists = [
    ["forZones", forZones ?? [], checkLabelValue],
    ["forNodes", forNodes ?? [], checkDnsSubdomain],
  ] as const;
  for (const [list, hints, check] of lists) {
    const at = `${field}.${list}`;
    if (hints.length > HINTS_MAX) {
      errors.push(tooManyItems(at, hints.length, HINTS_MAX));
      return;
    }
    const seen = new Set<string>();
    hints.forEach(({ name = "" }, index) => {
      if (seen.has(name)) errors.push(duplicateValue(`${at}[${index}].name`, name));
      seen.add(name);
      errors.push(...invalidValues(`${at}[${index}].name`, name, check(name)));
    });
  }
}

function validateAddress(
  address: string,
  field: string,
  { addressType, errors }: { addressType: string; errors: FieldError[] },
): void {
  if (addressType === "FQDN") {
    validateDomain(address, field, errors);
    return;
  }
  if (addressType !== "IPv4" && addressType !== "IPv6") return;
  const before = errors.length;
  if (addressType === "IPv4") validateIpAnew(address, field, errors);
  else validateCanonicalIp(address, field, errors);
  if (errors.length > before) return;
  if (addressType !== `IPv${ipVersion(address)}`) {
    // kube-apiserver names the list here.
    const list = field.slice(0, field.lastIndexOf("["));
    errors.push(invalidValue(list, address, `must be an ${addressType} address`));
  }
  validateReachableIp(address, field, errors);
}

/** A domain of two labels and more; the first mistake is told. */
function validateDomain(address: string, field: string, errors: FieldError[]): void {
  if (address === "") {
    errors.push(requiredValue(field));
    return;
  }
  const name = address.replace(/\.$/, "");
  const problems = checkDnsSubdomain(name);
  if (problems.length > 0) errors.push(invalidValue(field, name, problems.join(",")));
  else if (!name.includes(".")) {
    const why = "should be a domain with at least two segments separated by dots";
    errors.push(invalidValue(field, name, why));
  } else {
    const label = name.split(".").find((part) => checkDnsLabel(part).length > 0);
    if (label === undefined) return;
    errors.push(invalidValue(field, label, checkDnsLabel(label).join(",")));
  }
}

function validatePorts(
  ports: NonNullable<NonNullable<EndpointSlice["ports"]>>,
  errors: FieldError[],
): void {
  if (ports.length > PORTS_MAX) {
    errors.push(tooManyItems("ports", ports.length, PORTS_MAX));
    return;
  }
  const names = new Set<string>();
  ports.forEach(({ name, appProtocol }, index) => {
    const field = `ports[${index}]`;
    const text = name ?? "";
    if (text !== "") validateDnsLabel(text, `${field}.name`, errors);
    if (names.has(text)) errors.push(duplicateValue(`${field}.name`, text));
    names.add(text);
    if (typeof appProtocol === "string")
      validateLabelKey(appProtocol, `${field}.appProtocol`, errors);
  });
}

export const validatesEndpointSlice = validated(endpointSliceRules);
