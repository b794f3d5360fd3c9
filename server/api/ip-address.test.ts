/** IP addresses and blocks: parsing, formatting and containment. */
import assert from "node:assert/strict";
import { isIP } from "node:net";
import { test } from "node:test";
import fc from "fast-check";
import {
  canonicalIp,
  formatIp,
  isCanonicalV4Block,
  isCanonicalV6,
  isCanonicalV6Block,
  isMappedIp,
  isReachableV6,
  isWithin,
  parseBlock,
  parseIp,
  specialIpProblem,
} from "./ip-address.js";

test("addresses are written canonically", () => {
  const table: readonly [string, string | undefined][] = [
    ["10.0.0.1", "10.0.0.1"],
    ["010.000.0.01", "10.0.0.1"],
    ["256.0.0.1", undefined],
    ["1.2.3", undefined],
    ["fd00:0:0:0:0:0:0:5", "fd00::5"],
    ["FD00::00a:0", "fd00::a:0"],
    ["::", "::"],
    ["::ffff:10.0.0.1", "::ffff:a00:1"],
    ["1:0:0:2:0:0:0:3", "1:0:0:2::3"],
    ["fe80::1%eth0", undefined],
    ["web", undefined],
    ["", undefined],
  ];
  for (const [text, expected] of table) assert.equal(canonicalIp(text), expected, text);
});

test("39.2: a canonical block of IPv4 is known by its text, and only that", () => {
  const byte = fc.oneof(fc.integer({ min: 0, max: 300 }), fc.constantFrom(0, 128, 255));
  const written = fc
    .tuple(byte, fc.constantFrom("", "", "", "0"))
    .map(([n, zero]) => `${zero}${n}`);
  const blocks = fc.tuple(
    fc.array(written, { minLength: 3, maxLength: 5 }),
    fc.integer({ max: 34 }),
  );
  const texts = fc.oneof(
    blocks.map(([bytes, bits]) => `${bytes.join(".")}/${bits}`),
    fc.tuple(byte, byte).map(([a, b]) => `${a}.${b}.0.0/16`),
    fc.constantFrom(
      "0.0.0.0/0",
      "10.0.0.1/32",
      "10.0.0.0/08",
      "::ffff:10.0.0.0/120",
      "fd00::/8",
      "",
    ),
  );
  fc.assert(
    fc.property(texts, (text) => {
      const block = parseBlock(text);
      const isCanonical =
        block?.version === 4 &&
        text === `${formatIp({ version: 4, value: block.first })}/${block.bits}`;
      assert.equal(isCanonicalV4Block(text), isCanonical, text);
    }),
    { numRuns: 2_000 },
  );
});

test("every address survives being written and read", () => {
  const address = fc.oneof(
    fc.bigInt(0n, 2n ** 32n - 1n).map((value) => ({ version: 4 as const, value })),
    fc.bigInt(0n, 2n ** 128n - 1n).map((value) => ({ version: 6 as const, value })),
  );
  fc.assert(
    fc.property(address, (one) => {
      const text = formatIp(one);
      assert.equal(isIP(text), one.version);
      assert.deepEqual(parseIp(text), one);
    }),
  );
});

test("blocks hold the addresses that begin as they do", () => {
  const block = parseBlock("10.1.2.3/24");
  assert.deepEqual(block, { version: 4, first: 0x0a010200n, bits: 24, size: 256n });
  const holds = (ip: string) => {
    const address = parseIp(ip);
    return block !== undefined && address !== undefined && isWithin(address, block);
  };
  assert.equal(holds("10.1.2.255"), true);
  assert.equal(holds("10.1.3.0"), false);
  assert.equal(holds("::a01:200"), false);
  for (const text of ["10.0.0.0", "10.0.0.0/33", "10.0.0.0/", "::/129", "/8"]) {
    assert.equal(parseBlock(text), undefined, text);
  }
});

test("addresses that mean something else to everyone", () => {
  const problem = (text: string) => {
    const address = parseIp(text);
    return address === undefined ? "none" : specialIpProblem(text, address);
  };
  assert.equal(problem("192.0.2.1"), undefined);
  assert.match(problem("0.0.0.0") ?? "", /unspecified/);
  assert.match(problem("127.0.0.1") ?? "", /loopback/);
  assert.match(problem("fe80::1") ?? "", /link-local range/);
  assert.match(problem("224.0.0.1") ?? "", /multicast/);
});

test("39.3: a canonical address or block of IPv6 is known without large numbers, and only that", () => {
  const group = fc.constantFrom(
    "0",
    "0",
    "0",
    "1",
    "ffff",
    "a0",
    "0a",
    "A",
    "fd00",
    "ff02",
    "fe80",
  );
  const whole = fc.array(group, { minLength: 7, maxLength: 8 }).map((all) => all.join(":"));
  const short = fc
    .tuple(fc.array(group, { maxLength: 4 }), fc.array(group, { maxLength: 4 }))
    .map(([head, tail]) => `${head.join(":")}::${tail.join(":")}`);
  const other = fc.constantFrom(
    "::ffff:a00:1",
    "::ffff:10.0.0.1",
    "fe80::1%e",
    "10.0.0.1",
    "x",
    "",
  );
  const addresses = fc.oneof(whole, short, other);
  const lengths = fc.oneof(
    fc.integer({ min: 0, max: 130 }).map(String),
    fc.constantFrom("", "064"),
  );
  let canonical = 0;
  let reachable = 0;
  fc.assert(
    fc.property(addresses, lengths, (text, length) => {
      const address = parseIp(text);
      const isOne = address?.version === 6 && !isMappedIp(address) && formatIp(address) === text;
      assert.equal(isCanonicalV6(text), isOne, text);
      if (isOne) canonical++;
      if (isReachableV6(text)) {
        assert.ok(isOne && specialIpProblem(text, address) === undefined, text);
        reachable++;
      }
      const block = parseBlock(`${text}/${length}`);
      const isPlain = block?.first === address?.value && String(block?.bits) === length;
      assert.equal(isCanonicalV6Block(`${text}/${length}`), isOne && isPlain, `${text}/${length}`);
    }),
    { numRuns: 3_000 },
  );
  assert.ok(canonical > 100, `${canonical} of them are canonical`);
  assert.ok(reachable > 30, `${reachable} of them are reachable`);
});
