/**
 * Chains of every kind, one fact a row: what Go's crypto/x509 says, which a program asked, and where `openssl verify`
 * says otherwise. The certificates are made here and given to the latter, too.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { parseCertificate } from "./certificate.js";
import { CertificatePool } from "./certificate-pool.js";
import {
  boolean,
  certificate,
  der,
  extension,
  identifier,
  integer,
  name,
  sequence,
  text,
  toPem,
} from "./testing/der-writer.js";
import { makeKeys } from "./testing/random-chains.js";
import { verifyPath } from "./verify-path.js";

const KEYS = makeKeys();
const NOW = new Date();
const DAY_MS = 86_400_000;
const [CLIENT, SERVER] = ["1.3.6.1.5.5.7.3.2", "1.3.6.1.5.5.7.3.1"];

interface Made {
  readonly name?: string;
  readonly organization?: string;
  /** Which of the keys. */
  readonly key: number;
  readonly by?: Link;
  readonly extensions?: readonly Buffer[];
  readonly version?: 1 | 3;
  readonly hash?: "sha1";
  readonly endsInDays?: number;
}

interface Link extends Made {
  readonly raw: Buffer;
  readonly subject: Buffer;
}

function make(made: Made): Link {
  const { key, by, extensions = [], version = 3, hash, endsInDays = 1 } = made;
  const own = KEYS[key % KEYS.length] as (typeof KEYS)[number];
  const signer = by === undefined ? own : (KEYS[by.key % KEYS.length] as typeof own);
  const { organization, name: commonName } = made;
  const subject = name([
    ...(organization === undefined ? [] : [["2.5.4.10", 0x0c, organization] as const]),
    ...(commonName === undefined ? [] : [["2.5.4.3", 0x0c, commonName] as const]),
  ]);
  const raw = certificate({
    version,
    serial: key + 1,
    issuer: by?.subject ?? subject,
    subject,
    notBefore: new Date(NOW.getTime() - 2 * DAY_MS),
    notAfter: new Date(NOW.getTime() + endsInDays * DAY_MS),
    key: own.publicKey,
    extensions,
    signer: signer.privateKey,
    ...(hash !== undefined && { hash }),
  });
  return { ...made, raw, subject };
}

const ca = (pathLength?: number) =>
  extension(
    "2.5.29.19",
    sequence(boolean(true), ...(pathLength === undefined ? [] : [integer(pathLength)])),
    true,
  );
const usages = (...list: string[]) => extension("2.5.29.37", sequence(...list.map(identifier)));
const keyUsage = (...bits: number[]) => extension("2.5.29.15", der(0x03, Buffer.from(bits)), true);
const constraints = (base: Buffer, isCritical: boolean, tag = 0xa0) =>
  extension("2.5.29.30", sequence(der(tag, sequence(base))), isCritical);
const dnsName = (domain: string) => text(0x82, domain);
const names = (...all: Buffer[]) => extension("2.5.29.17", sequence(...all));
const organization = (value: string) => der(0xa4, name([["2.5.4.10", 0x0c, value]]));
const strange = extension("1.2.3.4", der(0x05), true);
const policyConstraint = extension("2.5.29.36", sequence(integer(0, 0x80)), true);
const inhibitAny = extension("2.5.29.54", integer(0), true);

const admin = { name: "admin", organization: "system:masters" };
const forClients = usages(CLIENT);
const root = make({ name: "root", key: 0, extensions: [ca()] });

/** A root, an authority below it and a leaf, with what is particular about each. */
function three(
  particular: { root?: Partial<Made>; middle?: Partial<Made>; leaf?: Partial<Made> } = {},
) {
  const top = make({ name: "root", key: 0, extensions: [ca()], ...particular.root });
  const middle = make({
    name: "middle",
    key: 1,
    by: top,
    extensions: [ca()],
    ...particular.middle,
  });
  const leaf = make({ ...admin, key: 2, by: middle, extensions: [forClients], ...particular.leaf });
  return { leaf, sent: [middle], roots: [top] };
}

