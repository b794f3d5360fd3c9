// What the backup's second container runs: gives the snapshot that the first one took the name of its time, and removes
// the oldest beyond those that are kept. A snapshot that is cut short never gets a name.
import { readdir, rename, rm, stat } from "node:fs/promises";

const FOLDER = "/backup";
const NAME = /^etcd-\d{8}T\d{6}Z\.db$/;
const keep = Number(process.env.KEEP);

const { size } = await stat(`${FOLDER}/taken`);
const time = new Date().toISOString().replace(/[-:]|\.\d+/g, "");
await rename(`${FOLDER}/taken`, `${FOLDER}/etcd-${time}.db`);
console.log(`etcd-${time}.db: ${size} bytes`);
const names = (await readdir(FOLDER)).filter((name) => NAME.test(name)).sort();
for (const name of names.slice(0, -keep)) {
  await rm(`${FOLDER}/${name}`);
  console.log(`${name}: removed`);
}
