/** The operator's suite as somebody's program, to be killed: forks one API and runs tests in them until it ends. `process` or `child` says where. */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { startKeelson as Start } from "../../server/start-keelson.js";
import { PatientClient } from "../harness/patient-client.js";
import { repositoryRoot } from "../tools/find-tool.js";
import { CASES } from "./cases.js";
import { startSiteOperator } from "./site-operator.js";
import { siteDefinition } from "./sites.js";

const path = join(repositoryRoot(), "dist", "bundle", "start-keelson.js");
const { startKeelson } = (await import(pathToFileURL(path).href)) as { startKeelson: typeof Start };
const runsIn = process.argv[2] === "child" ? "child" : "process";
process.stdout.write("begun\n");
const manifests = [siteDefinition("Site", "sites")];
await using api = await startKeelson({ controlPlanes: true, runsIn, manifests });
process.stdout.write(`${api.url}\n`);
const few = CASES.filter((_, index) => index % 10 === 3);
await Promise.all(
  few.map(async ({ run }) => {
    await using fork = await api.fork();
    const client = new PatientClient(fork.url, fork);
    await using operator = startSiteOperator(client);
    await run({ client, operator });
    client.close();
  }),
);
process.stdout.write("ended\n");
