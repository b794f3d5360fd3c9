/** Strict rules for addresses and blocks (A9). */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { FieldError } from "./status.js";
import {
  validateCanonicalCidr,
  validateCanonicalIp,
  validateCidr,
  validateIp,
} from "./validation-addresses.js";

type Validate = (text: string, field: string, errors: FieldError[]) => void;

const MAPPED = "must not be an IPv4-mapped IPv6 address";
const ZEROS = "must not have leading 0s";

function check(validate: Validate, table: readonly (readonly [string, string?])[]): void {
  for (const [text, why] of table) {
    const errors: FieldError[] = [];
    validate(text, "f", errors);
    const expected = why === undefined ? [] : [`Invalid value: ${JSON.stringify(text)}: ${why}`];
    assert.deepEqual(
      errors.map(({ message }) => message),
      expected,
      text,
    );
  }
}

test("A9, CVE-2021-25737: addresses have no leading zeros and hide no address of the other family", () => {
  const common = [
    ["10.1.2.3"],
    ["2001:db8::1"],
    ["010.1.2.3", ZEROS],
    ["::ffff:127.0.0.1", MAPPED],
    ["::ffff:7f00:1", MAPPED],
    ["0:0:0:0:0:ffff:a01:203", MAPPED],
    ["fe80::1%eth0", "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"],
  ] as const;
  check(validateIp, [...common, ["2001:DB8:0::1"]]);
  const spelling = 'must be in canonical form ("2001:db8::1")';
  check(validateCanonicalIp, [...common, ["2001:DB8:0::1", spelling]]);
});

test("A9: blocks begin at their first address", () => {
  const common = [
    ["10.0.0.0/8"],
    ["2001:db8::/32"],
    ["10.0.0.1/8", "must not have bits set beyond the prefix length"],
    ["10.0.0.0/08", "must not have leading 0s in IP or prefix length"],
    ["010.0.0.0/8", "must not have leading 0s in IP or prefix length"],
    ["::ffff:10.0.0.0/104", "must not have an IPv4-mapped IPv6 address"],
    ["10.0.0.0", "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"],
  ] as const;
  check(validateCidr, [...common, ["2001:DB8::/32"]]);
  const spelling = 'must be in canonical form ("2001:db8::/32")';
  check(validateCanonicalCidr, [...common, ["2001:DB8::/32", spelling]]);
});
