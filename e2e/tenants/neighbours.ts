/**
 * Who is measured beside the greedy tenant: three polite tenants, a scheduler that renews its lease (the
 * level of leader elections), and an administrator (exempt).
 */
import type { BenchRequest } from "../bench/connection.js";
import type { ServerProcess } from "../harness/server-process.js";
import { Polite, type Sample } from "./polite.js";
import { nameOf, patchOf, type Tenant } from "./tenant.js";

const LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
const LEASE = "kube-scheduler";
const PAGE = 50;
const PER_SECOND_OF_OTHERS = 10;

export interface NeighbourOptions {
  readonly server: ServerProcess;
  readonly tenants: readonly Tenant[];
  /** Requests a second of each polite tenant. */
  readonly perSecond: number;
  readonly onSample: (sample: Sample) => void;
}

export async function startNeighbours(options: NeighbourOptions): Promise<Polite[]> {
  const { server, tenants, perSecond, onSample } = options;
  const target = { port: server.port, credentials: { ca: server.credentials.ca } };
  const neighbours = [
    ...tenants.map((tenant) => {
      return new Polite({
        who: tenant.name,
        target,
        perSecond,
        onSample,
        requestOf: mixOf(tenant),
      });
    }),
    await leaseHolder(options),
    administrator(options),
  ];
  await Promise.all(neighbours.map((neighbour) => neighbour.start()));
  return neighbours;
}

/** Of ten requests six gets, two pages of 50 objects, and two patches. */
function mixOf(tenant: Tenant) {
  const headers = { Accept: "application/json", Authorization: `Bearer ${tenant.token}` };
  return (index: number): readonly [string, BenchRequest] => {
    const at = (index * 37) % tenant.objects;
    const turn = index % 5;
    if (turn === 3) return ["patch", patchOf(tenant, at)];
    if (turn === 0) {
      return ["list", { method: "GET", path: `${tenant.path}?limit=${PAGE}`, headers }];
    }
    return ["get", { method: "GET", path: `${tenant.path}/${nameOf(at)}`, headers }];
  };
}

async function leaseHolder({ server, onSample }: NeighbourOptions): Promise<Polite> {
  const spec = { holderIdentity: "one", leaseDurationSeconds: 15 };
  const made = await server.client.post(LEASES, { metadata: { name: LEASE }, spec });
  let { resourceVersion } = made.expect(201).object.metadata;
  const headers = {
    "Impersonate-User": "system:kube-scheduler",
    "Content-Type": "application/json",
  };
  return new Polite({
    who: "leases",
    target: server,
    perSecond: PER_SECOND_OF_OTHERS,
    onSample,
    onAnswer(body) {
      const version = /"resourceVersion":"(\d+)"/.exec(body.toString())?.[1];
      if (version !== undefined) resourceVersion = version;
    },
    requestOf() {
      const renewTime = `${new Date().toISOString().slice(0, -1)}000Z`;
      const metadata = { name: LEASE, resourceVersion };
      const body = JSON.stringify({ metadata, spec: { ...spec, renewTime } });
      return ["renew", { method: "PUT", path: `${LEASES}/${LEASE}`, headers, body }];
    },
  });
}

function administrator({ server, tenants, onSample }: NeighbourOptions): Polite {
  const [first] = tenants;
  const object = { method: "GET", path: `${first?.path}/${nameOf(0)}` };
  return new Polite({
    who: "exempt",
    target: server,
    perSecond: PER_SECOND_OF_OTHERS,
    onSample,
    requestOf: (index) =>
      index % 2 === 0 ? ["probe", { method: "GET", path: "/readyz" }] : ["get", object],
  });
}
