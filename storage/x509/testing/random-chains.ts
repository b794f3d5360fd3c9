/**
 * Chains of certificates from a seed: of every depth, with constraints, usages, names, dates, policies and signatures
 * of which some are wrong, and pools of trusted certificates of every form. Tests compare the verdicts of several
 * verifiers on them.
 */
import { createHash, generateKeyPairSync, type KeyObject } from "node:crypto";
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
} from "./der-writer.js";

export interface RandomChain {
  /** DER. */
  readonly leaf: Buffer;
  readonly intermediates: readonly Buffer[];
  readonly roots: readonly Buffer[];
  readonly usage: "clients" | "servers";
  readonly host: string | undefined;
  /** Whether something about names under constraints is involved, whose rules differ between verifiers. */
  readonly traits: ReadonlySet<Trait>;
}

/** What verifiers are known to disagree about. */
export type Trait =
  | "name constraints"
  | "policies"
  | "self-issued"
  | "weak signature"
  | "version 1"
  | "key usage"
  | "key identifiers"
  | "same names"
  | "usages"
  | "trusted leaf"
  | "trusted intermediate"
  | "empty name"
  | "unknown extension";

export interface Dice {
  /** From 0 up to, not including, 1. */
  next(): number;
  chance(probability: number): boolean;
  pick<Item>(items: readonly Item[]): Item;
}

/** The same numbers for the same seed (mulberry32). */
export function diceOf(seed: number): Dice {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
  return {
    next,
    chance: (probability) => next() < probability,
    pick: (items) => items[Math.floor(next() * items.length)] as never,
  };
}

