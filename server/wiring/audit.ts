/** Wiring of the audit log: the file that a flag names, and its counters. */
import type { Logger } from "../../storage/base/logger.js";
import { AuditLog, openAuditTarget } from "../audit/audit-log.js";
import type { Config } from "../config/config.js";
import type { Metrics } from "../http/metrics.js";

/** Undefined when nothing is to be recorded. @throws {Error} with one line: it cannot be written */
export async function openAuditLog(
  { auditLogPath: path }: Config,
  metrics: Metrics,
  logger: Logger,
): Promise<AuditLog | undefined> {
  if (path === "") return undefined;
  const target = await openAuditTarget(path).catch((cause: Error) => {
    throw new Error(`--audit-log-path: ${cause.message}`, { cause });
  });
  const count = (name: string, help: string) =>
    metrics.counter({ name: `apiserver_audit_${name}_total`, help, labelNames: [] });
  const events = count("event", "Audit events that were made.");
  const errors = count("error", "Audit events that were dropped, as the log could not take them.");
  const onEvent = (isDropped: boolean) => (isDropped ? errors : events).add(1);
  return new AuditLog({ target, logger, onEvent });
}
