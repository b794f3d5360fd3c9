import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { parseCommandLine } from "./command-line.js";

function completion(shell: string): string {
  const commandLine = parseCommandLine(["completion", shell]);
  assert.equal(commandLine.action, "help");
  return commandLine.action === "help" ? commandLine.text : "";
}

test("People 4: bash completes commands, their flags and their words", () => {
  const ask = (...words: string[]) => {
    const line = `COMP_WORDS=(${words.map((word) => `"${word}"`).join(" ")})`;
    const script = `${completion("bash")}\n${line}; COMP_CWORD=${words.length - 1}; _keelson; echo "\${COMPREPLY[@]}"`;
    return execFileSync("bash", ["-c", script], { encoding: "utf8" }).trim();
  };
  assert.equal(ask("keelson", "val"), "validate");
  assert.equal(ask("keelson", "fault", "--ti"), "--times");
  assert.equal(ask("keelson", "fault", "stale"), "staleRead");
  assert.equal(ask("keelson", "serve", "--enable-fault"), "--enable-fault-injection");
  assert.equal(ask("keelson", "snapshot", "sa"), "save");
  assert.equal(ask("keelson", "none", "--"), "");
});

test("People 4: zsh takes bash's, fish has its own, and other shells are refused in a line", () => {
  assert.match(completion("zsh"), /^autoload -U \+X bashcompinit && bashcompinit\n_keelson\(\) \{/);
  const fish = completion("fish");
  assert.match(fish, /^complete -c keelson -n "__fish_seen_subcommand_from fault" -l verb$/m);
  assert.match(fish, /^complete -c keelson -n "__fish_seen_subcommand_from snapshot" -a load$/m);
  const refused = parseCommandLine(["completion", "csh"]);
  assert.deepEqual(refused, {
    action: "refuse",
    message: 'keelson: invalid value for --SHELL: must be one of bash, zsh, fish, not "csh"',
    exitCode: 2,
  });
});
