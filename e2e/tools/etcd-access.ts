/** Who may ask an etcd of the tests: holders of an authority's certificates, or who logs in. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Etcd3, type IOptions } from "etcd3";
import type { TestAuthority } from "../harness/test-authority.js";
import type { EtcdOptions } from "./etcd.js";

/** For `startEtcd`: files of a server that shows a certificate of the authority, and asks for one. */
export async function etcdTls(
  folder: string,
  authority: TestAuthority,
): Promise<Required<NonNullable<EtcdOptions["tls"]>>> {
  const server = await authority.issue({ hosts: ["127.0.0.1", "localhost"], usage: "any" });
  const [caFile, certFile, keyFile] = ["ca.crt", "tls.crt", "tls.key"].map((name) =>
    join(folder, name),
  ) as [string, string, string];
  await writeFile(caFile, authority.certificate);
  await writeFile(certFile, server.cert);
  await writeFile(keyFile, server.key);
  return { caFile, certFile, keyFile };
}

/** From now on everybody has to log in, as root with the password "secret". */
export async function requireLogIn(options: IOptions): Promise<void> {
  const admin = new Etcd3(options);
  const root = admin.user("root");
  await root.create("secret");
  await admin.role("root").create();
  await root.addRole("root");
  await admin.auth.authEnable();
  admin.close();
}