interface Fact {
  readonly what: string;
  readonly chain: {
    readonly leaf: Link;
    readonly sent: readonly Link[];
    readonly roots: readonly Link[];
  };
  /** What Go says without "x509: ", or its beginning; "ok" = it is accepted. */
  readonly go: string;
  /** Whether OpenSSL says otherwise. */
  readonly opensslDiffers?: boolean;
  readonly host?: string;
}

const low = make({ name: "low", key: 3, by: three().sent[0] as Link, extensions: [ca()] });
const selfIssued = make({ name: "root", key: 4, by: root, extensions: [ca()] });
const server = (by: Link, made: Partial<Made> = {}) =>
  make({ name: "web", key: 5, by, extensions: [names(dnsName("web.example"))], ...made });
const lone = make({ name: "lone", key: 6, extensions: [names(dnsName("web.example"))] });
const nameless = make({ key: 0, extensions: [ca()] });
const bySame = make({
  name: "same",
  key: 1,
  by: make({ name: "same", key: 0, extensions: [ca()] }),
  extensions: [names(dnsName("web.example"))],
});
const limitedRoot = make({ name: "root", key: 0, extensions: [ca(0)] });

const TOO_MANY = "too many intermediates for path length constraint";
const UNHANDLED = "unhandled critical extension";
const UNKNOWN = "certificate signed by unknown authority";
const USAGE = "certificate specifies an incompatible key usage";
const ALTERED =
  'certificate signed by unknown authority (possibly because of "x509: invalid signature: parent';

