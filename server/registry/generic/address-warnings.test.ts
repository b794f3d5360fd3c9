/** Warnings about addresses in spellings that others may read otherwise, in each place that has any. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApiObject } from "../../api/meta.js";
import { createNaming } from "../../api/naming.js";
import { resourceOf } from "../testing/problems.js";
import { warnOfAddress, warnOfBlock } from "./address-warnings.js";
import { WarningList } from "./warning-list.js";

const naming = createNaming("kubernetes");
const told = (warn: typeof warnOfAddress, text: string): readonly string[] => {
  const warnings = new WarningList();
  warn(text, "f", warnings);
  return warnings.texts;
};
const nonStandard = (what: string, sent: string, use: string) =>
  `f: non-standard ${what} "${sent}" is invalid: use "${use}"`;
const canonical = (what: string, sent: string, use: string) =>
  `f: IPv6 ${what} "${sent}" should be in RFC 5952 canonical format ("${use}")`;

test("addresses: padded, mapped, and IPv6 that is written otherwise", () => {
  for (const [text, ...expected] of [
    ["1.2.3.4"],
    ["2001:db8::1"],
    ["hello"],
    ["1.2.3"],
    ["01.2.3.4", nonStandard("IP address", "01.2.3.4", "1.2.3.4")],
    ["::FFFF:1.2.3.4", nonStandard("IP address", "::FFFF:1.2.3.4", "1.2.3.4")],
    ["2001:DB8::1", canonical("address", "2001:DB8::1", "2001:db8::1")],
    ["2001:db8::1.2.3.4", canonical("address", "2001:db8::1.2.3.4", "2001:db8::102:304")],
  ] as const) {
    assert.deepEqual(told(warnOfAddress, text), expected, text);
  }
});

test("blocks: as addresses, and with bits behind the prefix", () => {
  const ambiguous = (sent: string, block: string, one: string) =>
    `f: CIDR value "${sent}" is ambiguous in this context (should be "${block}" or "${one}"?)`;
  for (const [text, ...expected] of [
    ["10.0.0.0/8"],
    ["2001:db8::/32"],
    [" 10.0.0.0/8 "],
    ["10.0.0.0/33"],
    ["2001:DB8::/32", canonical("CIDR value", "2001:DB8::/32", "2001:db8::/32")],
    ["010.0.0.0/8", nonStandard("CIDR value", "010.0.0.0/8", "10.0.0.0/8")],
    ["10.0.0.0/08", nonStandard("CIDR value", "10.0.0.0/08", "10.0.0.0/8")],
    ["::ffff:10.0.0.0/104", nonStandard("CIDR value", "::ffff:10.0.0.0/104", "10.0.0.0/8")],
    ["10.0.0.1/8", ambiguous("10.0.0.1/8", "10.0.0.0/8", "10.0.0.1/32")],
    ["2001:DB8::1/32", ambiguous("2001:DB8::1/32", "2001:db8::/32", "2001:db8::1/128")],
    [
      "010.0.0.1/8",
      ambiguous("010.0.0.1/8", "10.0.0.0/8", "10.0.0.1/32"),
      nonStandard("CIDR value", "010.0.0.1/8", "10.0.0.0/8"),
    ],
  ] as const) {
    assert.deepEqual(told(warnOfBlock, text), expected, text);
  }
});

const IP = "2001:DB8::1";
const BLOCK = "2001:DB8::/32";

/** Resource, members of an object, and the fields that are warned about. */
const PLACES: readonly (readonly [string, object, ...string[]])[] = [
  [
    "v1/endpoints",
    {
      subsets: [
        { addresses: [{ ip: "2001:db8::2" }] },
        { addresses: [{ ip: IP }], notReadyAddresses: [{ ip: IP }] },
      ],
    },
    "subsets[1].addresses[0].ip",
    "subsets[1].notReadyAddresses[0].ip",
  ],
  [
    "v1/endpoints",
    {
      metadata: { labels: { "endpoints.kubernetes.io/managed-by": "endpoint-controller" } },
      subsets: [{ addresses: [{ ip: IP }] }],
    },
  ],
  [
    "v1/services",
    {
      spec: {
        type: "LoadBalancer",
        clusterIP: IP,
        clusterIPs: [IP],
        externalIPs: ["1.2.3.4", IP],
        loadBalancerIP: IP,
        loadBalancerSourceRanges: [BLOCK],
      },
    },
    "spec.clusterIPs[0]",
    "spec.externalIPs[1]",
    "spec.externalIPs is deprecated and may no longer be implemented in some clusters",
    "spec.loadBalancerIP",
    "spec.loadBalancerSourceRanges[0]",
  ],
  ["v1/nodes", { spec: { podCIDRs: [BLOCK] } }, "spec.podCIDRs[0]"],
  [
    "networking.k8s.io/v1/networkpolicies",
    {
      spec: {
        ingress: [{ from: [{ podSelector: {} }, { ipBlock: { cidr: BLOCK, except: [BLOCK] } }] }],
        egress: [{}, { to: [{ ipBlock: { cidr: BLOCK } }] }],
      },
    },
    "spec.ingress[0].from[1].ipBlock.cidr",
    "spec.ingress[0].from[1].ipBlock.except[0]",
    "spec.egress[1].to[0].ipBlock.cidr",
  ],
];

test("objects are warned about in the fields that 1.36 warns about, in its order", () => {
  for (const [name, members, ...fields] of PLACES) {
    const object = { metadata: {}, ...members } as unknown as ApiObject;
    const warnings = resourceOf(name).strategy.warnings?.(object, undefined, { naming }) ?? [];
    const found = warnings.map((text) => text.replace(/: IPv6 .*/, ""));
    assert.deepEqual(found, fields, name);
  }
});

test("a status is warned about as well", () => {
  const loadBalancer = { ingress: [{ hostname: "a.example" }, { ip: IP }] };
  const balanced = ["status.loadBalancer.ingress[1]"];
  for (const [name, status, fields] of [
    ["v1/services", { loadBalancer }, balanced],
    ["networking.k8s.io/v1/ingresses", { loadBalancer }, balanced],
    [
      "v1/pods",
      { podIPs: [{ ip: IP }], hostIPs: [{ ip: IP }], podIP: IP },
      ["status.podIPs[0].ip", "status.hostIPs[0].ip"],
    ],
  ] as const) {
    const object = { metadata: {}, status } as unknown as ApiObject;
    const warnings = resourceOf(name).strategy.statusWarnings?.(object) ?? [];
    assert.deepEqual(
      warnings.map((text) => text.replace(/: IPv6 .*/, "")),
      fields,
      name,
    );
  }
});
