/**
 * Identities in files: NAME.key holds the private key with its certificate behind it, so that the pair is replaced
 * atomically, and is read again at the next start; NAME.crt holds the certificate alone, for people to hand out.
 * Nothing reads the latter back.
 */
import { createPrivateKey, randomBytes, X509Certificate } from "node:crypto";
import { link, readFile, rename, rm, unlink, writeFile } from "node:fs/promises";

export interface Identity {
  /** PEM, PKCS #8. */
  readonly key: string;
  /** PEM. */
  readonly cert: string;
  /**
   * Of an authority that replaces another one, PEM: its certificate as the older one issued it, which leads those who
   * trust that one here, and the older one's own, which vouches for what it issued until it ends.
   */
  readonly older?: string;
}

const keyFile = (base: string): string => `${base}.key`;

/** undefined when the file is missing or unreadable: it is then replaced. */
export async function readIdentity(base: string): Promise<Identity | undefined> {
  const file = keyFile(base);
  await adoptOldFile(base);
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  return parseIdentity(text);
}

/** Parses key and certificate; undefined when they are missing or do not match. */
export function parseIdentity(text: string): Identity | undefined {
  const key = /-----BEGIN PRIVATE KEY-----[\s\S]+?-----END PRIVATE KEY-----\n?/.exec(text)?.[0];
  const [cert, ...others] =
    text.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----\n?/g) ?? [];
  if (key === undefined || cert === undefined || !isPair(key, cert)) return undefined;
  return { key, cert, ...(others.length > 0 && { older: others.join("") }) };
}

/** As `parseIdentity` reads it; earlier releases read key and certificate of it. */
export function formatIdentity({ key, cert, older = "" }: Identity): string {
  return key + cert + older;
}

function isPair(key: string, cert: string): boolean {
  try {
    return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));
  } catch {
    return false;
  }
}

/**
 * Stores an identity atomically. Two replicas that start on one directory at the same time must end
 * with the same authority, so a new file is only created when none exists.
 */
export async function storeIdentity(
  base: string,
  made: Identity,
  replaces: boolean,
): Promise<Identity> {
  const file = keyFile(base);
  const draft = `${file}.${process.pid}.${randomBytes(4).toString("hex")}`;
  await writeFile(draft, formatIdentity(made), { mode: 0o600 });
  if (replaces) {
    await rename(draft, file);
    return made;
  }
  try {
    await link(draft, file);
    return made;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    const winner = await readIdentity(base);
    if (winner !== undefined) return winner;
    await rename(draft, file);
    return made;
  } finally {
    await rm(draft, { force: true });
  }
}

/** Earlier releases had key and certificate in NAME.pem, which looks like something to hand out. */
async function adoptOldFile(base: string): Promise<void> {
  try {
    await link(`${base}.pem`, keyFile(base));
    await unlink(`${base}.pem`);
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT" && code !== "EEXIST") throw error;
  }
}

/** Writes NAME.crt if it is another one. A disk without room leaves the old file: nothing here needs it. */
export async function writeCertificate(base: string, cert: string): Promise<void> {
  const file = `${base}.crt`;
  const draft = `${file}.${process.pid}.${randomBytes(4).toString("hex")}`;
  try {
    if ((await readFile(file, "utf8").catch(() => "")) === cert) return;
    await writeFile(draft, cert, { mode: 0o600 });
    await rename(draft, file);
  } catch {
    await rm(draft, { force: true }).catch(() => {});
  }
}
