/**
 * What the chart's backup runs: takes a snapshot of etcd from the first endpoint that is in touch with a majority, checks
 * it, gives it the name of its time, and removes the oldest beyond those that are kept. A script of its own in the
 * bundle, not of the command: etcd's image has no shell in which its own tool could ask one endpoint after the other.
 */
import { createHash } from "node:crypto";
import { type FileHandle, open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from "node:http2";
import { join } from "node:path";
import { oneLine } from "../storage/base/one-line.js";
import { MessageReader, PREFIX_BYTES } from "../storage/etcd/message-reader.js";
import { fieldSize, ProtobufReader, ProtobufWriter } from "../storage/etcd/protobuf.js";

/** Files are paths; what is empty is not given. */
export interface BackupEnvironment {
  /** URLs, separated by commas. */
  readonly ETCD_ENDPOINTS?: string;
  readonly ETCD_CA_FILE?: string;
  readonly ETCD_CERT_FILE?: string;
  readonly ETCD_KEY_FILE?: string;
  readonly ETCD_USERNAME?: string;
  readonly ETCD_PASSWORD?: string;
  /** How many snapshots stay. */
  readonly KEEP?: string;
}

/** An endpoint that says nothing for so long is given up. */
const SILENCE_MS = 20_000;
/** etcd sends pieces of 32 KiB. */
const MESSAGE_BYTES_MAX = 16 * 1024 * 1024;
/** What etcd puts behind the snapshot, of all that is before it. */
const DIGEST_BYTES = 32;
const NAME = /^etcd-\d{8}T\d{6}Z\.db$/;

const OK = "0";
/** Of a key that the user may not read: whoever says so has asked a majority. */
const PERMISSION_DENIED = "7";

/**
 * @param folder where the snapshots are
 * @param say one line at a time
 * @throws {Error} no endpoint gave a snapshot
 */
export async function runEtcdBackup(
  environment: BackupEnvironment,
  folder: string,
  say: (line: string) => void,
): Promise<void> {
  const endpoints = environment.ETCD_ENDPOINTS?.split(",") ?? [];
  const taken = join(folder, "taken");
  if (!(await takeFromAny(endpoints, environment, taken, say))) {
    await rm(taken, { force: true });
    throw new Error(`none of ${endpoints.length} endpoints gave a snapshot`);
  }
  const { size } = await stat(taken);
  const name = `etcd-${new Date().toISOString().replace(/[-:]|\.\d+/g, "")}.db`;
  await rename(taken, join(folder, name));
  say(`${name}: ${size} bytes`);
  const names = (await readdir(folder)).filter((one) => NAME.test(one)).sort();
  for (const old of names.slice(0, -Number(environment.KEEP))) {
    await rm(join(folder, old));
    say(`${old}: removed`);
  }
}

async function takeFromAny(
  endpoints: readonly string[],
  environment: BackupEnvironment,
  file: string,
  say: (line: string) => void,
): Promise<boolean> {
  for (const endpoint of endpoints) {
    try {
      await takeFrom(endpoint, environment, file);
      return true;
    } catch (error) {
      say(`${endpoint}: ${oneLine(error)}`);
    }
  }
  return false;
}

/** @throws {Error} the endpoint is not healthy, or what it gave is not whole */
async function takeFrom(
  endpoint: string,
  environment: BackupEnvironment,
  file: string,
): Promise<void> {
  const [ca, cert, key] = await Promise.all(
    [environment.ETCD_CA_FILE, environment.ETCD_CERT_FILE, environment.ETCD_KEY_FILE].map(
      async (path) => (path ? { content: await readFile(path) } : undefined),
    ),
  );
  const session = connect(endpoint, {
    ...(ca && { ca: ca.content }),
    ...(cert && { cert: cert.content }),
    ...(key && { key: key.content }),
  });
  const failed = new Promise<never>((_, reject) => session.on("error", reject));
  session.setTimeout(SILENCE_MS, () => {
    session.destroy(new Error(`no answer within ${SILENCE_MS / 1000} s`));
  });
  try {
    await Promise.race([failed, take(session, environment, file)]);
  } finally {
    session.destroy();
  }
}

async function take(
  session: ClientHttp2Session,
  environment: BackupEnvironment,
  file: string,
): Promise<void> {
  const token = await logIn(session, environment);
  // As `etcdctl endpoint health` does: a member that is cut off would give what is old.
  const health = await ask(session, "KV/Range", texts(["health"]), token);
  if (health.status !== PERMISSION_DENIED) accept("is not healthy", health);
  const output = await open(file, "w");
  try {
    await copySnapshot(call(session, "Maintenance/Snapshot", Buffer.alloc(0), token), output);
  } finally {
    await output.close();
  }
}

/** @returns the token of what follows; undefined: nobody has to log in */
async function logIn(
  session: ClientHttp2Session,
  { ETCD_USERNAME: name, ETCD_PASSWORD: password }: BackupEnvironment,
): Promise<string | undefined> {
  if (!name) return undefined;
  const answer = await ask(session, "Auth/Authenticate", texts([name, password ?? ""]), undefined);
  accept("refuses the log-in", answer);
  const [message = Buffer.alloc(0)] = answer.messages;
  return fieldOf(message, 2).toString();
}

interface Answer {
  readonly status: string;
  readonly text: string;
  readonly messages: readonly Buffer[];
}

async function ask(
  session: ClientHttp2Session,
  method: string,
  message: Buffer,
  token: string | undefined,
): Promise<Answer> {
  const sent = call(session, method, message, token);
  const messages: Buffer[] = [];
  const reader = new MessageReader(MESSAGE_BYTES_MAX, (one) => messages.push(one));
  for await (const piece of sent.stream) reader.push(piece as Buffer);
  return { ...sent.end(), messages };
}

/** @throws {Error} it is not all that etcd had to say */
async function copySnapshot({ stream, end }: Call, output: FileHandle): Promise<void> {
  const hash = createHash("sha256");
  let blobs: Buffer[] = [];
  const reader = new MessageReader(MESSAGE_BYTES_MAX, (one) => blobs.push(fieldOf(one, 3)));
  /** The last bytes that have come: the digest, if nothing follows. */
  let last = Buffer.alloc(0);
  for await (const piece of stream) {
    blobs = [];
    if (!reader.push(piece as Buffer)) throw new Error("sends what is no snapshot");
    for (const blob of blobs) {
      const held = Buffer.concat([last, blob]);
      const end = Math.max(0, held.length - DIGEST_BYTES);
      hash.update(held.subarray(0, end));
      last = held.subarray(end);
      await output.writeFile(blob);
    }
  }
  accept("gives no snapshot", end());
  if (!hash.digest().equals(last)) throw new Error("its snapshot is not what its digest says");
  await output.sync();
}

interface Call {
  readonly stream: ClientHttp2Stream;
  /** How it went, once the stream has ended. */
  end(): Pick<Answer, "status" | "text">;
}

function call(
  session: ClientHttp2Session,
  method: string,
  message: Buffer,
  token: string | undefined,
): Call {
  const stream = session.request({
    ":method": "POST",
    ":path": `/etcdserverpb.${method}`,
    "content-type": "application/grpc",
    te: "trailers",
    ...(token !== undefined && { token }),
  });
  let status = "none";
  let text = "";
  const note = (headers: Readonly<Record<string, unknown>>) => {
    status = String(headers["grpc-status"] ?? status);
    text = String(headers["grpc-message"] ?? text);
  };
  // An answer that is a refusal alone has it among its first headers.
  stream.on("response", note);
  stream.on("trailers", note);
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt32BE(message.length, 1);
  stream.end(Buffer.concat([prefix, message]));
  return { stream, end: () => ({ status, text }) };
}

/** @throws {Error} it is a refusal */
function accept(what: string, { status, text }: Pick<Answer, "status" | "text">): void {
  if (status !== OK) throw new Error(`${what}: ${text} (status ${status})`);
}

/** A message whose first fields are texts. */
function texts(values: readonly string[]): Buffer {
  const sizes = values.map((value) => Buffer.byteLength(value));
  const writer = new ProtobufWriter(sizes.reduce((sum, size) => sum + fieldSize(size), 0));
  for (const [index, value] of values.entries()) writer.text(index + 1, value, sizes[index] ?? 0);
  return writer.buffer;
}

/** The bytes of a field; none if the message has it not. */
function fieldOf(message: Buffer, wanted: number): Buffer {
  const reader = new ProtobufReader(message);
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === wanted) return reader.bytes();
    reader.skip();
  }
  return Buffer.alloc(0);
}
