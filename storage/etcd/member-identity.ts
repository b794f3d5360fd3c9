/**
 * The identity of one etcd member: its cluster, and its version, which decides whether its progress
 * notifications are trusted. Maintenance.Status has both; 3.5.28, 3.6.0 and later allow that call to
 * administrators only. A user with rights on the prefix gets the cluster from the header of a range
 * instead, and the version from the member's HTTP endpoint /version, which needs no user. Run by
 * EndpointPool, once for each connection.
 */
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import type { EtcdConnection, UnaryRequest } from "./connection.js";
import { GRPC_STATUS, RpcError } from "./errors.js";
import { decodeClusterId, decodeStatus, encodeEmpty } from "./messages.js";
import type { EtcdTls } from "./tls.js";

export interface MemberIdentity {
  /** "3.5.16"; undefined if only administrators may read it. */
  readonly version: string | undefined;
  readonly clusterId: string;
}

export interface IdentityOptions {
  readonly tls: EtcdTls | undefined;
  /** A Range that reads nothing, with a key that our user must be allowed to read. */
  readonly probe: UnaryRequest;
}

const STATUS = { path: "/etcdserverpb.Maintenance/Status", message: encodeEmpty() };

/** Limits on the time and length of a member's version answer. */
const VERSION_TIMEOUT_MS = 3_000;
const VERSION_BYTES_MAX = 4_096;

/** The connection must be ready. @throws {RpcError} @throws the signal's reason */
export async function identify(
  connection: EtcdConnection,
  token: string | undefined,
  options: IdentityOptions,
  signal: AbortSignal,
): Promise<MemberIdentity> {
  try {
    return decodeStatus(await connection.unary(STATUS, token, signal));
  } catch (error) {
    const isDenied = error instanceof RpcError && error.status === GRPC_STATUS.permissionDenied;
    if (!isDenied) throw error;
  }
  const header = await connection.unary(options.probe, token, signal);
  const version = await askVersion(connection.url, options.tls, signal).catch(() => undefined);
  signal.throwIfAborted();
  return { version, clusterId: decodeClusterId(header) };
}

/** @throws {Error} no such endpoint, or no version in its answer */
function askVersion(
  url: string,
  tls: EtcdTls | undefined,
  signal: AbortSignal,
): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const send = url.startsWith("https:") ? httpsRequest : httpRequest;
    const ended = AbortSignal.any([signal, AbortSignal.timeout(VERSION_TIMEOUT_MS)]);
    // An agent of its own, so that the connection ends with the answer.
    const request = send(`${url}/version`, { ...tls, agent: false, signal: ended }, (response) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on("error", reject);
      response.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        chunks.push(chunk);
        if (bytes > VERSION_BYTES_MAX) response.destroy(new Error("too long to be a version"));
      });
      response.on("end", () => {
        try {
          resolve(parseVersion(Buffer.concat(chunks).toString()));
        } catch (error) {
          reject(error);
        }
      });
    });
    request.on("error", reject);
    request.end();
  });
}

/** @throws {SyntaxError} */
function parseVersion(text: string): string | undefined {
  const answer: unknown = JSON.parse(text);
  if (typeof answer !== "object" || answer === null || !("etcdserver" in answer)) return undefined;
  return typeof answer.etcdserver === "string" ? answer.etcdserver : undefined;
}
