/**
 * Random chains, judged by us and by `openssl verify`. KEELSON_TEST_LONG=1 compares 10,000 others
 * each time, KEELSON_SEED repeats a run.
 * Where the two differ, Go's rules, which are ours, are listed with the direction in which OpenSSL differs.
 */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { SEED } from "../base/testing/random.js";
import { parseCertificate } from "./certificate.js";
import { CertificatePool } from "./certificate-pool.js";
import { CertificateRefused } from "./certificate-refused.js";
import { toPem } from "./testing/der-writer.js";
import { diceOf, makeKeys, type RandomChain, randomChain } from "./testing/random-chains.js";
import { verifyPath } from "./verify-path.js";

const isLong = process.env.KEELSON_TEST_LONG === "1";
const CHAINS = isLong ? 10_000 : 300;
const AT_ONCE = 4;

/** Refusals by OpenSSL, by the number of its error, of chains that are good by Go's rules. */
const STRICTER: Readonly<Record<string, string>> = {
  9: "the chain goes on beyond the trusted certificate, and its validity counts",
  10: "the chain goes on beyond the trusted certificate, to one that is over",
  7: "one candidate of an issuer's name is tried: another one's signature would do",
  18: "a leaf with its issuer's name, which has no key identifiers, counts as self-signed",
  19: "so does an authority above the leaf",
  20: "the issuer of what counts as self-signed is not looked for",
  25: "the chain goes on beyond the trusted certificate, and its limits count",
  26: "any extended key usage does not stand for clients and servers",
  34: "the chain goes on beyond the trusted certificate, and its extensions count",
  47: "constraints bind subjects, and the certificates of authorities to their common names",
  48: "excluded names bind subjects and common names, too",
  51: "constraints of other forms than OpenSSL knows",
  53: "names of other forms than OpenSSL knows",
  62: "names are compared with lower case alone, or with the common name",
  64: "so are addresses",
  79: "a leaf that is trusted, or the one below it, has to be an authority",
};

/** Refusals by Go's rules that OpenSSL does not share. */
const LAXER: readonly (readonly [RegExp, string])[] = [
  [/insecure algorithm/, "SHA-1 is accepted for signatures"],
  [/invalid policies/, "policies are not looked at unless they are asked for"],
  [
    /Common Name|not valid for any names/,
    "a common name counts when no alternative name is a domain",
  ],
  [/unhandled critical extension/, "constraints of subjects are understood"],
  [/too many intermediates/, "self-issued certificates do not count"],
  [/parent certificate cannot sign/, "a trusted certificate need not be an authority"],
  [/not authorized to sign for this name/, "alternative names of other forms are not compared"],
  [/incompatible key usage/, "usages of a trusted intermediate's issuer do not count"],
];

test("A1: random chains: openssl verify agrees, besides the rules in which it is known to differ", async (t) => {
  const dice = diceOf(SEED);
  const keys = makeKeys();
  const now = new Date();
  const folder = await mkdtemp(join(tmpdir(), "chains-"));
  t.after(() => rm(folder, { recursive: true }));
  let accepted = 0;
  const wrong: string[] = [];
  const known = new Map<string, number>();
  for (let done = 0; done < CHAINS; done += AT_ONCE) {
    const chains = Array.from({ length: AT_ONCE }, () => randomChain(dice, keys, now));
    await Promise.all(
      chains.map(async (chain, index) => {
        const ours = judge(chain, now);
        const theirs = await askOpenssl(chain, join(folder, String(index)));
        const isGood = ours === "ok";
        if (isGood) accepted++;
        if (isGood === (theirs === "ok")) return;
        const rule = isGood
          ? stricterRule(theirs)
          : [chain, ...partsOf(chain)].map((part) => laxerRule(judge(part, now))).find(Boolean);
        if (rule === undefined) wrong.push(`${[...chain.traits].join("+")}: ${ours} / ${theirs}`);
        else known.set(rule, (known.get(rule) ?? 0) + 1);
      }),
    );
  }
  t.diagnostic(`seed ${SEED}: ${CHAINS} chains, ${accepted} good`);
  for (const [rule, count] of known) t.diagnostic(`${count} ${rule}`);
  assert.deepEqual(wrong, [], `seed ${SEED}`);
  assert.ok(accepted > CHAINS / 10 && accepted < CHAINS * 0.9, `${accepted} accepted`);
});

function stricterRule(refusal: string): string | undefined {
  const [, number = ""] = /^error (\d+)/.exec(refusal) ?? [];
  const why = STRICTER[number];
  return why && `refused by OpenSSL alone, error ${number}: ${why}`;
}

function laxerRule(refusal: string): string | undefined {
  const why = LAXER.find(([words]) => words.test(refusal))?.[1];
  return why && `refused by us alone: ${why}`;
}

/**
 * A refusal tells of the first candidate of a name. Where OpenSSL took another one, why we did not shows when the
 * first is not there.
 */
function partsOf(chain: RandomChain): RandomChain[] {
  const { intermediates } = chain;
  const without = intermediates.map((one) => intermediates.filter((other) => other !== one));
  return chain.roots.flatMap((root) =>
    [intermediates, ...without].map((sent) => ({ ...chain, roots: [root], intermediates: sent })),
  );
}

function judge(chain: RandomChain, now: Date): string {
  const pool = (certificates: readonly Buffer[]) =>
    new CertificatePool(certificates.map(parseCertificate));
  try {
    verifyPath(parseCertificate(chain.leaf), {
      roots: pool(chain.roots),
      intermediates: pool(chain.intermediates),
      usage: chain.usage,
      nowMs: now.getTime(),
      ...(chain.host !== undefined && { host: chain.host }),
    });
    return "ok";
  } catch (error) {
    if (error instanceof CertificateRefused) return error.message;
    throw error;
  }
}

async function askOpenssl(chain: RandomChain, path: string): Promise<string> {
  const files = { roots: chain.roots, sent: chain.intermediates, leaf: [chain.leaf] };
  for (const [name, certificates] of Object.entries(files)) {
    await writeFile(`${path}.${name}`, certificates.map(toPem).join("\n"));
  }
  const { host } = chain;
  const asked = [
    ...["verify", "-partial_chain", "-no-CApath", "-no-CAstore", "-CAfile", `${path}.roots`],
    ...(chain.intermediates.length > 0 ? ["-untrusted", `${path}.sent`] : []),
    ...["-purpose", chain.usage === "clients" ? "sslclient" : "sslserver"],
    ...(host === undefined ? [] : [/[:]|^\d/.test(host) ? "-verify_ip" : "-verify_hostname", host]),
    `${path}.leaf`,
  ];
  try {
    await promisify(execFile)("openssl", asked);
    return "ok";
  } catch (error) {
    const { stderr } = error as { stderr: string };
    return /error \d+ at[^\n]*/.exec(stderr)?.[0] ?? stderr;
  }
}
