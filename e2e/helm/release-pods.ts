/** Pods of a rendered release: their specs, and how a replica among them is reached once it is ready. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "yaml";
import { eventually, HopelessError } from "../harness/eventually.js";
import { HttpsClient } from "../harness/https-client.js";
import type { Rendered } from "./chart.js";
import type { RunningPod } from "./run-pod.js";

/** PEM: the administrator's, as the replica wrote it. */
export interface AdminCredentials {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** Of a pod, or of what makes pods. */
export function specOf(owner: Rendered) {
  return owner.kind === "Pod" ? owner.spec : owner.spec.template.spec;
}

export function findRendered(objects: readonly Rendered[], kind: string, name: string): Rendered {
  const found = objects.find((object) => object.kind === kind && object.metadata.name === name);
  assert.ok(found, `${kind}/${name}`);
  return found;
}

/**
 * As a node probes: on the pod's address, at the port and path that the container says.
 * @param ca by default the authority of the replica's kubeconfig
 */
export async function untilReady(
  pod: RunningPod,
  deployment: Rendered,
  ca?: string,
): Promise<void> {
  const [container] = specOf(deployment).containers;
  const { path, port } = container.readinessProbe.httpGet;
  const { containerPort } = container.ports.find(({ name }: { name: string }) => name === port);
  const credentials = await eventually("the replica has made its certificates", async () => {
    if (pod.child.hasEnded)
      throw new HopelessError(`${pod.command.join(" ")}
${pod.child.output}`);
    return await credentialsOf(pod);
  });
  const client = new HttpsClient(`https://${pod.ip}:${containerPort}`, {
    ca: ca ?? credentials.ca,
  });
  try {
    await eventually(`${pod.ip} is ready`, async () => {
      return (await client.get(path)).status === 200;
    });
  } catch (error) {
    throw new Error(pod.child.output.slice(-4_000), { cause: error });
  } finally {
    client.close();
  }
}

/** @throws {Error} the replica has not written its kubeconfig yet */
export async function credentialsOf({ folders }: RunningPod): Promise<AdminCredentials> {
  const path = join(folders["/var/lib/keelson"] ?? "", "admin.kubeconfig");
  const config = parse(await readFile(path, "utf8"));
  const decode = (text: string) => Buffer.from(text, "base64").toString();
  const { user } = config.users[0];
  return {
    ca: decode(config.clusters[0].cluster["certificate-authority-data"]),
    cert: decode(user["client-certificate-data"]),
    key: decode(user["client-key-data"]),
  };
}
