// What the certificate hook runs: makes an authority and a serving certificate and puts them into a
// Secret of the cluster that Keelson is installed in, as the pod's own service account. A certificate
// that is there and good for another two months stays.
import { X509Certificate } from "node:crypto";
import { readFile, mkdtemp } from "node:fs/promises";
import { request } from "node:https";

const { ensureServingCertificates, serviceHosts } = await import("/opt/keelson/dist/server/http/certificates.js");
const RENEWAL_MS = 60 * 24 * 3_600_000;
const TOKENS = "/var/run/secrets/kubernetes.io/serviceaccount";
const { SECRET_NAMESPACE, SECRET_NAME, SERVING_NAMES, VENDOR } = process.env;
const { KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT } = process.env;
const secrets = `/api/v1/namespaces/${SECRET_NAMESPACE}/secrets`;
const [ca, token] = await Promise.all(["ca.crt", "token"].map((name) => readFile(`${TOKENS}/${name}`, "utf8")));

function call(method, path, body) {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const options = { host: KUBERNETES_SERVICE_HOST, port: KUBERNETES_SERVICE_PORT, method, path, headers, ca, timeout: 20_000 };
    const sent = request(options, (response) => {
      let text = "";
      response.on("data", (chunk) => { text += chunk; });
      response.on("end", () => resolve({ status: response.statusCode, text }));
    });
    sent.on("timeout", () => sent.destroy(new Error("no answer within 20 s")));
    sent.on("error", reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

function isGood(pem, hosts) {
  const certificate = new X509Certificate(Buffer.from(pem, "base64"));
  const covers = (host) => certificate.checkHost(host) !== undefined || certificate.checkIP(host) !== undefined;
  return Date.parse(certificate.validTo) - Date.now() > RENEWAL_MS && hosts.every(covers);
}

const hosts = ["localhost", "127.0.0.1", ...serviceHosts(VENDOR), ...SERVING_NAMES.split(",")];
const current = await call("GET", `${secrets}/${SECRET_NAME}`);
if (current.status !== 200 && current.status !== 404) throw new Error(`${current.status} ${current.text}`);
const before = current.status === 200 ? JSON.parse(current.text) : undefined;
if (before?.data?.["tls.crt"] && isGood(before.data["tls.crt"], hosts)) {
  console.log(`${SECRET_NAME}: the certificate is good`);
} else {
  const folder = await mkdtemp("/tmp/certificates-");
  const made = await ensureServingCertificates(folder, { hosts, adminName: "unused", adminGroup: "unused" });
  const encode = (text) => Buffer.from(text).toString("base64");
  const secret = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { namespace: SECRET_NAMESPACE, name: SECRET_NAME, resourceVersion: before?.metadata.resourceVersion },
    type: "kubernetes.io/tls",
    data: { "tls.crt": encode(made.serving.cert), "tls.key": encode(made.serving.key), "ca.crt": encode(made.servingAuthority) },
  };
  const answer = before === undefined
    ? await call("POST", secrets, secret)
    : await call("PUT", `${secrets}/${SECRET_NAME}`, secret);
  if (answer.status >= 300) throw new Error(`${answer.status} ${answer.text}`);
  console.log(`${SECRET_NAME}: a new certificate for ${hosts.join(", ")}`);
}