const FACTS: readonly Fact[] = [
  { what: "a chain of three", chain: three(), go: "ok" },
  {
    what: "pathlen 0 with a leaf below",
    chain: three({ middle: { extensions: [ca(0)] } }),
    go: "ok",
  },
  {
    what: "an authority below pathlen 0",
    chain: (() => {
      const top = three({ middle: { extensions: [ca(0)] } });
      const below = make({ ...low, by: top.sent[0] as Link });
      const leaf = make({ ...admin, key: 5, by: below, extensions: [forClients] });
      return { ...top, leaf, sent: [...top.sent, below] };
    })(),
    go: TOO_MANY,
  },
  {
    what: "pathlen 0 on the root itself, with an authority below",
    chain: three({ root: { extensions: [ca(0)] } }),
    go: TOO_MANY,
  },
  {
    what: "pathlen 0 on the root, and an authority that it issued to itself, which counts",
    chain: {
      leaf: make({
        ...admin,
        key: 2,
        by: selfIssued,
        extensions: [forClients],
      }),
      sent: [selfIssued],
      roots: [limitedRoot],
    },
    go: TOO_MANY,
  },
  {
    what: "a permitted domain, and a leaf without alternative names",
    chain: three({ middle: { extensions: [ca(), constraints(dnsName("ok.example"), true)] } }),
    go: "ok",
  },
  {
    what: "a permitted domain, and a leaf with another one",
    chain: three({
      middle: { extensions: [ca(), constraints(dnsName("ok.example"), true)] },
      leaf: { extensions: [forClients, names(dnsName("bad.example"))] },
    }),
    go: 'a root or intermediate certificate is not authorized to sign for this name: DNS name "bad.example" is not permitted by any constraint',
  },
  {
    what: "the same when the constraint is not critical",
    chain: three({
      root: { extensions: [ca(), constraints(dnsName("ok.example"), false)] },
      leaf: { extensions: [forClients, names(dnsName("bad.example"))] },
    }),
    go: "a root or intermediate certificate is not authorized to sign for this name",
  },
  {
    what: "a permitted domain, and a leaf below it",
    chain: three({
      middle: { extensions: [ca(), constraints(dnsName("ok.example"), true)] },
      leaf: { extensions: [forClients, names(dnsName("a.ok.example"))] },
    }),
    go: "ok",
  },
  {
    what: "an excluded network, and a leaf with an address in it",
    chain: three({
      middle: {
        extensions: [
          ca(),
          constraints(der(0x87, Buffer.from("0a000000ff000000", "hex")), true, 0xa1),
        ],
      },
      leaf: { extensions: [forClients, names(der(0x87, Buffer.from([10, 1, 2, 3])))] },
    }),
    go: 'a root or intermediate certificate is not authorized to sign for this name: IP address "10.1.2.3" is excluded by a constraint',
  },
  {
    what: "a critical constraint of subjects",
    chain: three({ middle: { extensions: [ca(), constraints(organization("dev"), true)] } }),
    go: UNHANDLED,
  },
  {
    what: "a critical constraint of subjects on the root, which the leaf's subject obeys",
    chain: three({
      root: { extensions: [ca(), constraints(organization("system:masters"), true)] },
      middle: { organization: "system:masters" },
    }),
    go: UNHANDLED,
    opensslDiffers: true,
  },
  {
    what: "a constraint of subjects that is not critical, and another subject",
    chain: three({ middle: { extensions: [ca(), constraints(organization("dev"), false)] } }),
    go: "ok",
    opensslDiffers: true,
  },
  {
    what: "an unknown critical extension of the leaf",
    chain: three({ leaf: { extensions: [forClients, strange] } }),
    go: UNHANDLED,
  },
  {
    what: "an unknown critical extension of the intermediate",
    chain: three({ middle: { extensions: [ca(), strange] } }),
    go: UNHANDLED,
  },
  {
    what: "an unknown critical extension of the root",
    chain: three({ root: { extensions: [ca(), strange] } }),
    go: UNHANDLED,
  },
  {
    what: "a policy that is required and absent",
    chain: three({ middle: { extensions: [ca(), policyConstraint] } }),
    go: "no valid chains built: 1 candidate chains with invalid policies",
    opensslDiffers: true,
  },
  {
    what: "inhibitAnyPolicy",
    chain: three({ middle: { extensions: [ca(), inhibitAny] } }),
    go: "ok",
  },
  {
    what: "a leaf for servers",
    chain: three({ leaf: { extensions: [usages(SERVER)] } }),
    go: USAGE,
  },
  {
    what: "an authority for servers",
    chain: three({ middle: { extensions: [ca(), usages(SERVER)] } }),
    go: USAGE,
  },
  {
    what: "a root for servers",
    chain: three({ root: { extensions: [ca(), usages(SERVER)] } }),
    go: USAGE,
  },
  { what: "no usages at all", chain: three({ leaf: { extensions: [] } }), go: "ok" },
  {
    what: "a root that is over",
    chain: three({ root: { endsInDays: -1 } }),
    go: "certificate has expired or is not yet valid: current time",
  },
  {
    what: "an intermediate that is over",
    chain: three({ middle: { endsInDays: -1 } }),
    go: "certificate has expired or is not yet valid: current time",
  },
  {
    what: "an intermediate that is no authority",
    chain: three({ middle: { extensions: [extension("2.5.29.19", sequence(), true)] } }),
    go: ALTERED,
  },
  {
    what: "an intermediate whose key may not sign certificates",
    chain: three({ middle: { extensions: [ca(), keyUsage(7, 0x80)] } }),
    go: ALTERED,
  },
  {
    what: "a signature with SHA-1",
    chain: three({ leaf: { hash: "sha1" } }),
    go: `${UNKNOWN} (possibly because of "x509: cannot verify signature: insecure algorithm ECDSA-SHA1"`,
    opensslDiffers: true,
  },
  {
    what: "a root of version 1",
    chain: three({ root: { version: 1 } }),
    go: "ok",
  },
  {
    what: "an intermediate of version 1",
    chain: three({ middle: { version: 1 } }),
    go: "certificate is not authorized to sign other certificates",
  },
  {
    what: "A2: an intermediate alone is trusted",
    chain: { ...three(), roots: three().sent, sent: [] },
    go: "ok",
  },
  {
    what: "A2: the leaf itself is trusted",
    chain: (() => {
      const { leaf } = three();
      return { leaf, sent: [], roots: [leaf] };
    })(),
    go: "ok",
  },
  {
    what: "A2: a self-signed server certificate that is no authority",
    chain: { leaf: lone, sent: [], roots: [lone] },
    host: "web.example",
    go: "ok",
  },
  {
    what: "A2: leaf and authority with one name and no key identifiers",
    chain: {
      leaf: bySame,
      sent: [],
      roots: [make({ name: "same", key: 0, extensions: [ca()] })],
    },
    host: "web.example",
    go: "ok",
    opensslDiffers: true,
  },
  {
    what: "A2: leaf and authority without a name",
    chain: {
      leaf: server(nameless, { extensions: [names(dnsName("web.example"))] }),
      sent: [],
      roots: [nameless],
    },
    host: "web.example",
    go: "ok",
  },
  {
    what: "A2: the second of two authorities with one name",
    chain: {
      leaf: server(root),
      sent: [],
      roots: [make({ name: "root", key: 1, extensions: [ca()] }), root],
    },
    host: "web.example",
    go: "ok",
    opensslDiffers: true,
  },
  {
    what: "A3: a common name alone is no name",
    chain: {
      leaf: server(root, { name: "web.example", extensions: [] }),
      sent: [],
      roots: [root],
    },
    host: "web.example",
    go: "certificate relies on legacy Common Name field, use SANs instead",
    opensslDiffers: true,
  },
  {
    what: "A3: a common name beside other alternative names is no name",
    chain: {
      leaf: server(root, { name: "web.example", extensions: [names(dnsName("x.example"))] }),
      sent: [],
      roots: [root],
    },
    host: "web.example",
    go: "certificate is valid for x.example, not web.example",
  },
  {
    what: "an address without alternative names",
    chain: { leaf: server(root), sent: [], roots: [root] },
    host: "10.0.0.1",
    go: "cannot validate certificate for 10.0.0.1 because it doesn't contain any IP SANs",
  },
  {
    what: "a wildcard for the first label",
    chain: {
      leaf: server(root, { extensions: [names(dnsName("*.example"))] }),
      sent: [],
      roots: [root],
    },
    host: "Web.Example.",
    go: "ok",
    opensslDiffers: true,
  },
  {
    what: "nobody who is trusted",
    chain: { ...three(), roots: [make({ name: "other", key: 7, extensions: [ca()] })] },
    go: UNKNOWN,
  },
];

