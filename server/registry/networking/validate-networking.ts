/** Rules for the networking group: policies, ingresses and their classes, addresses and blocks. */

import { deepEqual } from "../../api/deep-equal.js";
import {
  forbiddenField,
  invalidValue,
  invalidValues,
  requiredValue,
  tooLongValue,
  unsupportedValue,
} from "../../api/field-errors.js";
import { isWithin, parseBlock, parseIp } from "../../api/ip-address.js";
import { eachItem, type RuleUse } from "../../api/long-work.js";
import type { ApiObject } from "../../api/meta.js";
import { Problems } from "../../api/problems.js";
import type { FieldError } from "../../api/status.js";
import { validateCanonicalCidr, validateCidr, validateIp } from "../../api/validation-addresses.js";
import { checkDnsSubdomain, checkPathSegmentName } from "../../api/validation-names.js";
import { type LabelSelector, validateLabelSelector } from "../../api/validation-selectors.js";
import {
  checkPortName,
  type Maybe,
  validateChoice,
  validateDnsLabel,
  validateDnsSubdomain,
  validateDomainPath,
  validatePathSegment,
  validatePort,
  validatePortOrName,
  type Whole,
} from "../../api/validation-values.js";
import { type Rules, validated } from "../generic/validated.js";

interface NetworkPolicy extends ApiObject {
  spec?: {
    readonly podSelector?: Maybe<LabelSelector>;
    readonly ingress?: Maybe<readonly PolicyRule[]>;
    readonly egress?: Maybe<readonly PolicyRule[]>;
    readonly policyTypes?: Maybe<readonly string[]>;
  };
}

interface PolicyRule {
  readonly ports?: Maybe<readonly PolicyPort[]>;
  readonly from?: Maybe<readonly Peer[]>;
  readonly to?: Maybe<readonly Peer[]>;
}

interface PolicyPort {
  readonly protocol?: Maybe<string>;
  readonly port?: Maybe<Whole | string>;
  readonly endPort?: Maybe<Whole>;
}

interface Peer {
  readonly podSelector?: Maybe<LabelSelector>;
  readonly namespaceSelector?: Maybe<LabelSelector>;
  readonly ipBlock?: Maybe<{ readonly cidr: string; readonly except?: Maybe<readonly string[]> }>;
}

const networkPolicyRules: Rules<NetworkPolicy> = {
  object({ spec = {} }, { long }) {
    const errors = new Problems();
    validateLabelSelector(spec.podSelector, "spec.podSelector", errors);
    for (const [direction, peers] of [
      ["ingress", "from"],
      ["egress", "to"],
    ] as const) {
      spec[direction]?.forEach((rule, index) => {
        const field = `spec.${direction}[${index}]`;
        eachItem(rule.ports ?? [], { errors, long }, (port, portIndex, found) => {
          validatePolicyPort(port, `${field}.ports[${portIndex}]`, found);
        });
        eachItem(rule[peers] ?? [], { errors, long }, (peer, peerIndex, found) => {
          validatePeer(peer, `${field}.${peers}[${peerIndex}]`, { errors: found, long });
        });
      });
    }
    const types = spec.policyTypes ?? [];
    if (types.length > 2) {
      const why = "may not specify more than two policyTypes";
      errors.push(invalidValue("spec.policyTypes", types, why));
      return errors;
    }
    types.forEach((type, index) => {
      validateChoice(type, `spec.policyTypes[${index}]`, POLICY_TYPES, errors);
    });
    return errors;
  },
};

const POLICY_TYPES = ["Ingress", "Egress"];
const PROTOCOLS = ["TCP", "UDP", "SCTP"];

function validatePolicyPort(
  { protocol, port, endPort }: PolicyPort,
  field: string,
  errors: FieldError[],
): void {
  validateChoice(protocol, `${field}.protocol`, PROTOCOLS, errors);
  const end = endPort ?? undefined;
  if (port === undefined || port === null) {
    if (end === undefined) return;
    const why = "may not be specified when `port` is not specified";
    errors.push(invalidValue(`${field}.endPort`, end, why));
    return;
  }
  validatePortOrName(port, `${field}.port`, errors);
  if (end === undefined) return;
  if (typeof port === "string") {
    const why = "may not be specified when `port` is non-numeric";
    errors.push(invalidValue(`${field}.endPort`, end, why));
    return;
  }
  if (end < port) {
    // The port is shown.
    errors.push(invalidValue(`${field}.endPort`, port, "must be greater than or equal to `port`"));
  }
  validatePort(end, `${field}.endPort`, errors);
}

