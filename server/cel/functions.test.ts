/** The functions of the API's expressions, by example. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { CelCompileError, CelEvaluationError, createCelEnvironment } from "./environment.js";

const environment = createCelEnvironment({ variables: { d: "dyn" } });
const evaluate = (source: string, d: unknown = null) =>
  environment.compile(source, ["dyn"]).evaluate({ d });

function expectAll(table: readonly (readonly [string, unknown])[]): void {
  for (const [source, expected] of table) assert.deepEqual(evaluate(source), expected, source);
}

/** Constants are refused when they are compiled. */
const isRefusal = (error: unknown) =>
  error instanceof CelEvaluationError || error instanceof CelCompileError;

function expectFailures(sources: readonly string[]): void {
  for (const source of sources) assert.throws(() => evaluate(source), isRefusal, source);
}

test("strings: characters are code points", () => {
  expectAll([
    ["'héllo😀'.size()", 6n],
    ["'a😀b'.charAt(1)", "😀"],
    ["'a😀b'.charAt(3)", ""],
    ["'a😀b'.indexOf('b')", 2n],
    ["'a😀b😀'.lastIndexOf('😀')", 3n],
    ["'hello'.indexOf('l', 3)", 3n],
    ["'hello'.lastIndexOf('l', 2)", 2n],
    ["'tacocat'.indexOf('')", 0n],
    ["'a😀b'.substring(1, 2)", "😀"],
    ["'tacocat'.substring(4)", "cat"],
    ["'  \\u2000x '.trim()", "x"],
    ["'TacoCÆt'.lowerAscii()", "tacocÆt"],
    ["'TacoCæt'.upperAscii()", "TACOCæT"],
    ["'a,b,c'.split(',')", ["a", "b", "c"]],
    ["'a,b,c'.split(',', 2)", ["a", "b,c"]],
    ["'a,b'.split(',', 0)", []],
    ["'😀b'.split('')", ["😀", "b"]],
    ["['x', 'y'].join()", "xy"],
    ["['x', 'y'].join('-')", "x-y"],
    ["'hello hello'.replace('he', 'we')", "wello wello"],
    ["'hello hello'.replace('he', 'we', 1)", "wello hello"],
    ["'ab'.replace('', '_')", "_a_b_"],
    ["'ab'.replace('', '_', 2)", "_a_b"],
    ["'ab'.replace('', '_', 3)", "_a_b_"],
    ["'ab\u{1f600}'.replace('', '_', 9)", "_a_b_\u{1f600}_"],
    ["''.replace('', '_')", "_"],
    ["'aZ\u0161\u{1f600}\u0141[`'.upperAscii()", "AZ\u0161\u{1f600}\u0141[`"],
    ["'aZ\u0161\u{1f600}\u0141[`'.lowerAscii()", "az\u0161\u{1f600}\u0141[`"],
    ["strings.quote('a\"b\\n')", '"a\\"b\\n"'],
  ]);
  expectFailures(["'a'.charAt(2)", "'a'.substring(2)", "'abc'.substring(2, 1)", "d.join(',')"]);
});

test("strings.format writes each kind of value", () => {
  expectAll([
    ["'%d%%'.format([5])", "5%"],
    ["'%s %s %s'.format([true, null, [1, 'a']])", 'true null [1, "a"]'],
    ["'%s'.format([{'b': 1, 'a': 2u}])", '{"a":2, "b":1}'],
    ["'%.3f|%f|%.1e'.format([1.5, 2.0, 1234.5])", "1.500|2.000000|1.234500×10⁰³"],
    ["'%s'.format([[1.5, b'x', duration('1m')]])", '[1.500000, b"x", duration("60s")]'],
    ["'%.1f'.format([-1234567.25])", "-1,234,567.2"],
    ["'%x %X %o %b'.format([255, 'hi', 8, 5])", "ff 6869 10 101"],
    [
      "'%s %s'.format([duration('1m'), timestamp('2024-01-01T00:00:00Z')])",
      "60s 2024-01-01T00:00:00Z",
    ],
  ]);
  expectFailures(["'%d'.format([])", "'%q'.format([1])", "'%d'.format(['x'])", "'%'.format([])"]);
});

test("lists and sets are ordered, searched, summed and compared", () => {
  expectAll([
    ["[1, 2, 2].isSorted()", true],
    ["['b', 'a'].isSorted()", false],
    ["[1, 2, 3].sum()", 6n],
    ["[1.5, 2.0].sum()", 3.5],
    ["[duration('1s'), duration('2s')].sum()", "3s"],
    ["[3, 1, 2].min()", 1n],
    ["['a', 'c', 'b'].max()", "c"],
    ["[1, 2, 1].indexOf(1)", 0n],
    ["[1, 2, 1].lastIndexOf(1)", 2n],
    ["[1].indexOf(5)", -1n],
    ["[1, 2, 3, 4].slice(1, 3)", [2n, 3n]],
    ["[3, 1].sort()", [1n, 3n]],
    ["[1, 1, 2].distinct()", [1n, 2n]],
    ["[[1], [2, 3]].flatten()", [1n, 2n, 3n]],
    ["['bb', 'a'].sortBy(s, s.size())", ["a", "bb"]],
    ["lists.range(3)", [0n, 1n, 2n]],
    ["sets.contains([1, 2], [2])", true],
    ["sets.equivalent([1, 2], [2, 1, 1])", true],
    ["sets.intersects([1], [2])", false],
  ]);
  expectFailures(["dyn([]).min()", "[9223372036854775807, 1].sum()", "[1].slice(0, 2)"]);
});

