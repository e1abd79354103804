import type { Command } from "commander";
import type { SettingDefinition } from "../config/definitions.ts";
import { settingDefinitions } from "../config/definitions.ts";
import { errorKinds } from "../errors.ts";
import type { Topic } from "./help.ts";
import type { Block } from "./help-texts.ts";
import { texts } from "./help-texts.ts";

/** The text of a topic, for the width that help has. What is defined elsewhere (settings, exit codes, flags) comes from there. */
export function topicText(topic: Topic, program: Command): string {
  const blocks = topic === "environment" ? environment() : topic === "exit-codes" ? exitCodes() : texts[topic](globalFlags(program));
  const helper = program.createHelp();
  helper.prepareContext({ helpWidth: Math.min(program.configureOutput().getOutHelpWidth?.() ?? 80, 100) });
  return `${blocks.map((block) => render(block, helper)).join("\n\n")}\n`;
}

type Helper = ReturnType<Command["createHelp"]>;

/** A paragraph; or a list, whose texts stand beside the terms where these are short, else below them. */
function render(block: Block, helper: Helper): string {
  const width = helper.helpWidth ?? 80;
  if (typeof block === "string") return helper.boxWrap(block, width);
  const longest = Math.max(...block.map(([term]) => term.length));
  return block
    .map(([term, text]) =>
      longest <= 24
        ? helper.formatItem(term, longest, text, helper)
        : `  ${term}\n${helper.boxWrap(text, width - 6).replaceAll(/^/gm, "      ")}`,
    )
    .join("\n");
}

function environment(): Block[] {
  const rows = Object.values<SettingDefinition>(settingDefinitions).map(({ flag, env, key, help }): [string, string] => [
    [flag, env, key === undefined ? undefined : `config key ${key}`].filter((way) => way !== undefined).join(", "),
    help,
  ]);
  return [
    "A flag wins over the environment, the environment over the profile, the profile over the default. Flags stand before or behind the command. Defaults are in parentheses.",
    rows,
    "Durations are written like 500ms, 30s, 2m, 1h. A secret is given as @FILE, - (standard input) or env:NAME; one that stands on the command line itself draws a warning, because other users can see it. In an environment variable it is @FILE or the value.",
    "Also respected: NO_COLOR and FORCE_COLOR (vault help output), CI (no questions are asked), XDG_STATE_HOME and XDG_CONFIG_HOME (where state and configuration live by default).",
  ];
}

function exitCodes(): Block[] {
  const rows = Object.entries(errorKinds).map(([code, { exitCode, retry, meaning }]): [string, string] => [
    `${String(exitCode).padStart(3)}  ${code}`,
    `${meaning} [${retry}]`,
  ]);
  return [
    "The exit code says whether anything was spent, whether the pair is safe, and in brackets whether the same command may be run again: now (safe), after mending what the message names (after-fix), after looking at vault status (after-status), or never. With --json the last line of stderr holds the same as JSON; where it differs, its retry is the truth.",
    [["  0  done", "all is well; after get and ack: acknowledged"], ...rows],
  ];
}

/** The flags of every command that are no settings with a topic of their own. */
function globalFlags(program: Command): [string, string][] {
  const { output: _output, debug: _debug, ...settings } = settingDefinitions;
  const elsewhere = Object.values<SettingDefinition>(settings).map(({ flag }) => flag);
  return program.options.filter(({ flags }) => !elsewhere.includes(flags)).map(({ flags, description }) => [flags, description]);
}
