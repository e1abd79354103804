import type { App } from "../app.ts";
import { command, vaultsArgument } from "../cli/command.ts";
import { VaultError } from "../errors.ts";
import { after } from "../exchange/breaker.ts";

type Needs = Pick<App, "ask" | "hold" | "host" | "output" | "serviceName" | "settings" | "store">;

/** Shows the counters and the circuit breakers; with --reset, zeroes counters, or with --unanswered what unanswered starts have counted. */
export const guard = command(
  {
    name: "guard",
    summary: "show the counters toward lockout, and what would be refused",
    description:
      "Show the counters toward lockout, what the guard would refuse, and the circuit breaker of each service that did not respond. Never calls the service.",
    arguments: { vaults: { ...vaultsArgument, help: `${vaultsArgument.help} (default: all)` } },
    options: {
      all: { flag: "--all", help: "with --reset --unanswered: every vault of the service" },
      reset: { flag: "--reset", help: "reset the counters, after an administrator has unlocked the vault" },
      unanswered: { flag: "--unanswered", help: "with --reset: take back what unanswered starts counted, and close the circuit breaker" },
      yes: { flag: "--yes", help: "do not ask" },
    },
    examples: ["vault guard", "vault guard $VAULT", "vault guard $VAULT --reset", "vault guard --all --reset --unanswered --yes"],
    fields: ["vaults", "breakers"],
  },
  async (app: Needs, { vaults: names, all, reset, unanswered, yes }) => {
    checkOptions(names, all === true, reset === true, unanswered === true);
    const [{ noCredentials }, { describeBreaker, describeGuard }, { vaultNamed }] = await Promise.all([
      import("../exchange/start/prepare.ts"),
      import("./status/vault-status.ts"),
      import("../cli/vault-name.ts"),
    ]);
    const given: string[] = [];
    for (const name of names) given.push((await vaultNamed(app, name)).toLowerCase());
    const store = await app.store();
    if (reset === true && unanswered === true && (all === true || given.length > 0))
      await takeBack(app, all === true ? null : given, yes === true);
    else if (reset === true) given.push(await resetCounters(app, given[0], unanswered === true ? "unanswered" : "all", yes === true));
    const chosen = (await store.list()).filter(({ uuid }) => given.length === 0 || given.includes(uuid.toLowerCase()));
    const missing = given.find((uuid) => !chosen.some((record) => record.uuid.toLowerCase() === uuid));
    if (missing !== undefined && reset !== true) throw noCredentials(missing);
    const vaults = chosen.map((record) => describeGuard(record, app.settings.policy, store.now()));
    const breakers = (await store.breakers()).map((breaker) => describeBreaker(breaker, store.breaker(breaker.service).now()));
    await app.output.print(
      { vaults, breakers },
      async (view) => await (await import("./status/view.ts")).guardList({ vaults, breakers }, view),
    );
    return 0;
  },
);

/** @throws `usage` */
function checkOptions(names: readonly string[], all: boolean, reset: boolean, unanswered: boolean): void {
  const hint = "vault guard VAULT --reset --unanswered; vault guard --all --reset --unanswered";
  if (unanswered && !reset) throw new VaultError("usage", "--unanswered requires --reset", { hint });
  if (all && !unanswered) throw new VaultError("usage", "--all requires --reset --unanswered; without a vault, all are shown", { hint });
  if (all && names.length > 0) throw new VaultError("usage", "--all is for all vaults: leave the others out", { hint });
  if (reset && !unanswered && names.length > 1)
    throw new VaultError("usage", "--reset takes one vault, unless with --unanswered", { hint });
}

/** Takes back what unanswered starts of these vaults, or of all of the service, have counted, and closes the circuit breaker. */
async function takeBack(app: Needs, given: readonly string[] | null, yes: boolean): Promise<void> {
  const [{ confirmOrFail }, { noCredentials }] = await Promise.all([import("../cli/prompts.ts"), import("../exchange/start/prepare.ts")]);
  const store = await app.store();
  const listed = await store.list();
  const service = given === null ? app.serviceName() : undefined;
  const counted = listed.filter((record) => record.service === service && (record.unansweredStarts > 0 || record.possiblyFailed > 0));
  const uuids = given ?? counted.map(({ uuid }) => uuid);
  const unknown = uuids.find((uuid) => !listed.some((record) => record.uuid.toLowerCase() === uuid.toLowerCase()));
  if (unknown !== undefined) throw noCredentials(unknown);
  const which = uuids.length === 1 ? `vault ${uuids[0]}` : `${uuids.length} vaults`;
  await confirmOrFail(
    app.ask,
    yes,
    `Take back what unanswered starts of ${which} have counted, and close the circuit breaker? Only do this if the audit log shows none of them.`,
  );
  const services = new Set(service === undefined ? [] : [service]);
  for (const uuid of uuids) services.add(await resetOne(app, uuid, "unanswered"));
  for (const name of services) {
    const breaker = store.breaker(name);
    if ((await breaker.read()).lostAt !== null) await breaker.change((now) => after(now, { type: "answered", at: breaker.now() }));
  }
}

/** Asks for the vault where it is not given. Returns it. */
async function resetCounters(app: Needs, given: string | undefined, only: "all" | "unanswered", yes: boolean): Promise<string> {
  const [{ confirmOrFail }, { noCredentials }, { askVault }] = await Promise.all([
    import("../cli/prompts.ts"),
    import("../exchange/start/prepare.ts"),
    import("./exchange/ask.ts"),
  ]);
  const uuid = await askVault(app, given, "guard --reset");
  if (only === "unanswered") {
    await takeBack(app, [uuid], yes);
    return uuid.toLowerCase();
  }
  // The vault is not locked during the question.
  if (!(await (await app.store()).list()).some((record) => record.uuid.toLowerCase() === uuid.toLowerCase())) throw noCredentials(uuid);
  await confirmOrFail(app.ask, yes, `Reset the counters of vault ${uuid}? Only do this after an administrator has unlocked the vault.`);
  await resetOne(app, uuid, only);
  return uuid.toLowerCase();
}

/** Returns the service of the vault. */
async function resetOne(app: Needs, uuid: string, only: "all" | "unanswered"): Promise<string> {
  const { session } = await app.hold(uuid, { local: true });
  try {
    if ((await session.read()) === null) throw (await import("../exchange/start/prepare.ts")).noCredentials(uuid);
    await session.resetCounters(only);
    return session.service;
  } finally {
    await session.release();
  }
}
