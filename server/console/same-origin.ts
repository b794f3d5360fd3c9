/**
 * Whether a request comes from the console's own page, or from a person who opens it. Pages of other origins may
 * make a browser send requests to loopback, also under a name that they let point there (DNS rebinding). Pure.
 */
import type { IncomingHttpHeaders } from "node:http";

/** Methods of which a browser always says the origin are all but these. */
const PLAIN_METHODS = ["GET", "HEAD"];

/** @returns why it is refused, in a sentence; undefined = it is not */
export function refusalOfOrigin(
  {
    method = "",
    headers,
  }: { readonly method?: string | undefined; readonly headers: IncomingHttpHeaders },
  port: number,
): string | undefined {
  const { host = "", origin } = headers;
  if (!hostsOf(port).includes(host)) return "the Host header is not the console's own";
  const site = headers["sec-fetch-site"];
  if (site !== undefined && site !== "same-origin" && site !== "none") {
    return "the request comes from another site";
  }
  if (origin !== undefined && origin !== `http://${host}`) {
    return "the request comes from another origin";
  }
  if (origin === undefined && !PLAIN_METHODS.includes(method)) {
    return "the request does not say its origin";
  }
  return undefined;
}

function hostsOf(port: number): readonly string[] {
  return ["127.0.0.1", "localhost"].map((name) => (port === 80 ? name : `${name}:${port}`));
}
