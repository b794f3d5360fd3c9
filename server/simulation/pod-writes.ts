/** PodWrites: what only schedulers and node agents do to pods. */
import type { ApiObject } from "../api/meta.js";
import type { Registry, WriteOptions } from "../registry/registry.js";
import { binding } from "../registry/subresources/binding.js";
import { runAction } from "../registry/write/action.js";
import { SERVER_USER } from "../request/user-info.js";
import type { Pod } from "./kinds.js";

export interface PodWrites {
  /** @throws {StatusError} 409: it is on a node already, or another pod by now */
  bind(pod: Pod, nodeName: string, signal: AbortSignal): Promise<void>;
}

/** The name under which the simulation owns fields. */
export const SIMULATION_MANAGER = "keelson-simulation";

export function createPodWrites(registry: Registry): PodWrites {
  const options: WriteOptions = {
    isDryRun: false,
    fieldManager: SIMULATION_MANAGER,
    fieldValidation: "Ignore",
    user: SERVER_USER,
    warn() {},
  };
  return {
    async bind({ metadata }, nodeName, signal) {
      const { namespace = "", name = "", uid = "" } = metadata;
      const pods = registry.catalog.current.findMain("", "v1", "pods");
      const resource = pods?.subresources.get("binding")?.resource;
      if (resource?.form !== "action") throw new Error("pods/binding is not served");
      const object: ApiObject = {
        ...{ apiVersion: "v1", kind: "Binding", metadata: { namespace, name, uid } },
        target: { apiVersion: "v1", kind: "Node", name: nodeName },
      };
      const request = { resource, subresource: "binding", object, namespace, name, options };
      await runAction(registry, binding, request, signal);
    },
  };
}
