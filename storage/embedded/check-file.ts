/**
 * Checks an lmdb file before lmdb maps it into memory. lmdb trusts the file: one that is no database,
 * or is truncated, kills the process with a signal and no message.
 *
 * Both meta pages must exist and refer to existing pages. A file that is shorter than its last page says is
 * walked, as the pages behind its end may be free ones that were never written. Damage further inside is found
 * by whoever reads a record, by its checksum; lmdb's inner pages have none.
 */
import { type FileHandle, open } from "node:fs/promises";
import { damaged } from "./database.js";

const MAGIC = 0xbeefc0de;
/** A meta page as lmdb-js lays it out: the offsets and lengths of its fields. */
const MAGIC_OFFSET = 24;
const PAGE_SIZE_OFFSET = 48;
const ROOT_OFFSETS = [88, 136] as const;
const LAST_PAGE_OFFSET = 144;
/** Free pages behind the end of a file: more than one transaction has. */
const UNWRITTEN_PAGES_MAX = 1 << 17;
const TRANSACTION_OFFSET = 152;
const META_BYTES = 160;
/** The root of an empty table. */
const NO_PAGE = 0xffff_ffff_ffff_ffffn;
/** Pages: a header with flags and the end of the list of nodes, that list, then the nodes. */
const PAGE_HEADER_BYTES = 24;
const PAGE_FLAGS_OFFSET = 18;
const PAGE_LOWER_OFFSET = 20;
const BRANCH_PAGE = 1;
const LEAF_PAGE = 2;
/** Nodes: a page number of six bytes or a length, flags, the key's length, the key, the data. */
const NODE_HEADER_BYTES = 8;
const NODE_FLAGS_OFFSET = 4;
const KEY_LENGTH_OFFSET = 6;
/** The data is the number of a long value's first page, a word that is not used here, and how many pages it has. */
const LONG_VALUE = 1;
/** The data is a table, with its root here. */
const TABLE = 2;
const TABLE_ROOT_OFFSET = 40;
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
  const pages = Math.floor(size / pageSize);
  const missing = newest.readBigUInt64LE(LAST_PAGE_OFFSET) + 1n - BigInt(pages);
  if (missing <= 0n) return;
  const cut = damaged(`${path} is cut short`);
  if (missing > UNWRITTEN_PAGES_MAX) throw cut;
  let walked = 0;
  const waiting = ROOT_OFFSETS.map((offset) => ({
    page: newest.readBigUInt64LE(offset),
    count: 1n,
  }));
  for (let run = waiting.pop(); run !== undefined; run = waiting.pop()) {
    if (run.page === NO_PAGE) continue;
    if (run.page + run.count > BigInt(pages) || ++walked > pages) throw cut;
    const bytes = Buffer.alloc(pageSize);
    await file.read(bytes, 0, pageSize, Number(run.page) * pageSize);
    try {
      for (const next of pagesUnder(bytes)) waiting.push(next);
    } catch {
      // A number of a damaged page is beyond its end.
      throw cut;
    }
  }
}

/** Pages that lie one after the other; only the first has a header. */
interface PageRun {
  readonly page: bigint;
  readonly count: bigint;
}

/** What a page of a table refers to. */
function* pagesUnder(page: Buffer): Generator<PageRun> {
  const flags = page.readUInt16LE(PAGE_FLAGS_OFFSET);
  if ((flags & (BRANCH_PAGE | LEAF_PAGE)) === 0) return;
  const nodes = page.readUInt16LE(PAGE_LOWER_OFFSET) / 2;
  for (let index = 0; index < nodes; index++) {
    const start = page.readUInt16LE(PAGE_HEADER_BYTES + 2 * index);
    const node = page.subarray(PAGE_HEADER_BYTES + start);
    const kind = node.readUInt16LE(NODE_FLAGS_OFFSET);
    const data = NODE_HEADER_BYTES + node.readUInt16LE(KEY_LENGTH_OFFSET);
    if ((flags & BRANCH_PAGE) !== 0) yield { page: BigInt(node.readUIntLE(0, 6)), count: 1n };
    else if ((kind & TABLE) !== 0) {
      yield { page: node.readBigUInt64LE(data + TABLE_ROOT_OFFSET), count: 1n };
    } else if ((kind & LONG_VALUE) !== 0) {
      yield { page: node.readBigUInt64LE(data), count: node.readBigUInt64LE(data + 16) };
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
