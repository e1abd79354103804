import type { App } from "../app.ts";
import { command, vaultsArgument } from "../cli/command.ts";
import { defined } from "../defined.ts";
import { VaultError } from "../errors.ts";
import { confirmOrFail } from "../cli/prompts.ts";
import * as values from "../cli/values.ts";
import { vaultNamed } from "../cli/vault-name.ts";
import { applyTo } from "../exchange/breaker.ts";
import { allowsStart } from "../exchange/counting.ts";
import type { Circumstances } from "../exchange/next-action.ts";
import type { CounterReset, VaultRecord } from "../exchange/records.ts";
import { byLabel, noCredentials } from "../exchange/records.ts";
import { refusedByGuard, waysOn } from "../exchange/refusals.ts";
import type { VaultGuard } from "../documents/state.ts";
import { askVault } from "../input/ask.ts";
import { command as wayTo } from "../way.ts";
import { countersOf, describeBreaker, sayNext } from "./status/vault-status.ts";
import { guardList } from "./status/view.ts";

export const guard = command({
  description:
    "Show the counters toward lockout, what the guard would refuse, and the circuit breaker of each service that did not respond. Never calls the service.",
  arguments: { vaults: { ...vaultsArgument, help: `${vaultsArgument.help} (default: all)` } },
  options: {
    "--all": {
      help: "with --reset --unanswered: every vault of the service",
      requires: ["reset", "unanswered"],
      conflicts: ["vaults"],
    },
    "--reset": "reset the counters, after an administrator has unlocked the vault",
    "--unanswered": {
      help: "with --reset: discard the counts of unanswered starts, and close the circuit breaker",
      requires: ["reset"],
      conflicts: ["failed", "starts"],
    },
    "--failed <n>": {
      help: "with --reset: failed attempts in a row, as the audit log shows them",
      parse: values.count,
      requires: ["reset"],
    },
    "--starts <n>": {
      help: "with --reset: unacknowledged starts, as the audit log shows them",
      parse: values.count,
      requires: ["reset"],
    },
    "--yes": "do not ask",
  },
  examples: ["vault guard $VAULT --reset", "vault guard --all --reset --unanswered"],
  async run(app, options) {
    const { vaults: names, all = false } = options;
    const { failed: failedAttempts, starts: unackedStarts } = options;
    const counters = defined({ failedAttempts, unackedStarts });
    const exact = Object.keys(counters).length > 0 ? counters : "all";
    const to = options.reset !== true ? undefined : options.unanswered ? "unanswered" : exact;
    if (to !== undefined && to !== "unanswered" && names.length > 1)
      throw new VaultError("usage", "--reset takes one vault, unless with --unanswered", {
        next: [wayTo`vault guard VAULT --reset`],
      });
    const given = await Array.fromAsync(names, async (name) => await vaultNamed(app, name));
    if (to !== undefined && !all && given.length === 0)
      given.push(await askVault(app, undefined, "guard --reset"));
    const store = await app.state.store();
    const read = async (): Promise<VaultRecord[]> => {
      if (given.length === 0) return await store.list();
      const records: VaultRecord[] = [];
      for (const uuid of new Set(given.map((each) => each.toLowerCase()))) {
        const found = await Array.fromAsync(store.each(uuid));
        if (found.length === 0) throw noCredentials(uuid);
        records.push(...found);
      }
      return records.toSorted(byLabel);
    };
    const known = await read();
    const isCountedHere = (one: VaultRecord): boolean =>
      one.service === app.settings.serviceName() && one.unansweredStarts + one.possiblyFailed > 0;
    const chosen = all ? known.filter(isCountedHere).map(({ uuid }) => uuid) : given;
    if (to !== undefined) await reset(app, to, chosen, options);
    const circumstances = { policy: app.settings.policy, clock: store };
    const records = to === undefined ? known : await read();
    const vaults = records.map((record) => describeGuard(record, circumstances));
    const asked = given.length === 1 ? records : [];
    const breakers = (await store.breakers()).map((breaker) => {
      const of = asked.find(({ service }) => service === breaker.service);
      return describeBreaker(breaker, store.breaker(breaker.service).now(), of?.unansweredStarts);
    });
    const document = { vaults, breakers };
    await app.io.output.show(document, (view) => guardList(document, view));
    sayNext(
      app.io.narrator,
      vaults.filter(({ refuses }) => refuses !== null),
    );
  },
});

export function describeGuard(record: VaultRecord, circumstances: Circumstances): VaultGuard {
  const { policy } = circumstances;
  const { uuid, label } = record;
  return {
    uuid,
    label,
    ...countersOf(record, policy),
    allows: allowsStart(record, policy),
    next: waysOn(record, circumstances),
    refuses: refusedByGuard(record, circumstances),
  };
}

async function reset(
  app: App,
  to: CounterReset,
  vaults: readonly string[],
  { all, yes }: { all?: boolean | undefined; yes?: boolean | undefined },
): Promise<void> {
  const store = await app.state.store();
  const services = new Set(all === true ? [app.settings.serviceName()] : []);
  const isClosed = async (service: string): Promise<boolean> =>
    (await store.breaker(service).read()).lostAt === null;
  if (vaults.length === 0 && (await isClosed(app.settings.serviceName()))) return;
  const what =
    vaults.length === 0
      ? "Close the circuit breaker"
      : `Reset the counters of ${vaults.join(", ")}`;
  const question =
    to === "unanswered"
      ? `${what}? Only do this if the audit log shows none of the starts that got no response.`
      : `${what}? Only do this after an administrator has unlocked the vault.`;
  // About one vault, flags that say what counts are a person's word already.
  const isSaid = to === "unanswered" ? all !== true && vaults.length === 1 : to !== "all";
  await confirmOrFail(app.io.ask, isSaid || yes === true, question);
  for (const uuid of vaults)
    await app.service.withVault(
      uuid,
      async ({ session }) => {
        if ((await session.read()) === null) throw noCredentials(uuid);
        await session.resetCounters(to);
        services.add(session.service);
      },
      { local: true },
    );
  if (to !== "unanswered") return;
  for (const service of services) {
    const breaker = store.breaker(service);
    if (!(await isClosed(service))) await applyTo(breaker, { type: "answered", at: breaker.now() });
  }
}
