/**
 * A node's agent of the tests' own: HTTPS with the client's certificate checked, and the protocols of the
 * real one. Its containers are processes of this machine, their logs are what the test says.
 *
 *   GET  /containerLogs/<ns>/<pod>/<container>          the log, followed when asked to
 *   ANY  /exec|attach/<ns>/<pod>/<container>?command=   SPDY/3.1, and WebSockets of v5 and v4 channels
 *   ANY  /portForward/<ns>/<pod>                        SPDY/3.1, and its tunnel in a WebSocket
 *   GET  everything else                                what was asked, as JSON
 *
 * Everything else of other methods is answered in the same way, with the body.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import { type AddressInfo, connect, type Socket } from "node:net";
import { PassThrough } from "node:stream";
import type { TLSSocket } from "node:tls";
import { createWebSocketStream, type WebSocket, WebSocketServer } from "ws";
import { SpdySession, type SpdyStream } from "../../server/connect/spdy/session.js";
import type { TestIdentity } from "./test-authority.js";

export interface AgentOptions {
  readonly identity: TestIdentity;
  /** PEM: who may vouch for clients. None: it takes anybody, as one of a control plane has to, which is called by nobody. */
  readonly clientAuthority?: string;
}

export interface ContainerLog {
  readonly lines: string[];
  /** Shows one more line to those who follow. */
  append(line: string): void;
  /** The container ends: so do those who follow. */
  end(): void;
}

/** How a process in a container is connected, whatever the protocol. */
interface Line {
  readonly stdin: NodeJS.ReadableStream | undefined;
  stdout(chunk: Buffer): Promise<void>;
  stderr(chunk: Buffer): Promise<void>;
  /** What the client says of the size of its terminal. */
  onResize(listener: (size: string) => void): void;
  onGone(listener: () => void): void;
  /** The end, with a Status. */
  finish(status: object): Promise<void>;
}

const ATTACHED = ["sh", "-c", "echo attached; cat"];

export class NodeAgent implements AsyncDisposable {
  /** Method and URL of every request, in their order. */
  readonly requests: string[] = [];
  /** Common names of the clients' certificates. */
  readonly clients = new Set<string>();
  /** What was asked for by upgrades: "SPDY/3.1" or the WebSocket's protocol. */
  readonly protocols: string[] = [];
  readonly logs = new Map<string, ContainerLog & { listeners: Set<() => void>; isOver: boolean }>();
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #processes = new Set<ChildProcess>();
  readonly #webSockets: WebSocketServer;

  private constructor(server: Server) {
    this.#server = server;
    this.#webSockets = new WebSocketServer({ noServer: true });
    server.on("secureConnection", (socket: TLSSocket) => {
      this.#sockets.add(socket);
      this.clients.add(String(socket.getPeerCertificate().subject?.CN));
      socket.on("error", () => {});
      socket.once("close", () => this.#sockets.delete(socket));
    });
    server.on("request", (request: IncomingMessage, response: ServerResponse) => {
      this.requests.push(`${request.method} ${request.url}`);
      this.#answer(request, response);
    });
    server.on("upgrade", (request: IncomingMessage, socket: Socket, head: Buffer) => {
      this.requests.push(`${request.method} ${request.url}`);
      this.#upgrade(request, socket, head);
    });
  }

  static async start({ identity, clientAuthority }: AgentOptions): Promise<NodeAgent> {
    const server = createServer({
      ...identity,
      ...(clientAuthority !== undefined && {
        ...{ ca: clientAuthority, requestCert: true, rejectUnauthorized: true },
      }),
    });
    const agent = new NodeAgent(server);
    server.listen(0);
    await once(server, "listening");
    return agent;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Connections that are open. */
  get connections(): number {
    return this.#sockets.size;
  }

  /** Processes that run. */
  get processes(): number {
    return this.#processes.size;
  }

  log(namespace: string, pod: string, container: string): ContainerLog {
    const listeners = new Set<() => void>();
    const tell = () => {
      for (const listener of listeners) listener();
    };
    const log = {
      lines: [] as string[],
      listeners,
      isOver: false,
      append(line: string) {
        log.lines.push(line);
        tell();
      },
      end() {
        log.isOver = true;
        tell();
      },
    };
    this.logs.set(`${namespace}/${pod}/${container}`, log);
    return log;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#processes) child.kill("SIGKILL");
    const closed = once(this.#server, "close");
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? "/", "https://agent");
    const [, what, ...names] = url.pathname.split("/");
    if (what === "containerLogs") {
      this.#sendLog(names.join("/"), url, response);
      return;
    }
    if (url.pathname === "/page") {
      response.setHeader("Content-Type", "text/html");
      response.end('<a href="/logs/">logs</a>');
      return;
    }
    if (url.pathname === "/moved") {
      response.writeHead(302, { Location: "/page" }).end();
      return;
    }
    if (what === "exec" || what === "attach") {
      response.writeHead(400).end("you must specify at least 1 of stdin, stdout, stderr");
      return;
    }
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { method, url: asked, headers } = request;
      const body = Buffer.concat(chunks).toString();
      response.setHeader("Content-Type", "application/json");
      response.end(JSON.stringify({ method, url: asked, headers, body }));
    });
  }

