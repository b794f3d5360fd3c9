/** A new control plane of a server, for clients that take a kubeconfig, as whoever asked for one is given it. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { HttpsClient } from "./https-client.js";
import { PatientClient } from "./patient-client.js";
import type { ServerProcess } from "./server-process.js";
import { makeTempDir } from "./temp-dir.js";

export interface ControlPlanePlace extends AsyncDisposable {
  /** Path of the kubeconfig of a user in it. */
  readonly kubeconfig: string;
  /** As the root's administrator; paths are those of the control plane. */
  readonly client: HttpsClient;
}

const KIND = "/apis/tenancy.k8s.io/v1alpha1/controlplanes";

/** @param server with --enable-control-planes */
export async function openControlPlane(
  { url, credentials }: Pick<ServerProcess, "url" | "credentials">,
  name: string,
): Promise<ControlPlanePlace> {
  const client = new PatientClient(url, credentials);
  const of = { apiVersion: "tenancy.k8s.io/v1alpha1", kind: "ControlPlane" };
  (await client.post(KIND, { ...of, metadata: { name } })).expect(201);
  const wish = (
    await client.post(`${KIND}/${name}/kubeconfig`, { spec: { user: "carol" } })
  ).expect(201).object as unknown as { status: { kubeconfig: string } };
  client.close();
  const folder = await makeTempDir("control-plane");
  const kubeconfig = join(folder.path, "kubeconfig");
  await writeFile(kubeconfig, wish.status.kubeconfig);
  const inside = new PatientClient(`${url}/clusters/${name}`, credentials);
  return {
    kubeconfig,
    client: inside,
    async [Symbol.asyncDispose]() {
      inside.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}
