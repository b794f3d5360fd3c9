/** What went wrong on the way to another server, for people; never what was sent. */
import { errors } from "undici";

export function describeFailure(error: unknown): string {
  if (error instanceof errors.UndiciError) return error.message;
  const { code, message } = error as NodeJS.ErrnoException;
  return code === undefined || message.includes(code) ? message : `${code}: ${message}`;
}
