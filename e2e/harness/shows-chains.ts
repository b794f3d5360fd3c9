/** Some releases of Node.js lose what a trusted client sent along with its certificate. */
import { once } from "node:events";
import { connect, createServer, type TLSSocket } from "node:tls";
import { TestAuthority } from "./test-authority.js";

/** Why a test of intermediates is skipped. */
export const LOSES_CHAINS = "this Node.js loses clients' intermediates (nodejs/node#65579)";

/** Whether a server can see the intermediates of a client that its handshake trusts. */
export async function showsChains(): Promise<boolean> {
  const authority = await TestAuthority.create("chains");
  const server = await authority.issue({ commonName: "server", usage: "any" });
  const client = await (await authority.createIntermediate("middle")).issue({ commonName: "c" });
  const ca = authority.certificate;
  const listener = createServer({ ...server, ca, requestCert: true, rejectUnauthorized: false });
  await once(listener.listen(0, "127.0.0.1"), "listening");
  const { port } = listener.address() as { port: number };
  const accepted = once(listener, "secureConnection");
  const outgoing = connect({ ...client, host: "127.0.0.1", port, rejectUnauthorized: false });
  outgoing.on("error", () => {}).resume();
  const [socket] = (await accepted) as [TLSSocket];
  const isShown = socket.getPeerX509Certificate()?.issuerCertificate !== undefined;
  socket.destroy();
  outgoing.destroy();
  listener.close();
  return isShown;
}
