/** A view of given objects, for tests of addresses. */
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import { createNaming } from "../../api/naming.js";
import type { ServiceView } from "../services.js";

const LABEL = `${createNaming("kubernetes").labelDomain}/service-name`;

/** Objects by partition and path; slices belong to the Service that their name begins with ("web-1"). */
export function viewOf(partitions: Record<string, Record<string, object>>): ServiceView {
  return {
    partition(id) {
      const objects = Object.entries(partitions[id] ?? {}).map(([path, fields]) => {
        const [namespace = "", name = ""] = path.includes("/") ? path.split("/") : ["", path];
        const stored = {
          path,
          name,
          labels: { [LABEL]: name.replace(/-\d+$/, "") },
          bytes: Buffer.from(JSON.stringify({ metadata: { name, namespace }, ...fields })),
          corruption: (fields as { corruption?: string }).corruption,
        };
        return stored as unknown as StoredObject & { path: string };
      });
      return {
        get: (path) => objects.find((one) => one.path === path),
        snapshot: () => ({
          tree: {
            visit(namespace, _after, visitor) {
              for (const one of objects) if (one.path.startsWith(`${namespace}/`)) visitor(one);
            },
          },
        }),
      };
    },
  };
}
