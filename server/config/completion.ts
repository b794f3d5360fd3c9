/** Completion of the command line in shells: commands, their flags and what they begin with. */

export const SHELLS = ["bash", "zsh", "fish"] as const;

export type Shell = (typeof SHELLS)[number];

/** By command: the flags and words that may follow. All are letters, digits and dashes. */
export type Completions = ReadonlyMap<string, readonly string[]>;

export const COMPLETION_HELP = `keelson completion: completion of this command line in a shell

Usage:
  source <(keelson completion bash)        in ~/.bashrc
  source <(keelson completion zsh)         in ~/.zshrc, behind compinit
  keelson completion fish > ~/.config/fish/completions/keelson.fish
`;

/** What a help text says of flags. */
export function flagsIn(help: string): readonly string[] {
  return [
    ...new Set(
      [...help.matchAll(/^ +(?:-\w, )?(--[a-z][a-z0-9-]*)/gm)].map(([, flag]) => flag ?? ""),
    ),
  ];
}

export function renderCompletion(shell: Shell, completions: Completions): string {
  if (shell === "fish") return fish(completions);
  const zsh = "autoload -U +X bashcompinit && bashcompinit\n";
  return (shell === "zsh" ? zsh : "") + bash(completions);
}

function bash(completions: Completions): string {
  const cases = [...completions].map(
    ([command, words]) => `    ${command}) words="${words.join(" ")}" ;;`,
  );
  return `_keelson() {
  local current="\${COMP_WORDS[COMP_CWORD]}" words="${[...completions.keys()].join(" ")}"
  if [ "$COMP_CWORD" -gt 1 ]; then case "\${COMP_WORDS[1]}" in
${cases.join("\n")}
    *) words="" ;;
  esac; fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _keelson keelson
`;
}

function fish(completions: Completions): string {
  const commands = `complete -c keelson -n __fish_use_subcommand -f -a "${[...completions.keys()].join(" ")}"`;
  const rest = [...completions].flatMap(([command, words]) =>
    words.map((word) => {
      const what = word.startsWith("--") ? `-l ${word.slice(2)}` : `-a ${word}`;
      return `complete -c keelson -n "__fish_seen_subcommand_from ${command}" ${what}`;
    }),
  );
  return [commands, ...rest, ""].join("\n");
}