interface Keys {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

const DAY_MS = 86_400_000;
const COMMON_NAME = "2.5.4.3";
const ORGANIZATION = "2.5.4.10";
const USAGES = {
  clients: "1.3.6.1.5.5.7.3.2",
  servers: "1.3.6.1.5.5.7.3.1",
  any: "2.5.29.37.0",
  other: "1.3.6.1.5.5.7.3.3",
} as const;

const HOSTS = ["a.example", "www.a.example", "b.example", "10.0.0.1", "fd00::1"];

/** Keys are few, because making them is what costs. */
export function makeKeys(): readonly Keys[] {
  const curve = (namedCurve: string) => generateKeyPairSync("ec", { namedCurve });
  const curves = ["P-256", "P-256", "P-256", "P-256", "P-384", "P-256", "P-256"].map(curve);
  return [
    ...curves,
    generateKeyPairSync("ed25519"),
    generateKeyPairSync("rsa", { modulusLength: 2048 }),
  ];
}

interface Issuer {
  readonly keys: Keys;
  readonly subject: Buffer;
  readonly keyId: Buffer | undefined;
  readonly raw: Buffer;
}

export function randomChain(dice: Dice, keys: readonly Keys[], now: Date): RandomChain {
  const traits = new Set<Trait>();
  const usage = dice.pick(["clients", "servers"] as const);
  const depth = Math.floor(dice.next() * 4);
  const order = [...keys].sort(() => dice.next() - 0.5);
  const naming = dice.chance(0.1) ? "same" : dice.chance(0.05) ? "empty" : "own";
  if (naming === "same") traits.add("same names");
  if (naming === "empty") traits.add("empty name");
  const draw = { dice, traits, usage, now };

  const chain: Issuer[] = [];
  for (let level = 0; level <= depth; level++) {
    const above = chain.at(-1);
    const own = order[level % order.length] as Keys;
    chain.push(makeAuthority({ ...draw, naming, level }, own, above));
  }
  const top = chain.at(-1) as Issuer;
  const leafKeys = order.at(-1) as Keys;
  const leaf = makeLeaf({ ...draw, naming }, leafKeys, top);

  const [root, ...intermediates] = chain.map(({ raw }) => raw) as [Buffer, ...Buffer[]];
  const roots: Buffer[] = [root];
  const decoy = makeAuthority({ ...draw, naming, level: 0 }, leafKeys, undefined).raw;
  if (dice.chance(0.1)) roots.unshift(decoy);
  if (dice.chance(0.06)) roots.splice(roots.indexOf(root), 1);
  if (dice.chance(0.08) && intermediates.length > 0) {
    roots.push(dice.pick(intermediates));
    traits.add("trusted intermediate");
  }
  if (dice.chance(0.04)) {
    roots.push(leaf);
    traits.add("trusted leaf");
  }
  const sent = intermediates.filter(() => !dice.chance(0.04));
  if (dice.chance(0.1)) sent.push(decoy);
  if (dice.chance(0.1)) sent.push(root);
  if (dice.chance(0.3)) sent.reverse();
  const host = usage === "servers" && dice.chance(0.5) ? dice.pick(HOSTS) : undefined;
  return { leaf, intermediates: sent, roots, usage, host, traits };
}

interface Draw {
  readonly dice: Dice;
  readonly traits: Set<Trait>;
  readonly usage: "clients" | "servers";
  readonly now: Date;
  readonly naming: "own" | "same" | "empty";
}

function makeAuthority(
  draw: Draw & { readonly level: number },
  keys: Keys,
  above: Issuer | undefined,
): Issuer {
  const { dice, traits, level, naming } = draw;
  const isSelfIssued = above !== undefined && dice.chance(0.06);
  if (isSelfIssued) traits.add("self-issued");
  const own = name([[COMMON_NAME, 0x0c, naming === "same" ? "same" : `authority ${level}`]]);
  const subject = isSelfIssued ? above.subject : naming === "empty" ? sequence() : own;
  const keyId = dice.chance(0.2) || naming === "empty" ? undefined : keyIdOf(keys, dice, traits);
  const isOld = dice.chance(0.03);
  if (isOld) traits.add("version 1");
  const extensions = [
    ...basicConstraints(dice),
    ...keyUsage(dice, traits),
    ...keyIds(keyId, above, dice),
    ...(dice.chance(0.12) ? [extendedUsages(draw)] : []),
    ...(dice.chance(0.18) ? [nameConstraints(dice, traits)] : []),
    ...(dice.chance(0.05) ? [alternativeNames(dice)] : []),
    ...policies(dice, traits, true),
    ...unknownExtension(dice, traits),
  ];
  const raw = certificate({
    ...common(draw, isOld ? 1 : 3),
    issuer: above?.subject ?? subject,
    subject,
    key: keys.publicKey,
    extensions: isOld ? [] : extensions,
    ...signerOf(draw, above?.keys ?? keys, keys),
  });
  return { keys, subject, keyId: isOld ? undefined : keyId, raw };
}

function makeLeaf(draw: Draw, keys: Keys, issuer: Issuer): Buffer {
  const { dice, traits } = draw;
  const extensions = [
    ...(dice.chance(0.5) ? [extension("2.5.29.19", sequence(), true)] : []),
    ...keyIds(dice.chance(0.5) ? keyIdOf(keys, dice, traits) : undefined, issuer, dice),
    ...(dice.chance(0.7) ? [extendedUsages(draw)] : []),
    ...(dice.chance(0.7) ? [alternativeNames(dice)] : []),
    ...policies(dice, traits, false),
    ...unknownExtension(dice, traits),
  ];
  const subject = name([
    [ORGANIZATION, 0x0c, "system:masters"],
    [COMMON_NAME, 0x0c, dice.pick(["jane", "a.example", "b.example"])],
  ]);
  return certificate({
    ...common(draw, 3),
    issuer: issuer.subject,
    subject: draw.naming === "same" && dice.chance(0.3) ? issuer.subject : subject,
    key: keys.publicKey,
    extensions,
    ...signerOf(draw, issuer.keys, keys),
  });
}

function common({ dice, now }: Draw, version: 1 | 3) {
  const [isOver, isEarly] = [dice.chance(0.02), dice.chance(0.02)];
  return {
    version,
    serial: Math.floor(dice.next() * 2 ** 23),
    notBefore: new Date(now.getTime() + (isEarly ? DAY_MS : -2 * DAY_MS)),
    notAfter: new Date(now.getTime() + (isOver ? -DAY_MS : 2 * DAY_MS)),
  };
}

function signerOf({ dice, traits }: Draw, issuer: Keys, own: Keys) {
  const isForged = dice.chance(0.02);
  const signer = (isForged ? own : issuer).privateKey;
  const isWeak = signer.asymmetricKeyType !== "ed25519" && dice.chance(0.02);
  if (isWeak) traits.add("weak signature");
  const hash = isWeak ? "sha1" : dice.pick(["sha256", "sha256", "sha384"] as const);
  return { signer, hash } as const;
}

function basicConstraints(dice: Dice): Buffer[] {
  if (dice.chance(0.02)) return [];
  const flag = dice.chance(0.03) ? [] : [boolean(true)];
  const limit = flag.length > 0 && dice.chance(0.3) ? [integer(Math.floor(dice.next() * 3))] : [];
  return [extension("2.5.29.19", sequence(...flag, ...limit), dice.chance(0.8))];
}

function keyUsage(dice: Dice, traits: Set<Trait>): Buffer[] {
  if (dice.chance(0.3)) return [];
  const isWrong = dice.chance(0.03);
  if (isWrong) traits.add("key usage");
  const bits = isWrong ? [7, 0x80] : [1, 0x06];
  return [extension("2.5.29.15", der(0x03, Buffer.from(bits)), true)];
}

function keyIdOf({ publicKey }: Keys, dice: Dice, traits: Set<Trait>): Buffer {
  const digest = createHash("sha1").update(publicKey.export({ type: "spki", format: "der" }));
  if (!dice.chance(0.03)) return digest.digest();
  traits.add("key identifiers");
  return Buffer.from("no digest of the key");
}

function keyIds(own: Buffer | undefined, above: Issuer | undefined, dice: Dice): Buffer[] {
  const subject = own === undefined ? [] : [extension("2.5.29.14", der(0x04, own))];
  if (above?.keyId === undefined || dice.chance(0.2)) return subject;
  return [...subject, extension("2.5.29.35", sequence(der(0x80, above.keyId)))];
}

function extendedUsages({ dice, traits, usage }: Draw): Buffer {
  const wanted = dice.chance(0.9)
    ? [USAGES[usage]]
    : dice.pick([[USAGES.clients], [USAGES.servers], [USAGES.any], [USAGES.other]]);
  if (wanted[0] !== USAGES[usage]) traits.add("usages");
  const all = dice.chance(0.3) ? [...wanted, USAGES.other] : wanted;
  return extension("2.5.29.37", sequence(...all.map(identifier)), dice.chance(0.1));
}

const DOMAINS = ["example", "a.example", ".a.example", "b.example", "www.a.example", ""];
const NETWORKS = ["0a000000ff000000", "0a000001ffffffff", "c0a80000ffff0000"];

function nameConstraints(dice: Dice, traits: Set<Trait>): Buffer {
  traits.add("name constraints");
  const base = () => {
    const kind = dice.pick(["dns", "dns", "dns", "address", "email", "uri", "directory"] as const);
    if (kind === "address") return der(0x87, Buffer.from(dice.pick(NETWORKS), "hex"));
    if (kind === "directory") return der(0xa4, name([[ORGANIZATION, 0x0c, "system:masters"]]));
    if (kind === "email") return text(0x81, dice.pick([...DOMAINS, "x@a.example"]));
    return text(kind === "dns" ? 0x82 : 0x86, dice.pick(DOMAINS));
  };
  const subtrees = (tag: number) =>
    der(tag, sequence(base()), ...(dice.chance(0.5) ? [sequence(base())] : []));
  const excluded = dice.chance(0.3) ? [subtrees(0xa1)] : [];
  const permitted = excluded.length === 0 || dice.chance(0.4) ? [subtrees(0xa0)] : [];
  return extension("2.5.29.30", sequence(...permitted, ...excluded), dice.chance(0.6));
}

function alternativeNames(dice: Dice): Buffer {
  const one = () => {
    const kind = dice.pick(["dns", "dns", "dns", "address", "email", "uri"] as const);
    const host = dice.pick(["a.example", "www.a.example", "b.example", "A.Example", "c.test"]);
    if (kind === "email") return text(0x81, `${dice.pick(["x", "y"])}@${host}`);
    if (kind === "uri") return text(0x86, `spiffe://${host}/sa`);
    const address = dice.pick(["0a000001", "c0a80001", "fd000000000000000000000000000001"]);
    if (kind === "address") return der(0x87, Buffer.from(address, "hex"));
    return text(0x82, dice.pick([host, host, host, "*.a.example", "*.example"]));
  };
  const names = [one(), ...(dice.chance(0.5) ? [one()] : [])];
  return extension("2.5.29.17", sequence(...names), dice.chance(0.1));
}

const POLICIES = ["1.2.3.1", "1.2.3.2", "2.5.29.32.0"];

function policies(dice: Dice, traits: Set<Trait>, isAuthority: boolean): Buffer[] {
  if (!dice.chance(0.1)) return [];
  traits.add("policies");
  const chosen = POLICIES.filter(() => dice.chance(0.5));
  const found: Buffer[] = [];
  if (chosen.length > 0) {
    const list = sequence(...chosen.map((policy) => sequence(identifier(policy))));
    found.push(extension("2.5.29.32", list));
  }
  if (!isAuthority) return found;
  if (dice.chance(0.4)) {
    const explicit = dice.chance(0.8) ? [integer(Math.floor(dice.next() * 2), 0x80)] : [];
    const mapping = dice.chance(0.4) ? [integer(0, 0x81)] : [];
    found.push(extension("2.5.29.36", sequence(...explicit, ...mapping), true));
  }
  if (dice.chance(0.2)) {
    const pair = sequence(...[dice.pick(POLICIES), dice.pick(POLICIES)].map(identifier));
    found.push(extension("2.5.29.33", sequence(pair), true));
  }
  if (dice.chance(0.2)) found.push(extension("2.5.29.54", integer(0), true));
  return found;
}

function unknownExtension(dice: Dice, traits: Set<Trait>): Buffer[] {
  if (!dice.chance(0.04)) return [];
  traits.add("unknown extension");
  return [extension("1.3.6.1.4.1.57683.9", der(0x05), dice.chance(0.4))];
}
