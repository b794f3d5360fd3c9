/**
 * A real Redis process for tests: one server on a free port of the loopback interface, in memory.
 */
import { createConnection } from "node:net";
import { Child } from "./child.js";
import { requireTool } from "./find-tool.js";
import { freePort } from "./free-port.js";

export interface RedisProcess extends AsyncDisposable {
  /** "redis://127.0.0.1:6379". Stays the same over restarts. */
  readonly url: string;
  /** Of the process that runs now; changes with a restart. */
  readonly pid: number;
  stop(): Promise<void>;
  /** Ends the process at once (SIGKILL); what it held is gone. */
  kill(): Promise<void>;
  /** Stops the process from running (SIGSTOP): its sockets stay open and nobody answers. */
  pause(): void;
  resume(): void;
  /** Starts it again, empty, on the same port and waits until it answers. */
  restart(): Promise<void>;
}

/** Starts a Redis and waits until it answers. @throws {Error} no Redis, or it does not start */
export async function startRedis(args: readonly string[] = []): Promise<RedisProcess> {
  const path = await requireTool("redis-server");
  const port = await freePort();
  const start = async () => {
    const started = new Child(path, [
      ...["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"],
      ...args,
    ]);
    await started.waitUntilReady(() => answersPing(port));
    return started;
  };
  let child = await start();
  const stop = () => child.end("SIGTERM");
  return {
    url: `redis://127.0.0.1:${port}`,
    get pid() {
      return child.pid;
    },
    stop,
    kill: () => child.end("SIGKILL"),
    pause: () => child.signal("SIGSTOP"),
    resume: () => child.signal("SIGCONT"),
    restart: async () => {
      await child.end("SIGKILL");
      child = await start();
    },
    [Symbol.asyncDispose]: stop,
  };
}

/** Whether something that speaks Redis answers; one that asks for a password is ready, too. */
function answersPing(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(port, "127.0.0.1");
    socket.setTimeout(1_000, () => socket.destroy());
    socket.once("connect", () => socket.write("PING\r\n"));
    socket.once("data", (answer) => {
      resolve(/^(\+PONG|-NOAUTH)/.test(answer.toString()));
      socket.destroy();
    });
    socket.once("error", () => resolve(false));
    socket.once("close", () => resolve(false));
  });
}
