/**
 * A client in a process of its own that asks for one path as often as it can while it is told to: with others' in one
 * process its answers would hold up theirs before they are counted. Speaks with who forked it.
 */
import { HttpsClient } from "../harness/https-client.js";

export type GreedyOrder =
  | { readonly type: "connect"; readonly url: string; readonly ca: string; readonly token: string }
  | { readonly type: "ask"; readonly path: string; readonly atATime: number }
  | { readonly type: "rest" };

export type GreedyReport =
  | { readonly type: "busy" }
  | { readonly type: "resting"; readonly answered: number };

/** Answers before it says that it is busy: its connections are open by then. */
const BUSY_ANSWERS = 200;

class GreedyClient {
  #client: HttpsClient | undefined;
  #isAsking = false;

  obey(order: GreedyOrder): void {
    if (order.type === "connect") {
      const { url, ca, token } = order;
      this.#client = new HttpsClient(url, { ca }, { authorization: `Bearer ${token}` });
    } else if (order.type === "ask") {
      void this.#ask(order.path, order.atATime);
    } else {
      this.#isAsking = false;
    }
  }

  async #ask(path: string, atATime: number): Promise<void> {
    this.#isAsking = true;
    let answered = 0;
    const lanes = Array.from({ length: atATime }, async () => {
      while (this.#isAsking) {
        const answer = await this.#client?.get(path);
        if (answer?.status !== 200) continue;
        answered++;
        if (answered === BUSY_ANSWERS) report({ type: "busy" });
      }
    });
    await Promise.all(lanes);
    report({ type: "resting", answered: answered - BUSY_ANSWERS });
  }
}

function report(message: GreedyReport): void {
  process.send?.(message);
}

const client = new GreedyClient();
process.on("message", (order: GreedyOrder) => client.obey(order));
