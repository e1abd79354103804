import { delimiter, dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { machineFor, type Machine } from "../support/machine.ts";
import { startInPty } from "../support/pty.ts";
import { cleanEnv, vaultFile } from "../support/run-vault.ts";
import { tempDir } from "../support/cleanup.ts";

/** A label that a shell, a terminal or a careless script could interpret; `shown` is how it should appear. */
export const vaults = [
  {
    uuid: "11111111-e89b-42d3-a456-426614174000",
    kind: "credit-card/offline",
    label: 'it\'s $(touch pwned) `touch pwned` "50%F{red}";a:b\t\u001b[31m\n:files',
    shown: 'it\'s $(touch pwned) `touch pwned` "50%F{red}";a:b \\u{1b}[31m\\u{a}:files',
  },
  {
    uuid: "22222222-e89b-42d3-a456-426614174000",
    kind: "generic/offline",
    label: undefined,
    shown: "",
  },
  {
    uuid: "33333333-e89b-42d3-a456-426614174000",
    kind: "generic/offline",
    label: "office card",
    shown: "office card",
  },
] as const;

export const pair = { encryptedData: "c2VjcmV0LWRhdGE=", payload: "c2VjcmV0LXBheWxvYWQ=" };

/** Returns a machine with vaults whose service is unreachable: completion must not need it. */
export async function machineWithVaults(): Promise<Machine> {
  const machine = machineFor({
    baseUrl: "http://127.0.0.1:9",
    application: { uuid: vaults[0].uuid, apiKey: "c2VjcmV0LWtleQ==" },
  });
  for (const { uuid, kind, label } of vaults) {
    await machine.ok("import", uuid, ...machine.given(pair, kind));
    // No command takes it, but somebody may have written it there.
    const database = new DatabaseSync(join(machine.stateDir, "vault.db"));
    database.prepare("UPDATE vaults SET label = ? WHERE uuid = ?").run(label ?? null, uuid);
    database.close();
  }
  return machine;
}

const scripts = join(import.meta.dirname, "..", "..", "completions");

/** Whether a program is on this machine's path; a test that needs it is skipped where it is not. */
export const isInstalled = (name: string): boolean =>
  (process.env["PATH"] ?? "").split(delimiter).some((folder) => existsSync(join(folder, name)));

/** A user who has the program as `vault` and as `vaultsvc`, and the completion of a shell. */
export interface ShellUser {
  /** Where the shell runs: what it completes as names of files. */
  cwd: string;
  env: Record<string, string>;
}

export function shellUser(env: Readonly<Record<string, string>>): ShellUser {
  const folder = tempDir("path");
  for (const name of ["vault", "vaultsvc"]) symlinkSync(vaultFile, join(folder, name));
  const PATH = [folder, dirname(process.execPath), process.env["PATH"]].join(delimiter);
  return { cwd: tempDir("cwd"), env: { ...env, PATH } };
}

interface Completed {
  /** The command lines after the tab. */
  lines: string[];
  /** All that the terminal showed: lists of candidates among it. */
  shown: string;
}

interface Setup {
  command: readonly string[];
  /** Is read by the shell before its first prompt. A line that Ctrl-G shows goes to $OUT. */
  rc: string;
  rcFile: string;
}

const setups = {
  bash: (home: string): Setup => ({
    command: ["bash", "--noprofile", "--rcfile", join(home, "rc"), "-i"],
    rcFile: join(home, "rc"),
    rc: `
bind 'set show-all-if-ambiguous on'
bind 'set completion-query-items 0'
bind 'set page-completions off'
bind 'set enable-bracketed-paste off'
bind -x '"\\C-g": printf "%s\\n" "$READLINE_LINE" >>"$OUT"'
. ${join(scripts, "vault.bash")}
PS1='READY> '
`,
  }),
  zsh: (home: string): Setup => ({
    command: ["zsh", "-i"],
    rcFile: join(home, ".zshrc"),
    rc: `
fpath=(${scripts} $fpath)
autoload -U compinit && compinit -u -d ${join(home, "dump")}
LISTMAX=0
show() { print -r -- "$BUFFER" >>$OUT }
zle -N show
bindkey -e
bindkey '^G' show
unset zle_bracketed_paste
PROMPT='READY> '
`,
  }),
};

/**
 * Types each line and a tab into an interactive shell on a pseudo-terminal, and tells what the lines have become. `before` and
 * `after` are commands to run at its start, around the loading of the completion.
 */
export async function typeAndTab(
  shell: keyof typeof setups,
  user: ShellUser,
  lines: readonly string[],
  before = "",
  after = "",
): Promise<Completed> {
  const home = tempDir("shell");
  const out = join(home, "out");
  const { command, rc, rcFile } = setups[shell](home);
  writeFileSync(rcFile, `${before}\n${rc}\n${after}\n`);
  writeFileSync(out, "");
  const env = { ...user.env, HOME: home, ZDOTDIR: home, OUT: out };
  const terminal = startInPty(command, { cwd: user.cwd, env, columns: 200, rows: 100 });
  await terminal.waitFor(/READY> /);
  for (const line of lines) terminal.type(`${line}\t\x07\x15`);
  terminal.type("exit\r");
  const { text } = await terminal.exit;
  return { lines: readFileSync(out, "utf8").split("\n").slice(0, -1), shown: text };
}

/** What fish offers for a command line, by its own account; descriptions behind a tab. */
export function fishOffers(user: ShellUser, line: string): string[] {
  const commands = `source ${join(scripts, "vault.fish")}; complete -C ${fishQuote(line)}`;
  const { stdout, stderr } = spawnSync("fish", ["--no-config", "-c", commands], {
    cwd: user.cwd,
    env: cleanEnv(user),
    encoding: "utf8",
  });
  if (stderr !== "") throw new Error(stderr);
  return stdout.split("\n").filter((candidate) => candidate !== "");
}

const fishQuote = (text: string): string =>
  `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
