import type { Column, Columns } from "../../documents/audit.ts";
import { VaultError } from "../../errors.ts";
import { clip, listNames } from "../read/clip.ts";
import type { Role } from "../read/item.ts";
import { roles } from "../read/item.ts";
import type { ColumnMap } from "./given.ts";
import { looksLikeAction } from "./values.ts";

/** Maximum number of columns to profile. No export has as many. */
const maxColumns = 500;

/** The values of a column in the sample. */
export interface Profile {
  name: string;
  /** Values with the index of their record. */
  values: { record: number; value: string }[];
  /** Number of different values, ignoring case. */
  distinct: number;
}

/** A record of the sample: its values by column, without empty ones. */
export interface SampleRecord {
  fields: ReadonlyMap<string, string>;
}

/** Profiles the columns, in the order of their first appearance. */
export function profilesOf(records: readonly SampleRecord[]): Profile[] {
  const found = new Map<string, Profile>();
  for (const [record, { fields }] of records.entries()) {
    for (const [name, value] of fields) {
      const profile = found.get(name) ?? { name, values: [], distinct: 0 };
      if (profile.values.length === 0 && found.size < maxColumns) found.set(name, profile);
      profile.values.push({ record, value });
    }
  }
  for (const profile of found.values())
    profile.distinct = new Set(profile.values.map(({ value }) => value.toLowerCase())).size;
  return [...found.values()];
}

/** Returns the share of the values that match a predicate, from 0 to 1. */
export function share({ values }: Profile, is: (value: string) => boolean): number {
  return values.filter(({ value }) => is(value.trim())).length / values.length;
}

/** Roles assigned to columns so far. Only the map can give a column several roles. */
export class ColumnSearch {
  readonly columns: Columns = {};
  readonly profiles: readonly Profile[];
  readonly #taken = new Set<string>();

  constructor(profiles: readonly Profile[]) {
    this.profiles = profiles;
  }

  free(): Profile[] {
    return this.profiles.filter(({ name }) => !this.#taken.has(name));
  }

  take(role: Role, name: string, by: Column["by"]): void {
    this.columns[role] = { name, by };
    this.#taken.add(name);
  }

  profileOf(role: Role): Profile | undefined {
    return this.profiles.find(({ name }) => name === this.columns[role]?.name);
  }

  useMap(map: ColumnMap, input: string): void {
    for (const role of roles) {
      const wanted = map[role];
      if (wanted === undefined) continue;
      const { name } =
        this.profiles.find(({ name }) => name === wanted) ?? this.#onlyNamed(wanted) ?? {};
      if (name === undefined) {
        throw new VaultError("usage", `--map ${role}=…: ${input} has no column ${clip(wanted)}`, {
          hint: `its columns are ${listNames(this.profiles.map(({ name }) => name))}`,
        });
      }
      this.take(role, name, "--map");
    }
  }

  #onlyNamed(wanted: string): Profile | undefined {
    const similar = this.profiles.filter(({ name }) => name.toLowerCase() === wanted.toLowerCase());
    return similar.length === 1 ? similar[0] : undefined;
  }

  byName(role: Role, fits: (profile: Profile) => boolean): void {
    if (this.columns[role] !== undefined) return;
    const [best] = this.named(role).filter(fits);
    if (best !== undefined) this.take(role, best.name, "name");
  }

  byValue(role: Role, fits: (profile: Profile) => boolean): void {
    if (this.columns[role] !== undefined) return;
    const [best] = this.free().filter(fits);
    if (best !== undefined) this.take(role, best.name, "value");
  }

  /** Returns the free columns whose name fits the role, best first. */
  named(role: Role): Profile[] {
    const ranked = this.free().map((profile) => ({ profile, rank: rankOf(role, profile.name) }));
    return ranked
      .filter(({ rank }) => rank !== null)
      .sort((a, b) => Number(a.rank) - Number(b.rank))
      .map(({ profile }) => profile);
  }

  /** Assigns the action. Known values weigh more than a name: with the early client they are in `description`. */
  findAction(): void {
    if (this.columns.action !== undefined) return;
    const shares = new Map(
      this.free().map((profile) => [profile, share(profile, looksLikeAction)]),
    );
    const most = Math.max(0, ...shares.values());
    const known = [...shares]
      .filter(([, part]) => part > 0 && part >= most / 2)
      .map(([profile]) => profile);
    const named = this.named("action").filter((profile) => most === 0 || known.includes(profile));
    const [best] = [...named, ...known.sort((a, b) => (shares.get(b) ?? 0) - (shares.get(a) ?? 0))];
    if (best !== undefined) this.take("action", best.name, named.includes(best) ? "name" : "value");
  }
}

