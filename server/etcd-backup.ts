/**
 * What the chart's backup runs: takes a snapshot of etcd from the first endpoint that is in touch with a majority, checks
 * it, gives it the name of its time, and removes the oldest beyond those that are kept. A script of its own in the
 * bundle, not of the command: etcd's image has no shell in which its own tool could ask one endpoint after the other.
 */
import { createHash } from "node:crypto";
import { type FileHandle, open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { Client, Metadata, type ServiceError, status } from "@grpc/grpc-js";
import { oneLine } from "../storage/base/one-line.js";
import { targetOf, toCredentials } from "../storage/etcd/connection.js";
import { encodeRange } from "../storage/etcd/messages.js";
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
/** What etcd puts behind the snapshot, of all that is before it. */
const DIGEST_BYTES = 32;
const NAME = /^etcd-\d{8}T\d{6}Z\.db$/;

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
  const { ETCD_CA_FILE, ETCD_CERT_FILE, ETCD_KEY_FILE } = environment;
  const [ca = "", cert = "", key = ""] = await Promise.all(
    [ETCD_CA_FILE, ETCD_CERT_FILE, ETCD_KEY_FILE].map((path) =>
      path ? readFile(path) : undefined,
    ),
  );
  const tls = { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) };
  const client = new Client(targetOf(endpoint), toCredentials(tls, endpoint));
  try {
    const metadata = await logIn(client, environment);
    await checkHealth(client, metadata);
    await using output = await open(file, "w");
    await copySnapshot(client, metadata, output);
  } finally {
    client.close();
  }
}

/** @returns what follows has to say, if anything, so that etcd knows who asks */
async function logIn(
  client: Client,
  { ETCD_USERNAME: name, ETCD_PASSWORD: password = "" }: BackupEnvironment,
): Promise<Metadata> {
  const metadata = new Metadata();
  if (!name) return metadata;
  const answer = await ask(client, "Auth/Authenticate", texts([name, password]), metadata).catch(
    (error) => refuse("gives no log-in", error),
  );
  metadata.set("token", fieldOf(answer, 2).toString());
  return metadata;
}

/** As `etcdctl endpoint health` does: a member that is cut off would give what is old. */
async function checkHealth(client: Client, metadata: Metadata): Promise<void> {
  await ask(client, "KV/Range", encodeRange({ key: "health" }), metadata).catch((error) => {
    // Of a key that the user may not read: who says so has asked a majority.
    if (error.code !== status.PERMISSION_DENIED) refuse("is not healthy", error);
  });
}

/** @throws {Error} it is not all that etcd had to say */
async function copySnapshot(client: Client, metadata: Metadata, output: FileHandle): Promise<void> {
  const path = "/etcdserverpb.Maintenance/Snapshot";
  const none = Buffer.alloc(0);
  const pieces = client.makeServerStreamRequest<Buffer, Buffer>(
    path,
    asItIs,
    asItIs,
    none,
    metadata,
  );
  // The loop below throws the error; another one tells of nothing but the cancelling.
  pieces.on("error", () => {});
  const silence = setTimeout(() => pieces.cancel(), SILENCE_MS);
  const hash = createHash("sha256");
  /** The last bytes that have come: the digest, if nothing follows. */
  let last: Buffer = none;
  try {
    for await (const piece of pieces as AsyncIterable<Buffer>) {
      silence.refresh();
      const blob = fieldOf(piece, 3);
      const held = Buffer.concat([last, blob]);
      const end = Math.max(0, held.length - DIGEST_BYTES);
      hash.update(held.subarray(0, end));
      last = held.subarray(end);
      await output.writeFile(blob);
    }
  } catch (error) {
    refuse("gives no snapshot", error);
  } finally {
    clearTimeout(silence);
    pieces.cancel();
  }
  if (!hash.digest().equals(last)) throw new Error("its snapshot is not what its digest says");
  await output.sync();
}

/** @throws {ServiceError} */
function ask(client: Client, method: string, message: Buffer, metadata: Metadata): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const deadline = Date.now() + SILENCE_MS;
  const answer = (error: ServiceError | null, value?: Buffer) => {
    if (value === undefined) reject(error);
    else resolve(value);
  };
  const path = `/etcdserverpb.${method}`;
  client.makeUnaryRequest(path, asItIs, asItIs, message, metadata, { deadline }, answer);
  return promise;
}

/** @throws {Error} what went wrong, and where */
function refuse(what: string, error: unknown): never {
  const { code, details } = error as ServiceError;
  const isMute = code === status.DEADLINE_EXCEEDED || code === status.CANCELLED;
  if (isMute) throw new Error(`no answer within ${SILENCE_MS / 1000} s`);
  throw new Error(`${what}: ${details ?? oneLine(error)}`);
}

function asItIs(message: Buffer): Buffer {
  return message;
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
