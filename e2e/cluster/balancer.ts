/**
 * HAProxy before the replicas of a harness: deploy/haproxy.cfg, as people run it, with the ports of this
 * machine put in.
 */
import { readFile } from "node:fs/promises";
import { createConnection } from "node:net";
import { join } from "node:path";
import { eventually } from "../harness/eventually.js";
import { makeTempDir } from "../harness/temp-dir.js";
import { Child } from "../tools/child.js";
import { repositoryRoot, requireTool } from "../tools/find-tool.js";
import { freePort } from "../tools/free-port.js";

/**
 * After so long it has noticed that a replica is not ready, however busy both are: two checks, a second apart, each with a second to connect
 * and one for the answer. A replica that ends has to serve on for that long.
 */
export const NOTICED_SECONDS = 6;

export interface BalancedServer {
  readonly connections: number;
  /** Whether it gets new ones. */
  readonly isUp: boolean;
}

export interface Balancer extends AsyncDisposable {
  readonly url: string;
  /** The replicas as the balancer sees them. */
  servers(): Promise<BalancedServer[]>;
  /** Resolves when it sends connections to a replica. */
  noticed(index: number): Promise<void>;
  /** Connections open now, by replica, as the balancer counts them. */
  connections(): Promise<number[]>;
  /** Ends it at once and starts it again on the same port: all connections break. */
  restart(): Promise<void>;
}

/** @param ports of this machine's 127.0.0.1, or "address:port" */
export async function startBalancer(ports: readonly (number | string)[]): Promise<Balancer> {
  const path = await requireTool("haproxy");
  const folder = await makeTempDir("haproxy");
  const port = await freePort();
  const socket = join(folder.path, "admin.sock");
  const text = await readFile(join(repositoryRoot(), "deploy", "haproxy.cfg"), "utf8");
  const file = await folder.write("haproxy.cfg", localConfig(text, { port, ports, socket }));
  const start = async () => {
    const child = new Child(path, ["-db", "-f", file]);
    await child.waitUntilReady(async () => (await ask(socket, "show info")).includes("Uptime"));
    return child;
  };
  let child = await start();
  const servers = async () => {
    const [head = "", ...lines] = (await ask(socket, "show stat")).split("\n");
    const columns = head.replace(/^# /, "").split(",");
    const rows = lines.map((line) => line.split(","));
    const at = (name: string) => columns.indexOf(name);
    return ports.map((_, index) => {
      const row = rows.find(
        (one) => one[at("pxname")] === "replicas" && one[at("svname")] === `r${index}`,
      );
      return {
        connections: Number(row?.[at("scur")] ?? 0),
        isUp: row?.[at("status")]?.startsWith("UP") === true,
      };
    });
  };
  return {
    url: `https://127.0.0.1:${port}`,
    servers,
    async noticed(index) {
      await eventually("the balancer sees a replica", async () => (await servers())[index]?.isUp);
    },
    connections: async () => (await servers()).map(({ connections }) => connections),
    async restart() {
      await child.end("SIGKILL");
      child = await start();
    },
    async [Symbol.asyncDispose]() {
      await child.end("SIGTERM");
      await folder[Symbol.asyncDispose]();
    },
  };
}

function localConfig(
  text: string,
  { port, ports, socket }: { port: number; ports: readonly (number | string)[]; socket: string },
): string {
  const servers = ports
    .map((one) => (typeof one === "number" ? `127.0.0.1:${one}` : one))
    .map((address, index) => `  server r${index} ${address}`)
    .join("\n");
  return (
    text
      .replace(/^global$/m, `global\n  stats socket ${socket} mode 600 level admin`)
      .replace(/bind :\d+/, `bind 127.0.0.1:${port}`)
      .replace(/timeout check \w+/, "timeout check 1s")
      // Each connection needs two descriptors, of which a test has few.
      .replace(/maxconn \d+/, "maxconn 1000")
      .replace(/(?: {2}server .*\n)+/, `${servers}\n`)
  );
}

function ask(path: string, command: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    const socket = createConnection(path, () => socket.write(`${command}\n`));
    socket.on("data", (chunk) => {
      text += String(chunk);
    });
    socket.once("end", () => resolve(text));
    socket.once("error", reject);
  });
}
