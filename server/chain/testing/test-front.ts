/**
 * A whole front for tests: real TLS on a free port, real certificates in a temporary directory, the
 * full request chain, and a handler of the test's own.
 */

import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import type { IncomingHttpHeaders } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { request as httpsRequest } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from "node:tls";
import { type Clock, systemClock } from "../../../storage/base/clock.js";
import { type LogFields, type Logger, silentLogger } from "../../../storage/base/logger.js";
import { createNaming, DEFAULT_VENDOR } from "../../api/naming.js";
import { AnonymousAuthenticator } from "../../authn/anonymous.js";
import { type Authenticator, UnionAuthenticator } from "../../authn/authenticator.js";
import { ClientCertificateAuthenticator } from "../../authn/client-certificate.js";
import { UnknownBearerAuthenticator } from "../../authn/unknown-bearer.js";
import { type Authorizer, UnionAuthorizer } from "../../authz/authorizer.js";
import type { Impersonation } from "../../authz/impersonation.js";
import { PrivilegedGroupsAuthorizer } from "../../authz/privileged-groups.js";
import {
  ensureServingCertificates,
  type OwnCertificates,
} from "../../certificates/certificates.js";
import type { Identity } from "../../certificates/identity-files.js";
import { Health } from "../../http/health.js";
import { Listener } from "../../http/listener.js";
import { createRoutes } from "../../http/routes.js";
import { createAccessMetrics } from "../../metrics/access-metrics.js";
import { Metrics } from "../../metrics/metrics.js";
import type { RequestMiddleware } from "../../request/request-state.js";
import type { RequestStep } from "../../request/step.js";
import { MASTERS_GROUP } from "../../request/user-info.js";
import { createApplication } from "../application.js";
import type { AuditSteps } from "../audit.js";
import { InFlightLimits } from "../in-flight.js";
import { requestChain } from "../request-chain.js";
import type { StatusEncoder } from "../status-response.js";

/** Health and version are public, as in the default policy. */
const PUBLIC_PATHS: Authorizer = {
  name: "public-paths",
  authorize: ({ info }) => ({
    decision:
      info.verb === "get" && /^\/(livez|readyz|healthz|version)(\/|$)/.test(info.path)
        ? "allow"
        : "no-opinion",
    reason: "",
  }),
};

const encodeStatusAsJson: StatusEncoder = (status) => ({
  contentType: "application/json",
  body: `${JSON.stringify(status)}\n`,
});

