import type { Command } from "commander";
import type { SettingDefinition } from "../../settings/definitions.ts";
import { settingDefinitions } from "../../settings/definitions.ts";
import { errorKinds } from "../../errors.ts";
import { defaults } from "../../protocol/limits.ts";
import { globalOptions } from "../../cli/global-options.ts";
import type { Topic } from "../../cli/topics.ts";
import { texts } from "./texts.ts";

type Term = readonly [term: string, text: string];
type Helper = ReturnType<Command["createHelp"]>;

/** The text of a topic, for the width that help has. What is defined elsewhere (settings, exit codes, flags) comes from there. */
export function topicText(topic: Topic, program: Command): string {
  const helper = program.createHelp();
  helper.prepareContext({ helpWidth: Math.min(program.configureOutput().getOutHelpWidth?.() ?? 80, 100) });
  const lists: Record<string, () => Term[]> = { settings, "exit codes": exitCodes, flags: globalFlags };
  const blocks = texts[topic].trim().split("\n\n");
  const shown = blocks.map((block) => {
    const list = lists[/^\{(.+)\}$/.exec(block)?.[1] ?? ""];
    if (list !== undefined) return renderList(list(), helper);
    return block.startsWith("- ") ? renderList(terms(block), helper) : helper.boxWrap(numbers(oneLine(block)), helper.helpWidth ?? 80);
  });
  return `${shown.join("\n\n")}\n`;
}

const oneLine = (text: string): string => text.replaceAll(/\s+/g, " ");

const numbers = (text: string): string =>
  text.replace("{failed}", String(defaults.lockAfterFailed)).replace("{unacked}", String(defaults.lockAfterUnacked));

const terms = (block: string): Term[] =>
  block
    .slice(2)
    .split("\n- ")
    .map((item) => {
      const [term = "", ...text] = oneLine(item).split(": ");
      return [term, text.join(": ")];
    });

/** The texts stand beside the terms where these are short, else below them. */
function renderList(list: readonly Term[], helper: Helper): string {
  const longest = Math.max(...list.map(([term]) => term.length));
  const below = (text: string): string => helper.boxWrap(text, (helper.helpWidth ?? 80) - 6).replaceAll(/^/gm, "      ");
  return list
    .map(([term, text]) => (longest <= 24 ? helper.formatItem(term, longest, text, helper) : `  ${term}\n${below(text)}`))
    .join("\n");
}

function settings(): Term[] {
  return Object.values<SettingDefinition>(settingDefinitions).map(({ flag, env, key, help }) => [
    [flag, env, key === undefined ? undefined : `config key ${key}`].filter((way) => way !== undefined).join(", "),
    help,
  ]);
}

function exitCodes(): Term[] {
  const kinds = Object.entries(errorKinds).map(([code, { exitCode, retry, meaning }]): Term => [
    `${String(exitCode).padStart(3)}  ${code}`,
    `${meaning} [${retry}]`,
  ]);
  return [["  0", "done; after a get: acknowledged"], ...kinds];
}

/** The flags of every command that are no settings with a topic of their own. */
function globalFlags(): Term[] {
  const { output: _output, debug: _debug, ...settings } = settingDefinitions;
  const elsewhere = Object.keys(settings);
  return Object.entries(globalOptions).flatMap(([name, { flag, help }]) => (elsewhere.includes(name) ? [] : [[flag, help]]));
}
