/**
 * Control planes by host name: shop.DOMAIN is the control plane "shop". The name that the TLS handshake asked for and the
 * one of the request must be the same, so that no request of a connection for one is answered by another.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { TLSSocket } from "node:tls";
import { badRequest, misdirected } from "../api/status.js";
import type { RequestListener } from "../http/request-listener.js";
import { NO_TARGET } from "../request/request-info.js";
import { CONTROL_PLANES_PATH } from "./names-in-requests.js";
import { refuseRequest } from "./refuse-request.js";

/** The value of --control-plane-domain. */
export interface ControlPlaneDomain {
  readonly name: string;
  /** That clients use; undefined = that of this server. */
  readonly port: number | undefined;
}

const DOMAIN =
  /^(?=.{1,180}(?::|$))((?:[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?\.)*[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?)(?::(\d{1,5}))?$/;
const LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const HTTPS_PORT = 443;
const PORT_MAX = 65_535;

/** "clusters.example.com" or "clusters.example.com:443"; undefined for "". @throws {RangeError} with one line */
export function parseControlPlaneDomain(text: string): ControlPlaneDomain | undefined {
  if (text === "") return undefined;
  const [, name, digits] = DOMAIN.exec(text) ?? [];
  const port = digits === undefined ? undefined : Number(digits);
  if (name === undefined || port === 0 || (port ?? 1) > PORT_MAX) {
    throw new RangeError(
      `${JSON.stringify(text)} is not a domain in lower case, or one with :port`,
    );
  }
  return { name, port };
}

/** "https://shop.clusters.example.com:6443" @param ownPort of this server */
export function urlOfHost(
  { name, port }: ControlPlaneDomain,
  plane: string,
  ownPort: number,
): string {
  const open = port ?? ownPort;
  return `https://${plane}.${name}${open === HTTPS_PORT ? "" : `:${open}`}`;
}

/** Sends requests to names below the domain on with the path of their control plane in front. */
export function withHosts(domain: ControlPlaneDomain, next: RequestListener): RequestListener {
  const suffix = `.${domain.name}`;
  return (request: IncomingMessage, response: ServerResponse) => {
    const { headers, socket } = request;
    const host = hostOf(String(headers[":authority"] ?? headers.host ?? ""));
    const shown = String((socket as TLSSocket).servername || "").toLowerCase();
    if (!host.endsWith(suffix) && !shown.endsWith(suffix)) {
      next(request, response);
      return;
    }
    const name = host.slice(0, -suffix.length);
    if (host !== shown || !LABEL.test(name)) {
      refuseRequest(response, misdirected("the host of the request is not that of the connection"));
      return;
    }
    const path = `${CONTROL_PLANES_PATH}${name}`;
    const url = request.url ?? "/";
    // A URL with a host has become a path before.
    if (!url.startsWith("/") && url !== "*") {
      refuseRequest(response, badRequest(NO_TARGET));
      return;
    }
    const isWhole = url === path || url.startsWith(`${path}/`) || url.startsWith(`${path}?`);
    // Links to itself begin with the path, and work here as well.
    if (!isWhole) request.url = path + (url.startsWith("/") ? url : `/${url}`);
    next(request, response);
  };
}

/** In lower case, without port and the dot of the root. */
function hostOf(authority: string): string {
  const colon = authority.lastIndexOf(":");
  const host = colon > authority.lastIndexOf("]") ? authority.slice(0, colon) : authority;
  return (host.endsWith(".") ? host.slice(0, -1) : host).toLowerCase();
}
