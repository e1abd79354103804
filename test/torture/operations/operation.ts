import { expect } from "vitest";
import type { Pair } from "../../../src/protocol/answers.ts";
import type { VaultInput } from "../../../src/sandbox/seeds.ts";
import {
  expectExit,
  expectFarFromLock,
  expectInStep,
  expectNothingLost,
  note,
} from "../../support/lab.ts";
import { credentialsIn, documentOf, errorOf, type GetDocument } from "../../support/machine.ts";
import type { RunResult } from "../../support/run-vault.ts";
import type { RewindLab } from "../rewind-lab.ts";
import { helpOf } from "../../support/help.ts";

/** A command that is cut off at any instant, and what must hold then. */
export interface Operation {
  name: string;
  seed: VaultInput[];
  /** Brings service and machine to where it begins. */
  prepare(lab: RewindLab): Promise<void>;
  args(lab: RewindLab): string[];
  env?: Readonly<Record<string, string>>;
  /** A shell line in place of the program, which is `"$@"` there: it ends with it, by exec. */
  shell?: string;
  /** It starts commands of the user, which are not looked at. */
  hasChildren?: true;
  /** A power loss is simulated, too. */
  onDisk?: true;
  /**
   * After it was cut off: nothing is lost, and the command that a user runs next goes on, to where state and service are in step. `printed`
   * is what had reached stdout; `ended` whether it ended by itself. Resolves to what came of it, where that may be this or that.
   */
  goesOn(lab: RewindLab, printed: string, ended: boolean): Promise<unknown>;
}

/** A command in this process; PAIR0, PAIR1, … are the pairs that the vaults had at first. */
export const here = async (lab: RewindLab, ...args: string[]): Promise<RunResult> => {
  const more = Object.fromEntries(
    lab.vaults.map(({ credentials }, index) => [`PAIR${index}`, JSON.stringify(credentials)]),
  );
  return await lab.machine.vaultWith({ env: more }, ...args);
};
export const get = (lab: RewindLab, ...more: string[]): string[] => [
  "get",
  lab.vault.uuid,
  "--json",
  ...more,
];
export const given = ({ vaults }: RewindLab, index = 0): string[] => [
  "--kind",
  vaults[index]?.kind ?? "",
  "--credentials",
  `env:PAIR${index}`,
];

/** The machine has read the vault once. */
export async function warm(lab: RewindLab): Promise<void> {
  lab.machine.env["PAIR0"] = JSON.stringify(lab.vaults[0]?.credentials);
  lab.machine.env["PAIR1"] = JSON.stringify(lab.vaults[1]?.credentials ?? null);
  expectExit(await here(lab, ...get(lab, ...given(lab))), 0);
}
export async function nothingLost(lab: RewindLab): Promise<void> {
  await expectNothingLost(lab, await lab.aside());
  expectFarFromLock(lab, lab.vault.uuid);
}

/** The next get delivers the contents, and everything is in step. */
export async function getGoesOn(
  lab: RewindLab,
  contents: object = { content: note },
  ...more: string[]
): Promise<GetDocument> {
  await nothingLost(lab);
  let next = await here(lab, ...get(lab, ...more));
  // Starts that were cut off may have failed, and one attempt is left: a person decides, who has looked at the audit log.
  if (next.code === 8) next = await decide(lab, helpOf(errorOf(next)), more);
  expectExit(next, 0);
  // That its state is a copy is said to the first one that takes the vault.
  expect(next.stderr.replace(/^vault: warning: .* was copied or moved: .*\n/, "")).toBe("");
  expect(documentOf(next).vault).toMatchObject(contents);
  await inStep(lab);
  return documentOf(next);
}

/** What the guard's hint names: clearing what only possibly failed, or choosing the credentials that the service accepts. */
async function decide(lab: RewindLab, hint: string, more: readonly string[]): Promise<RunResult> {
  const { uuid } = lab.vault;
  if (hint.includes("--reset --unanswered")) {
    expectExit(await here(lab, "guard", uuid, "--reset", "--unanswered", "--yes"), 0);
    return await here(lab, ...get(lab, ...more));
  }
  expect(hint).toMatch(/--generation \d+ \(/);
  const kept = [
    ...(await here(lab, "status", uuid, "--history", "--json")).stdout.matchAll(
      /"generation": (\d+),\s+"standing"/g,
    ),
  ];
  for (const [, number = ""] of kept) {
    const pair = credentialsIn(
      (await here(lab, "export", uuid, "--generation", number)).stdout,
    ) as Pair;
    if (lab.service.sandbox.accepts(uuid, pair))
      return await here(lab, ...get(lab, ...more, "--generation", number));
  }
  throw new Error("no kept generation is accepted");
}

export async function inStep(lab: RewindLab, index = 0): Promise<void> {
  const uuid = lab.vaults[index]?.uuid ?? "";
  await expectInStep(lab, lab.machine, uuid);
  expectFarFromLock(lab, uuid);
}

/** ack finishes it, or says that only a get can tell; the get after it goes on. */
export async function ackGoesOn(lab: RewindLab): Promise<string> {
  await nothingLost(lab);
  const ack = await here(lab, "ack", lab.vault.uuid, "--json");
  expectExit(ack, 0, 12);
  if (ack.code === 0) await expectInStep(lab, await lab.aside(), lab.vault.uuid);
  const { settled } = await getGoesOn(lab);
  return [ack.code, ...settled.map(({ outcome }) => outcome)].join(" ");
}

export function wholeDocument(text: string): GetDocument | null {
  try {
    return JSON.parse(text) as GetDocument;
  } catch {
    return null;
  }
}
