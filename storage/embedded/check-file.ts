/**
 * Checks an lmdb file before lmdb maps it into memory. lmdb trusts the file: one that is no database,
 * or is truncated, kills the process with a signal and no message.
 *
 * Both meta pages must exist, and each page of a table that they lead to must be one, say its own number, and hold
 * what it refers to. A file may be shorter than its last page says: free pages behind its end were never written.
 * Changed bytes of records are found by whoever reads them, by their checksum.
 */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { nextTurn } from "../base/next-turn.js";
import { damaged } from "./database.js";

const MAGIC = 0xbeefc0de;
/** A meta page as lmdb-js lays it out: the offsets and lengths of its fields. */
const MAGIC_OFFSET = 24;
const PAGE_SIZE_OFFSET = 48;
const ROOT_OFFSETS = [88, 136] as const;
const LAST_PAGE_OFFSET = 144;
/** Free pages behind the end of a file: more than one transaction has. */
const UNWRITTEN_PAGES_MAX = 131_072n;
const TRANSACTION_OFFSET = 152;
const META_BYTES = 160;
/** Pages that are looked at in one turn: some milliseconds. */
const PAGES_PER_TURN = 256;
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
  let file: number;
  try {
    file = openSync(path, "r");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
    throw error;
  }
  try {
    const facts = fstatSync(file);
    if (!facts.isFile()) throw damaged(`${path} is no file`);
    if (facts.size > 0) await checkPages(file, path, facts.size);
  } finally {
    closeSync(file);
  }
}

/** What waits to be looked at: a page of a table, or the pages of a long value, one after the other. */
interface PageRun {
  readonly page: bigint;
  readonly count: bigint;
  readonly isLongValue?: boolean;
}

async function checkPages(file: number, path: string, size: number): Promise<void> {
  const first = readMeta(file, path, 0);
  const pageSize = first.readUInt32LE(PAGE_SIZE_OFFSET);
  if (!PAGE_SIZES.has(pageSize)) throw damaged(`${path} is no database`);
  const second = readMeta(file, path, pageSize);
  const [a, b] = [first, second].map((meta) => meta.readBigUInt64LE(TRANSACTION_OFFSET));
  const newest = (a ?? 0n) > (b ?? 0n) ? first : second;
  const pages = BigInt(Math.floor(size / pageSize));
  const isCut = newest.readBigUInt64LE(LAST_PAGE_OFFSET) >= pages + UNWRITTEN_PAGES_MAX;
  const waiting: PageRun[] = ROOT_OFFSETS.map((offset) => ({
    page: newest.readBigUInt64LE(offset),
    count: 1n,
  }));
  const bytes = Buffer.alloc(pageSize);
  let walked = 0;
  for (let run = waiting.pop(); run !== undefined; run = waiting.pop()) {
    const { page, count, isLongValue } = run;
    if (page === NO_PAGE) continue;
    // Pages that lead in a circle are more than the file has.
    if (isCut || page + count > pages || ++walked > pages) throw damaged(`${path} is cut short`);
    if (isLongValue) continue;
    if (walked % PAGES_PER_TURN === 0) await nextTurn();
    readSync(file, bytes, 0, pageSize, Number(page) * pageSize);
    try {
      if (bytes.readBigUInt64LE(0) !== page) throw new RangeError("another page's number");
      for (const next of pagesUnder(bytes)) waiting.push(next);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      throw damaged(`page ${page} of ${path} is unreadable`);
    }
  }
}

/** What a page of a table refers to. @throws {RangeError} it is none, or refers to what is beyond its end */
function* pagesUnder(page: Buffer): Generator<PageRun> {
  const flags = page.readUInt16LE(PAGE_FLAGS_OFFSET);
  if ((flags & (BRANCH_PAGE | LEAF_PAGE)) === 0) throw new RangeError("no page of a table");
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
      yield {
        page: node.readBigUInt64LE(data),
        count: node.readBigUInt64LE(data + 16),
        isLongValue: true,
      };
    }
  }
}

function readMeta(file: number, path: string, position: number): Buffer {
  const bytes = Buffer.alloc(META_BYTES);
  const length = readSync(file, bytes, 0, META_BYTES, position);
  if (length < META_BYTES || bytes.readUInt32LE(MAGIC_OFFSET) !== MAGIC) {
    throw damaged(`${path} is no database`);
  }
  return bytes;
}
