import type { VaultRecord } from "../../exchange/records.ts";
import type { OpenState } from "../../open-state.ts";
import { count } from "../../terminal/count.ts";
import type { Finding } from "../documents/setup.ts";
import { ok, unverified, warning } from "./finding.ts";

type Shared = NonNullable<OpenState["shared"]>;

/** The checks of a state that several machines share, and its vaults. */
export async function examineShared(shared: Shared): Promise<{ findings: Finding[]; vaults: VaultRecord[] }> {
  const facts = await shared.inspect();
  const vaults = await shared.list();
  const server = `PostgreSQL ${facts.version}, ${facts.hasTls ? "TLS verified" : "no TLS"}`;
  const standby =
    facts.standbys > 0 && !facts.waitsForStandby
      ? [
          warning(
            "state",
            `${count(facts.standbys, "standby", "standbys")}, none of them synchronous: after a failover the last credentials may be missing`,
            "set synchronous_standby_names on the server",
          ),
        ]
      : [];
  return {
    vaults,
    findings: [
      ok("key", `key ${facts.keyId}`, "keep a copy of the key away from the database: nothing can be opened without it"),
      ok("state", `${facts.location}: ${server}, ${count(vaults.length, "vault")}`),
      ...standby,
      unverified("backup", "that of the database: not known here"),
    ],
  };
}
