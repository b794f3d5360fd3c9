/** Wiring of the simulated cluster, of servers of tests alone. */
import { readFileSync } from "node:fs";
import type { Clock } from "../../storage/base/clock.js";
import type { Lifecycle } from "../../storage/base/lifecycle.js";
import type { Logger } from "../../storage/base/logger.js";
import { oneLine } from "../../storage/base/one-line.js";
import { parseYaml } from "../codec/yaml.js";
import type { Config } from "../config/config.js";
import type { SimulatedNodes } from "../connect/simulated-nodes.js";
import { createLocalObjects } from "../controllers/local-objects.js";
import type { ObjectsApi } from "../controllers/objects-api.js";
import type { Registry } from "../registry/registry.js";
import { createNodes, isGone, isSimulated } from "../simulation/nodes.js";
import { simulatedLog } from "../simulation/pod-log.js";
import { createPodWrites, SIMULATION_MANAGER } from "../simulation/pod-writes.js";
import { isSimulatedPart, runSimulation } from "../simulation/run-simulation.js";
import { parseSimulation, type SimulationSettings } from "../simulation/settings.js";

export interface SimulatedCluster {
  /** For requests to pods and nodes. */
  readonly nodes: SimulatedNodes;
  /** Makes the nodes, which are there when the server is ready. @returns starts the loops */
  prepare(parts: SimulationParts, signal: AbortSignal): Promise<() => void>;
}

export interface SimulationParts {
  readonly registry: Registry;
  readonly lifecycle: Lifecycle;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The objects as the server's own loops use them. */
  readonly watched: (objects: ObjectsApi) => ObjectsApi;
  /** Tells whoever waits for rest that something is under way. @returns its end */
  readonly begin: (what: string) => () => void;
}

/** undefined = nothing is simulated. @throws {Error} with one line: a bad file */
export function openSimulation(config: Config): SimulatedCluster | undefined {
  const { simulate, simulationFile, naming } = config;
  const parts = simulate.filter(isSimulatedPart);
  if (parts.length === 0) return undefined;
  const settings = readSettings(simulationFile);
  return {
    nodes: {
      whyUnreachable: (node) =>
        isSimulated(node) ? "the node is simulated, and no process runs on it" : undefined,
      logOf: (pod, node, container) =>
        isSimulated(node) && !isGone(node) ? simulatedLog(settings, { pod, container }) : undefined,
    },
    async prepare({ registry, lifecycle, clock, logger, watched, begin }, signal) {
      const objects = watched(createLocalObjects(registry, SIMULATION_MANAGER));
      const podWrites = createPodWrites(registry);
      const simulation = {
        ...{ objects, podWrites, naming, clock, settings, begin },
        logger: logger.child({ component: "simulation" }),
      };
      if (parts.includes("nodes")) await createNodes(simulation, signal);
      const begun = begin("the simulation, which has not begun");
      return () => {
        lifecycle.spawn("simulation", "restart", (until) =>
          runSimulation(simulation, parts, until),
        );
        begun();
      };
    },
  };
}

function readSettings(file: string): SimulationSettings {
  if (file === "") return parseSimulation(undefined);
  try {
    return parseSimulation(parseYaml(readFileSync(file, "utf8")).value);
  } catch (error) {
    throw new Error(`--simulation-file: ${file}: ${oneLine(error)}`);
  }
}
