import type { Classifier } from "../meaning/classifier.ts";
import type { Intake } from "../intake.ts";
import type { Pseudonyms } from "./references.ts";
import { beforeRelease } from "../fold/rules.ts";
import { count } from "../../terminal/count.ts";
import type { Condition } from "../selection.ts";
import { roleOf } from "../selection.ts";
import { defined } from "../../defined.ts";
import type { Role } from "../read/item.ts";
import type { Skips } from "../read/skips.ts";
import type {
  Columns,
  Found,
  InputReport,
  ReplaySummary,
  Rules,
  Selected,
  UnknownAction,
} from "../../documents/audit.ts";
import { said, short } from "./evidence.ts";
import type { Verdict } from "./severity.ts";

interface Facts {
  warnings: string[];
  found: Found;
  otherActions: UnknownAction[];
  selected: Selected | undefined;
  options: { rules: Rules; where?: readonly Condition[] | undefined };
  inputs: InputReport[];
  intake: Intake;
  classifier: Classifier;
  skips: Skips;
  vaultCount: number;
  verdicts: Record<Verdict, number>;
  asOf: number;
  columns: Columns;
  pseudonyms: Pseudonyms;
}

/** Whether failed attempts can be distinguished from successful calls. */
export const distinguishesFailures = (
  inputs: readonly InputReport[],
  { failures, items }: Pick<Intake, "failures" | "items">,
): boolean =>
  items === 0 ||
  failures > 0 ||
  inputs.every(({ format, columns }) => format === "journal" || columns.outcome !== undefined);

/** Summarizes a replay. */
export function summaryOf(facts: Facts): ReplaySummary {
  const { options, inputs, intake, skips, asOf, pseudonyms } = facts;
  return {
    warnings: facts.warnings,
    found: facts.found,
    ...defined({ selected: facts.selected }),
    items: intake.items,
    asOf: Number.isFinite(asOf) ? new Date(asOf).toISOString() : null,
    inputs,
    rules: options.rules,
    columns: facts.columns,
    vaultCount: facts.vaultCount,
    verdicts: facts.verdicts,
    skippedLines: skips.count,
    skipped: skips.first.map(({ input, line, reason }) => ({
      input: inputs[input]?.name ?? "",
      line,
      reason: pseudonyms.reason(reason),
    })),
    otherActions: facts.otherActions,
    unknownItems: intake.unknownItems,
    applicationItems: intake.applicationItems,
    withoutVault: intake.withoutVault,
    duplicates: intake.duplicates,
    reordered: intake.reordered,
    late: intake.fold.late,
    notes: notesOf(facts),
  };
}

function notesOf(facts: Facts): string[] {
  const { inputs, intake, classifier } = facts;
  const { rules, where = [] } = facts.options;
  const word = (value: string): string => facts.pseudonyms.word(value);
  const exports = inputs.filter(({ format }) => format !== "journal");
  const lacks = (role: Role): boolean => exports.some(({ columns }) => columns[role] === undefined);
  const called = [...classifier.byEndpoint].map((action) => short(word(action)));
  const isFormer = beforeRelease(rules.release, "1.2.11");
  const former = count(classifier.former, "item has", "items have");
  return [
    ...exports.filter(({ items }) => items === 0).map(({ name }) => `${name} has no items`),
    ...classifier.unknowns.notes(word),
    ...said(
      [
        intake.failures > 0 && lacks("description"),
        "no column gives the reason of refused calls; if there is one, name it (--map description=…)",
      ],
      [
        called.length > 0,
        `actions without a known name count by the endpoint of the call: ${called.slice(0, 3).join(", ")}${called.length > 3 ? ", …" : ""}`,
      ],
      [
        classifier.former > 0 && !isFormer,
        `${former} action names from before release 1.2.11: if the service is that old, use --release 1.2.10`,
      ],
      [
        isFormer && intake.items > 0 && classifier.former < Math.max(1, intake.items >> 1),
        `release ${rules.release} uses the action names from before 1.2.11, but most of these items do not`,
      ],
      [
        beforeRelease(rules.release, "1.2.18"),
        "releases before 1.2.18 record no failed attempts, so locks by failed attempts are not visible",
      ],
      [
        !distinguishesFailures(inputs, intake),
        "the items do not show which calls failed: name the column (--map outcome=…) or describe failures (--failure PATTERN)",
      ],
      [
        intake.future > 0,
        `${count(intake.future, "item")} dated in the future: verdicts are as of the latest other item`,
      ],
      [
        intake.vaultItems === 0 && intake.items > 0,
        "no item names a vault; name the column (--map vault=…)",
      ],
      [
        intake.fold.late > 0,
        "some items are too far out of order to be sorted; export them sorted by time",
      ],
    ),
    ...where
      .filter((one) => exports.every(({ columns }) => columns[roleOf(one)] === undefined))
      .filter(() => exports.length === inputs.length)
      .map(
        (one) => `no column is known for --where ${one.key}=…; name it (--map ${roleOf(one)}=…)`,
      ),
  ];
}
