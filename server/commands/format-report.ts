/** The report of `keelson validate`: as text, JSON, JUnit's XML, or annotations of a GitHub workflow. */
import { xmlText } from "../api/xml-text.js";
import type { ReportForm } from "../config/validate-options.js";
import { printableLine } from "./printable.js";
import type { Finding, Report } from "./report.js";

export function formatReport(report: Report, form: ReportForm): string {
  return FORMS[form](report);
}

const FORMS: Readonly<Record<ReportForm, (report: Report) => string>> = {
  text: (report) => [...report.findings.map(textLine), summary(report), ""].join("\n"),
  json: ({ objects, findings, skipped }) => {
    const report = { kind: "ValidationReport", objects: objects.length, skipped, findings };
    return `${JSON.stringify(report, null, 2)}\n`;
  },
  junit: junitDocument,
  github: (report) => [...report.findings.map(annotation), summary(report), ""].join("\n"),
};

function textLine({ place, object, level, message }: Finding): string {
  const warning = level === "warning" ? "warning: " : "";
  return printableLine(`${place}: ${object === "" ? "" : `${object}: `}${warning}${message}`);
}

function summary({ objects, findings, skipped }: Report): string {
  const errors = findings.filter(({ level }) => level === "error").length;
  const left = skipped === 0 ? "" : `, ${skipped} skipped`;
  const [looked, wrong, warned] = [
    counted(objects.length, "object"),
    counted(errors, "error"),
    counted(findings.length - errors, "warning"),
  ];
  return `${looked}, ${wrong}, ${warned}${left}`;
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}

/** https://docs.github.com: workflow commands, whose texts are escaped. */
function annotation({ place, line, object, level, message }: Finding): string {
  const [file = ""] = place.split(", document ");
  const title = printableLine(object === "" ? place : object);
  const text = printableLine(`${place}: ${message}`);
  return `::${level} file=${property(file)},line=${line},title=${property(title)}::${data(text)}`;
}

function data(text: string): string {
  return text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}

function property(text: string): string {
  return data(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
}

function junitDocument({ objects, findings }: Report): string {
  const idOf = ({ place, object }: Pick<Finding, "place" | "object">) => `${place}\n${object}`;
  const failures = new Map<string, Finding[]>();
  for (const finding of findings) {
    if (finding.level !== "error") continue;
    const id = idOf(finding);
    failures.set(id, [...(failures.get(id) ?? []), finding]);
  }
  const cases = new Map(objects.map((one) => [idOf(one), one]));
  for (const [id, [first]] of failures) if (first !== undefined) cases.set(id, first);
  const lines = [...cases].map(([id, { place, object }]) => {
    const failed = (failures.get(id) ?? [])
      .map(({ message }) => `<failure message="${xmlText(message)}"/>`)
      .join("");
    const name = xmlText(printableLine(object === "" ? place : object));
    const from = xmlText(printableLine(place));
    return `    <testcase classname="${from}" name="${name}">${failed}</testcase>`;
  });
  const counts = `tests="${cases.size}" failures="${failures.size}"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    "<testsuites>",
    `  <testsuite name="keelson validate" ${counts}>`,
    ...lines,
    "  </testsuite>",
    "</testsuites>",
    "",
  ].join("\n");
}
