import type { Role } from "../item.ts";

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
export function rankOf(role: Role, column: string): number | null {
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
