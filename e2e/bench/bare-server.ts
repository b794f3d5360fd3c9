/**
 * The least that an HTTPS server in Node can do, by which costs are divided so that they hold on
 * machines of any speed: fixed bytes from memory. Run as a process of its own by `bare.ts`; takes
 * key and certificate as PEM from its environment, prints its port.
 *
 *   /get one object, /list all of them, /watch a stream that gets an event for every request to /emit
 */
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { configMap } from "../promises/raw-client.js";

const [size = "1024", count = "10000"] = process.argv.slice(2);
/** As long as objects are that come with what the server adds. */
const ADDED_BYTES = 400;

const objects = Array.from({ length: Number(count) }, (_, index) =>
  configMap(`item-${String(index).padStart(6, "0")}`, Number(size) + ADDED_BYTES),
);
const list = `{"kind":"List","apiVersion":"v1","metadata":{},"items":[${objects.join(",")}]}`;
const bodies = new Map([
  ["/get", Buffer.from(objects[0] ?? "")],
  ["/list", Buffer.from(list)],
  ["/emit", Buffer.from("{}")],
]);
const event = Buffer.from(`{"type":"MODIFIED","object":${objects[0]}}\n`);
const watchers = new Set<() => void>();
const type = { "Content-Type": "application/json" };

const { KEY: key = "", CERT: cert = "" } = process.env;
const server = createServer({ key, cert }, (request, response) => {
  const path = request.url ?? "";
  if (path === "/watch") {
    response.writeHead(200, type).flushHeaders();
    const write = () => response.write(event);
    watchers.add(write);
    response.on("close", () => watchers.delete(write));
    return;
  }
  if (path === "/emit") for (const write of watchers) write();
  const body = bodies.get(path) ?? Buffer.alloc(0);
  response.writeHead(200, { ...type, "Content-Length": body.length }).end(body);
});
server.keepAliveTimeout = 0;
server.listen(0, "127.0.0.1", () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
});
// Ends with the process that started it.
process.stdin.on("end", () => process.exit()).resume();
