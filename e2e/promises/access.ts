/**
 * What authentication and authorization add to a request: consistent gets as the administrator, for
 * whom nothing is looked up, and as a service account whose token is verified and whose permission
 * is found among 10,000 role bindings.
 */
import { bindingOf } from "../harness/grant.js";
import { type ServerProcess, startServer } from "../harness/server-process.js";
import { startEtcd } from "../tools/etcd.js";
import { startMeter } from "./gauge.js";
import { printRow } from "./print.js";
import { CONFIG_MAPS, exchange, fill, openSocket } from "./raw-client.js";

const BINDINGS = 10_000;
const GETS = 20_000;
const CONNECTIONS = 64;
const RBAC = "/apis/rbac.authorization.k8s.io/v1";

export async function measureAccess(): Promise<void> {
  await using etcd = await startEtcd();
  await using server = await startServer({ etcdEndpoints: [etcd.endpoint] });
  const { client } = server;
  await fill(server, { to: 100 });
  const create = async (path: string, object: object) => {
    (await client.post(path, object)).expect(201);
  };
  await create(`${RBAC}/clusterroles`, {
    metadata: { name: "reads-maps" },
    rules: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get"] }],
  });
  await create("/api/v1/namespaces/default/serviceaccounts", { metadata: { name: "reader" } });
  const role = "ClusterRole reads-maps";
  for (let index = 0; index < BINDINGS; index += 50) {
    const some = Array.from({ length: 50 }, (_, at) =>
      create(
        `${RBAC}/namespaces/default/rolebindings`,
        bindingOf(`b${index + at}`, role, `User user-${index + at}`),
      ),
    );
    await Promise.all(some);
  }
  const binding = bindingOf("reader", role, "ServiceAccount default/reader");
  await create(`${RBAC}/namespaces/default/rolebindings`, binding);
  const answer = await client.post("/api/v1/namespaces/default/serviceaccounts/reader/token", {
    spec: { expirationSeconds: 3600 },
  });
  const { token } = answer.expect(201).object.status as { token: string };
  const bearer = `Authorization: Bearer ${token}\r\n`;
  const cases = [
    ["administrator's certificate", server, ""],
    [`service account, ${BINDINGS} bindings`, withoutCertificate(server), bearer],
  ] as const;
  for (const query of ["", "?resourceVersion=0"]) {
    for (const [who, as, header] of cases) {
      await gets(as, query, header, 2_000);
      const meter = await startMeter(server.pid);
      await gets(as, query, header, GETS);
      const { cpuMs, elapsedMs } = await meter();
      printRow(`get${query} as ${who}: server CPU`, (cpuMs * 1000) / GETS, "µs");
      printRow("  rate", (GETS / elapsedMs) * 1000, "/s");
    }
  }
}

function withoutCertificate(server: ServerProcess): ServerProcess {
  return Object.create(server, {
    port: { value: server.port },
    credentials: { value: { ca: server.credentials.ca } },
  }) as ServerProcess;
}

async function gets(
  server: ServerProcess,
  query: string,
  header: string,
  count: number,
): Promise<void> {
  let next = 0;
  const worker = async () => {
    const socket = await openSocket(server);
    while (next < count) {
      const name = `item-${String(next++ % 100).padStart(6, "0")}`;
      const request = `GET ${CONFIG_MAPS}/${name}${query} HTTP/1.1\r\nHost: localhost\r\n${header}\r\n`;
      const answer = await exchange(socket, Buffer.from(request));
      if (answer.toString("latin1", 9, 12) !== "200") throw new Error(answer.toString());
    }
    socket.destroy();
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, worker));
}
