/** TLS settings of a connection to etcd. */

/** The contents of the TLS files. */
export interface EtcdTls {
  /** Authorities that etcd's certificate must chain to; absent = those that Node trusts. */
  readonly ca?: string | Buffer;
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
}