for (const { what, chain, go, host, opensslDiffers = false } of FACTS) {
  test(`A1: ${what}: ${go === "ok" ? "accepted" : "refused"}`, (t) => {
    const usage = host === undefined ? "clients" : "servers";
    const pool = (links: readonly Link[]) =>
      new CertificatePool(links.map(({ raw }) => parseCertificate(raw)));
    let ours = "ok";
    try {
      verifyPath(parseCertificate(chain.leaf.raw), {
        roots: pool(chain.roots),
        intermediates: pool(chain.sent),
        usage,
        nowMs: NOW.getTime(),
        ...(host !== undefined && { host }),
      });
    } catch (error) {
      ours = (error as Error).message.replace(/^x509: /, "");
    }
    assert.equal(ours.slice(0, go.length), go);

    const folder = mkdtempSync(join(tmpdir(), "path-"));
    t.after(() => rmSync(folder, { recursive: true }));
    const write = (file: string, links: readonly Link[]) => {
      writeFileSync(join(folder, file), links.map(({ raw }) => toPem(raw)).join(""));
      return join(folder, file);
    };
    const asked = ["verify", "-partial_chain", "-no-CApath", "-no-CAstore"];
    asked.push("-CAfile", write("roots", chain.roots));
    if (chain.sent.length > 0) asked.push("-untrusted", write("sent", chain.sent));
    asked.push("-purpose", usage === "clients" ? "sslclient" : "sslserver");
    if (host !== undefined) asked.push(/^\d/.test(host) ? "-verify_ip" : "-verify_hostname", host);
    asked.push(write("leaf", [chain.leaf]));
    let theirs = "ok";
    try {
      execFileSync("openssl", asked, { stdio: "pipe" });
    } catch {
      theirs = "refused";
    }
    assert.equal(theirs === (go === "ok" ? "ok" : "refused"), !opensslDiffers, "openssl verify");
  });
}
