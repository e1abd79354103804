import type { App } from "../../app.ts";
import { VaultError } from "../../errors.ts";
import { summarize } from "../../exchange/context.ts";
import type { ExchangeRecord, VaultRecord } from "../../exchange/records.ts";
import { noCredentials } from "../../exchange/start/prepare.ts";
import type { ForgetOptions } from "./descriptor.ts";
import { askVault } from "../exchange/ask.ts";
import { confirmOrFail } from "../../cli/prompts.ts";

type Needs = Pick<App, "ask" | "hold" | "output" | "serviceName" | "settings" | "store">;

/** Removes a vault's credentials, labels and exchanges; counters and fingerprints outlive it. */
export async function runForget(app: Needs, options: ForgetOptions): Promise<number> {
  const target = await askVault(app, options.uuid, "forget");
  const check = (record: VaultRecord | null | undefined): void => {
    if (record === null || record === undefined || record.generations.length === 0) throw noCredentials(target);
    if (record.open !== null && options.discardPending !== true) throw stillOpen(target, record.open);
  };
  // The vault is not held while a person thinks; so it is looked at again afterwards.
  const found = await (await app.store()).find(target);
  if (found.length < 2) check(found[0]);
  await confirmOrFail(
    app.ask,
    options.yes === true,
    `Remove the credentials of vault ${target} from this machine? Without a copy of them the vault is lost.`,
  );
  const context = await app.hold(target, { local: true });
  try {
    check(await context.session.read());
    await context.session.forget();
  } finally {
    await context.session.release();
  }
  await app.output.printDone({ forgotten: [target] }, () => `${target}  forgotten; the counters towards a lock are kept\n`);
  return 0;
}

function stillOpen(uuid: string, open: ExchangeRecord): VaultError {
  const doubt = open.state === "in-doubt";
  return new VaultError(
    doubt ? "in-doubt" : "pending",
    `an exchange of vault ${uuid} is ${open.state}: forgetting it now could lose the vault`,
    {
      vault: uuid,
      exchange: summarize(open),
      hint: `finish it first: vault ${doubt ? "get" : "ack"} ${uuid}; or forget it all the same: vault forget ${uuid} --discard-pending`,
    },
  );
}