test("macros run over lists and maps with one and with two variables", () => {
  expectAll([
    ["[1, 2, 3].map(i, i > 1, i * 2)", [4n, 6n]],
    ["{'a': 1, 'b': 2}.map(k, k)", ["a", "b"]],
    ["[1, 2, 2].exists_one(i, i == 1)", true],
    ["[5, 6].all(i, v, v == i + 5)", true],
    ["{'a': 1}.exists(k, v, k == 'a' && v == 1)", true],
    ["[5, 6].existsOne(i, v, i == 1)", true],
    ["[5, 6].transformList(i, v, i > 0, v)", [6n]],
    ["{'a': 1}.transformMap(k, v, v + 1)", { a: 2n }],
    ["['x'].transformMapEntry(i, v, {v: i})", { x: 0n }],
    ["optional.of(2).optMap(x, x + 1).value()", 3n],
    ["optional.none().optFlatMap(x, optional.of(x)).hasValue()", false],
  ]);
});

test("optional values are made, asked and chained", () => {
  expectAll([
    ["{'a': 1}.?a.orValue(5)", 1n],
    ["{'a': {'b': 1}}.?x.b.orValue(5)", 5n],
    ["[1][?3].or(optional.of(7)).value()", 7n],
    ["[?optional.none(), 2]", [2n]],
    ["{?'k': optional.of(1)}", { k: 1n }],
    ["optional.ofNonZeroValue('').hasValue()", false],
    ["has({'a': {}}.?a.b)", false],
  ]);
  expectFailures(["optional.none().value()"]);
});

test("find and findAll give what a pattern matches", () => {
  expectAll([
    ["'abc 123'.find('[0-9]+')", "123"],
    ["'abc'.find('[0-9]+')", ""],
    ["'1 22 333'.findAll('[0-9]+')", ["1", "22", "333"]],
    ["'1 22 333'.findAll('[0-9]+', 2)", ["1", "22"]],
    ["'abc'.matches('^a.c$')", true],
    ["matches('xabcx', 'abc')", true],
  ]);
});

test("URLs are parsed into their parts, what is none fails", () => {
  const url = "url('https://user@example.com:8443/a%20b/c?k=v&k=w&e=')";
  expectAll([
    [`${url}.getScheme()`, "https"],
    [`${url}.getHost()`, "example.com:8443"],
    [`${url}.getHostname()`, "example.com"],
    [`${url}.getPort()`, "8443"],
    [`${url}.getEscapedPath()`, "/a%20b/c"],
    [`${url}.getQuery()`, { k: ["v", "w"], e: [""] }],
    ["url('https://[::1]:80/').getHostname()", "::1"],
    ["isURL('https://a.b')", true],
    ["isURL('/absolute')", true],
    ["isURL('relative/x')", false],
    ["isURL('https://a b')", false],
    ["isURL('https://a/%zz')", false],
  ]);
  expectFailures(["url('::')"]);
});

test("quantities compare and add up by their value", () => {
  expectAll([
    ["isQuantity('1.5Gi') && !isQuantity('1.5x')", true],
    ["quantity('1Gi') == quantity('1024Mi')", true],
    ["quantity('200m').add(quantity('800m')) == quantity('1')", true],
    ["sign(quantity('1').sub(3))", -1n],
    ["quantity('50k').isGreaterThan(quantity('1Ki'))", true],
    ["quantity('50k').isLessThan(quantity('50M'))", true],
    ["quantity('1').compareTo(quantity('1000m'))", 0n],
    ["quantity('1500m').isInteger()", false],
    ["quantity('1500m').asApproximateFloat()", 1.5],
    ["quantity('1k')", "1k"],
  ]);
  expectFailures(["quantity('x')", "quantity('1.5').asInteger()", "quantity('1000m').asInteger()"]);
});

