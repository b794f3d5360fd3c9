/** Documents: answers of non-resource paths. */

/** An answer ready to be sent. */
export interface Document {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Empty for 304 and redirects; in pieces where it is large. */
  readonly body: Buffer | string | AsyncIterable<Buffer>;
}
