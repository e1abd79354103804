import type { Basics } from "../../parts/settings.ts";
import type { Start } from "../../exchange/start/start.ts";
import type { View } from "../../cli/vault-view.ts";
import { grouped } from "../../terminal/count.ts";
import { createPalette } from "../../terminal/palette.ts";
import { jsonText } from "../../terminal/redactor.ts";
import type { PlanDocument } from "../documents/many.ts";
import type { Named, SkipReason } from "./outcome.ts";
import { skipWords } from "./outcome.ts";

interface Skipped {
  start: Named;
  reason: SkipReason;
}

/** Maximum number of skipped vaults in a table. */
const mostRows = 100;

/** --dry-run: prints what would be done with many vaults. `form`: what the command prints if --output does not say. */
export async function dryRun(
  { io, settings }: Basics,
  todo: readonly Pick<Start, "noAck">[],
  skipped: readonly Skipped[],
  form: "ndjson" | "rows",
): Promise<void> {
  const { rate } = settings;
  const calls = todo.reduce((sum, { noAck }) => sum + (noAck ? 1 : 2), 0);
  const document: PlanDocument = {
    plan: {
      vaults: todo.length,
      calls,
      seconds: rate === 0 ? 0 : Math.ceil(calls / rate),
      skipped: skipped.map(({ start: { uuid }, reason }) => ({ uuid, reason })),
    },
  };
  const { format, field } = io.output;
  if (form === "ndjson" && format === "table" && field === undefined)
    await io.host.stdout.write(`${jsonText(document)}\n`);
  else
    await io.output.print(document, async (view) => await planTable(document, skipped, rate, view));
}

async function planTable(
  { plan: { vaults, calls, seconds } }: PlanDocument,
  skipped: readonly Skipped[],
  rate: number,
  { facts }: View,
): Promise<string> {
  const palette = await createPalette(facts.color);
  const options = { palette, columns: facts.columns };
  const { factsTable, listTable } = await import("../../terminal/tables.ts");
  const atRate = rate === 0 ? "without a rate limit" : `at ${grouped(rate)} calls a second`;
  const table = factsTable(
    [
      ["Vaults", grouped(vaults)],
      ["Calls", grouped(calls)],
      ["Time", `about ${grouped(Math.ceil(seconds))} s ${atRate}`],
      [
        "Skipped",
        { text: grouped(skipped.length), paint: skipped.length === 0 ? palette.dim : palette.warn },
      ],
    ],
    options,
  );
  if (skipped.length === 0) return `${heading}${table}`;
  const rows = skipped
    .slice(0, mostRows)
    .map(({ start: { uuid, label }, reason }) => [
      uuid,
      label ?? "",
      { text: reason, paint: palette.warn },
    ]);
  const more = skipped.length - rows.length;
  const reasons = [...new Set(skipped.map(({ reason }) => reason))];
  return [
    `${heading}${table}`,
    `${listTable(["Vault", "Label", "Skipped"], rows, options)}${more > 0 ? `  and ${grouped(more)} more; --json lists them all\n` : ""}`,
    factsTable(
      reasons.map((reason) => [reason, `${skipWords[reason].why}; ${skipWords[reason].help}`]),
      options,
    ),
  ].join("\n");
}

const heading = "Nothing was sent. This would be done:\n";
