/** Words that no variable can have as its name. */
const WORDS = [
  ...["as", "break", "const", "continue", "else", "for", "function", "if", "import", "let"],
  ...["loop", "package", "namespace", "return", "var", "void", "while"],
];

export const RESERVED: ReadonlySet<string> = new Set(WORDS);
