/**
 * A collector of traces for tests: takes OTLP over gRPC and over HTTP as protobuf, on free ports, and checks
 * what it is sent against the published messages. It can be told to fail or to keep silent.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData } from "@grpc/grpc-js";
import protobuf from "protobufjs";

/** opentelemetry.proto.collector.trace.v1, as far as spans go. */
const MESSAGES = `
syntax = "proto3";
message Request { repeated ResourceSpans resource_spans = 1; }
message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; string schema_url = 3; }
message Resource { repeated KeyValue attributes = 1; uint32 dropped_attributes_count = 2; }
message ScopeSpans { Scope scope = 1; repeated Span spans = 2; string schema_url = 3; }
message Scope { string name = 1; string version = 2; repeated KeyValue attributes = 3; uint32 dropped_attributes_count = 4; }
message Span {
  bytes trace_id = 1; bytes span_id = 2; string trace_state = 3; bytes parent_span_id = 4; string name = 5;
  int32 kind = 6; fixed64 start = 7; fixed64 end = 8; repeated KeyValue attributes = 9;
  uint32 dropped_attributes_count = 10; repeated Event events = 11; uint32 dropped_events_count = 12;
  repeated Link links = 13; uint32 dropped_links_count = 14; Status status = 15; fixed32 flags = 16;
}
message Event { fixed64 time = 1; string name = 2; repeated KeyValue attributes = 3; uint32 dropped_attributes_count = 4; }
message Link { bytes trace_id = 1; bytes span_id = 2; string trace_state = 3; repeated KeyValue attributes = 4; uint32 dropped_attributes_count = 5; fixed32 flags = 6; }
message Status { string message = 2; int32 code = 3; }
message KeyValue { string key = 1; AnyValue value = 2; }
message AnyValue { oneof value { string text = 1; bool flag = 2; int64 integer = 3; double number = 4; Values list = 5; bytes raw = 7; } }
message Values { repeated AnyValue values = 1; }
`;
const REQUEST = protobuf.parse(MESSAGES).root.lookupType("Request");
const EXPORT_PATH = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";

export interface CollectedSpan {
  readonly service: string;
  readonly traceId: string;
  readonly spanId: string;
  /** "" = it begins a trace. */
  readonly parentId: string;
  readonly name: string;
  readonly kind: number;
  /** Milliseconds since 1970, with fractions. */
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly links: readonly string[];
  /** 2 = error. */
  readonly status: number;
  readonly statusMessage: string;
}

export interface OtlpCollector extends AsyncDisposable {
  /** "127.0.0.1:4317" */
  readonly grpcTarget: string;
  /** "http://127.0.0.1:4318" */
  readonly httpUrl: string;
  readonly spans: CollectedSpan[];
  /** What was wrong with requests. */
  readonly problems: string[];
  /** All bytes that came. */
  readonly bytes: Buffer[];
  /** How it answers from now on. */
  behaviour: "take" | "fail" | "silent";
}

interface DecodedSpan {
  readonly traceId: Uint8Array;
  readonly spanId: Uint8Array;
  readonly parentSpanId: Uint8Array;
  readonly name: string;
  readonly kind: number;
  readonly start: bigint | number | { toString(): string };
  readonly end: bigint | number | { toString(): string };
  readonly attributes: readonly DecodedPair[];
  readonly links: readonly { readonly traceId: Uint8Array; readonly spanId: Uint8Array }[];
  readonly status?: { readonly code: number; readonly message: string };
}

interface DecodedPair {
  readonly key: string;
  readonly value?: Readonly<Record<string, unknown>>;
}

interface DecodedRequest {
  readonly resourceSpans: readonly {
    readonly resource?: { readonly attributes: readonly DecodedPair[] };
    readonly scopeSpans: readonly { readonly spans: readonly DecodedSpan[] }[];
  }[];
}

