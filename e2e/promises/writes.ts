/** What one write of each kind costs the server, with objects of 1 and 8 KiB. */
import { startServer } from "../harness/server-process.js";
import { startMeter } from "./gauge.js";
import { printRow } from "./print.js";
import { CONFIG_MAPS, configMap, exchange, openSocket, requestBytes } from "./raw-client.js";

const COUNT = 2_000;
const CONNECTIONS = 16;
/** Objects that updates, patches and applies go round. */
const TARGETS = 200;
const MERGE_PATCH = "application/merge-patch+json";
const APPLY = "application/apply-patch+yaml";

type Server = Awaited<ReturnType<typeof startServer>>;
type RequestOf = (index: number) => Buffer;

export async function measureWrites(etcdEndpoints?: readonly string[]): Promise<void> {
  await using server = await startServer({
    ...(etcdEndpoints === undefined ? {} : { etcdEndpoints }),
    flags: ["--run-controllers=false"],
  });
  for (const bytes of [1024, 8 * 1024]) {
    const size = `${bytes / 1024} KiB`;
    const name = (index: number) => `w${bytes}-${String(index).padStart(6, "0")}`;
    const path = (index: number) => `${CONFIG_MAPS}/${name(index % TARGETS)}`;
    const body = (index: number, count: number) =>
      configMap(name(index % TARGETS), bytes, { count: String(count) });
    const json = "application/json";
    const kinds: readonly (readonly [string, RequestOf])[] = [
      ["create", (i) => requestBytes("POST", CONFIG_MAPS, json, configMap(name(i), bytes))],
      ["update", (i) => requestBytes("PUT", path(i), json, body(i, i))],
      [
        "merge patch",
        (i) => requestBytes("PATCH", path(i), MERGE_PATCH, `{"data":{"count":"p${i}"}}`),
      ],
      [
        "apply that changes a field",
        (i) => requestBytes("PATCH", `${path(i)}?fieldManager=a&force=true`, APPLY, body(i, -i)),
      ],
      [
        "apply that changes nothing",
        (i) =>
          requestBytes(
            "PATCH",
            `${path(i)}?fieldManager=b&force=true`,
            APPLY,
            body(i, i % TARGETS),
          ),
      ],
    ];
    // The last kind finds what it would write: everything was applied once before.
    await run(server, TARGETS, kinds[0]?.[1] as RequestOf);
    for (const [what, requestOf] of kinds) {
      const isCreate = what === "create";
      await run(server, isCreate ? 0 : TARGETS, requestOf);
      const meter = await startMeter(server.pid);
      await run(server, COUNT, (index) => requestOf(isCreate ? TARGETS + index : index));
      const { cpuMs, elapsedMs } = await meter();
      printRow(`${what}, ${size}: server CPU`, (cpuMs * 1000) / COUNT, "µs");
      printRow("  rate", (COUNT / elapsedMs) * 1000, "/s");
    }
  }
}

async function run(server: Server, count: number, requestOf: RequestOf): Promise<void> {
  let next = 0;
  const worker = async () => {
    const socket = await openSocket(server);
    while (next < count) {
      const answer = await exchange(socket, requestOf(next++));
      const status = answer.toString("latin1", 9, 12);
      if (!status.startsWith("2")) throw new Error(answer.toString().slice(0, 500));
    }
    socket.destroy();
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, worker));
}