export interface FrontOptions {
  readonly handler?: RequestMiddleware;
  readonly anonymous?: boolean;
  readonly readOnlyMax?: number;
  readonly requestTimeoutMs?: number;
  readonly goawayChance?: number;
  /** The time at which the certificates are made. */
  readonly madeAt?: Date;
  /** Tried after the authenticator of client certificates. */
  readonly authenticators?: readonly Authenticator[];
  /** PEM: sent to clients in the handshake besides our own. */
  readonly otherAuthorities?: string;
  readonly authorizer?: Authorizer;
  readonly audit?: AuditSteps;
  readonly shutdownRefusal?: RequestStep;
  readonly impersonation?: Impersonation;
  readonly flowControl?: RequestStep;
  /** Of the listener. */
  readonly clock?: Clock;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export interface Ask {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string | Buffer;
  /** The client certificate; null = none. Default: the administrator's. */
  readonly identity?: Identity | null;
}

export interface Front extends AsyncDisposable {
  readonly port: number;
  readonly listener: Listener;
  readonly certificates: OwnCertificates;
  readonly clientCertificates: ClientCertificateAuthenticator;
  readonly health: Health;
  readonly metrics: Metrics;
  /** Logged fields at warn and error level. */
  readonly logged: LogFields[];
  ask(path: string, ask?: Ask): Promise<Answer>;
  askHttp2(path: string, ask?: Ask): Promise<Answer>;
  connect(options?: ConnectionOptions): Promise<TLSSocket>;
}

export async function openFront(options: FrontOptions = {}): Promise<Front> {
  const dataDir = await mkdtemp(join(tmpdir(), "keelson-front-"));
  const certificates = await ensureServingCertificates(dataDir, {
    hosts: ["localhost", "127.0.0.1"],
    adminName: "test-admin",
    adminGroup: MASTERS_GROUP,
    ...(options.madeAt === undefined ? {} : { now: options.madeAt }),
  });
  const { requestTimeoutMs = 60_000 } = options;
  const logged: LogFields[] = [];
  const logger: Logger = {
    ...silentLogger,
    warn: (fields) => void logged.push(fields),
    error: (fields) => void logged.push(fields),
  };
  const naming = createNaming(DEFAULT_VENDOR);
  const metrics = new Metrics();
  const health = new Health({ logger, clock: systemClock, livezGracePeriodMs: 0 });
  const clientCertificates = new ClientCertificateAuthenticator({
    credentialIdKey: "credential-id",
  });
  // The handshake may trust more than the clients' authority.
  clientCertificates.replaceAuthorities(certificates.clientAuthority);
  const inFlightLimits = new InFlightLimits({
    readOnlyMax: options.readOnlyMax ?? 400,
    mutatingMax: 200,
  });
  metrics.observeInFlight(() => inFlightLimits);
  const chain = requestChain({
    logger,
    verbosity: { logsRequests: true },
    metrics,
    naming,
    access: createAccessMetrics(metrics, naming),
    encodeStatus: encodeStatusAsJson,
    authenticator: new UnionAuthenticator(
      [clientCertificates, ...(options.authenticators ?? []), new UnknownBearerAuthenticator()],
      options.anonymous === false ? undefined : new AnonymousAuthenticator(),
    ),
    authorizer: new UnionAuthorizer([
      new PrivilegedGroupsAuthorizer([MASTERS_GROUP]),
      PUBLIC_PATHS,
      ...(options.authorizer === undefined ? [] : [options.authorizer]),
    ]),
    audit: options.audit,
    shutdownRefusal: options.shutdownRefusal,
    impersonation: options.impersonation,
    flowControl: options.flowControl,
    inFlightLimits,
    requestTimeoutMs,
    isServed: () => true,
    routes: createRoutes({
      health,
      metrics,
      documents: {
        "/version": () => ({
          status: 200,
          headers: { "Content-Type": "application/json" },
          body: '{"major":"1"}',
        }),
      },
    }),
    handler: options.handler ?? answerEmptyObject,
  });
  const listener = await Listener.open(
    {
      host: "127.0.0.1",
      port: 0,
      credentials: {
        ...certificates.serving,
        clientAuthorities: [certificates.clientAuthority, options.otherAuthorities].join("\n"),
      },
      requestTimeoutMs,
      goawayChance: options.goawayChance ?? 0,
      logger,
      metrics,
      clock: options.clock ?? systemClock,
    },
    createApplication(chain),
  );
  const { port } = listener;
  const tlsOf = (identity: Identity | null | undefined): ConnectionOptions => ({
    host: "127.0.0.1",
    port,
    ca: certificates.servingAuthority,
    rejectUnauthorized: options.madeAt === undefined,
    ...(identity === null ? {} : (identity ?? certificates.admin)),
  });
  return {
    port,
    listener,
    certificates,
    clientCertificates,
    health,
    metrics,
    logged,
    ask: (path, ask = {}) => askHttp1(path, ask, tlsOf(ask.identity)),
    askHttp2: (path, ask = {}) => askHttp2(path, ask, tlsOf(ask.identity)),
    async connect(connectOptions = {}) {
      const socket = connectTls({ ...tlsOf(undefined), ...connectOptions });
      socket.on("error", () => {});
      await once(socket, "secureConnect");
      return socket;
    },
    async [Symbol.asyncDispose]() {
      await listener.close(0);
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

const answerEmptyObject: RequestMiddleware = (ctx) => {
  ctx.body = "{}";
};

function askHttp1(path: string, ask: Ask, tls: ConnectionOptions): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = httpsRequest(
      {
        ...tls,
        agent: false,
        path,
        method: ask.method ?? "GET",
        headers: { ...ask.headers },
      } as object,
      (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (data: string) => {
          text += data;
        });
        response.on("error", reject);
        response.on("end", () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
        );
      },
    );
    request.on("error", reject);
    request.end(ask.body);
  });
}

async function askHttp2(path: string, ask: Ask, tls: ConnectionOptions): Promise<Answer> {
  const session = connectHttp2(`https://127.0.0.1:${tls.port}`, tls as object);
  session.on("error", () => {});
  try {
    const stream = session.request({
      ":path": path,
      ":method": ask.method ?? "GET",
      ...ask.headers,
    });
    stream.end(ask.body);
    const [headers] = (await once(stream, "response")) as [IncomingHttpHeaders];
    let text = "";
    stream.setEncoding("utf8");
    for await (const data of stream) text += data;
    return { status: Number(headers[":status" as keyof IncomingHttpHeaders]), headers, text };
  } finally {
    session.close();
  }
}
