// What `helm test` runs: the Service leads to a replica that is ready, says its version, and lets no
// stranger read. A certificate that the chart has had made is verified, with the Service's name; one of a
// Secret by its authority, as its names are its owner's; where no Secret has the authority, any will do.
import { readFileSync } from "node:fs";
import { get } from "node:https";

const { KEELSON_URL, KEELSON_SERVER_NAME } = process.env;

function readAuthority() {
  try {
    return readFileSync("/etc/keelson/tls/ca.crt");
  } catch {
    return undefined;
  }
}

const ca = readAuthority();
const trust = {
  ca,
  rejectUnauthorized: ca !== undefined || KEELSON_SERVER_NAME !== undefined,
  ...(KEELSON_SERVER_NAME === undefined
    ? { checkServerIdentity: () => undefined }
    : { servername: KEELSON_SERVER_NAME }),
};

function ask(path) {
  return new Promise((resolve, reject) => {
    const request = get(KEELSON_URL + path, { ...trust, timeout: 10_000 }, (response) => {
      let text = "";
      response.on("data", (chunk) => { text += chunk; });
      response.on("end", () => resolve({ status: response.statusCode, text }));
    });
    request.on("timeout", () => request.destroy(new Error("no answer within 10 s")));
    request.on("error", reject);
  });
}

const expected = [
  ["/livez", [200], /^ok$/],
  ["/readyz", [200], /^ok$/],
  ["/version", [200], /"gitVersion"/],
  ["/api/v1/secrets", [401, 403], /"kind": ?"Status"/],
];
for (const [path, statuses, pattern] of expected) {
  const { status, text } = await ask(path).catch((error) => ({ status: "no answer", text: error.message }));
  if (!statuses.includes(status) || !pattern.test(text.trim())) {
    console.error(`${path}: ${status} ${text.slice(0, 500)}`);
    process.exit(1);
  }
  console.log(`${path}: ok`);
}
console.log(`certificate: ${trust.rejectUnauthorized ? "ok" : "not verified"}`);
