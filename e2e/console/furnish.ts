/** Objects for the screenshots of docs/use/console.md: a small shop, written by several people and controllers. */
import type { HttpsClient } from "../harness/https-client.js";

const NAMESPACE = "shop";
const MERGE = { "content-type": "application/merge-patch+json" };

interface Made {
  readonly uid: string;
  readonly resourceVersion: string;
}

/** The shop, with a few versions of its Deployment behind it. */
export async function furnish(admin: HttpsClient): Promise<void> {
  const write = async (
    method: string,
    path: string,
    manager: string,
    body: object,
    headers: Readonly<Record<string, string>> = {},
  ) => {
    const query = `${path.includes("?") ? "&" : "?"}fieldManager=${manager}`;
    const named = { "user-agent": `${manager}/1.0`, ...headers };
    const answer = await admin.request(path + query, { method, body, headers: named });
    return JSON.parse(String(answer.bytes)) as { metadata: Made };
  };
  const core = `/api/v1/namespaces/${NAMESPACE}`;
  const apps = `/apis/apps/v1/namespaces/${NAMESPACE}`;
  await write("POST", "/api/v1/namespaces", "kubectl", { metadata: { name: NAMESPACE } });
  const deployment = await write("POST", `${apps}/deployments`, "kubectl", {
    metadata: { name: "web", labels: { app: "web" } },
    spec: { replicas: 2, ...workload("shop/web:1.4") },
  });
  const web = `${apps}/deployments/web`;
  const { resourceVersion } = deployment.metadata;
  const scale = { metadata: { resourceVersion }, spec: { replicas: 3 } };
  await write("PATCH", web, "autoscaler", scale, MERGE);
  // Refused: somebody has written meanwhile.
  await write("PATCH", web, "release-bot", scale, MERGE);
  await write(
    "PATCH",
    web,
    "release-bot",
    {
      metadata: { annotations: { "shop.example.com/released-by": "ada" } },
      spec: workload("shop/web:1.5"),
    },
    MERGE,
  );
  const set = await write("POST", `${apps}/replicasets`, "deployment-controller", {
    metadata: {
      name: "web-5d4f",
      labels: { app: "web" },
      ownerReferences: [ownedBy("Deployment", "web", deployment)],
    },
    spec: { replicas: 3, ...workload("shop/web:1.5") },
  });
  for (const suffix of ["7xk2p", "b9m4z", "q6t8r"]) {
    await write("POST", `${core}/pods`, "replicaset-controller", {
      metadata: {
        name: `web-5d4f-${suffix}`,
        labels: { app: "web" },
        ownerReferences: [ownedBy("ReplicaSet", "web-5d4f", set)],
      },
      spec: workload("shop/web:1.5").template.spec,
    });
  }
  await write(
    "PATCH",
    `${web}/status`,
    "deployment-controller",
    {
      status: {
        observedGeneration: 3,
        replicas: 3,
        conditions: [
          {
            type: "Available",
            status: "False",
            reason: "MinimumReplicasUnavailable",
            message: "Deployment does not have minimum availability.",
            lastTransitionTime: new Date().toISOString(),
          },
          {
            type: "Progressing",
            status: "True",
            reason: "ReplicaSetUpdated",
            message: 'ReplicaSet "web-5d4f" is progressing.',
            lastTransitionTime: new Date().toISOString(),
          },
        ],
      },
    },
    MERGE,
  );
  await write("POST", `${core}/events`, "deployment-controller", {
    metadata: { name: "web.scaled" },
    involvedObject: {
      kind: "Deployment",
      namespace: NAMESPACE,
      name: "web",
      uid: deployment.metadata.uid,
    },
    reason: "ScalingReplicaSet",
    message: "Scaled up replica set web-5d4f to 3",
    type: "Normal",
    source: { component: "deployment-controller" },
  });
}

/** A write that changes something. */
export async function touch(admin: HttpsClient): Promise<void> {
  const path = `/api/v1/namespaces/${NAMESPACE}/configmaps/clock?fieldManager=clock`;
  const data = { now: new Date().toISOString() };
  const body = { apiVersion: "v1", kind: "ConfigMap", data };
  await admin.request(path, {
    method: "PATCH",
    body,
    headers: { "content-type": "application/apply-patch+yaml", "user-agent": "clock/1.0" },
  });
}

function workload(image: string) {
  return {
    selector: { matchLabels: { app: "web" } },
    template: {
      metadata: { labels: { app: "web" } },
      spec: { containers: [{ name: "web", image, ports: [{ containerPort: 8080 }] }] },
    },
  };
}

function ownedBy(kind: string, name: string, { metadata: { uid } }: { metadata: { uid: string } }) {
  return { apiVersion: "apps/v1", kind, name, uid, controller: true };
}
