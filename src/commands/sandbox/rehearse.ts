import type { Basics } from "../../parts/settings.ts";
import { VaultError } from "../../errors.ts";
import { createPalette } from "../../terminal/palette.ts";
import type { TerminalFacts } from "../../terminal/streams.ts";
import { count } from "../../terminal/count.ts";
import type { RehearseDocument } from "../documents/sandbox.ts";
import type { RehearseOptions } from "./descriptor.ts";
import type { Scenario } from "./scenarios.ts";
import { failures, Rehearsal } from "./scenarios.ts";
import { sandboxSettings } from "./start.ts";

/**
 * Runs a program through every failure of every call that it makes.
 * @throws `usage` where it fails without a failure already, `finding` where a vault was lost or locked
 */
export async function runRehearse(
  { io, settings }: Basics,
  options: RehearseOptions,
): Promise<number> {
  const { check, setup, command } = options;
  if (check === undefined) {
    throw new VaultError(
      "usage",
      "--check is missing: a command that exits with 0 if the program can still read its vault",
      {
        hint: "vault sandbox rehearse --check './read-vault.sh' -- ./read-vault.sh",
      },
    );
  }
  io.narrator.warn(`${command.join(" ")} will run many times, against sandboxes`);
  const rehearsal = new Rehearsal({ io, settings }, sandboxSettings({ io, settings }, options), {
    setup,
    check,
    command,
  });
  const calls = await rehearsal.listCalls();
  const scenarios: Scenario[] = [];
  for (const call of calls) {
    for (const failure of failures) {
      io.narrator.detail(`call ${call.n} of ${calls.length}, ${failure}`);
      scenarios.push(await rehearsal.play(call, failure));
    }
  }
  const { warnings } = rehearsal;
  const document: RehearseDocument = { scenarios, warnings };
  await io.output.print(document, async ({ facts }) => await asTable(facts, scenarios));
  const bad = (outcome: Scenario["outcome"]): number =>
    scenarios.filter((each) => each.outcome === outcome).length;
  const found = [
    ...(bad("lost") > 0 ? [`${bad("lost")} lost`] : []),
    ...(bad("locked") > 0 ? [`${bad("locked")} locked`] : []),
  ];
  if (found.length === 0) return 0;
  throw new VaultError(
    "finding",
    `of ${count(scenarios.length, "scenario")}, the vault was ${found.join(", ")}`,
    { retry: "after-fix" },
  );
}

async function asTable(facts: TerminalFacts, scenarios: readonly Scenario[]): Promise<string> {
  const { listTable } = await import("../../terminal/tables.ts");
  const palette = await createPalette(facts.color);
  const rows = scenarios.map(({ call, failure, outcome, check }) => [
    String(call.n),
    `${call.method} ${call.endpoint}`,
    failure,
    { text: outcome, paint: outcome === "fine" ? palette.good : palette.bad },
    String(check),
  ]);
  return listTable(["Call", "Endpoint", "Failure", "Outcome", "Check"], rows, {
    palette,
    columns: facts.columns,
  });
}
