/**
 * Rewrites the links of an HTML page in a stream of bytes. Tags without changed links pass unmodified, even
 * if malformed.
 *
 * Each byte is read as one character (latin1): markup and links are ASCII in every encoding used for
 * text/html except UTF-16, and other bytes stay as they are.
 */
import { Transform, type TransformCallback } from "node:stream";
import { RewritingStream } from "parse5-html-rewriting-stream";

/** Attributes with URLs, by element: those that kube-apiserver rewrites. */
const LINKS: Readonly<Record<string, readonly string[]>> = {
  a: ["href"],
  applet: ["codebase"],
  area: ["href"],
  audio: ["src"],
  base: ["href"],
  blockquote: ["cite"],
  body: ["background"],
  button: ["formaction"],
  command: ["icon"],
  del: ["cite"],
  embed: ["src"],
  form: ["action"],
  frame: ["longdesc", "src"],
  head: ["profile"],
  html: ["manifest"],
  iframe: ["longdesc", "src"],
  img: ["longdesc", "src", "usemap"],
  input: ["src", "usemap", "formaction"],
  ins: ["cite"],
  link: ["href"],
  object: ["classid", "codebase", "data", "usemap"],
  q: ["cite"],
  script: ["src"],
  source: ["src"],
  video: ["poster", "src"],
};

export class HtmlLinks extends Transform {
  readonly #rewriter = new RewritingStream();

  constructor(rewrite: (url: string) => string) {
    super();
    const rewriter = this.#rewriter;
    rewriter.on("startTag", (tag, raw) => {
      const names = LINKS[tag.tagName] ?? [];
      let isChanged = false;
      for (const attribute of tag.attrs) {
        if (!names.includes(attribute.name)) continue;
        const changed = rewrite(attribute.value);
        isChanged ||= changed !== attribute.value;
        attribute.value = changed;
      }
      if (isChanged) rewriter.emitStartTag(tag);
      else rewriter.emitRaw(raw);
    });
    rewriter.on("data", (text: string | Buffer) => this.push(toBytes(String(text))));
    rewriter.on("error", (error) => this.destroy(error));
  }

  override _transform(chunk: Buffer, _encoding: string, done: TransformCallback): void {
    this.#rewriter.write(chunk.toString("latin1"), () => done());
  }

  override _flush(done: TransformCallback): void {
    this.#rewriter.once("end", () => done());
    this.#rewriter.end();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#rewriter.destroy();
    done(error);
  }
}

/** A character above one byte was an entity in the source and becomes one again. */
function toBytes(text: string): Buffer {
  const escaped = text.replace(/[\u0100-\u{10ffff}]/gu, (character) => {
    return `&#x${(character.codePointAt(0) ?? 0).toString(16)};`;
  });
  return Buffer.from(escaped, "latin1");
}
