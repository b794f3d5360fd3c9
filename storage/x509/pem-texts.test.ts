import assert from "node:assert/strict";
import { test } from "node:test";
import { pemTexts } from "./pem-texts.js";

const block = (type: string, body = "\nAAAA\n") =>
  `-----BEGIN ${type}-----${body}-----END ${type}-----`;

test("the blocks of a text are told with their types, what is between them is not", () => {
  const text = `a\n${block("CERTIFICATE")}\nb${block("RSA PRIVATE KEY", "\nx: y\n\nBB==\n")}`;
  const found = [...pemTexts(text)];
  assert.deepEqual(
    found.map(({ type, body }) => [type, body]),
    [
      ["CERTIFICATE", "\nAAAA\n"],
      ["RSA PRIVATE KEY", "\nx: y\n\nBB==\n"],
    ],
  );
  for (const { whole, index } of found) assert.ok(text.startsWith(whole, index));
  assert.equal(found[0]?.whole, block("CERTIFICATE"));
});

test("a block with another end, or without one, is none", () => {
  for (const text of [
    "",
    "-----BEGIN ",
    "-----BEGIN A-----",
    "-----BEGIN A-----\n-----END ",
    "-----BEGIN A-----\n-----END B-----",
    "-----END A-----\n-----BEGIN A-----",
  ]) {
    assert.deepEqual([...pemTexts(text)], [], text);
  }
  const found = [...pemTexts(`-----BEGIN A-----\n${block("B")}`)];
  assert.deepEqual(
    found.map(({ type }) => type),
    ["B"],
  );
});

/** A text that counts the characters which searches look at. */
function counted(text: string) {
  const seen = { characters: 0 };
  const searched = {
    indexOf(what: string, from = 0) {
      const at = text.indexOf(what, from);
      seen.characters += (at < 0 ? text.length : at) - from + what.length;
      return at;
    },
    slice(from?: number, to?: number) {
      return text.slice(from, to);
    },
    startsWith(what: string, at?: number) {
      seen.characters += what.length;
      return text.startsWith(what, at);
    },
  };
  return { seen, searched };
}

test("a text of beginnings, ends or both is looked through a few times, however many there are", () => {
  const many = (piece: (at: number) => string) =>
    Array.from({ length: 5_000 }, (_, at) => piece(at)).join("");
  for (const text of [
    many(() => "-----BEGIN CERTIFICATE-----\n"),
    many((at) => `-----BEGIN ${at}-----\n`),
    `${many((at) => `-----BEGIN ${at}-----\n`)}-----END x-----`,
    `${many(() => "-----BEGIN A-----\n")}${many(() => "-----END B-----\n")}`,
    many(() => "-----BEGIN "),
    many(() => "-----END A-----"),
    many((at) => `-----BEGIN ${at}-----\n-----END ${at + 1}-----\n`),
    many(() => block("A")),
  ]) {
    const { seen, searched } = counted(text);
    for (const _ of pemTexts(searched));
    assert.ok(seen.characters <= 5 * text.length, `${seen.characters} of ${text.length}`);
  }
});
