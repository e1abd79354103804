import type { Command } from "commander";
import { Option } from "commander";
import { withValues } from "../../completion/values.ts";
import type { Act } from "../../cli/act.ts";
import { examples } from "../../cli/act.ts";

export function defineDoctor(program: Command, act: Act): void {
  program
    .command("doctor")
    .summary("check the set-up end to end, and say what to do")
    .description(
      "Checks configuration, key, state, clock, TLS and whether the service can be reached, and says what to do about each " +
        "finding. Changes nothing, and sends nothing about a vault.",
    )
    .option("--offline", "leave the service out")
    .addOption(
      withValues(new Option("--fail-on <level>", "exit 17 if there is a finding of this level or worse: warn, error"), {
        from: "list",
        values: ["warn", "error"],
      }),
    )
    .addHelpText("after", examples("vault doctor", "vault doctor --offline --fail-on error", "vault doctor --json"))
    .action(act(async () => (await import("./run.ts")).runDoctor, "lenient"));
}
