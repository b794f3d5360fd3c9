/** Writes deploy/kustomize from the chart: `node dist/e2e/helm/write-manifests.js` (needs Helm). */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { REPOSITORY } from "./chart.js";
import { renderManifests } from "./manifests.js";

const files = await renderManifests("helm-4");
for (const [name, text] of Object.entries(files)) {
  await writeFile(join(REPOSITORY, "deploy", "kustomize", name), text);
}
