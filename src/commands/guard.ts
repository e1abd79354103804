import type { App } from "../app.ts";
import { command, vaultArgument } from "../cli/command.ts";
import { VaultError } from "../errors.ts";

type Needs = Pick<App, "ask" | "hold" | "output" | "serviceName" | "settings" | "store">;

/** Shows the counters; with --reset, zeroes those of one vault, or with --unanswered what is only possibly failed. */
export const guard = command(
  {
    name: "guard",
    summary: "show the counters toward lockout, and what would be refused",
    description: "Show the counters toward lockout, and what the guard would refuse. Never calls the service.",
    arguments: { uuid: { ...vaultArgument, help: `${vaultArgument.help} (default: all)` } },
    options: {
      reset: { flag: "--reset", help: "reset the counters, after an administrator has unlocked the vault" },
      unanswered: { flag: "--unanswered", help: "with --reset: clear only possibly failed attempts" },
      yes: { flag: "--yes", help: "do not ask" },
    },
    examples: ["vault guard", "vault guard $VAULT", "vault guard $VAULT --reset"],
    fields: ["vaults"],
  },
  async (app: Needs, { uuid, reset, unanswered, yes }) => {
    if (unanswered === true && reset !== true) {
      throw new VaultError("usage", "--unanswered requires --reset", {
        hint: "vault guard VAULT --reset --unanswered",
      });
    }
    if (reset === true) await resetCounters(app, uuid, unanswered === true ? "unanswered" : "all", yes === true);
    const [{ noCredentials }, { describeGuard }] = await Promise.all([
      import("../exchange/start/prepare.ts"),
      import("./status/vault-status.ts"),
    ]);
    const chosen = (await (await app.store()).list()).filter((record) => uuid === undefined || isSame(record.uuid, uuid));
    if (uuid !== undefined && chosen.length === 0 && reset !== true) throw noCredentials(uuid);
    const vaults = chosen.map((record) => describeGuard(record, app.settings.policy));
    await app.output.print({ vaults }, async (view) => await (await import("./status/view.ts")).guardList(vaults, view));
    return 0;
  },
);

async function resetCounters(app: Needs, given: string | undefined, only: "all" | "unanswered", yes: boolean): Promise<void> {
  const [{ confirmOrFail }, { noCredentials }, { askVault }] = await Promise.all([
    import("../cli/prompts.ts"),
    import("../exchange/start/prepare.ts"),
    import("./exchange/ask.ts"),
  ]);
  const uuid = await askVault(app, given, "guard --reset");
  // The vault is not locked during the question.
  if (!(await (await app.store()).list()).some((record) => isSame(record.uuid, uuid))) throw noCredentials(uuid);
  const question =
    only === "all"
      ? `Reset the counters of vault ${uuid}? Only do this after an administrator has unlocked the vault.`
      : `Clear the possibly failed attempts of vault ${uuid}? Only do this if the audit log shows no failed attempt.`;
  await confirmOrFail(app.ask, yes, question);
  const context = await app.hold(uuid, { local: true });
  try {
    if ((await context.session.read()) === null) throw noCredentials(uuid);
    await context.session.resetCounters(only);
  } finally {
    await context.session.release();
  }
}

const isSame = (uuid: string, other: string): boolean => uuid.toLowerCase() === other.toLowerCase();
