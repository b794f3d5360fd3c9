/**
 * Certificates and keys that all replicas of a topology read from the same files, and their rotation as an
 * operator does it: the new one is trusted everywhere before it is used, and the old one is dropped when
 * nothing needs it any more. Each step waits until it is in force on every replica, and shows by a client
 * that it is.
 */
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { connect } from "node:tls";
import { eventually } from "../harness/eventually.js";
import { HttpsClient } from "../harness/https-client.js";
import { makeTempDir } from "../harness/temp-dir.js";
import { TestAuthority, type TestIdentity } from "../harness/test-authority.js";

/** As much of a replica as a rotation needs. */
export interface RotatedReplica {
  readonly client: HttpsClient;
}

const HOSTS = ["127.0.0.1", "localhost"];
const SELF = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const SELF_REVIEW = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
const TOKENS = "/api/v1/namespaces/default/serviceaccounts/default/token";
const ENCRYPTED = ["secrets", "configmaps"];
/** Files are looked at every second. */
const IN_FORCE_MS = 30_000;

export class RotatingFiles implements AsyncDisposable {
  readonly #folder: AsyncDisposable & { readonly path: string };
  readonly #serving: TestAuthority;
  #clients: TestAuthority;
  #tokenKey: string;
  #encryptionKey: string;

  private constructor(
    folder: AsyncDisposable & { readonly path: string },
    serving: TestAuthority,
    clients: TestAuthority,
  ) {
    this.#folder = folder;
    this.#serving = serving;
    this.#clients = clients;
    this.#tokenKey = newTokenKey();
    this.#encryptionKey = newEncryptionKey();
  }

  static async create(): Promise<RotatingFiles> {
    const files = new RotatingFiles(
      await makeTempDir("rotating"),
      await TestAuthority.create("serving"),
      await TestAuthority.create("clients"),
    );
    await files.#writeServing(await files.#newServing());
    await files.#write("clients.pem", files.#clients.certificate);
    await files.#write("verify.pem", files.#tokenKey);
    await files.#write("sign.pem", files.#tokenKey);
    await files.#writeEncryption(files.#encryptionKey);
    return files;
  }

  get flags(): readonly string[] {
    return [
      `--tls-cert-file=${this.#at("serving.pem")}`,
      `--tls-private-key-file=${this.#at("serving-key.pem")}`,
      `--client-ca-file=${this.#at("clients.pem")}`,
      `--service-account-key-file=${this.#at("verify.pem")}`,
      `--service-account-signing-key-file=${this.#at("sign.pem")}`,
      `--encryption-provider-config=${this.#at("encryption.json")}`,
      "--encryption-provider-config-automatic-reload=true",
    ];
  }

  /** A certificate that the replicas trust. */
  issueClient(commonName: string): Promise<TestIdentity> {
    return this.#clients.issue({ commonName });
  }

  /** New handshakes get the new certificate; connections that are open stay. */
  async rotateServingCertificate(replicas: readonly RotatedReplica[]): Promise<void> {
    const next = await this.#newServing();
    await this.#writeServing(next);
    await everywhere(replicas, "the new certificate is served", async ({ client }) => {
      const shown = await certificateOf(client.url);
      return next.cert.replaceAll(/\s/g, "").includes(shown.toString("base64"));
    });
  }

  async rotateClientAuthority(replicas: readonly RotatedReplica[]): Promise<void> {
    const old = this.#clients;
    const next = await TestAuthority.create("next clients");
    await this.#write("clients.pem", old.certificate + next.certificate);
    const jane = await next.issue({ commonName: "jane" });
    await everywhere(replicas, "both authorities are trusted", async ({ client }) => {
      return (await whoIs(client, jane)) === "jane";
    });
    await this.#write("clients.pem", next.certificate);
    const late = await old.issue({ commonName: "late" });
    await everywhere(replicas, "the old authority is not", async ({ client }) => {
      return (await whoIs(client, late)) === 401;
    });
    this.#clients = next;
  }

  async rotateServiceAccountKeys(replicas: readonly RotatedReplica[]): Promise<void> {
    const first = firstOf(replicas);
    const oldToken = await newToken(first);
    const next = newTokenKey();
    await this.#write("verify.pem", this.#tokenKey + next);
    await everywhere(replicas, "both keys verify", async ({ client }) => {
      const answer = await client.get("/openid/v1/jwks");
      return (answer.object as unknown as { keys: unknown[] }).keys.length === 2;
    });
    await this.#write("sign.pem", next);
    await everywhere(replicas, "the new key signs", async (replica) => {
      return keyIdOf(await newToken(replica)) !== keyIdOf(oldToken);
    });
    const newOne = await newToken(first);
    for (const replica of replicas) {
      for (const token of [oldToken, newOne]) {
        const user = await whoIs(replica.client, token);
        if (user !== "system:serviceaccount:default:default") throw new Error(`token: ${user}`);
      }
    }
    await this.#write("verify.pem", next);
    await everywhere(replicas, "the old key verifies no more", async ({ client }) => {
      return (await whoIs(client, oldToken)) === 401 && (await whoIs(client, newOne)) !== 401;
    });
    this.#tokenKey = next;
  }

