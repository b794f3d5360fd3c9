/** TLS settings of a connection to etcd. */

/**
 * The contents of the TLS files. They may be other ones the next time they are read, as the files may be replaced:
 * each new connection reads them.
 */
export interface EtcdTls {
  /** Authorities that etcd's certificate must chain to; absent = those that Node trusts. */
  readonly ca?: string | Buffer;
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
}

/** The contents as one text, to see whether they have changed. */
export function tlsFingerprint({ ca = "", cert = "", key = "" }: EtcdTls = {}): string {
  return [ca, cert, key].map(String).join("\n\n");
}
