/** Rules of the networking group, kind by kind: what is accepted, what is refused and how. */
import { test } from "node:test";
import { checkChanges, checkProblems, type TestObject } from "../testing/problems.js";

const backend = { service: { name: "web", port: { number: 80 } } };
const path = { path: "/", pathType: "Prefix", backend };
const rule = (parts: object = {}, at: object = {}): TestObject => ({
  spec: { rules: [{ host: "a.example.com", http: { paths: [{ ...path, ...at }] }, ...parts }] },
});
const at = (parts: object): TestObject => rule({}, parts);
const PATH = "spec.rules[0].http.paths[0]";
const policy = (parts: object): TestObject => ({ spec: { podSelector: {}, ...parts } });
const from = (...rules: readonly object[]): TestObject => policy({ ingress: rules });
const withScope = (parameters: object): TestObject => ({
  spec: { controller: "a.b/c", parameters: { kind: "K", name: "n", ...parameters } },
});
const controlled = (controller: string): TestObject => ({ spec: { controller } });
const ingress = { spec: { defaultBackend: backend } };
const parent = (name: string): TestObject => ({
  metadata: { name: "10.0.0.1" },
  spec: { parentRef: { resource: "services", namespace: "default", name } },
});
const blocks = (...cidrs: readonly string[]): TestObject => ({ spec: { cidrs } });

