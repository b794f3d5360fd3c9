/**
 * Checks an lmdb file before lmdb maps it into memory. lmdb trusts the file: one that is no database,
 * or is truncated, kills the process with a signal and no message.
 *
 * Both meta pages must exist and refer to existing pages. Damage further inside is found by whoever reads a
 * record, by its checksum; lmdb's inner pages have none.
 */
import { type FileHandle, open } from "node:fs/promises";
import { damaged } from "./database.js";

const MAGIC = 0xbeefc0de;
/** A meta page as lmdb-js lays it out: the offsets and lengths of its fields. */
const MAGIC_OFFSET = 24;
const PAGE_SIZE_OFFSET = 48;
const ROOT_OFFSETS = [88, 136] as const;
const TRANSACTION_OFFSET = 152;
const META_BYTES = 160;
/** The root of an empty table. */
const NO_PAGE = 0xffff_ffff_ffff_ffffn;
const PAGE_SIZES: ReadonlySet<number> = new Set([4_096, 8_192, 16_384, 32_768, 65_536]);

/** A missing or empty file is fine: lmdb creates it. @throws {StorageError} Refused */
export async function checkFile(path: string): Promise<void> {
  let file: FileHandle;
  try {
    file = await open(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
    throw error;
  }
  try {
    const { size } = await file.stat();
    if (size > 0) await checkPages(file, path, size);
  } finally {
    await file.close();
  }
}

async function checkPages(file: FileHandle, path: string, size: number): Promise<void> {
  const first = await readMeta(file, path, 0);
  const pageSize = first.readUInt32LE(PAGE_SIZE_OFFSET);
  if (!PAGE_SIZES.has(pageSize)) throw damaged(`${path} is no database`);
  const second = await readMeta(file, path, pageSize);
  const [a, b] = [first, second].map((meta) => meta.readBigUInt64LE(TRANSACTION_OFFSET));
  const newest = (a ?? 0n) > (b ?? 0n) ? first : second;
  for (const offset of ROOT_OFFSETS) {
    const root = newest.readBigUInt64LE(offset);
    if (root !== NO_PAGE && (root + 1n) * BigInt(pageSize) > BigInt(size)) {
      throw damaged(`${path} is cut short`);
    }
  }
}

async function readMeta(file: FileHandle, path: string, position: number): Promise<Buffer> {
  const { bytesRead, buffer } = await file.read(Buffer.alloc(META_BYTES), 0, META_BYTES, position);
  if (bytesRead < META_BYTES || buffer.readUInt32LE(MAGIC_OFFSET) !== MAGIC) {
    throw damaged(`${path} is no database`);
  }
  return buffer;
}
