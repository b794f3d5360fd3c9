/** Which addresses users' requests may be proxied to, however they are spelled (A8). */
import assert from "node:assert/strict";
import type { lookup } from "node:dns";
import { test } from "node:test";
import { createJudgedLookup, isGlobalUnicast, judgeHost } from "./judged-address.js";

const { signal } = new AbortController();

test("nobody is sent to this machine, its neighbours by link, or groups of machines", () => {
  const no = [
    ..."127.0.0.1 127.8.0.1 0.0.0.0 169.254.169.254 224.0.0.1 255.255.255.255".split(" "),
    ..."::1 :: fe80::1 fe80::1%lo ff02::1 ::ffff:127.0.0.1 ::ffff:7f00:1".split(" "),
    ..."::ffff:169.254.169.254 ::ffff:0.0.0.0 0:0:0:0:0:0:0:1".split(" "),
  ];
  assert.deepEqual(no.filter(isGlobalUnicast), []);
  const yes = "10.0.0.1 192.168.1.1 8.8.8.8 fd00::1 2001:db8::1 ::ffff:10.1.2.3".split(" ");
  assert.deepEqual(yes.filter(isGlobalUnicast), yes);
});

test("CVE-2022-3294: loopback is refused by every spelling and name", async () => {
  for (const host of [
    "127.0.0.1",
    "::1",
    "::ffff:127.0.0.1",
    "fe80::1%lo",
    "localhost",
    "LOCALHOST",
  ]) {
    await assert.rejects(judgeHost(host, signal), { message: "address not allowed" }, host);
  }
  for (const host of [
    ..."127.1 2130706433 0x7f000001 0X7F.1 0177.0.0.1 0 0. 127.0.0.1. 127.0.0.0x1 2852039166".split(
      " ",
    ),
    ..."[::1] ::ffff:127.1 a.1 0x @ a/b".split(" "),
  ]) {
    await assert.rejects(
      judgeHost(host, signal),
      { message: `lookup ${host}: no such host` },
      host,
    );
  }
  await judgeHost("10.0.0.1", signal);
});

test("CVE-2020-8562: a name is judged by all its addresses, wherever it is looked up", async () => {
  const names: Record<string, string[]> = {
    good: ["10.0.0.1", "fd00::1"],
    mixed: ["10.0.0.1", "127.0.0.1"],
    none: [],
  };
  const look = createJudgedLookup(((
    host: string,
    _options: object,
    callback: (...a: unknown[]) => void,
  ) => {
    const found = names[host];
    if (found === undefined) callback(Object.assign(new Error(), { code: "ENOTFOUND" }));
    else
      callback(
        null,
        found.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
      );
  }) as typeof lookup);
  const ask = (host: string, all: boolean) =>
    new Promise((resolve) => look(host, { all }, (...answer) => resolve(answer)));

  assert.deepEqual(await ask("good", false), [null, "10.0.0.1", 4]);
  assert.deepEqual(await ask("good", true), [
    null,
    [
      { address: "10.0.0.1", family: 4 },
      { address: "fd00::1", family: 6 },
    ],
  ]);
  for (const all of [true, false]) {
    assert.match(String(await ask("mixed", all)), /address not allowed/);
    assert.match(String(await ask("none", all)), /no addresses for hostname/);
    assert.match(String(await ask("other", all)), /lookup other: no such host/);
  }
});

test("who leaves does not wait for the name", async () => {
  const gone = new Error("gone");
  await assert.rejects(judgeHost("localhost", AbortSignal.abort(gone)), gone);
});
