/** The flags of servers that tests run against, as a table; part of the one in flags.ts. */
import { type FlagDefinition, SERVE_ONLY } from "./flag-definition.js";

export const TESTING_FLAGS = {
  enableTestApi: {
    name: "enable-test-api",
    type: "boolean",
    default: "false",
    section: "Testing",
    commands: SERVE_ONLY,
    help: "Whether administrators find /debug/test-api: which requests there were, whether anything moves any more, snapshots and reset. Of servers of tests only, on the embedded store. keelson up and startKeelson() turn it on.",
  },
  enableFaultInjection: {
    name: "enable-fault-injection",
    type: "boolean",
    default: "false",
    section: "Testing",
    commands: SERVE_ONLY,
    help: "Whether administrators may order faults, at /debug/faults or by keelson fault: refusals, delays, lost answers, cut watches and old reads. Of servers of tests only, on the embedded store.",
  },
  record: {
    name: "record",
    type: "string",
    default: "",
    section: "Testing",
    commands: SERVE_ONLY,
    help: "Keeps what clients wrote and what had been delivered to them, for keelson why and its like: in memory, if it says memory; else also in this directory, for after a restart. No values are kept. Empty = off. keelson up turns it on.",
  },
  recordBytes: {
    name: "record-bytes",
    type: "bytes",
    default: "64Mi",
    section: "Testing",
    commands: SERVE_ONLY,
    help: "What --record holds at most, in memory and in its directory; the oldest goes first.",
  },
  simulate: {
    name: "simulate",
    type: "strings",
    default: "",
    section: "Testing",
    commands: SERVE_ONLY,
    help: "What of a cluster is simulated, of nodes and workloads: nodes with leases on which pods become ready, claims that bind, load balancers with an address; Deployments, ReplicaSets, StatefulSets, DaemonSets, Jobs, CronJobs, EndpointSlices. No process runs. Of servers of tests only, on the embedded store.",
  },
  simulationFile: {
    name: "simulation-file",
    type: "file",
    default: "",
    section: "Testing",
    commands: SERVE_ONLY,
    help: "YAML or JSON: how many simulated nodes there are, how long things take, what fails, and the seed of it all.",
  },
} as const satisfies Record<string, FlagDefinition>;
