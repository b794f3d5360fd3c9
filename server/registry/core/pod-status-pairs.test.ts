/**
 * Rules of a pod's status in pairs: a status that breaks only the rule, with what is said, and one that just keeps it.
 * The answers are those of release 1.36 to the same objects.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { changeProblems } from "../testing/problems.js";

type Parts = Record<string, unknown>;

const main = { name: "main", image: "example.test/image:1", resources: { requests: { cpu: "1" } } };
const spec = { containers: [main], resourceClaims: [{ name: "c", resourceClaimName: "claim" }] };
const problems = (status: Parts) => changeProblems("v1/pods", { spec }, { spec, status }, "status");

function judge(kept: Parts, broken: Parts, ...said: readonly string[]): void {
  assert.deepEqual(problems(kept), [], JSON.stringify(kept));
  assert.deepEqual(problems(broken), said, JSON.stringify(broken));
}

test("R21: a pod and its node have one address of each family", () => {
  const two = (list: string, ...ips: string[]) => ({
    [list.slice(0, -1)]: ips[0],
    [list]: ips.map((ip) => ({ ip })),
  });
  for (const list of ["podIPs", "hostIPs"]) {
    judge(
      two(list, "192.0.2.1", "2001:db8::1"),
      two(list, "192.0.2.1", "192.0.2.2"),
      `status.${list}: Invalid value: [{"IP":"192.0.2.1"},{"IP":"192.0.2.2"}]: may specify no more than one IP for each IP family`,
    );
  }
});

test("R21: what is counted is not negative, and users are numbers of users", () => {
  judge(
    { observedGeneration: 0 },
    { observedGeneration: -1 },
    "status.observedGeneration: Invalid value: -1: must be a non-negative integer",
  );
  const ran = (uid: number) => ({
    containerStatuses: [{ name: "main", user: { linux: { uid, gid: 0 } } }],
  });
  judge(
    ran(0),
    ran(-1),
    "status.containerStatuses[0].user.linux.uid: Invalid value: -1: must be between 0 and 2147483647, inclusive",
  );
});

test("R21: claims of a status are the pod's", () => {
  const claimed = (name: string) => ({ resourceClaimStatuses: [{ name }] });
  judge(
    claimed("c"),
    claimed("d"),
    'status.resourceClaimStatuses[0].name: Invalid value: "d": must match the name of an entry in `spec.resourceClaims`',
  );
  const mapped = (containerName: string) => ({
    extendedResourceClaimStatus: {
      resourceClaimName: "x",
      requestMappings: [{ containerName, resourceName: "cpu", requestName: "r" }],
    },
  });
  judge(
    mapped("main"),
    mapped("other"),
    'status.extendedResourceClaimStatus.requestMappings[0].containerName: Invalid value: "other": must match the name of an entry in spec.initContainers.name or spec.containers.name',
  );
});

test("R21: devices have a known health, and none is an ephemeral container's", () => {
  const given = (health: string) => [{ name: "cpu", resources: [{ resourceID: "1", health }] }];
  const at = "status.containerStatuses[0].allocatedResourcesStatus[0]";
  judge(
    { containerStatuses: [{ name: "main", allocatedResourcesStatus: given("Healthy") }] },
    { containerStatuses: [{ name: "main", allocatedResourcesStatus: given("Ill") }] },
    `${at}.resources[0].health: Unsupported value: "Ill": supported values: "Healthy", "Unhealthy", "Unknown"`,
  );
  judge(
    { ephemeralContainerStatuses: [{ name: "e" }] },
    { ephemeralContainerStatuses: [{ name: "e", allocatedResourcesStatus: given("Healthy") }] },
    "status.ephemeralContainerStatuses[0].allocatedResourcesStatus: Forbidden: must not be specified in container status",
  );
});

test("R21: a pod that runs on a node is nominated for no other", () => {
  const after = (nodeName: string | undefined, nominatedNodeName: string) => {
    const bound = { ...spec, ...(nodeName !== undefined && { nodeName }) };
    const status = { nominatedNodeName };
    return changeProblems("v1/pods", { spec: bound }, { spec: bound, status }, "status");
  };
  assert.deepEqual(after(undefined, "n2"), []);
  assert.deepEqual(after("n1", ""), []);
  assert.deepEqual(after("n1", "n2"), [
    "status.nominatedNodeName: Forbidden: may not be set on pods that are already bound to a node",
  ]);
});
