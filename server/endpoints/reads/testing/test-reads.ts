/**
 * The read verbs behind a plain HTTP server, over a real registry on the embedded store, for tests of
 * this folder. Objects are stored as given, so a test controls every byte.
 */
import { soon } from "../../../../e2e/harness/eventually.js";
import { type Clock, systemClock } from "../../../../storage/base/clock.js";
import { type Logger, silentLogger } from "../../../../storage/base/logger.js";
import type { Revision } from "../../../../storage/kv/store.js";
import type { Conversion } from "../../../kinds/conversion.js";
import type { TablePrinter } from "../../../kinds/table-printer.js";
import {
  openRegistryHarness,
  type RegistryHarness,
} from "../../../registry/testing/registry-harness.js";
import { parseRequestInfo } from "../../../request/request-info.js";
import { openTestServer, type TestServer } from "../../../request/testing/test-server.js";
import { ChunkPool } from "../../chunk-pool.js";
import { createNegotiator } from "../../negotiation.js";
import { createRepresentationSource } from "../../representations/representation-source.js";
import { handleGet } from "../get.js";
import { HistoricalReader } from "../historical-reader.js";
import { LargeEvents } from "../large-events.js";
import { handleList } from "../list.js";
import type { ListServices } from "../listing.js";
import type { ListCompression } from "../resource-read.js";
import { createViewReader } from "../view-reader.js";
import { handleWatch } from "../watch.js";
import { WatchTicker } from "../watch-ticker.js";

export interface TestReads extends AsyncDisposable {
  readonly server: TestServer;
  readonly harness: RegistryHarness;
  readonly history: HistoricalReader;
  readonly ticker: WatchTicker;
  readonly largeEvents: LargeEvents;
  /** Puts a ConfigMap "name" (or any bytes) into the default namespace. */
  put(name: string, value?: string): Promise<Revision>;
  delete(name: string): Promise<Revision>;
  /** GET below the ConfigMaps of the default namespace. */
  get(rest: string, accept?: string): Promise<Response>;
}

export async function openTestReads(
  options: Pick<ListServices, "usesSnapshots" | "largeLists"> & {
    readonly watchClock?: Clock;
    /** For clients that accept gzip; absent = no compression. */
    readonly compression?: ListCompression;
    /** The representations' wall clock, which determines ages. */
    readonly now?: () => number;
    readonly printer?: TablePrinter;
    readonly conversion?: Conversion;
    /** Receives messages that are logged as errors. */
    readonly onError?: (message: string) => void;
  } = {},
): Promise<TestReads> {
  const harness = await openRegistryHarness();
  const { store, view, freshness, naming } = harness.registry;
  const ticking = new AbortController();
  const ticker = new WatchTicker(options.watchClock ?? systemClock);
  ticker.run(ticking.signal).catch(() => {});
  const history = new HistoricalReader(store, view);
  const { printer } = options;
  const reads = {
    naming,
    reader: createViewReader(view, { fresh: () => freshness.fresh(), turnOf: () => undefined }),
    chunks: new ChunkPool(),
    representations: createRepresentationSource(naming, createNegotiator(naming), {
      ...(printer !== undefined && { printerOf: () => printer }),
      ...(options.now !== undefined && { now: options.now }),
    }),
    ...(options.compression !== undefined && { compression: options.compression }),
    watchEvents: () => ({ value: 0 }),
  };
  const logger: Logger = {
    ...silentLogger,
    error: (_fields, message) => options.onError?.(message),
  };
  const { catalog } = harness.registry;
  const largeEvents = new LargeEvents();
  const watches = { ...reads, ticker, largeEvents, minRequestTimeoutMs: 60_000, logger, catalog };
  const server = await openTestServer(async (ctx) => {
    const info = parseRequestInfo(ctx.method, ctx.url);
    ctx.state.info = info;
    const { conversion } = options;
    const stored = harness.resource(info.group, info.version, info.resource);
    const resource = conversion === undefined ? stored : { ...stored, conversion };
    if (info.verb === "get") await handleGet(ctx, resource, { ...reads, history });
    else if (info.verb === "list")
      await handleList(ctx, resource, { ...reads, ...options, history });
    else await handleWatch(ctx, resource, watches);
  });
  const write = async (name: string, value: string | undefined): Promise<Revision> => {
    const key = `/registry/core/configmaps/default/${name}`;
    const { kv } = await store.get(key, {}, soon());
    const compares = [{ key, modRevision: kv?.modRevision ?? (0 as const) }];
    const operation =
      value === undefined
        ? ({ type: "delete", key } as const)
        : ({ type: "put", key, value: Buffer.from(value) } as const);
    return (await store.commit({ compares, operations: [operation] }, soon())).revision;
  };
  return {
    server,
    harness,
    history,
    ticker,
    largeEvents,
    put: (name, value) => write(name, value ?? configMapText(name)),
    delete: (name) => write(name, undefined),
    get: (rest, accept) =>
      fetch(`${server.url}/api/v1/namespaces/default/configmaps${rest}`, {
        headers: accept === undefined ? {} : { accept },
      }),
    async [Symbol.asyncDispose]() {
      ticker.endAll();
      ticking.abort();
      await server[Symbol.asyncDispose]();
      await harness[Symbol.asyncDispose]();
    },
  };
}

function configMapText(name: string): string {
  const metadata = { name, namespace: "default", uid: `uid-${name}`, labels: { name } };
  return JSON.stringify({ kind: "ConfigMap", apiVersion: "v1", metadata, data: { name } });
}
