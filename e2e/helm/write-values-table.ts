/** Writes the table of values into the chart's README: `node dist/e2e/helm/write-values-table.js`. */
import { readFileSync, writeFileSync } from "node:fs";
import { readChartValues, renderValuesTable, withValuesTable } from "./values-table.js";

const CHART = "helm/keelson";
const values = readChartValues(readFileSync(`${CHART}/values.yaml`, "utf8"));
const readme = readFileSync(`${CHART}/README.md`, "utf8");
writeFileSync(`${CHART}/README.md`, withValuesTable(readme, renderValuesTable(values)));
