import type { Classifier } from "../meaning/classifier.ts";
import type { Intake } from "../intake.ts";
import { beforeRelease } from "../flags.ts";
import { count } from "../../terminal/count.ts";
import type { Condition } from "../selection.ts";
import { roleOf } from "../selection.ts";
import type { Role } from "../read/item.ts";
import type { InputReport, Rules } from "../../documents/audit.ts";
import { said } from "../read/clip.ts";

/** What notes are about. */
interface Facts {
  rules: Rules;
  where: readonly Condition[];
  inputs: readonly InputReport[];
  intake: Intake;
  classifier: Classifier;
  /** Returns an action or an outcome as it is shown. */
  word: (value: string) => string;
}

/** Whether failed attempts can be distinguished from successful calls. */
export const distinguishesFailures = (
  inputs: readonly InputReport[],
  { fold, items }: Pick<Intake, "fold" | "items">,
): boolean =>
  items === 0 ||
  fold.hasFailures ||
  inputs.every(({ format, columns }) => format === "journal" || columns.outcome !== undefined);

/** Says what may be missing from a report. */
export function notesOf({ rules, where, inputs, intake, classifier, word }: Facts): string[] {
  const exports = inputs.filter(({ format }) => format !== "journal");
  const lacks = (role: Role): boolean => exports.some(({ columns }) => columns[role] === undefined);
  return [
    ...exports.filter(({ items }) => items === 0).map(({ name }) => `${name} has no items`),
    ...classifier.notes(word, beforeRelease(rules.release, "1.2.11")),
    ...said(
      [
        intake.fold.hasFailures && lacks("description"),
        "no column gives the reason of refused calls; if there is one, name it (--map description=…)",
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