  #sendLog(name: string, { searchParams }: URL, response: ServerResponse): void {
    const log = this.logs.get(name);
    if (log === undefined) {
      const words = `container "${name.split("/")[2]}" in pod "${name.split("/")[1]}" is waiting to start: ContainerCreating`;
      response.writeHead(400).end(words);
      return;
    }
    const tail = Number(searchParams.get("tailLines") ?? log.lines.length);
    let at = Math.max(0, log.lines.length - tail);
    const write = () => {
      while (at < log.lines.length) response.write(`${log.lines[at++]}\n`);
      if (searchParams.get("follow") !== "true" || log.isOver) response.end();
    };
    log.listeners.add(write);
    response.once("close", () => log.listeners.delete(write));
    response.flushHeaders();
    write();
  }

  #upgrade(request: IncomingMessage, socket: Socket, head: Buffer): void {
    const url = new URL(request.url ?? "/", "https://agent");
    const [, what = "", , , container] = url.pathname.split("/");
    const isWebSocket = /^websocket$/i.test(request.headers.upgrade ?? "");
    if (container === "gone") {
      const words = 'container not found ("gone")';
      socket.end(`HTTP/1.1 404 Not Found\r\nContent-Length: ${words.length}\r\n\r\n${words}`);
      return;
    }
    if (isWebSocket) {
      const offered = request.headers["sec-websocket-protocol"]?.split(",") ?? [];
      const protocol = offered[0]?.trim() ?? "";
      this.protocols.push(protocol);
      // Names of tunnels have a slash, which ws refuses.
      delete request.headers["sec-websocket-protocol"];
      this.#webSockets.once("headers", (headers: string[]) => {
        headers.push(`Sec-WebSocket-Protocol: ${protocol}`);
      });
      this.#webSockets.handleUpgrade(request, socket, head, (webSocket) => {
        if (what === "portForward") {
          new SpdySession(createWebSocketStream(webSocket), acceptsPorts());
        } else this.#run(webSocketLine(webSocket, url), what, url);
      });
      return;
    }
    this.protocols.push(String(request.headers.upgrade));
    const asked = request.headersDistinct["x-stream-protocol-version"] ?? [];
    const known = ["v4.channel.k8s.io", "portforward.k8s.io"];
    const version = asked
      .flatMap((one) => one.split(","))
      .find((one) => known.includes(one.trim()));
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: ${version?.trim()}\r\n\r\n`,
    );
    if (head.length > 0) socket.unshift(head);
    if (what === "portForward") {
      new SpdySession(socket, acceptsPorts());
      return;
    }
    void spdyLine(socket, url).then((line) => this.#run(line, what, url));
  }

  #run(line: Line, what: string, url: URL): void {
    const asked = url.searchParams.getAll("command");
    const [program = "true", ...args] = what === "attach" ? ATTACHED : asked;
    const child = spawn(program, args, { stdio: ["pipe", "pipe", "pipe"] });
    this.#processes.add(child);
    child.once("close", () => this.#processes.delete(child));
    child.stdin.on("error", () => {});
    if (line.stdin === undefined) child.stdin.end();
    else line.stdin.pipe(child.stdin);
    line.onResize((size) => void line.stdout(Buffer.from(`size ${size.trim()}\n`)));
    line.onGone(() => child.kill("SIGKILL"));
    const isTerminal = url.searchParams.get("tty") === "1";
    pump(child.stdout, (chunk) => line.stdout(chunk));
    pump(child.stderr, (chunk) => (isTerminal ? line.stdout(chunk) : line.stderr(chunk)));
    child.once("error", (error) => void line.finish(failure(String(error), undefined)));
    child.once("close", (code) => {
      if (code === null) return;
      const words = `command terminated with non-zero exit code: exit status ${code}`;
      void line.finish(code === 0 ? { metadata: {}, status: "Success" } : failure(words, code));
    });
  }
}

/** A pair of streams for each connection; ports are those of this machine. */
function acceptsPorts() {
  return {
    isClient: false,
    onStream(stream: SpdyStream) {
      stream.reply();
      if (stream.headers.streamtype === "error") {
        // Its end says that nothing went wrong.
        stream.end();
        stream.resume();
        return;
      }
      const socket = connect(Number(stream.headers.port), "127.0.0.1");
      socket.on("error", () => stream.destroy());
      stream.once("close", () => socket.destroy());
      stream.pipe(socket);
      socket.pipe(stream);
    },
  };
}

function failure(message: string, code: number | undefined): object {
  if (code === undefined)
    return { metadata: {}, status: "Failure", message, reason: "InternalError", code: 500 };
  const details = { causes: [{ reason: "ExitCode", message: String(code) }] };
  return { metadata: {}, status: "Failure", message, reason: "NonZeroExitCode", details };
}

/** Waits for who takes it, as a process does that writes to a pipe. */
function pump(source: NodeJS.ReadableStream, take: (chunk: Buffer) => Promise<void>): void {
  source.on("data", (chunk: Buffer) => {
    source.pause();
    void take(chunk).then(() => source.resume());
  });
}

/** The streams that a client of exec or attach makes, as the query says. */
async function spdyLine(socket: Socket, { searchParams }: URL): Promise<Line> {
  const wanted = new Set(["error"]);
  for (const [parameter, type] of [
    ["input", "stdin"],
    ["output", "stdout"],
    ["error", "stderr"],
    ["tty", "resize"],
  ] as const) {
    if (searchParams.get(parameter) === "1") wanted.add(type);
  }
  if (wanted.has("resize")) wanted.delete("stderr");
  const streams = new Map<string, SpdyStream>();
  const session = await new Promise<SpdySession>((resolve) => {
    const made = new SpdySession(socket, {
      isClient: false,
      onStream(stream) {
        stream.reply();
        streams.set(stream.headers.streamtype ?? "", stream);
        if (streams.size === wanted.size) setImmediate(() => resolve(made));
      },
    });
  });
  const write = (type: string, chunk: Buffer) =>
    new Promise<void>((resolve) => {
      const stream = streams.get(type);
      if (stream === undefined || stream.destroyed) resolve();
      else stream.write(chunk, () => resolve());
    });
  return {
    stdin: streams.get("stdin"),
    stdout: (chunk) => write("stdout", chunk),
    stderr: (chunk) => write("stderr", chunk),
    onResize: (listener) => {
      streams.get("resize")?.on("data", (chunk: Buffer) => listener(chunk.toString()));
    },
    onGone: (listener) => void session.closed.then(listener),
    async finish(status) {
      await write("error", Buffer.from(JSON.stringify(status)));
      for (const stream of streams.values()) stream.end();
      setTimeout(() => session.close(), 50);
    },
  };
}

/** Channels 0 to 4 of a WebSocket; in v5 the client closes one by 255. */
function webSocketLine(webSocket: WebSocket, { searchParams }: URL): Line {
  const stream = new PassThrough();
  const resizes: ((size: string) => void)[] = [];
  webSocket.on("error", () => {});
  webSocket.on("message", (message: Buffer) => {
    const [channel, closed] = message;
    if (channel === 0) stream.write(message.subarray(1));
    if (channel === 255 && closed === 0) stream.end();
    if (channel === 4) for (const listener of resizes) listener(message.subarray(1).toString());
  });
  const send = (channel: number, chunk: Buffer) =>
    new Promise<void>((resolve) => {
      webSocket.send(Buffer.concat([Buffer.from([channel]), chunk]), () => resolve());
    });
  void send(1, Buffer.alloc(0));
  return {
    stdin: searchParams.get("input") === "1" ? stream : undefined,
    stdout: (chunk) => send(1, chunk),
    stderr: (chunk) => send(2, chunk),
    onResize: (listener) => void resizes.push(listener),
    onGone: (listener) => void webSocket.once("close", listener),
    async finish(status) {
      await send(3, Buffer.from(JSON.stringify(status)));
      webSocket.close(1000);
    },
  };
}
