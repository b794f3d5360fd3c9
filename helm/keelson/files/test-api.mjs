// What `helm test` runs: the Service leads to a replica that is ready and says its version. Who it is
// proves clients' trust, which this pod has no part in, so any certificate will do.
import { get } from "node:https";

function ask(path) {
  return new Promise((resolve, reject) => {
    const options = { rejectUnauthorized: false, timeout: 10_000 };
    const request = get(process.env.KEELSON_URL + path, options, (response) => {
      let text = "";
      response.on("data", (chunk) => { text += chunk; });
      response.on("end", () => resolve({ status: response.statusCode, text }));
    });
    request.on("timeout", () => request.destroy(new Error("no answer within 10 s")));
    request.on("error", reject);
  });
}

const expected = { "/livez": /^ok$/, "/readyz": /^ok$/, "/version": /"gitVersion"/ };
for (const [path, pattern] of Object.entries(expected)) {
  const { status, text } = await ask(path);
  if (status !== 200 || !pattern.test(text.trim())) {
    console.error(`${path}: ${status} ${text.slice(0, 500)}`);
    process.exit(1);
  }
  console.log(`${path}: ok`);
}
