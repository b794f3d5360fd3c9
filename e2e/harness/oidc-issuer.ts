/**
 * A real OpenID Connect issuer for tests: HTTPS with a certificate of the test's making, discovery, a
 * key set that can be rotated, and tokens. It counts what it is asked and can be made to misbehave.
 */
import "reflect-metadata";
import { randomUUID, webcrypto } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import {
  BasicConstraintsExtension,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from "@peculiar/x509";
import { CompactSign, exportJWK, generateKeyPair, type JWK } from "jose";
import { TestAuthority, type TestIdentity } from "./test-authority.js";

export interface TestIssuerOptions {
  /** An address of this machine; default 127.0.0.1. */
  readonly host?: string;
  /** What the server shows; default: issued for the host by an authority of its own. */
  readonly identity?: TestIdentity;
  /** Below the host, such as "/realms/a". */
  readonly path?: string;
  readonly algorithm?: string;
}

export type Claims = Readonly<Record<string, unknown>>;

interface SigningKey {
  readonly kid: string;
  readonly algorithm: string;
  readonly privateKey: webcrypto.CryptoKey;
  readonly publicJwk: JWK;
}

export type Answer = (request: IncomingMessage, response: ServerResponse) => void;

interface KeyPair {
  readonly algorithm: string;
  readonly privateKey: webcrypto.CryptoKey;
  readonly publicKey: webcrypto.CryptoKey;
}

const HOST = "127.0.0.1";
const HOUR_SECONDS = 3_600;

/**
 * Pairs of issuers that have ended, for those to come, as an RSA pair costs a tenth of a second of CPU.
 * No two pairs of issuers that are open, and none that one issuer has ever had, are the same.
 */
const sparePairs: KeyPair[] = [];

export class TestIssuer implements AsyncDisposable {
  /** PEM of the authority behind the server's certificate. */
  readonly authority: string;
  readonly url: string;
  /** How often the documents were asked for. */
  readonly asked = { discovery: 0, keys: 0 };
  /** Replaces the answer for a path below the host. */
  readonly overrides = new Map<string, Answer>();
  readonly #identity: TestIdentity;
  readonly #path: string;
  readonly #host: string;
  readonly #port: number;
  #server: Server;
  #keys: readonly SigningKey[];
  /** Of all keys it has had, withdrawn ones too. */
  readonly #pairs: KeyPair[];

  private constructor(
    server: Server,
    identity: TestIdentity,
    authority: string,
    path: string,
    pair: KeyPair,
    key: SigningKey,
  ) {
    this.#server = server;
    this.#identity = identity;
    this.authority = authority;
    this.#path = path;
    const { address, port } = server.address() as AddressInfo;
    this.#host = address;
    this.#port = port;
    this.url = `https://${address}:${port}${path}`;
    this.#keys = [key];
    this.#pairs = [pair];
    server.on("request", this.#answer);
  }

  static async open(options: TestIssuerOptions = {}): Promise<TestIssuer> {
    const { host = HOST, path = "", algorithm = "RS256" } = options;
    // A name of its own, as authorities in one bundle are told apart by name.
    const authority = await TestAuthority.create(`issuer-ca-${randomUUID()}`);
    const identity =
      options.identity ??
      (await authority.issue({ commonName: "issuer", usage: "server", hosts: [host] }));
    const server = await listen(identity, host, 0);
    const pair = await takePair(algorithm);
    const key = await toSigningKey(pair);
    return new TestIssuer(server, identity, authority.certificate, path, pair, key);
  }

  get discoveryPath(): string {
    return `${this.#path}/.well-known/openid-configuration`;
  }

  get keysPath(): string {
    return `${this.#path}/keys`;
  }

  get keysUrl(): string {
    return `https://${this.#host}:${this.#port}${this.keysPath}`;
  }

  /** The key that signs. */
  get key(): SigningKey {
    return this.#keys[0] as SigningKey;
  }

  /** A new signing key. The old ones stay in the set unless they are withdrawn. */
  async rotate({
    algorithm = "RS256",
    withdrawsOld = true,
    kid = undefined as string | undefined,
  } = {}) {
    const pair = await takePair(algorithm);
    this.#pairs.push(pair);
    const key = await toSigningKey(pair, kid);
    this.#keys = withdrawsOld ? [key] : [key, ...this.#keys];
  }

  /** A token that is valid for an hour, for `claims` beyond and instead of the usual ones. */
  async sign(claims: Claims = {}, header: Claims = {}, key = this.key): Promise<string> {
    const now = Math.floor(Date.now() / 1000);
    const all = {
      iss: this.url,
      aud: "keelson",
      sub: "jane",
      iat: now,
      exp: now + HOUR_SECONDS,
      ...claims,
    };
    return await new CompactSign(Buffer.from(JSON.stringify(all)))
      .setProtectedHeader({ alg: key.algorithm, kid: key.kid, ...header })
      .sign(key.privateKey);
  }

  /** Ends as a crash does; what was open is closed. */
  async stop(): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, "close");
  }

  /** On the same port as before. */
  async restart(): Promise<void> {
    this.#server = await listen(this.#identity, this.#host, this.#port);
    this.#server.on("request", this.#answer);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    sparePairs.push(...this.#pairs.splice(0));
  }

  readonly #answer = (request: IncomingMessage, response: ServerResponse) => {
    const path = request.url ?? "";
    if (path === this.discoveryPath) this.asked.discovery++;
    if (path === this.keysPath) this.asked.keys++;
    const override = this.overrides.get(path);
    if (override !== undefined) return override(request, response);
    if (path === this.discoveryPath) {
      return answerJson(response, { issuer: this.url, jwks_uri: this.keysUrl });
    }
    if (path === this.keysPath) {
      return answerJson(response, { keys: this.#keys.map(({ publicJwk }) => publicJwk) });
    }
    response.writeHead(404).end();
  };
}

export function answerJson(response: ServerResponse, document: unknown): void {
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify(document));
}