  async rotateEncryptionKeys(replicas: readonly RotatedReplica[]): Promise<void> {
    const old = this.#encryptionKey;
    const next = newEncryptionKey();
    for (const keys of [
      [old, next],
      [next, old],
    ]) {
      await this.#changeEncryption(replicas, keys);
    }
    const first = firstOf(replicas);
    for (const resource of ENCRYPTED) await rewrite(first, `/api/v1/${resource}`);
    await this.#changeEncryption(replicas, [next]);
    for (const { client } of replicas) {
      for (const resource of ENCRYPTED) (await client.get(`/api/v1/${resource}`)).expect(200);
    }
    this.#encryptionKey = next;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#folder[Symbol.asyncDispose]();
  }

  async #changeEncryption(replicas: readonly RotatedReplica[], keys: string[]): Promise<void> {
    const before = new Map<RotatedReplica, number>();
    for (const replica of replicas) before.set(replica, await encryptionReloads(replica));
    await this.#writeEncryption(...keys);
    await everywhere(replicas, "the keys of encryption are taken over", async (replica) => {
      return (await encryptionReloads(replica)) > (before.get(replica) ?? 0);
    });
  }

  #newServing(): Promise<TestIdentity> {
    return this.#serving.issue({ commonName: "api", usage: "server", hosts: HOSTS });
  }

  /** With the authority behind it, which the administrator's kubeconfig takes from there. */
  async #writeServing({ cert, key }: TestIdentity): Promise<void> {
    await this.#write("serving.pem", cert + this.#serving.certificate);
    await this.#write("serving-key.pem", key);
  }

  async #writeEncryption(...keys: readonly string[]): Promise<void> {
    const named = keys.map((secret) => ({ name: `k${secret.slice(0, 6)}`, secret }));
    const providers = [{ secretbox: { keys: named } }, { identity: {} }];
    const configuration = {
      apiVersion: "apiserver.config.k8s.io/v1",
      kind: "EncryptionConfiguration",
      resources: [{ resources: ENCRYPTED, providers }],
    };
    await this.#write("encryption.json", JSON.stringify(configuration));
  }

  /** Whole or not at all, as Secrets that are mounted change. */
  async #write(name: string, text: string): Promise<void> {
    await writeFile(this.#at(`${name}.next`), text, { mode: 0o600 });
    await rename(this.#at(`${name}.next`), this.#at(name));
  }

  #at(name: string): string {
    return join(this.#folder.path, name);
  }
}

function firstOf([first]: readonly RotatedReplica[]): RotatedReplica {
  if (first === undefined) throw new RangeError("there are no replicas");
  return first;
}

async function everywhere(
  replicas: readonly RotatedReplica[],
  what: string,
  isInForce: (replica: RotatedReplica) => Promise<boolean>,
): Promise<void> {
  await Promise.all(
    replicas.map((replica) => eventually(what, () => isInForce(replica), IN_FORCE_MS)),
  );
}

function newTokenKey(): string {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return String(privateKey.export({ type: "pkcs8", format: "pem" }));
}

function newEncryptionKey(): string {
  return randomBytes(32).toString("base64");
}

/** The name of who comes with a certificate or a token, or the status when that is nobody. */
async function whoIs(
  { url, credentials }: HttpsClient,
  who: TestIdentity | string,
): Promise<string | number> {
  const isToken = typeof who === "string";
  const client = new HttpsClient(url, { ca: credentials.ca, ...(isToken ? {} : who) });
  try {
    const headers: Record<string, string> = isToken ? { authorization: `Bearer ${who}` } : {};
    const options = { method: "POST", body: SELF_REVIEW, headers };
    const answer = await client.request(SELF, options);
    if (answer.status !== 201) return answer.status;
    const { status } = answer.object as unknown as {
      status: { userInfo: { username: string } };
    };
    return status.userInfo.username;
  } finally {
    client.close();
  }
}

async function newToken({ client }: RotatedReplica): Promise<string> {
  const body = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
  const answer = (await client.post(TOKENS, body)).expect(201);
  return (answer.object as unknown as { status: { token: string } }).status.token;
}

function keyIdOf(token: string): string {
  const [header = ""] = token.split(".");
  return (JSON.parse(Buffer.from(header, "base64url").toString()) as { kid: string }).kid;
}

/** A write that changes nothing is stored when the key has changed. */
async function rewrite({ client }: RotatedReplica, path: string): Promise<void> {
  for (const { metadata } of (await client.get(path)).expect(200).items) {
    const [root = "", resource = ""] = path.split(/\/(?=[^/]+$)/);
    const at = `${root}/namespaces/${metadata.namespace}/${resource}/${metadata.name}`;
    const patched = await client.patch(at, {});
    if (patched.status !== 404) patched.expect(200, at);
  }
}

async function encryptionReloads({ client }: RotatedReplica): Promise<number> {
  const { text } = await client.get("/metrics");
  const pattern =
    /^apiserver_encryption_config_controller_automatic_reloads_total\{.*status="success".*\} (\d+)$/m;
  return Number(pattern.exec(text)?.[1] ?? 0);
}

function certificateOf(url: string): Promise<Buffer> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false });
    socket.once("secureConnect", () => {
      resolve(socket.getPeerCertificate().raw);
      socket.destroy();
    });
    socket.once("error", reject);
  });
}
