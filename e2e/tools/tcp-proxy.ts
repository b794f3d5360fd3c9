/**
 * A TCP proxy for tests of network faults: it forwards bytes both ways, answers late where that is
 * asked for, until it is told to lose the answers or to cut all connections.
 */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface TcpProxy extends AsyncDisposable {
  /** "http://127.0.0.1:<port>" (or https, as the target). */
  readonly endpoint: string;
  /** How many connections are open. */
  readonly connections: number;
  /** From now on what the target says is thrown away; requests still reach it. */
  loseAnswers(): void;
  /** Resolves when the target has said something that was thrown away. */
  waitForLostAnswer(): Promise<void>;
  /** Resets all open connections; later ones work, and answers pass again. */
  cut(): void;
  /** Whether new connections are reset at once. */
  refuse(isRefusing: boolean): void;
}

/**
 * Starts a proxy before `target` ("http://127.0.0.1:2379").
 * @param answerDelayMs how long what the target says is on its way, in order; requests arrive at once
 */
export async function startTcpProxy(target: string, answerDelayMs = 0): Promise<TcpProxy> {
  const { hostname, port, protocol } = new URL(target);
  const sockets = new Set<Socket>();
  let isLosing = false;
  let isRefusing = false;
  let onLost: (() => void)[] = [];

  const server = createServer((client) => {
    if (isRefusing) {
      client.resetAndDestroy();
      return;
    }
    const upstream = connect(Number(port), hostname);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
    client.pipe(upstream);
    upstream.on("data", (chunk) => {
      if (!isLosing) {
        if (answerDelayMs === 0) client.write(chunk);
        else setTimeout(() => client.write(chunk), answerDelayMs);
        return;
      }
      for (const resolve of onLost.splice(0)) resolve();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address() as AddressInfo;

  const cut = () => {
    isLosing = false;
    onLost = [];
    for (const socket of sockets) {
      // One that is ending already cannot be reset without losing its handle.
      if (socket.writableEnded) socket.destroy();
      else socket.resetAndDestroy();
    }
  };
  return {
    endpoint: `${protocol}//127.0.0.1:${address.port}`,
    get connections() {
      return sockets.size / 2;
    },
    loseAnswers() {
      isLosing = true;
    },
    waitForLostAnswer: () => new Promise((resolve) => onLost.push(resolve)),
    cut,
    refuse(value) {
      isRefusing = value;
    },
    [Symbol.asyncDispose]: async () => {
      cut();
      server.close();
      await once(server, "close");
    },
  };
}
