import type { App } from "../../app.ts";
import { command, vaultsArgument, text } from "../../cli/command.ts";
import { defined } from "../../defined.ts";
import { VaultError } from "../../errors.ts";
import { after } from "../../exchange/breaker.ts";
import type { CounterReset } from "../../exchange/records.ts";

/** Shows the counters and the circuit breakers; with --reset, takes a person's word about them. */
export const guard = command(
  {
    name: "guard",
    summary: "show the counters toward lockout, and what would be refused",
    description:
      "Show the counters toward lockout, what the guard would refuse, and the circuit breaker of each service that did not respond. Never calls the service.",
    arguments: { vaults: { ...vaultsArgument, help: `${vaultsArgument.help} (default: all)` } },
    options: {
      all: { flag: "--all", help: "with --reset --unanswered: every vault of the service" },
      reset: {
        flag: "--reset",
        help: "reset the counters, after an administrator has unlocked the vault",
      },
      unanswered: {
        flag: "--unanswered",
        help: "with --reset: take back what unanswered starts counted, and close the circuit breaker",
      },
      failed: {
        flag: "--failed <n>",
        help: "with --reset: failed attempts in a row, as the audit log shows them",
        value: (is) => is.count,
      },
      starts: {
        flag: "--starts <n>",
        help: "with --reset: unacknowledged starts, as the audit log shows them",
        value: (is) => is.count,
      },
      credentials: {
        flag: "--credentials <file>",
        help: "of the vault whose only state is FILE (both --credentials and --credentials-out)",
        value: text,
      },
      yes: { flag: "--yes", help: "do not ask" },
    },
    examples: [
      "vault guard",
      "vault guard $VAULT",
      "vault guard $VAULT --reset",
      "vault guard --all --reset --unanswered",
    ],
    fields: ["vaults", "breakers"],
  },
  async (app: App, { vaults: names, all, failed, starts, credentials, ...flags }) => {
    const { reset = false, unanswered = false, yes = false } = flags;
    const isCounted = failed !== undefined || starts !== undefined;
    checkOptions({ names, all: all === true, reset, unanswered, isCounted, file: credentials });
    const to = unanswered
      ? "unanswered"
      : isCounted
        ? defined({ failedAttempts: failed, unackedStarts: starts })
        : "all";
    if (credentials !== undefined) {
      const [{ guardFile }, { confirmOrFail }] = await Promise.all([
        import("./container-file.ts"),
        import("../../cli/prompts.ts"),
      ]);
      const [vault = ""] = names;
      await confirmOrFail(app.io.ask, yes || !reset || to !== "all", unlockedQuestion(vault));
      return await guardFile(app, { vault, named: credentials, to: reset ? to : undefined });
    }
    const [{ noCredentials }, { describeBreaker, describeGuard }, { vaultNamed }] =
      await Promise.all([
        import("../../exchange/start/start.ts"),
        import("../status/vault-status.ts"),
        import("../../cli/vault-name.ts"),
      ]);
    const given: string[] = [];
    for (const name of names) given.push((await vaultNamed(app, name)).toLowerCase());
    const store = await app.state.store();
    if (unanswered && (all === true || given.length > 0))
      await takeBack(app, all === true ? null : given, yes);
    else if (reset) given.push(await resetCounters(app, given[0], to, yes));
    const chosen = (await store.list()).filter(
      ({ uuid }) => given.length === 0 || given.includes(uuid.toLowerCase()),
    );
    const missing = given.find(
      (uuid) => !chosen.some((record) => record.uuid.toLowerCase() === uuid),
    );
    if (missing !== undefined && !reset) throw noCredentials(missing);
    const vaults = chosen.map((record) => describeGuard(record, app.settings.policy, store.now()));
    const breakers = (await store.breakers()).map((breaker) =>
      describeBreaker(breaker, store.breaker(breaker.service).now()),
    );
    await app.io.output.print(
      { vaults, breakers },
      async (view) =>
        await (await import("../status/view.ts")).guardList({ vaults, breakers }, view),
    );
    return 0;
  },
);

interface Given {
  names: readonly string[];
  all: boolean;
  reset: boolean;
  unanswered: boolean;
  /** --failed or --starts. */
  isCounted: boolean;
  file: string | undefined;
}

