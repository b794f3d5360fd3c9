/** A run as people watch it: a screen that is drawn anew each second on a terminal, plain lines elsewhere. */
import type { Progress, ScenarioReport } from "./run-scenario.js";
import type { Topology } from "./topology.js";

const CLEAR = "\x1b[2J\x1b[H";
/** Seconds that the little graph shows. */
const GRAPH_SECONDS = 60;
const BARS = " ▁▂▃▄▅▆▇█";
/** Plain lines come less often. */
const LINE_EVERY = 5;

export interface View {
  progress(progress: Progress): void;
  done(report: ScenarioReport): void;
}

/** @param count of scenarios that are to come */
export function openView(topology: Topology, output: NodeJS.WriteStream, count = 1): View {
  const finished: string[] = [];
  const parts = new Parts(topology);
  const done = (report: ScenarioReport) => {
    const line = verdictLine(report);
    finished.push(line);
    output.write(`${line}\n`);
  };
  if (!output.isTTY) {
    return {
      done,
      progress({ scenario, seconds, faults }) {
        const last = seconds.at(-2);
        if (last === undefined || last.at % LINE_EVERY !== 0) return;
        const active = faults.filter(({ to }) => to === undefined).map(({ verb }) => verb);
        output.write(`${scenario.name} ${last.at} s: ${numbers(last)} ${active.join(", ")}\n`);
      },
    };
  }
  return {
    done,
    progress({ scenario, seconds, faults, violations }) {
      const recent = seconds.slice(-GRAPH_SECONDS - 1, -1);
      const top = Math.max(1, ...recent.map(({ good }) => good));
      const graph = (of: (second: (typeof recent)[number]) => number) =>
        recent.map((second) => BARS[Math.ceil((of(second) / top) * (BARS.length - 1))]).join("");
      const slowest = Math.max(1, ...recent.map(({ p99Ms }) => p99Ms ?? 0));
      const latency = recent
        .map(({ p99Ms = 0 }) => BARS[Math.ceil((p99Ms / slowest) * (BARS.length - 1))])
        .join("");
      const last = recent.at(-1);
      parts.look();
      output.write(
        [
          `${CLEAR}${topology.url}  ${describe(topology)}`,
          ...parts.lines,
          "",
          `scenario ${finished.length + 1} of ${count}, ${scenario.name}, second ${seconds.length - 1} of about ${scenario.seconds}`,
          `  ${scenario.promise}`,
          ...faults.map((fault) => `  ${faultLine(fault)}`),
          "",
          `succeeded ${graph(({ good }) => good)}`,
          `failed    ${graph(({ failed }) => failed)}`,
          `latency   ${latency}`,
          last === undefined ? "" : numbers(last),
          `guarantees broken: ${violations.length}${violations
            .slice(0, 3)
            .map((text) => `\n  ${text}`)
            .join("")}`,
          "",
          ...finished,
          "",
        ].join("\n"),
      );
    },
  };
}

/** How the processes are, as last heard: asking must not hold up the screen. */
class Parts {
  readonly #topology: Topology;
  #replicas = "";
  #members = "";

  constructor(topology: Topology) {
    this.#topology = topology;
  }

  get lines(): readonly string[] {
    return [this.#replicas, this.#members].filter((line) => line !== "");
  }

  look(): void {
    const { balancer, etcd } = this.#topology;
    balancer?.servers().then(
      (servers) => {
        const texts = servers.map(({ isUp, connections }, index) => {
          return `${isUp ? "●" : "○"} ${index}: ${isUp ? "" : "out, "}${connections} connections`;
        });
        this.#replicas = `  replicas  ${texts.join("   ")}`;
      },
      () => {
        this.#replicas = "  the balancer does not answer";
      },
    );
    etcd.states().then(
      (states) => {
        const texts = states.map((state, index) => {
          return `${state === "silent" ? "○" : "●"} ${index}: ${state}`;
        });
        this.#members = `  etcd      ${texts.join("   ")}`;
      },
      () => {},
    );
  }
}

function faultLine({ verb, from, to, problem }: Progress["faults"][number]): string {
  const times =
    to === undefined ? `since ${from.toFixed(0)} s` : `${from.toFixed(0)} to ${to.toFixed(0)} s`;
  return `${to === undefined ? "▶" : "·"} ${verb}, ${times}${problem === undefined ? "" : `: ${problem}`}`;
}

export function describe({
  replicas,
  cluster,
  balancer,
  redis,
  prometheus,
  missing,
}: Topology): string {
  const parts = [
    counted(replicas.length, "replica"),
    counted(cluster.etcd?.members.length ?? 0, "etcd member"),
    ...(balancer === undefined ? [] : ["HAProxy"]),
    ...(redis === undefined ? [] : ["Redis"]),
    ...(prometheus === undefined ? [] : ["Prometheus"]),
  ];
  const without = missing.length === 0 ? "" : ` (not to be had: ${missing.join(", ")})`;
  return parts.join(", ") + without;
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}

function numbers({ good, failed, p99Ms, stalenessMs }: Progress["seconds"][number]): string {
  const ms = (value: number | undefined) => (value === undefined ? "-" : `${value.toFixed(1)} ms`);
  return `${good} good, ${failed} failed, p99 ${ms(p99Ms)}, events late by ${ms(stalenessMs)}`;
}

function verdictLine({ scenario, result, recoverySeconds, broken }: ScenarioReport): string {
  const numbersText = `${result.operations} requests, ${result.failures} failed (${result.deferred} told to come again), ${result.retries} sent again, ${result.relists} relists, recovered after ${recoverySeconds?.toFixed(1) ?? "-"} s`;
  const verdict = broken.length === 0 ? "kept  " : "BROKEN";
  return [`${verdict} ${scenario.name}: ${numbersText}`, ...broken.slice(0, 5)].join("\n         ");
}
