/** Describes connection failures to another server, for people; never includes what was sent. */
import { errors } from "undici";
import { describeCertificateError } from "../client/certificate-errors.js";

export function describeFailure(error: unknown): string {
  const refused = describeCertificateError(error);
  if (refused !== undefined) return refused;
  if (error instanceof errors.UndiciError) return error.message;
  const { code, message } = error as NodeJS.ErrnoException;
  return code === undefined || message.includes(code) ? message : `${code}: ${message}`;
}