function validatePeer(peer: Peer, field: string, use: RuleUse): void {
  const { errors } = use;
  const { podSelector, namespaceSelector, ipBlock } = peer;
  validateLabelSelector(podSelector, `${field}.podSelector`, errors);
  validateLabelSelector(namespaceSelector, `${field}.namespaceSelector`, errors);
  if (ipBlock) {
    validateBlock(ipBlock, `${field}.ipBlock`, use);
    if (podSelector || namespaceSelector) {
      errors.push(forbiddenField(field, "may not specify both ipBlock and another peer"));
    }
  } else if (!podSelector && !namespaceSelector) {
    errors.push(requiredValue(field, "must specify a peer"));
  }
}

function validateBlock(
  { cidr, except }: NonNullable<NonNullable<Peer["ipBlock"]>>,
  field: string,
  use: RuleUse,
): void {
  if (cidr === "") return;
  validateCidr(cidr, `${field}.cidr`, use.errors);
  if (except === undefined || except === null || except.length === 0) return;
  const whole = parseBlock(cidr);
  eachItem(except, use, (text, index, errors) => {
    const at = `${field}.except[${index}]`;
    validateCidr(text, at, errors);
    const part = parseBlock(text);
    if (whole === undefined || part === undefined) return;
    const first = { version: part.version, value: part.first };
    if (isWithin(first, whole) && part.bits > whole.bits) return;
    errors.push(invalidValue(at, text, "must be a strict subset of `cidr`"));
  });
}

interface Ingress extends ApiObject {
  spec?: {
    readonly ingressClassName?: Maybe<string>;
    readonly defaultBackend?: Maybe<Backend>;
    readonly tls?: Maybe<
      readonly { readonly hosts?: Maybe<readonly string[]>; readonly secretName?: string }[]
    >;
    readonly rules?: Maybe<readonly IngressRule[]>;
  };
  status?: {
    readonly loadBalancer?: Maybe<{
      readonly ingress?: Maybe<readonly { readonly ip?: string; readonly hostname?: string }[]>;
    }>;
  };
}

interface IngressRule {
  readonly host?: string;
  readonly http?: Maybe<{ readonly paths?: Maybe<readonly HttpPath[]> }>;
}

interface HttpPath {
  readonly path?: string;
  readonly pathType?: Maybe<string>;
  readonly backend?: Maybe<Backend>;
}

interface Backend {
  readonly resource?: Maybe<Reference>;
  readonly service?: Maybe<{
    readonly name: string;
    readonly port?: Maybe<{ readonly name?: string; readonly number?: Whole }>;
  }>;
}

interface Reference {
  readonly apiGroup?: Maybe<string>;
  readonly kind: string;
  readonly name: string;
}

const ingressRules: Rules<Ingress> = {
  object({ spec = {} }) {
    const errors = new Problems();
    const rules = spec.rules ?? [];
    if (rules.length === 0 && !spec.defaultBackend) {
      const why = "either `defaultBackend` or `rules` must be specified";
      errors.push(invalidValue("spec", spec.rules ?? null, why));
    }
    if (spec.defaultBackend) validateBackend(spec.defaultBackend, "spec.defaultBackend", errors);
    rules.forEach(({ host = "", http }, index) => {
      const field = `spec.rules[${index}]`;
      if (host !== "") validateHost(host, `${field}.host`, errors);
      http?.paths?.forEach((path, pathIndex) => {
        validatePath(path, `${field}.http.paths[${pathIndex}]`, errors);
      });
    });
    spec.tls?.forEach(({ hosts, secretName = "" }, index) => {
      const field = `spec.tls[${index}]`;
      hosts?.forEach((host, hostIndex) => {
        validateDomain(host, `${field}.hosts[${hostIndex}]`, errors);
      });
      if (secretName !== "") validateDnsSubdomain(secretName, `${field}.secretName`, errors);
    });
    const name = spec.ingressClassName ?? undefined;
    if (name !== undefined) validateDnsSubdomain(name, "spec.ingressClassName", errors);
    return errors;
  },
  create({ metadata, spec }, { naming }) {
    const name = `${naming.labelDomain}/ingress.class`;
    const value = metadata.annotations?.[name];
    const className = spec?.ingressClassName ?? undefined;
    if (value === undefined || className === undefined || value === className) return [];
    const why = "must match `ingressClassName` when both are specified";
    return [invalidValue(`annotations.${name}`, value, why)];
  },
  status({ status }) {
    const errors = new Problems();
    status?.loadBalancer?.ingress?.forEach(({ ip = "", hostname = "" }, index) => {
      const field = `status.loadBalancer.ingress[${index}]`;
      if (ip !== "") validateIp(ip, `${field}.ip`, errors);
      if (hostname !== "") validateHost(hostname, `${field}.hostname`, errors);
    });
    return errors;
  },
};

