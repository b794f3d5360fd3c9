/** The static token file: format, errors and authentication. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Logger, silentLogger } from "../../storage/base/logger.js";
import { StatusError } from "../api/status.js";
import { AnonymousAuthenticator } from "./anonymous.js";
import { type RequestFacts, UnionAuthenticator } from "./authenticator.js";
import { CsvError, parseCsv } from "./csv.js";
import { isSameSecret } from "./token-digests.js";
import { parseTokenFile, TokenFileAuthenticator } from "./token-file.js";
import { UnknownBearerAuthenticator } from "./unknown-bearer.js";

function open(text: string, logger = silentLogger): TokenFileAuthenticator {
  return new TokenFileAuthenticator(parseTokenFile("tokens.csv", text, logger));
}

const bearer = (token: string): RequestFacts => ({
  headers: { authorization: `Bearer ${token}` },
  socket: undefined,
  path: "/",
});

test("S2-TOK-01, S2-TOK-04: a line is token, user, uid and optional groups in quotes", () => {
  const file = open(
    [
      "t1,jane,1001",
      't2,joe,1002,"dev,ops"',
      "t3,jim,1003,dev",
      '"t4","ji""ll, the second",,"a,"',
      "",
      "t\u00e9,max,5\r",
      "t6,eve,6,dev,ignored",
    ].join("\n"),
  );
  const userOf = (token: string) => {
    const user = file.authenticate(bearer(token));
    return user === undefined ? undefined : [user.name, user.uid, user.groups];
  };
  assert.deepEqual(userOf("t1"), ["jane", "1001", []]);
  assert.deepEqual(userOf("t2"), ["joe", "1002", ["dev", "ops"]]);
  assert.deepEqual(userOf("t3"), ["jim", "1003", ["dev"]]);
  assert.deepEqual(userOf("t4"), ['ji"ll, the second', "", ["a"]]);
  // Header bytes are compared; Node exposes them as Latin-1.
  assert.deepEqual(userOf(Buffer.from("t\u00e9").toString("latin1")), ["max", "5", []]);
  assert.deepEqual(userOf("t6"), ["eve", "6", ["dev"]]);
  for (const unknown of ["t", "t11", "T1", "jane", "toString", "__proto__"]) {
    assert.equal(userOf(unknown), undefined, unknown);
  }
});

test("S2-TOK-04: the scheme is Bearer in any case, and only that", () => {
  const file = open("t1,jane,1");
  const ask = (authorization: string) =>
    file.authenticate({ headers: { authorization }, socket: undefined, path: "/" })?.name;
  for (const good of ["Bearer t1", "bearer t1", "BEARER  t1", " Bearer t1 "]) {
    assert.equal(ask(good), "jane", good);
  }
  const last = new UnknownBearerAuthenticator();
  const facts = (authorization: string) => ({
    headers: { authorization },
    socket: undefined,
    path: "",
  });
  for (const other of ["t1", "Basic t1", "Bearert1", "Bearer\tt1", "Bearer", "Bearer ", ""]) {
    assert.equal(ask(other), undefined, other);
    assert.equal(last.authenticate(facts(other)), undefined, other);
  }
  // Two tokens are invalid, but do not make the request anonymous.
  for (const bad of ["Bearer t1 more", "Bearer t1 t1", "bearer  t1\tx"]) {
    assert.equal(ask(bad), undefined, bad);
    assert.throws(() => last.authenticate(facts(bad)), StatusError, bad);
  }
});

test("S2-TOK-03: fewer than three columns, or bad quoting, is one clear line without the token", () => {
  const message = (text: string) => {
    try {
      open(text);
    } catch (error) {
      return (error as Error).message;
    }
    return "";
  };
  assert.equal(
    message("good,a,1\nsecret,b"),
    "token file 'tokens.csv' must have at least 3 columns (token, user name, user uid), found 2",
  );
  assert.match(message('a,b,1\nsecret,x"y,1'), /^token file 'tokens\.csv': .* line 2: bare "/);
  assert.match(message('secret,b,"1'), /^token file 'tokens\.csv': .* line 1: .*quoted field$/);
  for (const bad of ["secret", 'secret,"b"x,1']) assert.ok(!message(bad).includes("secret"));
});

test("S2-TOK-01: empty and duplicate tokens are told by record, never by token; the last one counts", () => {
  const warnings: unknown[] = [];
  const logger: Logger = { ...silentLogger, warn: (fields, text) => warnings.push([fields, text]) };
  const file = open(",nobody,0\nsecret,a,1\nsecret,b,2\n", logger);
  assert.equal(file.authenticate(bearer("secret"))?.name, "b");
  assert.deepEqual(
    warnings.map((warning) => (warning as [{ record: number }])[0].record),
    [1, 3],
  );
  assert.ok(!JSON.stringify(warnings).includes("secret"));
});

test("S2-TOK-05: a wrong token is 401 even with anonymous access; no token is anonymous", async () => {
  const union = new UnionAuthenticator(
    [open("t1,jane,1"), new UnknownBearerAuthenticator()],
    new AnonymousAuthenticator(),
  );
  const signal = { signal: new AbortController().signal };
  const ask = async (facts: RequestFacts) => (await union.authenticate(facts, signal))?.name;
  assert.equal(await ask(bearer("t1")), "jane");
  await assert.rejects(
    async () => await ask(bearer("t2")),
    (error) => error instanceof StatusError && error.code === 401,
  );
  assert.equal(await ask({ headers: {}, socket: undefined, path: "/" }), "system:anonymous");
});

test("rows survive being written with quotes and read again", () => {
  const field = fc.string({
    unit: fc.constantFrom("a", ",", '"', "\n", " ", "\r\n", "é"),
    maxLength: 8,
  });
  const rows = fc.array(fc.array(field, { minLength: 1, maxLength: 4 }), { maxLength: 4 });
  fc.assert(
    fc.property(rows, fc.constantFrom("\n", "\r\n"), (table, newline) => {
      const quote = (text: string) => `"${text.replaceAll('"', '""')}"`;
      const text = table.map((row) => row.map(quote).join(",")).join(newline);
      const read = table.map((row) => row.map((one) => one.replaceAll("\r\n", "\n")));
      assert.deepEqual(parseCsv(text), read);
    }),
  );
});

test("any text is rows or a CsvError, never anything else", () => {
  const wild = fc.string({ unit: fc.constantFrom("a", ",", '"', "\n", "\r", " "), maxLength: 40 });
  fc.assert(
    fc.property(wild, (text) => {
      try {
        for (const row of parseCsv(text)) assert.ok(row.length > 0);
      } catch (error) {
        assert.ok(error instanceof CsvError, String(error));
      }
    }),
  );
});

test("secrets are compared as a whole", () => {
  assert.ok(isSameSecret("abc", "abc"));
  for (const other of ["", "ab", "abd", "abcd"]) assert.ok(!isSameSecret("abc", other));
});
