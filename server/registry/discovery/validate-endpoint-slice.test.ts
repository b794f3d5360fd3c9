/** Rules for endpoint slices: what is accepted, what is refused and how. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkChanges, checkProblems, problemsOf, type TestObject } from "../testing/problems.js";

const slice = (parts: object): TestObject => ({ addressType: "IPv4", endpoints: [], ...parts });
const holding = (addressType: string, address: string): TestObject => ({
  addressType,
  endpoints: [{ addresses: [address] }],
});

test("endpoint slices are accepted or refused by their rules, field by field", () => {
  checkProblems("discovery.k8s.io/v1/endpointslices", [
    [slice({ endpoints: [{ addresses: ["192.0.2.1"], hostname: "a" }], ports: [{ port: 80 }] })],
    [slice({ addressType: "FQDN", endpoints: [{ addresses: ["a.example.com"] }] })],
    [
      slice({ endpoints: [{ addresses: ["fd00::1"] }] }),
      'endpoints[0].addresses: Invalid value: "fd00::1": must be an IPv4 address',
    ],
    [
      slice({ endpoints: [{ addresses: [] }] }),
      "endpoints[0].addresses: Required value: must contain at least 1 address",
    ],
    [
      slice({ endpoints: Array.from({ length: 1001 }, () => ({ addresses: ["192.0.2.1"] })) }),
      "endpoints: Too many: 1001: must have at most 1000 items",
    ],
    [slice({ ports: [{ port: 1 }, { port: 2 }] }), 'ports[1].name: Duplicate value: ""'],
    [
      slice({ addressType: "MAC" }),
      'addressType: Unsupported value: "MAC": supported values: "FQDN", "IPv4", "IPv6"',
    ],
    [
      slice({ endpoints: [{ addresses: ["127.0.0.1"] }] }),
      'endpoints[0].addresses[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
    ],
    [
      slice({ addressType: "IPv6", endpoints: [{ addresses: ["fe80::1"] }] }),
      'endpoints[0].addresses[0]: Invalid value: "fe80::1": may not be in the link-local range (169.254.0.0/16, fe80::/10)',
    ],
    [
      slice({
        addressType: "FQDN",
        endpoints: [{ addresses: ["single"] }, { addresses: ["A.b"] }],
      }),
      'endpoints[0].addresses[0]: Invalid value: "single": should be a domain with at least two segments separated by dots',
      "endpoints[1].addresses[0]: Invalid value: \"A.b\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    ],
    [
      slice({ endpoints: [{ addresses: Array.from({ length: 101 }, () => "192.0.2.1") }] }),
      "endpoints[0].addresses: Too many: 101: must have at most 100 items",
    ],
    [
      slice({ endpoints: [{ addresses: ["192.0.2.1"], hostname: "a.b", nodeName: "N" }] }),
      "endpoints[0].nodeName: Invalid value: \"N\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
      'endpoints[0].hostname: Invalid value: "a.b": must not contain dots',
    ],
    [
      slice({ ports: [{ name: "A", protocol: "X", appProtocol: "a b" }] }),
      'ports[0].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP"',
      "ports[0].name: Invalid value: \"A\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
      "ports[0].appProtocol: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
    ],
  ]);
});

test("an endpoint slice keeps its kind of addresses", () => {
  checkChanges("discovery.k8s.io/v1/endpointslices", [
    [holding("IPv4", "192.0.2.1"), holding("IPv4", "192.0.2.2")],
    [
      holding("IPv4", "192.0.2.1"),
      holding("IPv6", "2001:db8::1"),
      'addressType: Invalid value: "IPv6": field is immutable',
    ],
    [
      slice({}),
      slice({ addressType: "IPv6" }),
      'addressType: Invalid value: "IPv6": field is immutable',
    ],
  ]);
});

test("R46: an endpoint's address is one, and a protocol that is given has a name", () => {
  const named = "name part must be non-empty";
  const at = (ip: string) => ({ subsets: [{ addresses: [{ ip }], ports: [{ port: 1 }] }] });
  checkProblems("v1/endpoints", [
    [at("192.0.2.1")],
    [
      at(""),
      'subsets[0].addresses[0].ip: Invalid value: "": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
      'subsets[0].addresses[0].ip: Invalid value: "": must be a valid IP address',
    ],
  ]);
  const speaking = (appProtocol: string | null) => ({
    addressType: "IPv4",
    endpoints: [],
    ports: [{ appProtocol }],
  });
  checkProblems("discovery.k8s.io/v1/endpointslices", [[speaking(null)], [speaking("http")]]);
  assert.match(
    problemsOf("discovery.k8s.io/v1/endpointslices", speaking("")).join(),
    new RegExp(named),
  );
});

test("R46: a domain of a slice has one mistake at a time", () => {
  const at = (address: string) => ({
    addressType: "FQDN",
    endpoints: [{ addresses: [address] }],
    ports: [],
  });
  const field = "endpoints[0].addresses[0]";
  const label = "a".repeat(64);
  checkProblems("discovery.k8s.io/v1/endpointslices", [
    [at("a.example.com.")],
    [at(""), `${field}: Required value`],
    [
      at("a."),
      `${field}: Invalid value: "a": should be a domain with at least two segments separated by dots`,
    ],
    [
      at(`${label}.example.com`),
      `${field}: Invalid value: "${label}": must be no more than 63 characters`,
    ],
  ]);
});