/** @throws `usage` */
function checkOptions({ names, all, reset, unanswered, isCounted, file }: Given): void {
  const hint = "vault guard VAULT --reset --unanswered; vault guard --all --reset --unanswered";
  const numbers = "vault guard VAULT --reset --failed N --starts N";
  const wrong: (readonly [boolean, string, string?])[] = [
    [unanswered && !reset, "--unanswered requires --reset"],
    [isCounted && !reset, "--failed and --starts require --reset", numbers],
    [
      isCounted && unanswered,
      "--unanswered excludes --failed and --starts: leave one of them out",
      numbers,
    ],
    [all && !unanswered, "--all requires --reset --unanswered; without a vault, all are shown"],
    [all && names.length > 0, "--all is for all vaults: leave the others out"],
    [
      file !== undefined && names.length !== 1,
      "--credentials is for one vault, named by its UUID",
      "vault guard UUID --reset --unanswered --credentials FILE",
    ],
    [reset && !unanswered && names.length > 1, "--reset takes one vault, unless with --unanswered"],
  ];
  const found = wrong.find(([is]) => is);
  if (found !== undefined) throw new VaultError("usage", found[1], { hint: found[2] ?? hint });
}

/** Takes back what unanswered starts of these vaults, or of all of the service, have counted, and closes the circuit breaker. */
async function takeBack(app: App, given: readonly string[] | null, yes: boolean): Promise<void> {
  const [{ confirmOrFail }, { noCredentials }] = await Promise.all([
    import("../../cli/prompts.ts"),
    import("../../exchange/start/start.ts"),
  ]);
  const store = await app.state.store();
  const listed = await store.list();
  const service = given === null ? app.settings.serviceName() : undefined;
  const counted = listed.filter(
    (record) =>
      record.service === service && (record.unansweredStarts > 0 || record.possiblyFailed > 0),
  );
  const uuids = given ?? counted.map(({ uuid }) => uuid);
  const unknown = uuids.find(
    (uuid) => !listed.some((record) => record.uuid.toLowerCase() === uuid.toLowerCase()),
  );
  if (unknown !== undefined) throw noCredentials(unknown);
  // About one vault, the flags are a person's word already.
  await confirmOrFail(
    app.io.ask,
    yes || given?.length === 1,
    `Take back what unanswered starts of ${uuids.length} vaults have counted, and close the circuit breaker? Only do this if the audit log shows none of them.`,
  );
  const services = new Set(service === undefined ? [] : [service]);
  for (const uuid of uuids) services.add(await resetOne(app, uuid, "unanswered"));
  for (const name of services) {
    const breaker = store.breaker(name);
    if ((await breaker.read()).lostAt !== null)
      await breaker.change((now) => after(now, { type: "answered", at: breaker.now() }));
  }
}

const unlockedQuestion = (uuid: string): string =>
  `Reset the counters of vault ${uuid}? Only do this after an administrator has unlocked the vault.`;

/** Asks for the vault where it is not given. Returns it. */
async function resetCounters(
  app: App,
  given: string | undefined,
  to: CounterReset,
  yes: boolean,
): Promise<string> {
  const [{ confirmOrFail }, { noCredentials }, { askVault }] = await Promise.all([
    import("../../cli/prompts.ts"),
    import("../../exchange/start/start.ts"),
    import("../../input/ask.ts"),
  ]);
  const uuid = await askVault(app, given, "guard --reset");
  if (to === "unanswered") {
    await takeBack(app, [uuid], yes);
    return uuid.toLowerCase();
  }
  // The vault is not locked during the question.
  if ((await (await app.state.store()).find(uuid)).length === 0) throw noCredentials(uuid);
  await confirmOrFail(app.io.ask, yes || to !== "all", unlockedQuestion(uuid));
  await resetOne(app, uuid, to);
  return uuid.toLowerCase();
}

/** Returns the service of the vault. */
async function resetOne(app: App, uuid: string, to: CounterReset): Promise<string> {
  const { session } = await app.service.lock(uuid, { local: true });
  try {
    if ((await session.read()) === null)
      throw (await import("../../exchange/start/start.ts")).noCredentials(uuid);
    await session.resetCounters(to);
    return session.service;
  } finally {
    await session.release();
  }
}