function validateHost(host: string, field: string, errors: FieldError[]): void {
  if (parseIp(host) !== undefined) {
    errors.push(invalidValue(field, host, "must be a DNS name, not an IP address"));
  }
  validateDomain(host, field, errors);
}

const WILDCARD_RULE =
  "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', regex used for validation is '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

/** A domain, or a wildcard for the domains directly below one. */
function validateDomain(host: string, field: string, errors: FieldError[]): void {
  if (!host.includes("*")) validateDnsSubdomain(host, field, errors);
  else if (!host.startsWith("*.") || checkDnsSubdomain(host.slice(2)).length > 0) {
    errors.push(invalidValue(field, host, WILDCARD_RULE));
  }
}

/** Sequences that proxies interpret differently. */
const AMBIGUOUS = ["//", "/./", "/../", "%2f", "%2F"];
const AMBIGUOUS_ENDS = ["/..", "/."];

function validatePath(
  { path = "", pathType, backend }: HttpPath,
  field: string,
  errors: FieldError[],
): void {
  if (pathType === undefined || pathType === null) {
    errors.push(requiredValue(`${field}.pathType`, "pathType must be specified"));
    return;
  }
  const at = `${field}.path`;
  const isLiteral = pathType === "Exact" || pathType === "Prefix";
  if ((isLiteral || path !== "") && !path.startsWith("/")) {
    errors.push(invalidValue(at, path, "must be an absolute path"));
  }
  if (isLiteral) {
    for (const sequence of AMBIGUOUS) {
      if (!path.includes(sequence)) continue;
      errors.push(invalidValue(at, path, `must not contain '${sequence}'`));
    }
    for (const end of AMBIGUOUS_ENDS) {
      if (path.endsWith(end)) errors.push(invalidValue(at, path, `cannot end with '${end}'`));
    }
  }
  validateBackend(backend ?? {}, `${field}.backend`, errors);
}

function validateBackend(backend: Backend, field: string, errors: FieldError[]): void {
  const { resource, service } = backend;
  if (resource && service) {
    errors.push(invalidValue(field, "", "cannot set both resource and service backends"));
  } else if (resource) {
    validateReference(resource, `${field}.resource`, errors);
  } else if (service) {
    const { name, port } = service;
    if ((name ?? "") === "") errors.push(requiredValue(`${field}.service.name`));
    else {
      validateDnsLabel(name, `${field}.service.name`, errors);
    }
    validateBackendPort(port ?? {}, field, errors);
  } else {
    errors.push(invalidValue(field, "", "resource or service backend is required"));
  }
}

function validateBackendPort(
  { name = "", number = 0 }: { name?: string; number?: Whole },
  field: string,
  errors: FieldError[],
): void {
  const hasNumber = Number(number) !== 0;
  if (name !== "" && hasNumber) {
    errors.push(invalidValue(field, "", "cannot set both port name & port number"));
  } else if (name !== "") {
    errors.push(...invalidValues(`${field}.service.port.name`, name, checkPortName(name)));
  } else if (hasNumber) {
    validatePort(number, `${field}.service.port.number`, errors);
  } else {
    errors.push(requiredValue(field, "port name or number is required"));
  }
}

/** A reference to an object of any kind, whose parts must be valid path segments. */
function validateReference(
  { apiGroup, kind, name }: Reference,
  field: string,
  errors: FieldError[],
): void {
  const group = apiGroup ?? undefined;
  if (group !== undefined) validateDnsSubdomain(group, `${field}.apiGroup`, errors);
  for (const [member, value] of [
    ["kind", kind],
    ["name", name],
  ] as const) {
    if ((value ?? "") === "") errors.push(requiredValue(`${field}.${member}`));
    errors.push(
      ...invalidValues(`${field}.${member}`, value, checkPathSegmentName(value ?? "", false)),
    );
  }
}

interface IngressClass extends ApiObject {
  spec?: {
    readonly controller?: string;
    readonly parameters?: Maybe<
      Reference & { readonly scope?: Maybe<string>; readonly namespace?: Maybe<string> }
    >;
  };
}

const CONTROLLER_BYTES_MAX = 250;
const SCOPES = ["Cluster", "Namespace"];

const ingressClassRules: Rules<IngressClass> = {
  object({ spec = {} }) {
    const errors = new Problems();
    const { controller = "", parameters } = spec;
    const field = "spec.controller";
    if (controller === "") errors.push(requiredValue(field));
    else {
      if (controller.length > CONTROLLER_BYTES_MAX) {
        errors.push(tooLongValue(field, CONTROLLER_BYTES_MAX));
      }
      validateDomainPath(controller, field, errors);
    }
    if (parameters) validateParameters(parameters, "spec.parameters", errors);
    return errors;
  },
  change({ spec }, { spec: before }) {
    const controller = spec?.controller ?? "";
    if (controller === (before?.controller ?? "")) return [];
    return [invalidValue("spec.controller", controller, "field is immutable")];
  },
};

