import assert from "node:assert/strict";
import { test } from "node:test";
import { sha256 } from "./sha256.js";

test("a digest is that of FIPS 180-4, of the text as UTF-8", () => {
  assert.equal(sha256("abc"), "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
  assert.equal(sha256(""), "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
  assert.equal(sha256("é"), "SplVfkAzw1Od4utlRyAXytX5VX96BiWgnxw/biumnEw=");
});
