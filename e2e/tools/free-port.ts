/**
 * Ports for the programs beside tests. Test files run at the same time, each in a process of its own,
 * and a program listens a moment after its port was chosen: so a port is kept for the process that
 * was given it. Who keeps a port holds its UDP twin, which the programs do not use and which the
 * kernel gives to one process at a time and takes back when that process ends.
 */
import { createSocket } from "node:dgram";
import { createServer } from "node:net";

/** Below the range from which kernels give ports to outgoing connections. */
const FIRST = 15_000;
const COUNT = 17_000;

/**
 * A port that nobody listens on now, and that no other call here is given while this process lives:
 * also a program that is down for a while finds its port free again.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * COUNT);
    if ((await isKept(port)) && (await isFree(port))) return port;
  }
}

function isKept(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const twin = createSocket("udp4");
    twin.once("error", () => resolve(false));
    twin.bind(port, "127.0.0.1", () => {
      twin.unref();
      resolve(true);
    });
  });
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