/** A server's certificate that nobody but itself has signed. */
export async function makeSelfSigned(isAuthority: boolean): Promise<TestIdentity> {
  const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: "CN=issuer",
    keys,
    signingAlgorithm: algorithm,
    notBefore: new Date(Date.now() - HOUR_SECONDS * 1000),
    notAfter: new Date(Date.now() + HOUR_SECONDS * 1000),
    extensions: [
      new BasicConstraintsExtension(isAuthority, undefined, true),
      new SubjectAlternativeNameExtension([{ type: "ip", value: HOST }]),
    ],
  });
  const key = Buffer.from(await webcrypto.subtle.exportKey("pkcs8", keys.privateKey));
  return {
    cert: certificate.toString("pem"),
    key: `-----BEGIN PRIVATE KEY-----\n${key.toString("base64")}\n-----END PRIVATE KEY-----\n`,
  };
}

async function listen(identity: TestIdentity, host: string, port: number): Promise<Server> {
  const server = createServer({ cert: identity.cert, key: identity.key });
  // Handshakes that a client gives up are what some tests are about.
  server.on("tlsClientError", () => {});
  server.listen(port, host);
  await once(server, "listening");
  return server;
}

async function takePair(algorithm: string): Promise<KeyPair> {
  const spare = sparePairs.findIndex((pair) => pair.algorithm === algorithm);
  const [pair] = spare === -1 ? [] : sparePairs.splice(spare, 1);
  return pair ?? { algorithm, ...(await generateKeyPair(algorithm, { extractable: true })) };
}

async function toSigningKey(
  { algorithm, privateKey, publicKey }: KeyPair,
  kid: string = randomUUID(),
): Promise<SigningKey> {
  const publicJwk = { ...(await exportJWK(publicKey)), kid, alg: algorithm, use: "sig" };
  return { kid, algorithm, privateKey, publicJwk };
}
