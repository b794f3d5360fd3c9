/** The log of a simulated container: one line. Whoever follows it sees its end at once. */
import { badRequest } from "../api/status.js";
import type { Pod } from "./kinds.js";
import { type SimulationSettings, settingsOf } from "./settings.js";

type LoggedPod = Pick<Pod, "metadata" | "spec" | "status">;

/** @throws {StatusError} 400: it has not started, in a node agent's words */
export function simulatedLog(
  settings: SimulationSettings,
  { pod, container }: { readonly pod: LoggedPod; readonly container: string },
): string {
  const { namespace, name } = pod.metadata;
  const reason = waitingFor(pod, container);
  if (reason !== undefined) {
    const where = `container ${JSON.stringify(container)} in pod ${JSON.stringify(name)}`;
    throw badRequest(`${where} is waiting to start: ${reason}`);
  }
  const { containers = [], initContainers = [] } = pod.spec ?? {};
  const image =
    [...containers, ...initContainers].find((one) => one.name === container)?.image ?? "";
  const line = `simulated: container ${container} of pod ${namespace}/${name} with image ${image}`;
  return `${settingsOf(settings, pod.metadata).log ?? line}\n`;
}

function waitingFor({ status }: LoggedPod, container: string): string | undefined {
  const lists = [status?.containerStatuses, status?.initContainerStatuses];
  const found = lists
    .flatMap((list) => (list ?? []) as readonly ContainerStatus[])
    .find(({ name }) => name === container);
  if (found === undefined) return "ContainerCreating";
  return found.lastState?.terminated === undefined ? found.state?.waiting?.reason : undefined;
}

interface ContainerStatus {
  readonly name?: string;
  readonly state?: { readonly waiting?: { readonly reason?: string } };
  readonly lastState?: { readonly terminated?: unknown };
}
