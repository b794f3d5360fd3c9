/** Which control plane a host name means, and what is refused. */
import assert from "node:assert/strict";
import type { IncomingMessage, ServerResponse } from "node:http";
import { test } from "node:test";
import { parseControlPlaneDomain, urlOfHost, withHosts } from "./control-plane-hosts.js";

/** The path that is asked in the end, or the code of the refusal. */
function ask(servername: string | false, host: string, url: string, isHttp2 = false): string {
  let found = "";
  const listener = withHosts({ name: "cp.example", port: undefined }, (request) => {
    found = request.url ?? "";
  });
  const headers = isHttp2 ? { ":authority": host } : { host };
  const response = {
    statusCode: 0,
    setHeader() {},
    end() {
      found = String(response.statusCode);
    },
  };
  const request = { url, headers, socket: { servername } } as unknown as IncomingMessage;
  listener(request, response as unknown as ServerResponse);
  return found;
}

test("a host below the domain is the control plane of its first label, over HTTP/1.1 and HTTP/2", () => {
  for (const isHttp2 of [false, true]) {
    const from = (url: string) => ask("shop.cp.example", "shop.cp.example:6443", url, isHttp2);
    assert.equal(from("/api/v1?x"), "/clusters/shop/api/v1?x");
    assert.equal(from("/clusters/shop/api"), "/clusters/shop/api");
    // Never another's.
    assert.equal(from("/clusters/other/api"), "/clusters/shop/clusters/other/api");
    assert.equal(from("/clusters/shopping"), "/clusters/shop/clusters/shopping");
  }
  assert.equal(ask("shop.cp.example", "SHOP.cp.example.", "/"), "/clusters/shop/");
});

test("other hosts are the root's, with its paths", () => {
  assert.equal(ask(false, "127.0.0.1:6443", "/clusters/shop/api"), "/clusters/shop/api");
  assert.equal(ask("localhost", "localhost", "/api"), "/api");
  assert.equal(ask("xcp.example", "xcp.example", "/api"), "/api");
  assert.equal(ask("cp.example", "cp.example", "/api"), "/api");
});

test("a host that the handshake did not name is refused with 421, and so is a name of two labels", () => {
  assert.equal(ask("shop.cp.example", "other.cp.example", "/api"), "421");
  assert.equal(ask("shop.cp.example", "127.0.0.1", "/api"), "421");
  assert.equal(ask(false, "shop.cp.example", "/api"), "421");
  assert.equal(ask("localhost", "shop.cp.example", "/api"), "421");
  assert.equal(ask("a.b.cp.example", "a.b.cp.example", "/api"), "421");
  assert.equal(ask(".cp.example", ".cp.example", "/api"), "421");
});

test("a target that is no path is not made one: 400, as it is from the root", () => {
  for (const url of ["garbage", "https:///api", "http:api", ""]) {
    assert.equal(ask("shop.cp.example", "shop.cp.example", url), "400", url);
  }
  assert.equal(ask("shop.cp.example", "shop.cp.example", "*"), "/clusters/shop/*");
});

test("the flag names a domain, and maybe the port that clients use", () => {
  assert.equal(parseControlPlaneDomain(""), undefined);
  const given = parseControlPlaneDomain("cp.example");
  assert.ok(given);
  assert.equal(urlOfHost(given, "shop", 6443), "https://shop.cp.example:6443");
  const open = parseControlPlaneDomain("cp.example:443");
  assert.ok(open);
  assert.equal(urlOfHost(open, "shop", 6443), "https://shop.cp.example");
  for (const wrong of [
    "CP.example",
    "*.cp.example",
    ".cp",
    "cp.",
    "cp:0",
    "cp:65536",
    "a b",
    "c_p",
  ]) {
    assert.throws(() => parseControlPlaneDomain(wrong), RangeError, wrong);
  }
});
