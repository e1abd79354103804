import type { VaultRecord } from "../../../src/exchange/records.ts";
import { waysOn as realWaysOn } from "../../../src/exchange/ways.ts";
import { client } from "./client.ts";
import type { Way } from "./next.ts";
import { waysOn } from "./next.ts";
import type { RealStore } from "./real-store.ts";
import type { Store } from "./state.ts";

const policy = { failedAttempts: 3, unackedStarts: 5 };
const noon = Date.parse("2026-11-20T12:00:00Z");

/** A command that the program names, as the model does. */
function wayIn(command: string): string {
  const [, name = "", rest = ""] = /^vault (\w+) \S+(.*)$/.exec(command) ?? [];
  if (name === "import") return "import";
  return `${name}${rest}`
    .replace(/--generation \d+/, "--generation N")
    .replace("--save-cmd CMD", "--saved");
}

/**
 * Where the table of the program (src/exchange/ways.ts) leads on from a durable state otherwise than the model does; undefined where
 * both name the same commands in the same order. What the service last said of the vault is no part of the model's durable state.
 */
export async function differentWays(
  real: RealStore,
  store: Store,
  modelled: typeof waysOn = waysOn,
): Promise<string | undefined> {
  await real.load(store);
  const known = await real.session.read();
  if (known === null) throw new Error("the vault is not known");
  for (const code of ["", "locked"]) {
    const record = { ...known, lastError: code === "" ? null : errorOf(code) };
    const ways = realWaysOn(record, { policy, now: noon }).map(({ command }) => wayIn(command));
    // Where nothing is to be done, a read is what comes next.
    const inCode = ways.length === 0 ? ["get"] : ways;
    const inModel: readonly Way[] = modelled(client, store, code);
    if (inCode.join() !== inModel.join())
      return `${code} ${JSON.stringify(store)}\nmodel: ${inModel.join("; ")}\ncode:  ${inCode.join("; ")}`;
  }
  return undefined;
}

const errorOf = (code: string): VaultRecord["lastError"] => ({ at: "", code, message: "" });