/**
 * Names of columns by role, best first, in lower case and without separators: `vaultuuid` stands for `vaultUuid`, `vault_uuid`,
 * `Vault UUID` and the nested `vault.uuid`. Those of the early client (service-facts, audit item fields) are walletUdid, applicationUUID
 * and transactionTime.
 */
const spellings: Record<Role, string> = {
  time:
    "transactiontime timestamp time datetime eventtime timestamputc timeutc utctime occurredat happenedat recordedat createdat " +
    "eventtimestamp eventdate eventdatetime audittime auditdate audittimestamp requesttime loggedat logtime insertedat transactiondate " +
    "createdon created creationtime creationdate createdate datecreated createddate date dateutc ts when at timems timestampms epoch " +
    "epochms unixtime",
  action:
    "action audititem audititemtype audititemname auditaction actiontype actionname eventaction eventtype eventname event activity " +
    "activitytype operation operationtype operationname auditevent auditeventtype transactiontype itemtype item audittype type name kind verb",
  vault:
    "vaultuuid vaultudid vaultid vaultguid vaultidentifier vault walletuuid walletudid walletid walletguid wallet vaultref " +
    "vaultreference targetuuid targetid target resourceuuid resourceid objectuuid objectid subjectuuid subjectid entityuuid entityid",
  outcome:
    "outcome result actionresult operationresult eventoutcome eventresult actionoutcome resultstatus responsestatus responsestatusstatus " +
    "status success succeeded issuccess successful resultcode outcomecode statuscode responsecode httpstatus httpstatuscode",
  ip:
    "ip ipaddress ipaddr requestorip requestoripaddress requestorsip requesterip requesteripaddress clientip clientipaddress remoteip " +
    "remoteipaddress remoteaddr remoteaddress sourceip sourceipaddress srcip userip originip callerip calleraddress address clientaddress " +
    "sourceaddress requestoraddress requesteraddress xforwardedfor forwardedfor host remotehost",
  ref:
    "externalref externalreference externalid extref ref reference clientref clientreference clientrefid referenceid refid customerref " +
    "customerreference requestref requestreference transactionref transactionreference correlationid",
  endpoint:
    "endpoint httpendpoint apiendpoint requestendpoint httprequest request requesturl requesturi requestpath httppath httpurl httpuri " +
    "url uri path route resource apipath",
  application:
    "applicationuuid applicationid applicationguid appuuid appid appguid application app applicationudid clientapplication clientapp " +
    "clientappid clientid clientuuid xapplicationuuid applicationname appname",
  id: "id uuid guid itemid itemuuid audititemid audititemuuid auditid audituuid eventid eventuuid recordid recorduuid logid entryid transactionid rowid",
  description:
    "description desc message msg details detail text reason note notes comment summary error errormessage failurereason responsestatusmessage",
};

/** Keys around a whole item in exports of log systems, which say nothing about the column. */
const wrappers = new Set(
  "_source source fields data item audititem auditevent audit event attributes record payload log node properties document".split(
    " ",
  ),
);

const ranks = new Map<Role, ReadonlyMap<string, number>>(
  Object.entries(spellings).map(([role, names]) => [
    role as Role,
    new Map(names.split(" ").map((name, rank) => [name, rank])),
  ]),
);

/** Ranks a column name for a role: 0 is best, null is unknown. */
function rankOf(role: Role, column: string): number | null {
  const known = ranks.get(role);
  const whole = known?.get(plain(column));
  if (whole !== undefined) return whole;
  const parts = column.split(".");
  while (parts.length > 1 && wrappers.has((parts[0] ?? "").toLowerCase())) {
    parts.shift();
    const rank = known?.get(plain(parts.join(".")));
    if (rank !== undefined) return rank;
  }
  return null;
}

// The classes of Unicode take half a millisecond to be made, and most names need none.
const plain = (name: string): string =>
  (/[^\0-\x7F]/.test(name)
    ? name.replaceAll(/[^\p{L}\p{N}]/gu, "")
    : name.replaceAll(/[^A-Za-z0-9]/g, "")
  ).toLowerCase();
