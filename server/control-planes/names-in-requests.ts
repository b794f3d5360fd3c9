/** The name of the control plane in a request's URL, and what is left of the URL without it. */

/** What paths of all control planes but the root begin with. */
export const CONTROL_PLANES_PATH = "/clusters/";

/** @param url begins with CONTROL_PLANES_PATH */
export function nameIn(url: string): string {
  return url.slice(CONTROL_PLANES_PATH.length, endOfName(url));
}

/** "/clusters/shop/api" is "/api", and "/clusters/shop?x" is "/?x". */
export function toOwnUrl(url: string): string {
  const rest = url.slice(endOfName(url));
  return rest.startsWith("/") ? rest : `/${rest}`;
}

function endOfName(url: string): number {
  for (let at = CONTROL_PLANES_PATH.length; at < url.length; at++) {
    if (url[at] === "/" || url[at] === "?") return at;
  }
  return url.length;
}
