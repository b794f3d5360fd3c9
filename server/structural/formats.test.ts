import assert from "node:assert/strict";
import { test } from "node:test";
import { formatCheck } from "./formats.js";

/** Texts of each format, and texts that are not of it: what kube-apiserver says of them. */
const CASES: Readonly<Record<string, readonly [valid: readonly string[], not: readonly string[]]>> =
  {
    duration: [
      ["1s", "0", "1.5h", ".5s", "1D", "PT1H", "1 d 2 h", "1.5d", "5secs", "in 3 weeks", "1µs"],
      [
        ...["", "5", "1 fortnight", "h", "9999999999999999999s"],
        // H4: read in two ways each, the parts of it took for ever together.
        `${"11s".repeat(33)}99999999999999999999sx`,
      ],
    ],
    hostname: [
      ["a", "a-", "a-b", "a-bc", "a.bc", "a-b.cd", "a.co.uk", "é.fr", "x".repeat(63), "1"],
      ["a.b", "1.2.3.4", "ab-c", "-a", "a..bc", "a.b1", "a.com.", `${"x".repeat(64)}.com`],
    ],
    "date-time": [
      ["2020-01-02T03:04:05Z", "2020-01-02t03:04:05.5+01:00", "2020-01-02T03:04:05,5Z"],
      ["2020-01-02T03:04:05", "2020-01-02T03:04:05+0100", "2020-01-02T24:00:00Z"],
    ],
    ipv4: [
      ["1.2.3.4", "::ffff:1.2.3.4"],
      ["1.2.3", "::1"],
    ],
    mac: [["00:11:22:33:44:55", "0011.2233.4455", "001122334455"], ["00:11:22:33:44"]],
    ssn: [["123-45-6789", "123 45 6789"], ["123456789"]],
    byte: [["aGk="], ["", "aGk"]],
    uri: [
      ["http://a", "a:b", "/x", "fe80::1%eth0", "http://[::1]:1/", "http://a:99999"],
      ["x", "http://[::1", "http://a:b", "/%zz", "http://a/%zz", "1a:b"],
    ],
    email: [
      ["a@b", "A <a@b.c>", '"a b"@c', "a@[1.2.3.4]"],
      ["a", "a..b@c", "a b@c", "a@"],
    ],
  };

for (const [format, [valid, not]] of Object.entries(CASES)) {
  test(`D21: the format ${format} takes what it took elsewhere, and nothing else`, () => {
    const check = formatCheck(format);
    assert.ok(check);
    assert.deepEqual(
      valid.filter((text) => !check(text)),
      [],
    );
    assert.deepEqual(not.filter(check), []);
  });
}
