/** A server that listens on "::", as the chart lets it for IPv6 and dual stack, is reached over each family that the machine has. */
import assert from "node:assert/strict";
import { networkInterfaces } from "node:os";
import { test } from "node:test";
import { eventually } from "./harness/eventually.js";
import { HttpsClient } from "./harness/https-client.js";
import { startServer } from "./harness/server-process.js";

const SERVICE = "/api/v1/namespaces/default/services/kubernetes";
const BOTH = ["--bind-address=::", "--service-cluster-ip-range=fd00:1::/108,10.0.0.0/24"];

test("P13: IPv6 and IPv4 lead to a server on ::, whose certificate is for both, and Services get addresses of both", async () => {
  await using server = await startServer({ flags: [...BOTH, "--advertise-address=fd00::7"] });
  await eventually("the API has its own Service", async () => {
    return (await server.client.get(SERVICE)).status === 200;
  });
  const addresses = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
  const hasIpv6 = addresses.some(({ address }) => address === "::1");
  for (const host of ["127.0.0.1", ...(hasIpv6 ? ["[::1]"] : [])]) {
    const client = new HttpsClient(`https://${host}:${server.port}`, server.credentials);
    const { spec } = (await client.get(SERVICE)).expect(200, host).object as {
      spec?: { clusterIPs: string[] };
    };
    assert.deepEqual(spec?.clusterIPs, ["fd00:1::1"]);
    client.close();
  }
  const spec = { ipFamilyPolicy: "RequireDualStack", ports: [{ port: 80 }] };
  const path = "/api/v1/namespaces/default/services";
  const made = (await server.client.post(path, { metadata: { name: "both" }, spec })).expect(201);
  const { ipFamilies } = made.object.spec as { ipFamilies: string[] };
  assert.deepEqual(ipFamilies, ["IPv6", "IPv4"]);
});