function validateParameters(
  parameters: NonNullable<NonNullable<IngressClass["spec"]>["parameters"]>,
  field: string,
  errors: FieldError[],
): void {
  validateReference(parameters, field, errors);
  const { scope, namespace } = parameters;
  const owner = namespace ?? undefined;
  const at = `${field}.namespace`;
  if (scope === undefined || scope === null) errors.push(requiredValue(`${field}.scope`));
  else if (!SCOPES.includes(scope)) {
    errors.push(unsupportedValue(`${field}.scope`, scope, SCOPES));
  } else if (scope === "Cluster") {
    if (owner === undefined) return;
    errors.push(forbiddenField(at, "`parameters.scope` is set to 'Cluster'"));
  } else if (owner === undefined) {
    errors.push(requiredValue(at, "`parameters.scope` is set to 'Namespace'"));
  } else {
    validateDnsLabel(owner, at, errors);
  }
}

interface IpAddress extends ApiObject {
  spec?: {
    readonly parentRef?: Maybe<{
      readonly group?: string;
      readonly resource: string;
      readonly namespace?: string;
      readonly name: string;
    }>;
  };
}

const ipAddressRules: Rules<IpAddress> = {
  object({ spec }) {
    const errors = new Problems();
    const parent = spec?.parentRef;
    if (!parent) return errors;
    const field = "spec.parentRef";
    const { group = "" } = parent;
    if (group !== "") validateDnsSubdomain(group, `${field}.group`, errors);
    for (const member of ["resource", "name", "namespace"] as const) {
      const value = parent[member] ?? "";
      validatePathSegment(value, `${field}.${member}`, errors);
    }
    return errors;
  },
  change({ spec }, { spec: before }) {
    const parent = spec?.parentRef ?? null;
    if (deepEqual(parent, before?.parentRef ?? null)) return [];
    // Shown in messages as kube-apiserver's struct.
    const shown = parent && {
      Group: parent.group ?? "",
      Resource: parent.resource ?? "",
      Namespace: parent.namespace ?? "",
      Name: parent.name ?? "",
    };
    return [invalidValue("spec.parentRef", shown, "field is immutable")];
  },
};

interface ServiceCidr extends ApiObject {
  spec?: { readonly cidrs?: Maybe<readonly string[]> };
}

function validateBlocks(cidrs: readonly string[], errors: FieldError[]): void {
  const field = "spec.cidrs";
  if (cidrs.length === 0) errors.push(requiredValue(field, "at least one CIDR required"));
  else if (cidrs.length > 2) {
    errors.push(invalidValue(field, { CIDRs: cidrs }, "may only hold up to 2 values"));
  } else {
    cidrs.forEach((cidr, index) => {
      validateCanonicalCidr(cidr, `${field}[${index}]`, errors);
    });
  }
  const versions = cidrs.map((cidr) => parseBlock(cidr)?.version);
  if (cidrs.length !== 2 || versions[0] === undefined || versions[0] !== versions[1]) return;
  const why =
    "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64";
  errors.push(invalidValue(field, cidrs, why));
}

const serviceCidrRules: Rules<ServiceCidr> = {
  // A change is judged by itself.
  object: () => [],
  create({ spec }) {
    const errors = new Problems();
    validateBlocks(spec?.cidrs ?? [], errors);
    return errors;
  },
  change({ spec }, { spec: before }) {
    const errors = new Problems();
    const [cidrs, old] = [spec?.cidrs ?? [], before?.cidrs ?? []];
    const isWidened = old.length === 1 && cidrs.length === 2;
    if (cidrs.length !== old.length && !isWidened) {
      return [invalidValue("spec.cidrs", spec?.cidrs ?? null, "field is immutable")];
    }
    // A block of the other family may be added; the first one's addresses are in use.
    old.forEach((cidr, index) => {
      if (cidrs[index] === cidr) return;
      errors.push(invalidValue(`spec.cidrs[${index}]`, cidrs[index], "field is immutable"));
    });
    if (isWidened) validateBlocks(spec?.cidrs ?? [], errors);
    return errors;
  },
};

export const validatesNetworkPolicy = validated(networkPolicyRules);
export const validatesIngress = validated(ingressRules);
export const validatesIngressClass = validated(ingressClassRules);
export const validatesIpAddress = validated(ipAddressRules);
export const validatesServiceCidr = validated(serviceCidrRules);
