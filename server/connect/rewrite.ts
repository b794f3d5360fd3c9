/**
 * Rewrites answers of proxied servers to lead through the proxy: redirect targets, and links in HTML
 * (rewrite-html.ts).
 */
import { createGunzip, createInflate } from "node:zlib";
import type { PassedAnswer } from "../client/pass-request.js";
import { HtmlLinks } from "./rewrite-html.js";

export interface ProxiedPlaces {
  /** The path up to and including `proxy`, percent-encoded. */
  readonly base: string;
  /** Names that the proxied server may use for itself. */
  readonly hosts: readonly string[];
}

export function rewriteAnswer(places: ProxiedPlaces): (answer: PassedAnswer) => PassedAnswer {
  return (answer) => {
    const headers = answer.headers.map(([name, value]): readonly [string, string] =>
      name.toLowerCase() === "location" ? [name, rewriteUrl(value, places)] : [name, value],
    );
    const headerOf = (wanted: string) =>
      headers.find(([name]) => name.toLowerCase() === wanted)?.[1] ?? "";
    const isRedirect = headerOf("location") !== "";
    const isHtml = /^text\/html\s*(?:;|$)/i.test(headerOf("content-type"));
    if (isRedirect || !isHtml) return { ...answer, headers };
    const decoder = decoderOf(headerOf("content-encoding"));
    if (decoder === undefined) return { ...answer, headers };
    const links = new HtmlLinks((url) => rewriteUrl(url, places));
    const stages = decoder === "plain" ? [links] : [decoder, links];
    let { body } = answer;
    for (const stage of stages) {
      const source = body;
      source.on("error", (error) => stage.destroy(error));
      stage.on("close", () => source.destroy());
      body = source.pipe(stage);
    }
    const changed = ["content-length", "content-encoding"];
    return {
      ...answer,
      headers: headers.filter(([name]) => !changed.includes(name.toLowerCase())),
      body,
    };
  };
}

/** Maps a URL of the proxied server to one behind the proxy; others are unchanged. */
export function rewriteUrl(text: string, { base, hosts }: ProxiedPlaces): string {
  const [, origin = "", host = "", path = "", rest = ""] =
    /^((?:[a-z][a-z0-9+.-]*:)?\/\/([^/?#]*))?([^?#]*)(.*)$/is.exec(text) ?? [];
  const isElsewhere = host !== "" && !hosts.includes(host);
  // A scheme without a host (mailto:, data:) is not a path either.
  if (isElsewhere || !path.startsWith("/")) return text;
  if (path === base || path.startsWith(`${base}/`)) return origin === "" ? text : `${path}${rest}`;
  return `${base}${path}${rest}`;
}

/** undefined = unsupported encoding; such answers are unchanged. */
function decoderOf(encoding: string) {
  switch (encoding.toLowerCase()) {
    case "":
    case "identity":
      return "plain";
    case "gzip":
      return createGunzip();
    case "deflate":
      return createInflate();
    default:
      return undefined;
  }
}
