/** Writes docs/run/flags.md from the tables: `node dist/server/config/write-flags-document.js FILE`. */
import { writeFileSync } from "node:fs";
import { renderFlagsDocument } from "./help.js";

const [file] = process.argv.slice(2);
if (file === undefined) {
  process.stderr.write("usage: write-flags-document FILE\n");
  process.exitCode = 1;
} else {
  writeFileSync(file, renderFlagsDocument());
}
