import type { Command } from "commander";
import type { Act, RunCommand } from "../../cli/act.ts";
import { examples } from "../../cli/act.ts";

export function defineConfig(program: Command, act: Act): void {
  const config = program
    .command("config")
    .summary("read and change the profiles; change the key of the state")
    .helpCommand("help [command]", "show the help of a command")
    .description("Read and change the settings of a profile (--profile, else the current one). vault init makes a profile.")
    .addHelpText("after", examples("vault config list --origin", "vault config set timeout 10s"));
  const define = (name: string, summary: string, ...lines: string[]): Command =>
    config
      .command(name)
      .summary(summary)
      .description(`${summary[0]?.toUpperCase()}${summary.slice(1)}.`)
      .addHelpText("after", examples(...lines));
  const mending = (load: () => Promise<RunCommand>) => act(load, "mends-configuration");

  define("list", "the settings of the profile", "vault config list", "vault config list --origin", "vault config list --origin --json")
    .option("--origin", "every setting: what holds, and the flag, variable, profile or default that it comes from")
    .action(mending(async () => (await import("./list.ts")).runConfigList));
  define("get", "print what holds for one setting", "vault config get baseUrl", "vault config get rateLimit --json")
    .argument("<key>", "the config key, like timeout or policy.failed")
    .action(mending(async () => (await import("./list.ts")).runConfigGet));
  define("set", "change one setting", "vault config set timeout 10s", "vault config set apiKey env:VAULTSVC_API_KEY")
    .argument("<key>", "the config key, like timeout or policy.failed")
    .argument("<value>", "checked as the flag is; device: @FILE or JSON; apiKey: @FILE, -, env:NAME, and it is sealed")
    .action(mending(async () => (await import("./run.ts")).runConfigSet));
  define("unset", "take one setting out of the profile", "vault config unset timeout", "vault config unset policy.failed --json")
    .argument("<key>", "the config key")
    .action(mending(async () => (await import("./run.ts")).runConfigUnset));
  define("path", "where the configuration, the key file and the state are", "vault config path", "vault config path --json").action(
    mending(async () => (await import("./list.ts")).runConfigPath),
  );
  define("use", "make a profile the current one", "vault config use default", "vault config use default --json")
    .argument("<name>", "the profile")
    .action(mending(async () => (await import("./run.ts")).runConfigUse));
  defineRekey(config, act);
}

function defineRekey(config: Command, act: Act): void {
  config
    .command("rekey")
    .summary("change the key that seals all secrets")
    .description(
      "Change the key that seals credentials, tokens and secrets of profiles, or where it comes from. Killed at any moment, nothing " +
        "is lost: run it again. Backups made before still need the old key.",
    )
    .option("--to <source>", "file, passphrase, keyring or given (what it is now)")
    .option("--new-passphrase <secret>", "for a passphrase: @FILE, -, env:NAME (asked for)")
    .option("--new-state-key <secret>", "for a given key, 32 bytes as base64: @FILE, -, env:NAME")
    .option("--skip-missing", "go on although a state with this key is not there: what it holds is lost")
    .option("--yes", "do not ask")
    .addHelpText(
      "after",
      examples(
        "vault config rekey --yes",
        "vault config rekey --to file --yes --json",
        "echo correct horse battery | vault config rekey --new-passphrase - --yes",
      ),
    )
    .action(act(async () => (await import("./rekey.ts")).runRekey));
}
