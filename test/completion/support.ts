import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Machine } from "../support/machine.ts";
import { machineFor } from "../support/machine.ts";
import { expectExit } from "../support/lab.ts";

/** A label that a shell, a terminal or a careless script could interpret; `shown` is how it should appear. */
export const vaults = [
  {
    uuid: "11111111-e89b-42d3-a456-426614174000",
    kind: "credit-card/offline",
    label: 'it\'s $(touch pwned) `touch pwned` "50%F{red}";a:b\t\u001b[31m\n:files',
    shown: 'it\'s $(touch pwned) `touch pwned` "50%F{red}";a:b [31m :files',
  },
  {
    uuid: "22222222-e89b-42d3-a456-426614174000",
    kind: "generic/offline",
    label: undefined,
    shown: "",
  },
] as const;

export const pair = { encryptedData: "c2VjcmV0LWRhdGE=", payload: "c2VjcmV0LXBheWxvYWQ=" };

/** Returns a machine with vaults whose service is unreachable: completion must not need it. */
export async function machineWithVaults(): Promise<Machine> {
  const machine = machineFor({
    baseUrl: "http://127.0.0.1:9",
    application: { uuid: vaults[0].uuid, apiKey: "c2VjcmV0LWtleQ==" },
  });
  for (const { uuid, kind, label } of vaults) {
    expectExit(
      await machine.vaultWith(
        { env: { PAIR: JSON.stringify(pair) } },
        "import",
        uuid,
        "--kind",
        kind,
        "--credentials",
        "env:PAIR",
      ),
      0,
    );
    // No command takes it, but somebody may have written it there.
    const database = new DatabaseSync(join(machine.stateDir, "vault.db"));
    database.prepare("UPDATE vaults SET label = ? WHERE uuid = ?").run(label ?? null, uuid);
    database.close();
  }
  return machine;
}
