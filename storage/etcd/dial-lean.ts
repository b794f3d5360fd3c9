/**
 * Opens a LeanConnection: TCP, or TLS with h2 negotiated by ALPN, as grpc-js does for the same member.
 * Run by EtcdConnection; when it fails, grpc-js reports the reason better.
 */
import { connect as connectTcp, isIP, type Socket } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { ServerTrust } from "../x509/server-trust.js";
import { LeanConnection, type LeanConnectionOptions } from "./lean-connection.js";
import type { EtcdTls } from "./tls.js";

export interface DialOptions
  extends Pick<LeanConnectionOptions, "pingAfterTicks" | "lostAfterTicks" | "onClose"> {
  readonly url: string;
  readonly tls: EtcdTls | undefined;
  readonly timeoutMs: number;
  /** Ends the attempt. */
  readonly signal: AbortSignal;
}

/** @throws {Error} no server, no HTTP/2, or no answer within the time */
export function dialLean(options: DialOptions): Promise<LeanConnection> {
  return new Promise((resolve, reject) => {
    const { protocol, hostname, host, port } = new URL(options.url);
    const isTls = protocol === "https:";
    const address = {
      host: hostname.replace(/^\[|\]$/g, ""),
      port: Number(port) || (isTls ? 443 : 80),
    };
    const trust = ServerTrust.of(options.tls?.ca === undefined ? undefined : [options.tls.ca]);
    const socket = isTls
      ? connectTls(tlsOptions(address, trust, options.tls))
      : connectTcp(address);
    let isReady = false;
    const settle = () => {
      clearTimeout(timer);
      options.signal.removeEventListener("abort", onAbort);
    };
    const fail = (error: Error) => {
      settle();
      socket.destroy();
      reject(error);
    };
    const timer = setTimeout(
      () => fail(new Error(`no HTTP/2 within ${options.timeoutMs} ms`)),
      options.timeoutMs,
    );
    const onAbort = () => fail(new Error("given up"));
    options.signal.addEventListener("abort", onAbort);
    const onGone = () => fail(new Error("the connection was closed"));
    socket.once("error", fail);
    socket.once("close", onGone);
    socket.once(isTls ? "secureConnect" : "connect", () => {
      try {
        if (isTls) trust.check(socket as TLSSocket, address.host);
      } catch (error) {
        return fail(error as Error);
      }
      if (isTls && !speaksHttp2(socket)) return fail(new Error("no HTTP/2 by ALPN"));
      const { pingAfterTicks, lostAfterTicks } = options;
      const connection = new LeanConnection(socket, {
        authority: host,
        isTls,
        pingAfterTicks,
        lostAfterTicks,
        onClose: (closed, reason) => {
          if (isReady) options.onClose(closed, reason);
          else fail(reason);
        },
      });
      void connection.untilReady().then(() => {
        isReady = true;
        settle();
        socket.off("error", fail);
        socket.off("close", onGone);
        resolve(connection);
      });
    });
  });
}

function tlsOptions(
  address: { readonly host: string; readonly port: number },
  trust: ServerTrust,
  { cert, key }: EtcdTls = {},
) {
  // The server name for choosing a certificate; an IP address is not one.
  const name = isIP(address.host) === 0 ? { servername: address.host } : {};
  return {
    ...address,
    ...name,
    ...trust.contextOptions,
    ...trust.connectOptions,
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    ALPNProtocols: ["h2"],
  };
}

function speaksHttp2(socket: Socket): boolean {
  return "alpnProtocol" in socket && socket.alpnProtocol === "h2";
}
