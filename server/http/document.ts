/** Documents: answers of paths that are no resources. */

/** An answer that is ready to be sent. */
export interface Document {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Empty for 304 and redirects. */
  readonly body: Buffer | string;
}
