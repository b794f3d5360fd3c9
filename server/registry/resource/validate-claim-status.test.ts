/** Rules for the status of a claim of devices (A19). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { changeProblems } from "../testing/problems.js";

const REQUEST = { name: "r", exactly: { deviceClassName: "c.x" } };
const NO_REQUEST =
  "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";

test("A19: the status of a claim: consumers, allocation, and what drivers report", () => {
  const before = { spec: { devices: { requests: [REQUEST] } } };
  const result = { request: "r", driver: "d.x", pool: "p", device: "dev" };
  const allocation = (parts: object = {}) => ({ devices: { results: [{ ...result, ...parts }] } });
  const consumer = (i: number) => ({ resource: "pods", name: `p${i}`, uid: `u${i}` });
  const status = (next: object, was?: object) =>
    changeProblems(
      "resource.k8s.io/v1/resourceclaims",
      { ...before, ...(was && { status: was }) },
      { ...before, status: next },
      "status",
    );
  const entry = { driver: "d.x", pool: "p", device: "dev" };
  const identity = '{"Driver":"d.x","Pool":"p","Device":"dev","ShareID":""}';
  const rows: readonly [object, object | undefined, ...string[]][] = [
    [{ allocation: allocation(), reservedFor: [consumer(1)], devices: [entry] }, undefined],
    [
      { reservedFor: [consumer(1)] },
      undefined,
      "status.reservedFor: Forbidden: may not be specified when `allocated` is not set",
    ],
    [
      { allocation: allocation(), reservedFor: Array.from({ length: 257 }, (_, i) => consumer(i)) },
      undefined,
      "status.reservedFor: Too many: 257: must have at most 256 items",
    ],
    [
      { allocation: allocation(), reservedFor: [{ resource: "", name: "", uid: "" }] },
      undefined,
      "status.reservedFor[0].resource: Required value",
      "status.reservedFor[0].name: Required value",
      "status.reservedFor[0].uid: Required value",
    ],
    [
      { allocation: allocation({ request: "x" }) },
      undefined,
      `status.allocation.devices.results[0].request: Invalid value: "x": ${NO_REQUEST}`,
    ],
    [
      { allocation: allocation({ driver: "", pool: "", shareID: "1" }) },
      undefined,
      "status.allocation.devices.results[0].driver: Required value",
      "status.allocation.devices.results[0].pool: Required value",
      'status.allocation.devices.results[0].shareID: Invalid value: "1": error validating uid: invalid UUID length: 1',
    ],
    [
      { allocation: { devices: { config: [{ source: "Air", requests: ["r"] }] } } },
      undefined,
      'status.allocation.devices.config[0].source: Unsupported value: "Air": supported values: "FromClaim", "FromClass"',
      "status.allocation.devices.config[0].opaque: Required value",
    ],
    [
      { devices: [entry] },
      undefined,
      `status.devices[0]: Invalid value: ${identity}: must be an allocated device in the claim`,
    ],
    [
      { allocation: allocation(), devices: [entry, entry] },
      undefined,
      `status.devices[1]: Duplicate value: ${identity}`,
    ],
    [
      { allocation: allocation(), devices: [{ ...entry, data: [1], conditions: [{ type: "T" }] }] },
      undefined,
      'status.devices[0].conditions[0].status: Unsupported value: "": supported values: "False", "True", "Unknown"',
      "status.devices[0].conditions[0].lastTransitionTime: Required value",
      "status.devices[0].conditions[0].reason: Required value",
      'status.devices[0].data: Invalid value: "<value omitted>": must be a valid JSON object',
    ],
    [
      {
        allocation: allocation(),
        devices: [{ ...entry, networkData: { ips: ["10.0.0.1", "::ffff:10.0.0.1/120"] } }],
      },
      undefined,
      'status.devices[0].networkData.ips[0]: Invalid value: "10.0.0.1": must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)',
      'status.devices[0].networkData.ips[1]: Invalid value: "::ffff:10.0.0.1/120": must be in canonical form ("10.0.0.1/24")',
    ],
    [{ allocation: allocation(), reservedFor: [consumer(1)] }, { allocation: allocation() }],
    [{}, { allocation: allocation() }],
  ];
  for (const [next, was, ...expected] of rows) {
    assert.deepEqual(status(next, was), expected, JSON.stringify(next).slice(0, 300));
  }
  const [moved = ""] = status(
    { allocation: allocation({ device: "other" }) },
    { allocation: allocation() },
  );
  assert.match(moved, /^status.allocation: Invalid value: \{.*\}: field is immutable$/);
});