test("ingresses are accepted or refused by their rules, field by field", () => {
  checkProblems("networking.k8s.io/v1/ingresses", [
    [rule()],
    [rule({ host: "*.example.com" })],
    [rule({}, { path: "", pathType: "ImplementationSpecific" })],
    [{ spec: { defaultBackend: { resource: { apiGroup: "a.b", kind: "Bucket", name: "x" } } } }],
    [
      { spec: {} },
      "spec: Invalid value: null: either `defaultBackend` or `rules` must be specified",
    ],
    [
      rule({ host: "10.0.0.1" }),
      'spec.rules[0].host: Invalid value: "10.0.0.1": must be a DNS name, not an IP address',
    ],
    [rule({}, { path: "a" }), `${PATH}.path: Invalid value: "a": must be an absolute path`],
    [rule({}, { path: "/a//b" }), `${PATH}.path: Invalid value: "/a//b": must not contain '//'`],
    [rule({}, { path: "/a/.." }), `${PATH}.path: Invalid value: "/a/..": cannot end with '/..'`],
    [
      rule({}, { pathType: "Regex" }),
      `${PATH}.pathType: Unsupported value: "Regex": supported values: "Exact", "ImplementationSpecific", "Prefix"`,
    ],
    [
      rule({}, { backend: {} }),
      `${PATH}.backend: Invalid value: "": resource or service backend is required`,
    ],
    [
      rule({}, { backend: { service: { name: "web" } } }),
      `${PATH}.backend: Required value: port name or number is required`,
    ],
    [
      rule({}, { backend: { service: { name: "web", port: { number: 80, name: "http" } } } }),
      `${PATH}.backend: Invalid value: "": cannot set both port name & port number`,
    ],
    [
      at({ backend: { resource: { apiGroup: "A", kind: "a/b", name: ".." } } }),
      "spec.rules[0].http.paths[0].backend.resource.apiGroup: Invalid value: \"A\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
      "spec.rules[0].http.paths[0].backend.resource.kind: Invalid value: \"a/b\": may not contain '/'",
      "spec.rules[0].http.paths[0].backend.resource.name: Invalid value: \"..\": may not be '..'",
    ],
    [
      at({ backend: { resource: { kind: "K", name: "n" }, ...backend } }),
      'spec.rules[0].http.paths[0].backend: Invalid value: "": cannot set both resource and service backends',
    ],
    [
      at({ backend: { service: { name: "Web", port: { name: "http_1" } } } }),
      "spec.rules[0].http.paths[0].backend.service.name: Invalid value: \"Web\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
      'spec.rules[0].http.paths[0].backend.service.port.name: Invalid value: "http_1": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
    ],
    [
      at({ backend: { service: { name: "web", port: { number: 70000 } } } }),
      "spec.rules[0].http.paths[0].backend.service.port.number: Invalid value: 70000: must be between 1 and 65535, inclusive",
    ],
    [
      at({ backend: { service: { port: { number: 1 } } } }),
      "spec.rules[0].http.paths[0].backend.service.name: Required value",
    ],
    [
      at({ path: "/a%2Fb" }),
      "spec.rules[0].http.paths[0].path: Invalid value: \"/a%2Fb\": must not contain '%2F'",
    ],
    [
      at({ path: "/a/./b" }),
      "spec.rules[0].http.paths[0].path: Invalid value: \"/a/./b\": must not contain '/./'",
    ],
    [
      at({ path: "a", pathType: "ImplementationSpecific" }),
      'spec.rules[0].http.paths[0].path: Invalid value: "a": must be an absolute path',
    ],
    [
      at({ pathType: undefined }),
      "spec.rules[0].http.paths[0].pathType: Required value: pathType must be specified",
    ],
    [
      { spec: { rules: [{ host: "*.*.example.com" }] } },
      "spec.rules[0].host: Invalid value: \"*.*.example.com\": a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', regex used for validation is '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    ],
    [
      { spec: { rules: [{ host: "A.example.com" }] } },
      "spec.rules[0].host: Invalid value: \"A.example.com\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    ],
    [
      {
        spec: {
          defaultBackend: backend,
          tls: [{ hosts: ["*.example.com", "no_host"], secretName: "S" }],
        },
      },
      "spec.tls[0].hosts[1]: Invalid value: \"no_host\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
      "spec.tls[0].secretName: Invalid value: \"S\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    ],
    [
      { spec: { defaultBackend: backend, ingressClassName: "Nginx" } },
      "spec.ingressClassName: Invalid value: \"Nginx\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    ],
    [
      {
        metadata: { annotations: { "kubernetes.io/ingress.class": "nginx" } },
        spec: { defaultBackend: backend, ingressClassName: "nginx" },
      },
    ],
    [
      {
        metadata: { annotations: { "kubernetes.io/ingress.class": "other" } },
        spec: { defaultBackend: backend, ingressClassName: "nginx" },
      },
      'annotations.kubernetes.io/ingress.class: Invalid value: "other": must match `ingressClassName` when both are specified',
    ],
  ]);
});

test("an ingress may change to what is right", () => {
  checkChanges("networking.k8s.io/v1/ingresses", [
    [ingress, { spec: { defaultBackend: backend, ingressClassName: "b" } }],
    // Setting both is refused for a new object only: objects of older clients may stay.
    [
      ingress,
      {
        metadata: { annotations: { "kubernetes.io/ingress.class": "a" } },
        spec: { ...ingress.spec, ingressClassName: "a" },
      },
    ],
    [
      ingress,
      { spec: {} },
      "spec: Invalid value: null: either `defaultBackend` or `rules` must be specified",
    ],
  ]);
});

test("network policies are accepted or refused by their rules, field by field", () => {
  checkProblems("networking.k8s.io/v1/networkpolicies", [
    [{ spec: { podSelector: {}, policyTypes: ["Egress"] } }],
    [from({ from: [{ podSelector: {}, namespaceSelector: {} }], ports: [{ port: "http" }] })],
    [from({ from: [{ ipBlock: { cidr: "10.0.0.0/8", except: ["10.1.0.0/16"] } }] })],
    [from({ ports: [{ port: 80, endPort: 90 }, { protocol: "UDP" }] })],
    [from({ from: [{}] }), "spec.ingress[0].from[0]: Required value: must specify a peer"],
    [
      from({ from: [{ podSelector: {}, ipBlock: { cidr: "10.0.0.0/8" } }] }),
      "spec.ingress[0].from[0]: Forbidden: may not specify both ipBlock and another peer",
    ],
    [
      from({ from: [{ ipBlock: { cidr: "10.0.0.0/8", except: ["11.0.0.0/16"] } }] }),
      'spec.ingress[0].from[0].ipBlock.except[0]: Invalid value: "11.0.0.0/16": must be a strict subset of `cidr`',
    ],
    [
      from({ from: [{ ipBlock: { cidr: "10.0.0.0" } }] }),
      'spec.ingress[0].from[0].ipBlock.cidr: Invalid value: "10.0.0.0": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
    ],
    [
      from({ ports: [{ port: 80, endPort: 79 }] }),
      "spec.ingress[0].ports[0].endPort: Invalid value: 80: must be greater than or equal to `port`",
    ],
    [
      from({ ports: [{ port: "http", endPort: 79 }] }),
      "spec.ingress[0].ports[0].endPort: Invalid value: 79: may not be specified when `port` is non-numeric",
    ],
    [
      policy({ egress: [{ to: [{ ipBlock: { cidr: "fd00::/8", except: ["10.0.0.0/8"] } }] }] }),
      'spec.egress[0].to[0].ipBlock.except[0]: Invalid value: "10.0.0.0/8": must be a strict subset of `cidr`',
    ],
    [
      policy({ policyTypes: ["Ingress", "Sideways"] }),
      'spec.policyTypes[1]: Unsupported value: "Sideways": supported values: "Ingress", "Egress"',
    ],
    [
      policy({ policyTypes: ["Ingress", "Egress", "Ingress"] }),
      'spec.policyTypes: Invalid value: ["Ingress","Egress","Ingress"]: may not specify more than two policyTypes',
    ],
    [
      policy({ ingress: [{ ports: [{ protocol: "ICMP", port: 0 }] }] }),
      'spec.ingress[0].ports[0].protocol: Unsupported value: "ICMP": supported values: "TCP", "UDP", "SCTP"',
      "spec.ingress[0].ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
    ],
    [
      policy({ ingress: [{ ports: [{ port: "Web!" }] }] }),
      'spec.ingress[0].ports[0].port: Invalid value: "Web!": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
    ],
    [
      policy({ ingress: [{ ports: [{ endPort: 90 }] }] }),
      "spec.ingress[0].ports[0].endPort: Invalid value: 90: may not be specified when `port` is not specified",
    ],
    [
      policy({ ingress: [{ ports: [{ port: 1, endPort: 70000 }] }] }),
      "spec.ingress[0].ports[0].endPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
    ],
    [
      policy({ podSelector: { matchExpressions: [{ key: "a", operator: "In" }] } }),
      "spec.podSelector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
    ],
    [
      policy({ podSelector: { matchExpressions: [{ values: ["b"] }] } }),
      'spec.podSelector.matchExpressions[0].operator: Invalid value: "": not a valid selector operator',
      'spec.podSelector.matchExpressions[0].key: Invalid value: "": name part must be non-empty',
      "spec.podSelector.matchExpressions[0].key: Invalid value: \"\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
    ],
    [
      policy({ ingress: [{ from: [{ ipBlock: { cidr: "" } }] }] }),
      "spec.ingress[0].from[0].ipBlock.cidr: Required value",
    ],
  ]);
});

test("a network policy may change to what is right", () => {
  checkChanges("networking.k8s.io/v1/networkpolicies", [
    [{ spec: { podSelector: {} } }, { spec: { podSelector: { matchLabels: { a: "b" } } } }],
    [
      { spec: { podSelector: {} } },
      { spec: { podSelector: {}, ingress: [{ from: [{}] }] } },
      "spec.ingress[0].from[0]: Required value: must specify a peer",
    ],
  ]);
});

test("ingress classes are accepted or refused by their rules, field by field", () => {
  checkProblems("networking.k8s.io/v1/ingressclasses", [
    [{ spec: { controller: "example.com/ingress" } }],
    [withScope({ scope: "Namespace", namespace: "default" })],
    [{ spec: {} }, "spec.controller: Required value"],
    [
      { spec: { controller: "ingress" } },
      'spec.controller: Invalid value: "ingress": must be a domain-prefixed path (such as "acme.io/foo")',
    ],
    [
      withScope({ scope: "Namespace" }),
      "spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'",
    ],
    [
      withScope({ scope: "Cluster", namespace: "a" }),
      "spec.parameters.namespace: Forbidden: `parameters.scope` is set to 'Cluster'",
    ],
    [
      { spec: { controller: `a.b/${"a".repeat(250)}` } },
      "spec.controller: Too long: may not be more than 250 bytes",
    ],
    [
      { spec: { controller: "A_b/c" } },
      "spec.controller: Invalid value: \"A_b\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    ],
    [
      { spec: { controller: "a.b/c d" } },
      "spec.controller: Invalid value: \"c d\": Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')",
    ],
    [
      { spec: { controller: "a.b/c", parameters: { kind: "", name: "" } } },
      "spec.parameters.kind: Required value",
      "spec.parameters.name: Required value",
    ],
    [
      { spec: { controller: "a.b/c", parameters: { kind: "K", name: "n", scope: "World" } } },
      'spec.parameters.scope: Unsupported value: "World": supported values: "Cluster", "Namespace"',
    ],
    [
      {
        spec: {
          controller: "a.b/c",
          parameters: { kind: "K", name: "n", scope: "Namespace", namespace: "A" },
        },
      },
      "spec.parameters.namespace: Invalid value: \"A\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
    ],
  ]);
});

test("an ingress class keeps its controller", () => {
  checkChanges("networking.k8s.io/v1/ingressclasses", [
    [
      controlled("a.b/c"),
      controlled("a.b/d"),
      'spec.controller: Invalid value: "a.b/d": field is immutable',
    ],
  ]);
});

test("addresses are accepted or refused by their rules, field by field", () => {
  checkProblems("networking.k8s.io/v1/ipaddresses", [
    [
      {
        metadata: { name: "10.0.0.1" },
        spec: { parentRef: { resource: "services", namespace: "default", name: "web" } },
      },
    ],
    [{ metadata: { name: "10.0.0.1" } }, "spec.parentRef: Required value"],
    [
      { metadata: { name: "web" }, spec: { parentRef: { resource: "a/b", name: "", group: "B" } } },
      'metadata.name: Invalid value: "web": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
      "spec.parentRef.name: Required value",
      "spec.parentRef.group: Invalid value: \"B\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
      "spec.parentRef.resource: Invalid value: \"a/b\": may not contain '/'",
    ],
  ]);
});

test("an address keeps whom it was given to", () => {
  checkChanges("networking.k8s.io/v1/ipaddresses", [
    [parent("a"), parent("a")],
    [
      parent("a"),
      parent("b"),
      'spec.parentRef: Invalid value: {"Group":"","Resource":"services","Namespace":"default","Name":"b"}: field is immutable',
    ],
  ]);
});

test("blocks of addresses are accepted or refused by their rules, field by field", () => {
  checkProblems("networking.k8s.io/v1/servicecidrs", [
    [{ spec: { cidrs: ["10.0.0.0/24", "fd00::/112"] } }],
    [{ spec: {} }, "spec.cidrs: Required value: at least one CIDR required"],
    [
      { spec: { cidrs: ["10.0.0.0/8", "10.1.0.0/16"] } },
      'spec.cidrs: Invalid value: ["10.0.0.0/8","10.1.0.0/16"]: may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64',
    ],
    [
      { spec: { cidrs: ["a", "10.0.0.0/8", "fd00::/64"] } },
      'spec.cidrs: Invalid value: {"CIDRs":["a","10.0.0.0/8","fd00::/64"]}: may only hold up to 2 values',
    ],
    [
      { spec: { cidrs: ["a"] } },
      'spec.cidrs[0]: Invalid value: "a": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
    ],
  ]);
});

test("a block of addresses may gain a second family and lose nothing", () => {
  checkChanges("networking.k8s.io/v1/servicecidrs", [
    [blocks("10.0.0.0/24"), blocks("10.0.0.0/24", "fd00::/112")],
    [
      blocks("10.0.0.0/24"),
      blocks("10.1.0.0/24"),
      'spec.cidrs[0]: Invalid value: "10.1.0.0/24": field is immutable',
    ],
    [
      blocks("10.0.0.0/24", "fd00::/112"),
      blocks("10.0.0.0/24"),
      'spec.cidrs: Invalid value: ["10.0.0.0/24"]: field is immutable',
    ],
  ]);
});
