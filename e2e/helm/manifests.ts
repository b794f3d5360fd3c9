/** The chart as plain manifests for kustomize: the defaults, for an etcd that is named in one place. */
import { stringify } from "yaml";
import { type HelmName, type Rendered, renderChart } from "./chart.js";

const NOTE = "# Made from helm/keelson by e2e/helm/write-manifests.ts; a test compares.\n";
/** An overlay puts another in its place. */
const ETCD = "http://etcd:2379";

/** File name -> text. */
export async function renderManifests(helm: HelmName): Promise<Readonly<Record<string, string>>> {
  const values = { "etcd.endpoints": [ETCD], "tests.enabled": false };
  const objects = await renderChart(helm, values, { release: "keelson", namespace: "keelson" });
  const manifests = objects.map(toPlain).sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
  const kustomization = {
    apiVersion: "kustomize.config.k8s.io/v1beta1",
    kind: "Kustomization",
    namespace: "keelson",
    resources: ["namespace.yaml", "keelson.yaml"],
    images: [{ name: "keelson", newTag: "0.1.0" }],
  };
  const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "keelson" } };
  const texts = manifests.map((object) => stringify(object, { lineWidth: 0 }));
  return {
    "kustomization.yaml": NOTE + stringify(kustomization),
    "namespace.yaml": NOTE + stringify(namespace),
    "keelson.yaml": NOTE + texts.join("---\n"),
  };
}

function nameOf({ kind, metadata }: Rendered): string {
  return `${kind}/${metadata.name}`;
}

/** Without what only Helm says of itself. */
function toPlain(object: Rendered): Rendered {
  const text = JSON.stringify(object, (key, value) => {
    if (key === "helm.sh/chart") return undefined;
    return key === "app.kubernetes.io/managed-by" ? "kustomize" : value;
  });
  return JSON.parse(text) as Rendered;
}
