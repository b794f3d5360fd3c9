/** A replica's own addresses where the kernel does not tell them. */
import assert from "node:assert/strict";
import { syncBuiltinESMExports } from "node:module";
import os from "node:os";
import { mock, test } from "node:test";
import type { Config } from "../config/config.js";
import { advertisedAddress } from "./own-hosts.js";

test("P3: in a sandbox without netlink sockets a replica starts, and advertises what it can", (t) => {
  mock.method(os, "networkInterfaces", () => {
    throw new Error("uv_interface_addresses returned Unknown system error 97");
  });
  syncBuiltinESMExports();
  t.after(() => {
    mock.restoreAll();
    syncBuiltinESMExports();
  });
  const config = (bindAddress: string) => ({ advertiseAddress: "", bindAddress }) as Config;
  assert.equal(advertisedAddress(config("0.0.0.0")), "127.0.0.1");
  assert.equal(advertisedAddress(config("192.0.2.1")), "192.0.2.1");
});
