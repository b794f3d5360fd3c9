/** Rules for Services, and the allocated values that an update keeps. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { LongWork, STRETCH } from "../../api/long-work.js";
import { createNaming } from "../../api/naming.js";
import {
  changeProblems,
  checkProblems,
  problemsOf,
  resourceOf,
  type TestObject,
} from "../testing/problems.js";
import type { ServiceObject } from "./service-types.js";
import { serviceRules } from "./validate-service.js";

const http = { name: "http", port: 80 };
const service = (spec: object = {}): TestObject => ({ spec: { ports: [http], ...spec } });
const problems = (spec: object) => problemsOf("v1/services", service(spec));

const ROWS: readonly [object, ...string[]][] = [
  [{}],
  [{ ports: [{ port: 80 }], selector: { app: "web" } }],
  [{ type: "NodePort", ports: [{ port: 80, nodePort: 30080 }] }],
  [
    {
      type: "LoadBalancer",
      externalTrafficPolicy: "Local",
      loadBalancerSourceRanges: ["10.0.0.0/8 "],
    },
  ],
  [{ type: "ExternalName", ports: null, externalName: "db.example.com." }],
  [{ clusterIP: "None", ports: null }],
  [
    {
      clusterIP: "10.0.0.9",
      clusterIPs: ["10.0.0.9", "fd00::9"],
      ipFamilyPolicy: "RequireDualStack",
    },
  ],
  [{ sessionAffinity: "ClientIP" }],
  [{ externalIPs: ["192.0.2.1"], externalTrafficPolicy: "Local" }],
  [
    {
      ports: [
        { name: "a", port: 53, protocol: "UDP" },
        { name: "b", port: 53, protocol: "TCP", targetPort: "dns", appProtocol: "example.com/dns" },
      ],
    },
  ],
  [{ ports: null }, "spec.ports: Required value"],
  [
    { ports: [{ port: 0 }] },
    "spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
    "spec.ports[0].targetPort: Invalid value: 0: must be between 1 and 65535, inclusive",
  ],
  [
    { ports: [{ port: 80 }, { port: 81 }] },
    "spec.ports[0].name: Required value",
    "spec.ports[1].name: Required value",
  ],
  [{ ports: [http, { name: "http", port: 81 }] }, 'spec.ports[1].name: Duplicate value: "http"'],
  [
    { ports: [http, { name: "b", port: 80 }] },
    'spec.ports[1]: Duplicate value: {"Name":"","Protocol":"TCP","AppProtocol":null,"Port":80,"TargetPort":0,"NodePort":0}',
  ],
  [
    { ports: [{ port: 80, nodePort: 30080 }] },
    "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'",
  ],
  [
    { ports: [{ port: 80, protocol: "ICMP" }] },
    'spec.ports[0].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"',
  ],
  [
    { type: "NodePort", clusterIP: "None" },
    "spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for NodePort services",
  ],
  [
    { type: "Other" },
    'spec.type: Unsupported value: "Other": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"',
  ],
  [{ type: "ExternalName" }, "spec.externalName: Required value"],
  [
    { type: "ExternalName", externalName: "a.b", clusterIP: "10.0.0.1" },
    "spec.clusterIPs: Forbidden: may not be set for ExternalName services",
  ],
  [
    { clusterIP: "here" },
    'spec.clusterIPs[0]: Invalid value: "here": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
  ],
  [
    { clusterIPs: ["10.0.0.1"] },
    'spec.clusterIPs: Invalid value: ["10.0.0.1"]: must be empty when `clusterIP` is not specified',
  ],
  [
    { clusterIP: "10.0.0.1", clusterIPs: ["10.0.0.1", "10.0.0.2"] },
    'spec.clusterIPs: Invalid value: ["10.0.0.1","10.0.0.2"]: may specify no more than one IP for each IP family',
  ],
  [
    { clusterIP: "10.0.0.1", ipFamilies: ["IPv6"] },
    'spec.clusterIPs[0]: Invalid value: "10.0.0.1": expected an IPv6 value as indicated by `ipFamilies[0]`',
  ],
  [
    { sessionAffinity: "ClientIP", sessionAffinityConfig: { clientIP: { timeoutSeconds: 86401 } } },
    "spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 86401: must be greater than 0 and less than 86400",
  ],
  [
    { externalIPs: ["127.0.0.1"] },
    'spec.externalIPs[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
  ],
  [
    { loadBalancerSourceRanges: ["10.0.0.0/8"] },
    "spec.LoadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer'",
  ],
  [
    { externalTrafficPolicy: "Local" },
    'spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services',
  ],
  [
    { healthCheckNodePort: 30001 },
    "spec.healthCheckNodePort: Invalid value: 30001: may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
  ],
  [
    { trafficDistribution: "Far" },
    'spec.trafficDistribution: Unsupported value: "Far": supported values: "PreferClose", "PreferSameZone", "PreferSameNode"',
  ],
];

test("services that are right are accepted, others refused with what is wrong", () => {
  for (const [spec, ...expected] of ROWS) {
    assert.deepEqual(problems(spec), expected, JSON.stringify(spec));
  }
});

test("sources of a load balancer in the annotation of the first clients are judged as in the field", () => {
  const key = "service.beta.kubernetes.io/load-balancer-source-ranges";
  const noted = (text: string, spec: object = { type: "LoadBalancer" }) => ({
    ...service(spec),
    metadata: { annotations: { [key]: text } },
  });
  const field = `metadata.annotations[${key}]`;
  for (const [object, ...expected] of [
    [noted(" 10.0.0.0/8, 2001:DB8::/32 ")],
    [noted("  ")],
    [noted("10.0.0.1/8", { type: "LoadBalancer", loadBalancerSourceRanges: ["10.0.0.0/8"] })],
    [
      noted("10.0.0.1/8,010.0.0.0/8"),
      `${field}: Invalid value: "10.0.0.1/8": must not have bits set beyond the prefix length`,
      `${field}: Invalid value: "010.0.0.0/8": must not have leading 0s in IP or prefix length`,
    ],
    [
      noted("10.0.0.0/8", { type: "NodePort" }),
      `${field}: Forbidden: may only be used when \`type\` is 'LoadBalancer'`,
    ],
  ] as const) {
    assert.deepEqual(problemsOf("v1/services", object), expected, JSON.stringify(object));
  }
  const old = noted("10.0.0.1/8");
  assert.deepEqual(changeProblems("v1/services", old, old), []);
});

const change = (before: object, after: object) =>
  changeProblems("v1/services", service(before), service(after));

test("an address once given stays; a second one goes when one family is asked for", () => {
  const given = { clusterIP: "10.0.0.1", clusterIPs: ["10.0.0.1"], ipFamilies: ["IPv4"] };
  assert.deepEqual(change(given, {}), []);
  assert.deepEqual(change(given, { clusterIP: "10.0.0.2" }), [
    'spec.clusterIPs[0]: Invalid value: ["10.0.0.2"]: may not change once set',
  ]);
  assert.deepEqual(change(given, { type: "ExternalName", externalName: "a.b" }), []);
  const two = {
    clusterIP: "10.0.0.1",
    clusterIPs: ["10.0.0.1", "fd00::1"],
    ipFamilies: ["IPv4", "IPv6"],
    ipFamilyPolicy: "PreferDualStack",
  };
  const one = { clusterIP: "10.0.0.1", clusterIPs: ["10.0.0.1"], ipFamilies: ["IPv4"] };
  assert.deepEqual(change(two, { ...one, ipFamilyPolicy: "SingleStack" }), []);
  assert.deepEqual(change(two, { ...one, ipFamilyPolicy: "PreferDualStack" }), [
    "spec.ipFamilyPolicy: Invalid value: \"PreferDualStack\": must be set to 'SingleStack' when releasing the secondary clusterIP",
    "spec.ipFamilyPolicy: Invalid value: \"PreferDualStack\": must be set to 'SingleStack' when releasing the secondary ipFamily",
  ]);
});

test("R29: a family that is none is told alone, not what it makes of the address", () => {
  const given = { clusterIP: "10.0.0.1", clusterIPs: ["10.0.0.1"], ipFamilies: ["IPv4"] };
  assert.deepEqual(change(given, { ...given, ipFamilies: [""] }), [
    'spec.ipFamilies[0]: Unsupported value: "": supported values: "IPv4", "IPv6"',
  ]);
});

test("a load balancer keeps its class", () => {
  const balanced = (loadBalancerClass: string) => ({ type: "LoadBalancer", loadBalancerClass });
  assert.deepEqual(change(balanced("a.b/c"), balanced("a.b/d")), [
    'spec.loadBalancerClass: Invalid value: "a.b/d": may not change once set',
  ]);
});

test("the status of a service names addresses", () => {
  const balanced = service({ type: "LoadBalancer" });
  const status = (ingress: object, of = balanced) => ({
    ...of,
    status: { loadBalancer: { ingress: [ingress] } },
  });
  const found = (ingress: object, of = balanced) =>
    changeProblems("v1/services", of, status(ingress, of), "status");
  // R29: others have none.
  assert.deepEqual(found({ ip: "192.0.2.1" }, service()), [
    "status.loadBalancer.ingress: Forbidden: may only be used when `spec.type` is 'LoadBalancer'",
  ]);
  assert.deepEqual(found({ ip: "192.0.2.1" }), []);
  assert.deepEqual(found({ hostname: "192.0.2.1" }), [
    'status.loadBalancer.ingress[0].hostname: Invalid value: "192.0.2.1": must be a DNS name, not an IP address',
  ]);
});

test("R29: annotations of a service that older clients write, in pairs", () => {
  const key = "service.beta.kubernetes.io/load-balancer-source-ranges";
  const at = `metadata.annotations[${key}]`;
  const of = (type: string, annotations: Record<string, string>) => ({
    ...service({ type }),
    metadata: { annotations },
  });
  const ranges = (text: string, type = "LoadBalancer") => of(type, { [key]: text });
  const newer = "service.kubernetes.io/topology-mode";
  const older = "service.kubernetes.io/topology-aware-hints";
  checkProblems("v1/services", [
    [ranges("192.0.2.0/24, 198.51.100.0/24")],
    [ranges(" ")],
    [
      ranges("192.0.2.1/24"),
      `${at}: Invalid value: "192.0.2.1/24": must not have bits set beyond the prefix length`,
    ],
    [
      ranges("192.0.2.0/24", "ClusterIP"),
      `${at}: Forbidden: may only be used when \`type\` is 'LoadBalancer'`,
    ],
    [of("ClusterIP", { [newer]: "Auto", [older]: "Auto" })],
    [
      of("ClusterIP", { [newer]: "Auto", [older]: "auto" }),
      `metadata.annotations[${newer}]: Invalid value: "Auto": must match annotations[${older}] when both are specified`,
    ],
  ]);
  assert.deepEqual(changeProblems("v1/services", ranges("x"), ranges("x")), []);
});

test("39.3: the ranges and addresses of a Service are looked at in steps, and what is wrong is found", () => {
  const ranges = Array.from({ length: 20 * STRETCH }, (_, at) => `fd00::${at + 1}/128`);
  const addresses = Array.from({ length: 10 * STRETCH }, (_, at) => `10.1.${at >> 8}.${at & 255}`);
  const spec = {
    type: "LoadBalancer",
    ports: [],
    loadBalancerSourceRanges: [...ranges, "fd00::1/64"],
    externalIPs: [...addresses, "127.0.0.1"],
  };
  const next = {
    apiVersion: "v1",
    kind: "Service",
    metadata: {},
    spec,
  } as unknown as ServiceObject;
  const long = new LongWork();
  const naming = createNaming("kubernetes");
  const fields = (errors: readonly { readonly field: string }[]) =>
    errors.map(({ field }) => field);
  const found = serviceRules.object?.(next, { naming, long } as never, undefined) ?? [];
  const isOfLists = (field: string) => /Ranges|externalIPs/.test(field);
  assert.deepEqual(fields(found).filter(isOfLists), []);
  const steps = long.finish();
  let taken = 0;
  let step = steps.next();
  for (; step.done !== true; step = steps.next()) taken++;
  assert.ok(taken >= 30, `${taken} steps`);
  assert.deepEqual(fields(step.value), [
    `spec.externalIPs[${addresses.length}]`,
    `spec.LoadBalancerSourceRanges[${ranges.length}]`,
  ]);
});

test("39.3: the addresses of large Endpoints, slices and policies are looked at in steps", () => {
  const addresses = Array.from({ length: 500 }, (_, at) => `2001:db8::${at + 1}`);
  const subsets = [{ addresses: [...addresses, "::1"].map((ip) => ({ ip })) }];
  const except = [...addresses, "2001:db9::1"].map((address) => `${address}/128`);
  const endpoints = [...addresses, "::1"].map((address) => ({ addresses: [address] }));
  const cases = [
    ["v1/endpoints", { subsets }, "subsets[0].addresses[500].ip"],
    [
      "discovery.k8s.io/v1/endpointslices",
      { addressType: "IPv6", endpoints },
      "endpoints[500].addresses[0]",
    ],
    [
      "networking.k8s.io/v1/networkpolicies",
      { spec: { ingress: [{ from: [{ ipBlock: { cidr: "2001:db8::/32", except } }] }] } },
      "spec.ingress[0].from[0].ipBlock.except[500]",
    ],
  ] as const;
  for (const [name, content, field] of cases) {
    const long = new LongWork();
    const next = { apiVersion: "", kind: "", metadata: {}, ...content } as unknown as ServiceObject;
    const context = { naming: createNaming("kubernetes"), long } as never;
    assert.deepEqual([...(resourceOf(name).strategy.validate?.(next, context) ?? [])], []);
    const steps = long.finish();
    let taken = 0;
    let step = steps.next();
    for (; step.done !== true; step = steps.next()) taken++;
    assert.ok(taken >= 5, `${name}: ${taken} steps`);
    assert.deepEqual(
      step.value.map((found) => found.field),
      [field],
    );
  }
});
