// What the certificate hook and its CronJob run: the image has what makes and renews the Secrets.
import { runCertificateHook } from "/opt/keelson/dist/bundle/certificate-hook.js";

try {
  console.log(await runCertificateHook(process.env, "/var/run/secrets/kubernetes.io/serviceaccount"));
} catch (error) {
  console.error(error);
  process.exitCode = 1;
}
