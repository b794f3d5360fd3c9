import assert from "node:assert/strict";
import { test } from "node:test";
import { createNaming } from "../api/naming.js";
import { parseTracingConfiguration } from "./configuration.js";

const naming = createNaming("kubernetes");

function text(members: object, version = "v1"): string {
  const apiVersion = `apiserver.config.k8s.io/${version}`;
  return JSON.stringify({ apiVersion, kind: "TracingConfiguration", ...members });
}

test("S2-TRACE-06: endpoints lead to a collector over gRPC, and those of http over HTTP", () => {
  const grpc = (target: string) => ({ protocol: "grpc", target });
  const http = (url: string) => ({ protocol: "http", url });
  const cases: readonly [endpoint: string | undefined, exporter: object][] = [
    [undefined, grpc("localhost:4317")],
    ["collector.obs:4317", grpc("collector.obs:4317")],
    ["dns:///collector.obs:4317", grpc("collector.obs:4317")],
    ["dns://10.0.0.1/collector.obs:4317", grpc("collector.obs:4317")],
    ["unix:///run/otel.sock", grpc("unix:///run/otel.sock")],
    ["unix:/run/otel.sock", grpc("unix:/run/otel.sock")],
    ["http://collector:4318", http("http://collector:4318/v1/traces")],
    ["https://collector/otlp/v1/traces", http("https://collector/otlp/v1/traces")],
  ];
  for (const version of ["v1", "v1beta1", "v1alpha1"]) {
    for (const [endpoint, exporter] of cases) {
      const given = text({ endpoint, samplingRatePerMillion: 100 }, version);
      const parsed = parseTracingConfiguration(given, naming);
      assert.deepEqual(parsed, { exporter, samplingRatePerMillion: 100 });
    }
  }
  const yaml = "apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\n";
  assert.equal(parseTracingConfiguration(yaml, naming).samplingRatePerMillion, 0);
});

test("S2-TRACE-06: what is wrong is said in kube-apiserver's words", () => {
  const decode = "unable to decode tracing configuration data: ";
  const validate = "failed to validate tracing configuration: ";
  const cases: readonly [given: string, message: string][] = [
    [
      text({ samplingRatePerMillion: -1 }),
      `${validate}samplingRatePerMillion: Invalid value: -1: sampling rate must be positive`,
    ],
    [
      text({ samplingRatePerMillion: 1_000_001, endpoint: "ftp://x" }),
      `${validate}[samplingRatePerMillion: Invalid value: 1000001: sampling rate per million must be less than or equal to one million, endpoint: Invalid value: "ftp://x": unsupported scheme: ftp.  Options are none, dns, unix, http or https]`,
    ],
    [
      text({ endpoint: "unix-abstract://x" }),
      `${validate}endpoint: Invalid value: "unix-abstract://x": unsupported scheme: unix-abstract.  Options are none, dns, unix, http or https`,
    ],
    [text({ endpoints: "x" }), `${decode}unknown field "endpoints"`],
    [text({ endpoint: 5 }), `${decode}endpoint is not a string`],
    [
      text({ samplingRatePerMillion: 0.5 }),
      `${decode}samplingRatePerMillion is not an integer of 32 bits`,
    ],
    ["- x", `${decode}the file: expected a map`],
  ];
  for (const [given, message] of cases) {
    assert.throws(() => parseTracingConfiguration(given, naming), {
      name: "TracingConfigurationError",
      message,
    });
  }
  assert.throws(() => parseTracingConfiguration(text({}, "v2"), naming), /is not a Tracing/);
  const secret = () => parseTracingConfiguration(text({ endpoint: "ftp://u:sesame@x" }), naming);
  assert.throws(secret, (error: Error) => !error.message.includes("sesame"));
});
