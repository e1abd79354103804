import { VaultError } from "../../errors.ts";
import { clip } from "../read/clip.ts";
import type { Role } from "../read/item.ts";
import { roles } from "../read/item.ts";
import { zoneOf } from "./zones.ts";

/** Columns by role, given by the user; `none` for a role that no column has. */
export type ColumnMap = Partial<Record<Role, string>>;

const hint =
  "like --map time=transactionTime,action=description,vault=walletUdid; write a nested column with dots: vault=vault.uuid, and none for a role that no column has: outcome=none";

/** Other names of roles, as in reports. */
const aliases: ReadonlyMap<string, Role> = new Map([
  ["address", "ip"],
  ["reference", "ref"],
  ["externalRef", "ref"],
  ["reason", "description"],
]);

/**
 * Parses `--map time=…,action=…,vault=…`.
 *
 * @throws `usage` naming the part that is wrong.
 */
export function parseMap(text: string): ColumnMap {
  const map: ColumnMap = {};
  for (const part of text.split(",")) {
    const at = part.indexOf("=");
    const given = part.slice(0, Math.max(at, 0)).trim();
    const role = aliases.get(given) ?? given;
    const column = part.slice(at + 1).trim();
    if (at === -1 || column === "") throw refused(`${clip(part)} is not ROLE=COLUMN`);
    if (!isRole(role)) throw refused(`${clip(role)} must be one of ${roles.join(", ")}`);
    if (map[role] !== undefined) throw refused(`${role} is given twice`);
    if (role === "time" && column === "none")
      throw refused("an item needs a time, so time=none is not possible");
    map[role] = column;
  }
  return map;
}

/**
 * Checks `--zone`.
 *
 * @throws `usage` for what is no time zone.
 */
export function parseZone(text: string): string {
  if (zoneOf(text) !== undefined) return text;
  throw new VaultError("usage", `--zone: ${clip(text)} is no time zone`, {
    hint: "name a place, like --zone Europe/Berlin, or a distance from UTC, like --zone +01:00",
  });
}

const refused = (why: string): VaultError => new VaultError("usage", `--map: ${why}`, { hint });

const isRole = (name: string): name is Role => (roles as readonly string[]).includes(name);
