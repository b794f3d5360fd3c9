/**
 * The authorities that this machine trusts (S2-OIDC-09): the file that SSL_CERT_FILE names, else the
 * first of the usual files that exists, else Node's own list.
 */
import { readFile } from "node:fs/promises";
import { rootCertificates } from "node:tls";

/** Debian and Alpine, Fedora and RHEL, openSUSE, OpenELEC, the BSDs. */
const USUAL_PLACES = [
  "/etc/ssl/certs/ca-certificates.crt",
  "/etc/pki/tls/certs/ca-bundle.crt",
  "/etc/ssl/ca-bundle.pem",
  "/etc/pki/tls/cacert.pem",
  "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
  "/etc/ssl/cert.pem",
];

/** PEM bundles. @param certFile the variable SSL_CERT_FILE of the environment, if it is set */
export async function readHostRoots(certFile: string | undefined): Promise<readonly string[]> {
  const places = certFile === undefined || certFile === "" ? USUAL_PLACES : [certFile];
  for (const place of places) {
    try {
      return [await readFile(place, "utf8")];
    } catch {
      // The next place.
    }
  }
  return rootCertificates;
}
