/** Refuses a file without a certificate, for instance one that is being written. */
import { parseAuthorities } from "../client/authorities.js";

/**
 * At the start that is an error, later the last good contents stay in force.
 * @param flag as people write it @throws {Error} with one line
 */
export function requireCertificates(flag: string, file: string, bundle: string): void {
  try {
    if (parseAuthorities(bundle).length > 0) return;
  } catch (cause) {
    throw new Error(`${flag}: ${JSON.stringify(file)}: a certificate can not be read`, { cause });
  }
  throw new Error(`${flag}: ${JSON.stringify(file)} holds no PEM certificate`);
}