test("addresses and blocks are parsed, classified and compared", () => {
  expectAll([
    ["isIP('10.0.0.1') && isIP('::1') && !isIP('010.0.0.1') && !isIP('::ffff:1.2.3.4')", true],
    ["ip('10.0.0.1').family()", 4n],
    ["ip('127.0.0.1').isLoopback() && ip('::1').isLoopback()", true],
    ["ip('0.0.0.0').isUnspecified()", true],
    ["ip('169.254.0.1').isLinkLocalUnicast() && ip('fe80::1').isLinkLocalUnicast()", true],
    ["ip('224.0.0.1').isLinkLocalMulticast()", true],
    ["ip('10.0.0.1').isGlobalUnicast() && !ip('255.255.255.255').isGlobalUnicast()", true],
    ["ip.isCanonical('2001:db8::1') && !ip.isCanonical('2001:DB8::1')", true],
    ["string(ip('2001:DB8::1'))", "2001:db8::1"],
    ["cidr('10.1.0.0/16').containsIP('10.1.2.3')", true],
    ["cidr('10.1.0.0/16').containsIP(ip('10.2.2.3'))", false],
    ["cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16')", true],
    ["cidr('10.1.0.0/16').containsCIDR(cidr('10.0.0.0/8'))", false],
    ["cidr('10.1.2.3/16').masked()", "10.1.0.0/16"],
    ["cidr('10.1.2.3/16').ip() == ip('10.1.2.3')", true],
    ["cidr('::/0').prefixLength()", 0n],
    ["isCIDR('10.0.0.0/33')", false],
  ]);
  expectFailures(["ip('x')", "cidr('10.0.0.0')", "cidr('10.0.0.0/8').containsIP('x')"]);
});

test("times and durations are parsed, compared and taken apart", () => {
  const time = "timestamp('2024-02-29T23:30:00.5Z')";
  expectAll([
    [`${time} + duration('1h')`, "2024-03-01T00:30:00.5Z"],
    [`${time} - timestamp('2024-02-29T23:00:00Z')`, "1800.5s"],
    [`${time}.getDayOfYear()`, 59n],
    [`${time}.getHours('+01:00')`, 0n],
    [`${time}.getDate('America/New_York')`, 29n],
    [`${time}.getMilliseconds()`, 500n],
    [`int(${time})`, 1709249400n],
    ["duration('1.5h').getMinutes()", 90n],
    ["duration('-1h') < duration('0s')", true],
    ["string(duration('90m'))", "5400s"],
  ]);
  expectFailures([
    "timestamp('2024-02-30T00:00:00Z')",
    "duration('1 h')",
    `${time}.getHours('No/Zone')`,
    "timestamp('9999-12-31T23:59:59Z') + duration('1s')",
  ]);
});

test("arithmetic is of 64 bits and refuses what does not fit", () => {
  expectAll([
    ["-9223372036854775808", -(2n ** 63n)],
    ["7 / -2", -3n],
    ["-7 % 3", -1n],
    ["1u + 2u", 3n],
    ["1.0 / 0.0", Number.POSITIVE_INFINITY],
    ["dyn(1) == dyn(1.0) && dyn(1u) == dyn(1)", true],
    ["1 < 1.5 && 2u > 1", true],
    ["int('-5') + int(2.9) + int(3u)", 0n],
    ["string(1e300)", "1e+300"],
    ["double('1e3')", 1000],
  ]);
  expectFailures([
    "9223372036854775807 + 1",
    "-(-9223372036854775807 - 1)",
    "1 / 0",
    "1u - 2u",
    "int(1e20)",
    "int('0x1')",
    "uint(-1)",
    "d + 1",
  ]);
});

test("semantic versions compare by their parts", () => {
  expectAll([
    ["isSemver('1.2.3-rc.1+b5') && !isSemver('v1.2') && isSemver('v1.2', true)", true],
    ["semver('1.2.3').major() + semver('1.2.3').minor() + semver('1.2.3').patch()", 6n],
    ["semver('1.10.0').isGreaterThan(semver('1.9.9'))", true],
    ["semver('1.0.0-alpha.2').isLessThan(semver('1.0.0-alpha.10'))", true],
    ["semver('1.0.0-1').compareTo(semver('1.0.0-a'))", -1n],
    ["semver('1.0.0').compareTo(semver('1.0.0-rc'))", 1n],
    ["semver('1.0.0+a') == semver('1.0.0+b')", true],
    ["semver('v01.2', true)", "1.2.0"],
  ]);
  expectFailures(["semver('1.2')", "semver('1.2.3-01')", "semver('01.2.3')"]);
});

test("named formats say what is wrong with a text", () => {
  expectAll([
    ["format.dns1123Label().validate('web-1').hasValue()", false],
    ["format.dns1123Label().validate('Web').value().size()", 1n],
    ["format.named('uuid').value().validate('x')", ["does not match the UUID format"]],
    ["format.named('nothing').hasValue()", false],
    ["format.dns1123LabelPrefix().validate('web-').hasValue()", false],
    ["format.date().validate('2024-02-30').hasValue()", true],
    ["format.byte().validate('aGk=').hasValue() || format.uri().validate('/x').hasValue()", false],
  ]);
});

test("a variable may be optional", () => {
  const { compile } = createCelEnvironment({ variables: { old: { optional: "string" } } });
  const program = compile("old.orValue('none')", ["string"]);
  assert.equal(program.evaluate({ old: null }), "none");
  assert.equal(program.evaluate({ old: "x" }), "x");
});