export async function startOtlpCollector(): Promise<OtlpCollector> {
  const spans: CollectedSpan[] = [];
  const problems: string[] = [];
  const bytes: Buffer[] = [];
  const take = (body: Buffer) => {
    bytes.push(body);
    for (const span of readSpans(body, problems)) spans.push(span);
  };
  const grpc = new Server();
  grpc.addService(
    {
      export: {
        path: EXPORT_PATH,
        requestStream: false,
        responseStream: false,
        requestSerialize: (body: Buffer) => body,
        requestDeserialize: (body: Buffer) => body,
        responseSerialize: (body: Buffer) => body,
        responseDeserialize: (body: Buffer) => body,
      },
    },
    {
      export(call: ServerUnaryCall<Buffer, Buffer>, answer: sendUnaryData<Buffer>) {
        if (collector.behaviour === "silent") return;
        if (collector.behaviour === "fail") return answer({ code: 3, details: "told to fail" });
        take(call.request);
        answer(null, Buffer.alloc(0));
      },
    },
  );
  const onRequest = async (request: IncomingMessage, response: ServerResponse) => {
    const body = Buffer.concat(await request.toArray());
    if (collector.behaviour === "silent") return;
    const isRight =
      request.url === "/v1/traces" && request.headers["content-type"] === "application/x-protobuf";
    if (!isRight) problems.push(`${request.url} ${request.headers["content-type"]}`);
    if (collector.behaviour === "take" && isRight) take(body);
    response.statusCode = collector.behaviour === "fail" ? 400 : 200;
    response.end();
  };
  const http = createServer((request, response) => void onRequest(request, response));
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  const grpcPort = await new Promise<number>((resolve, reject) => {
    grpc.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) =>
      error === null ? resolve(port) : reject(error),
    );
  });
  const collector: OtlpCollector = {
    grpcTarget: `127.0.0.1:${grpcPort}`,
    httpUrl: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    spans,
    problems,
    bytes,
    behaviour: "take",
    async [Symbol.asyncDispose]() {
      grpc.forceShutdown();
      http.closeAllConnections();
      http.close();
      await once(http, "close");
    },
  };
  return collector;
}

function readSpans(body: Buffer, problems: string[]): CollectedSpan[] {
  const message = REQUEST.decode(body);
  checkFields(protobuf.Reader.create(body), REQUEST, problems);
  const { resourceSpans } = REQUEST.toObject(message, {
    arrays: true,
    defaults: true,
    longs: String,
  }) as DecodedRequest;
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = String(attributesOf(resource?.attributes ?? [])["service.name"] ?? "");
    if (service === "") problems.push("a resource without service.name");
    return scopeSpans.flatMap((scope) =>
      scope.spans.map((span) => toCollected(span, service, problems)),
    );
  });
}

/** Every field is one of the published messages, of the type that it has there. */
function checkFields(reader: protobuf.Reader, type: protobuf.Type, problems: string[]): void {
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    const field = type.fieldsById[tag >>> 3]?.resolve();
    const isLong = (tag & 7) === 2;
    if (field === undefined) problems.push(`${type.name} has no field ${tag >>> 3}`);
    const inner = field?.resolvedType;
    if (inner instanceof protobuf.Type && !isLong) problems.push(`${field?.name}: no message`);
    if (inner instanceof protobuf.Type && isLong) {
      checkFields(protobuf.Reader.create(reader.bytes()), inner, problems);
    } else {
      reader.skipType(tag & 7);
    }
  }
}

function toCollected(span: DecodedSpan, service: string, problems: string[]): CollectedSpan {
  const isWellFormed =
    span.traceId.length === 16 &&
    span.spanId.length === 8 &&
    [0, 8].includes(span.parentSpanId.length) &&
    span.name !== "" &&
    BigInt(String(span.end)) >= BigInt(String(span.start));
  if (!isWellFormed) problems.push(`a malformed span ${JSON.stringify(span.name)}`);
  const hex = (id: Uint8Array) => Buffer.from(id).toString("hex");
  return {
    service,
    traceId: hex(span.traceId),
    spanId: hex(span.spanId),
    parentId: hex(span.parentSpanId),
    name: span.name,
    kind: span.kind,
    startMs: Number(span.start) / 1e6,
    endMs: Number(span.end) / 1e6,
    attributes: attributesOf(span.attributes),
    links: span.links.map(({ traceId, spanId }) => `${hex(traceId)}-${hex(spanId)}`),
    status: span.status?.code ?? 0,
    statusMessage: span.status?.message ?? "",
  };
}

function attributesOf(pairs: readonly DecodedPair[]): Record<string, unknown> {
  return Object.fromEntries(
    pairs.map(({ key, value = {} }) => [key, Object.values(value).find((v) => v !== undefined)]),
  );
}
