/**
 * What one list costs in every form and encoding: the first time, when nothing of the form was made
 * before, and again. One collection of ConfigMaps of 1 KiB that came with managedFields, one client
 * that reads as fast as it can.
 */
import { type ServerProcess, startServer } from "../harness/server-process.js";
import { residentMiB, startMeter } from "./gauge.js";
import { CONFIG_MAPS, fill, openSocket } from "./raw-client.js";

const OBJECTS = 10_000;
/** Repetitions behind the first list; the figure is their mean. */
const REPETITIONS = 5;
/** How often memory is looked at while a list is on its way. */
const SAMPLE_MS = 10;

const JSON_TYPE = "application/json";
const META = "g=meta.k8s.io;v=v1";

interface Form {
  readonly name: string;
  readonly accept: string;
  readonly coding?: string;
  readonly query?: string;
}

const FORMS: readonly Form[] = [
  { name: "JSON", accept: JSON_TYPE },
  { name: "Table", accept: `${JSON_TYPE};as=Table;${META}` },
  { name: "metadata only", accept: `${JSON_TYPE};as=PartialObjectMetadataList;${META}` },
  { name: "Protobuf", accept: "application/vnd.kubernetes.protobuf" },
  { name: "CBOR", accept: "application/cbor" },
  { name: "YAML", accept: "application/yaml" },
  { name: "JSON, gzip", accept: JSON_TYPE, coding: "gzip" },
  { name: "JSON, indented", accept: JSON_TYPE, query: "?pretty=true" },
];

/** One row: what it was, how large, how long, server CPU, and memory before and at most. */
export type PrintRow = (cells: readonly (number | string)[]) => void;

export async function measureForms(print: PrintRow): Promise<void> {
  await using server = await startServer({
    flags: ["--feature-gates=CBORServingAndStorage=true"],
  });
  await fill(server, { to: OBJECTS });
  print(["form", "", "MiB", "ms", "CPU ms", "MiB resident before", "at most"]);
  for (const form of FORMS) {
    const first = await listOnce(server, form);
    print([form.name, "first", ...cellsOf(first)]);
    const more: Cost[] = [];
    for (let i = 0; i < REPETITIONS; i++) more.push(await listOnce(server, form));
    const mean = (of: (cost: Cost) => number) =>
      more.reduce((sum, cost) => sum + of(cost), 0) / more.length;
    const again: Cost = {
      bytes: first.bytes,
      elapsedMs: mean(({ elapsedMs }) => elapsedMs),
      cpuMs: mean(({ cpuMs }) => cpuMs),
      before: mean(({ before }) => before),
      peak: Math.max(...more.map(({ peak }) => peak)),
    };
    print([form.name, "again", ...cellsOf(again)]);
  }
}

interface Cost {
  readonly bytes: number;
  readonly elapsedMs: number;
  readonly cpuMs: number;
  /** Resident memory of the server in MiB. */
  readonly before: number;
  readonly peak: number;
}

function cellsOf({ bytes, elapsedMs, cpuMs, before, peak }: Cost): number[] {
  return [bytes / 2 ** 20, elapsedMs, cpuMs, before, peak];
}

async function listOnce(server: ServerProcess, form: Form): Promise<Cost> {
  const { accept, coding = "identity", query = "" } = form;
  const socket = await openSocket(server);
  const before = await residentMiB(server.pid);
  const meter = await startMeter(server.pid);
  socket.write(
    `GET ${CONFIG_MAPS}${query} HTTP/1.1\r\nHost: localhost\r\nAccept: ${accept}\r\n` +
      `Accept-Encoding: ${coding}\r\nConnection: close\r\n\r\n`,
  );
  let peak = before;
  const sampler = setInterval(async () => {
    peak = Math.max(peak, await residentMiB(server.pid));
  }, SAMPLE_MS);
  let bytes = 0;
  let status = "";
  try {
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      if (bytes === 0) status = chunk.toString("latin1", 0, chunk.indexOf("\r\n"));
      bytes += chunk.length;
    }
  } finally {
    clearInterval(sampler);
  }
  if (!status.includes(" 200 ")) throw new Error(`${form.name}: ${status}`);
  const { elapsedMs, cpuMs } = await meter();
  return { bytes, elapsedMs, cpuMs, before, peak };
}
