/** The API that all tests of a file share, and its administrator's client. */
import { after, before } from "node:test";
import type { Keelson, KeelsonOptions } from "../../server/start-keelson.js";
import { HttpsClient } from "../harness/https-client.js";
import { startKeelson } from "../harness/start-api.js";

export interface RunningApi {
  readonly api: Keelson;
  readonly admin: HttpsClient;
}

/** Starts it before the tests of the file that calls this, and stops it behind them. */
export function shareApi(options: KeelsonOptions = {}): () => RunningApi {
  let running: RunningApi | undefined;
  before(async () => {
    const api = await startKeelson(options);
    running = { api, admin: new HttpsClient(api.url, api) };
  });
  after(async () => {
    running?.admin.close();
    await running?.api.stop();
  });
  return () => {
    if (running === undefined) throw new Error("the API did not start");
    return running;
  };
}
