/** Rules of the networking group, kind by kind: objects with what they are refused for. */
import { test } from "node:test";
import { checkProblems } from "../testing/problems.js";

const backend = { service: { name: "web", port: { number: 80 } } };
const base = { path: "/", pathType: "Prefix", backend };
const path = (parts: object) => ({
  spec: { rules: [{ http: { paths: [{ ...base, ...parts }] } }] },
});
const policy = (parts: object) => ({ spec: { podSelector: {}, ...parts } });

test("ingresses that break a rule are refused, field by field", () => {
  checkProblems("networking.k8s.io/v1/ingresses", [
    [
      path({ backend: { resource: { apiGroup: "A", kind: "a/b", name: ".." } } }),
      "spec.rules[0].http.paths[0].backend.resource.apiGroup: Invalid value: \"A\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
      "spec.rules[0].http.paths[0].backend.resource.kind: Invalid value: \"a/b\": may not contain '/'",
      "spec.rules[0].http.paths[0].backend.resource.name: Invalid value: \"..\": may not be '..'",
    ],
    [
      path({ backend: { resource: { kind: "K", name: "n" }, ...backend } }),
      'spec.rules[0].http.paths[0].backend: Invalid value: "": cannot set both resource and service backends',
    ],
    [
      path({ backend: { service: { name: "Web", port: { name: "http_1" } } } }),
      "spec.rules[0].http.paths[0].backend.service.name: Invalid value: \"Web\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
      'spec.rules[0].http.paths[0].backend.service.port.name: Invalid value: "http_1": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
    ],
    [
      path({ backend: { service: { name: "web", port: { number: 70000 } } } }),
      "spec.rules[0].http.paths[0].backend.service.port.number: Invalid value: 70000: must be between 1 and 65535, inclusive",
    ],
    [
      path({ backend: { service: { port: { number: 1 } } } }),
      "spec.rules[0].http.paths[0].backend.service.name: Required value",
    ],
    [
      path({ path: "/a%2Fb" }),
      "spec.rules[0].http.paths[0].path: Invalid value: \"/a%2Fb\": must not contain '%2F'",
    ],
    [
      path({ path: "/a/./b" }),
      "spec.rules[0].http.paths[0].path: Invalid value: \"/a/./b\": must not contain '/./'",
    ],
    [
      path({ path: "a", pathType: "ImplementationSpecific" }),
      'spec.rules[0].http.paths[0].path: Invalid value: "a": must be an absolute path',
    ],
    [path({ pathType: undefined }), "spec.rules[0].http.paths[0].pathType: Required value"],
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
      'annotations[kubernetes.io/ingress.class]: Invalid value: "nginx": can not be set when the class field is also set',
    ],
  ]);
});

test("network policies that break a rule are refused, field by field", () => {
  checkProblems("networking.k8s.io/v1/networkpolicies", [
    [
      policy({ egress: [{ to: [{ ipBlock: { cidr: "fd00::/8", except: ["10.0.0.0/8"] } }] }] }),
      'spec.egress[0].to[0].ipBlock.except[0]: Invalid value: "10.0.0.0/8": must be a strict subset of `cidr`',
    ],
    [
      policy({ policyTypes: ["Ingress", "Sideways"] }),
      'spec.policyTypes[1]: Unsupported value: "Sideways": supported values: "Egress", "Ingress"',
    ],
    [
      policy({ policyTypes: ["Ingress", "Egress", "Ingress"] }),
      'spec.policyTypes: Invalid value: ["Ingress","Egress","Ingress"]: may not specify more than two policyTypes',
    ],
    [
      policy({ ingress: [{ ports: [{ protocol: "ICMP", port: 0 }] }] }),
      'spec.ingress[0].ports[0].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"',
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
      policy({ ingress: [{ from: [{ ipBlock: { cidr: "" } }] }] }),
      "spec.ingress[0].from[0].ipBlock.cidr: Required value",
    ],
  ]);
});

test("ingress classes that break a rule are refused, field by field", () => {
  checkProblems("networking.k8s.io/v1/ingressclasses", [
    [
      { spec: { controller: `a.b/${"a".repeat(250)}` } },
      "spec.controller: Too long: may not be more than 250 bytes",
    ],
    [
      { spec: { controller: "A_b/c" } },
      "spec.controller: Invalid value: \"A_b\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    ],
    [{ spec: { controller: "a.b/c d" } }, 'spec.controller: Invalid value: "c d": Invalid path'],
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

test("addresses that break a rule are refused, field by field", () => {
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
      "spec.parentRef.name: Required value",
      'metadata.name: Invalid value: "web": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
      "spec.parentRef.group: Invalid value: \"B\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
      "spec.parentRef.resource: Invalid value: \"a/b\": may not contain '/'",
    ],
  ]);
});

test("blocks of addresses that break a rule are refused, field by field", () => {
  checkProblems("networking.k8s.io/v1/servicecidrs", [
    [
      { spec: { cidrs: ["10.0.0.0/8", "10.1.0.0/16"] } },
      'spec.cidrs: Invalid value: {"cidrs":["10.0.0.0/8","10.1.0.0/16"]}: may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64',
    ],
    [
      { spec: { cidrs: ["a", "10.0.0.0/8", "fd00::/64"] } },
      'spec.cidrs: Invalid value: {"cidrs":["a","10.0.0.0/8","fd00::/64"]}: may only hold up to 2 values',
      'spec.cidrs[0]: Invalid value: "a": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
    ],
  ]);
});
