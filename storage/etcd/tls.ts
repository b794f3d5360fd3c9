/** What a connection to etcd needs for TLS. */

/** Files of a TLS connection, already read. */
export interface EtcdTls {
  /** Certificates that etcd's certificate must go back to; absent = those that Node trusts. */
  readonly ca?: string | Buffer;
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
}
