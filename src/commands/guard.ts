import type { App } from "../app.ts";
import type { Descriptor, OptionsOf } from "../cli/command.ts";
import { command, vaultsArgument } from "../cli/command.ts";
import { defined } from "../defined.ts";
import { VaultError } from "../errors.ts";
import { applyTo } from "../exchange/breaker.ts";
import type { ExchangeContext } from "../exchange/context.ts";
import type { CounterReset } from "../exchange/records.ts";
import { command as wayTo } from "../way.ts";
import { count } from "../cli/values.ts";

const descriptor = {
  name: "guard",
  summary: "show the counters toward lockout, and what would be refused",
  description:
    "Show the counters toward lockout, what the guard would refuse, and the circuit breaker of each service that did not respond. Never calls the service.",
  arguments: { vaults: { ...vaultsArgument, help: `${vaultsArgument.help} (default: all)` } },
  options: {
    all: {
      flag: "--all",
      help: "with --reset --unanswered: every vault of the service",
      requires: ["reset", "unanswered"],
      conflicts: ["vaults"],
    },
    reset: {
      flag: "--reset",
      help: "reset the counters, after an administrator has unlocked the vault",
    },
    unanswered: {
      flag: "--unanswered",
      help: "with --reset: discard the counts of unanswered starts, and close the circuit breaker",
      requires: ["reset"],
      conflicts: ["failed", "starts"],
    },
    failed: {
      flag: "--failed <n>",
      help: "with --reset: failed attempts in a row, as the audit log shows them",
      parse: count,
      requires: ["reset"],
    },
    starts: {
      flag: "--starts <n>",
      help: "with --reset: unacknowledged starts, as the audit log shows them",
      parse: count,
      requires: ["reset"],
    },
    yes: { flag: "--yes", help: "do not ask" },
  },
  examples: [
    "vault guard",
    "vault guard $VAULT",
    "vault guard $VAULT --reset",
    "vault guard --all --reset --unanswered",
  ],
} as const satisfies Descriptor;

type GuardOptions = OptionsOf<typeof descriptor>;

/** Shows the counters and the circuit breakers; with --reset, takes a person's word about them. */
export const guard = command(descriptor, async (app: App, options) => {
  const { vaults: names, all = false, yes = false } = options;
  const to = resetBy(options);
  if (to !== undefined && to !== "unanswered" && names.length > 1)
    throw new VaultError("usage", "--reset takes one vault, unless with --unanswered", {
      next: [wayTo`vault guard VAULT --reset`],
    });
  const [{ noCredentials }, { describeBreaker, describeGuard }, { vaultNamed }] = await Promise.all(
    [
      import("../exchange/start/start.ts"),
      import("./status/vault-status.ts"),
      import("../cli/vault-name.ts"),
    ],
  );
  const given: string[] = [];
  for (const name of names) given.push((await vaultNamed(app, name)).toLowerCase());
  if (to !== undefined && !all && given.length === 0) {
    const { askVault } = await import("../input/ask.ts");
    given.push((await askVault(app, undefined, "guard --reset")).toLowerCase());
  }
  const store = await app.state.store();
  if (to === "unanswered") await takeBack(app, all ? null : given, yes);
  else if (to !== undefined) await resetCounters(app, given[0] ?? "", to, yes);
  const chosen = (await store.list()).filter(
    ({ uuid }) => given.length === 0 || given.includes(uuid.toLowerCase()),
  );
  const missing = given.find(
    (uuid) => !chosen.some((record) => record.uuid.toLowerCase() === uuid),
  );
  if (missing !== undefined && to === undefined) throw noCredentials(missing);
  const circumstances = { policy: app.settings.policy, clock: store };
  const vaults = chosen.map((record) => describeGuard(record, circumstances));
  const breakers = (await store.breakers()).map((breaker) =>
    describeBreaker(breaker, store.breaker(breaker.service).now()),
  );
  const isLong = await app.io.output.show(
    { vaults, breakers },
    async (view) => await (await import("./status/view.ts")).guardList({ vaults, breakers }, view),
  );
  const [{ sayNext }, { count }] = await Promise.all([
    import("./status/run.ts"),
    import("../terminal/count.ts"),
  ]);
  const refused = vaults.filter(({ refuses }) => refuses !== null);
  const what = refused.length === 0 ? "nothing" : `starts of ${refused.length}`;
  if (isLong) app.io.narrator.note(`${count(vaults.length, "vault")}: the guard refuses ${what}`);
  sayNext(app.io.narrator, refused);
  return 0;
});

/** What --reset makes of the counters; undefined where they are only shown. */
function resetBy({ reset, unanswered, failed, starts }: GuardOptions): CounterReset | undefined {
  if (reset !== true) return undefined;
  if (unanswered === true) return "unanswered";
  if (failed === undefined && starts === undefined) return "all";
  return defined({ failedAttempts: failed, unackedStarts: starts });
}

/** Takes back what unanswered starts of these vaults, or of all of the service, have counted, and closes the circuit breaker. */
async function takeBack(app: App, given: readonly string[] | null, yes: boolean): Promise<void> {
  const [{ confirmOrFail }, { noCredentials }] = await Promise.all([
    import("../cli/prompts.ts"),
    import("../exchange/start/start.ts"),
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
      await applyTo(breaker, { type: "answered", at: breaker.now() });
  }
}

const unlockedQuestion = (uuid: string): string =>
  `Reset the counters of vault ${uuid}? Only do this after an administrator has unlocked the vault.`;

async function resetCounters(
  app: App,
  uuid: string,
  to: CounterReset,
  yes: boolean,
): Promise<void> {
  const [{ confirmOrFail }, { noCredentials }] = await Promise.all([
    import("../cli/prompts.ts"),
    import("../exchange/start/start.ts"),
  ]);
  // The vault is not locked during the question.
  if ((await (await app.state.store()).find(uuid)).length === 0) throw noCredentials(uuid);
  await confirmOrFail(app.io.ask, yes || to !== "all", unlockedQuestion(uuid));
  await resetOne(app, uuid, to);
}

/** Returns the service of the vault. */
async function resetOne(app: App, uuid: string, to: CounterReset): Promise<string> {
  const work = async ({ session }: ExchangeContext): Promise<string> => {
    if ((await session.read()) === null)
      throw (await import("../exchange/start/start.ts")).noCredentials(uuid);
    await session.resetCounters(to);
    return session.service;
  };
  return await app.service.withVault(uuid, work, { local: true });
}
