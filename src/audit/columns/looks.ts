import type { Column } from "../../documents/audit.ts";
import { isUuid } from "../../protocol/limits.ts";
import { parseTime } from "./times.ts";

/**
 * Column names by what they hold, best first, in lower case, without separators and accents:
 * `vaultuuid` stands for `vaultUuid`, `vault_uuid`, `Vault UUID` and nested `vault.uuid`. The early
 * client has walletUdid, applicationUUID and transactionTime (docs/interface.md, Audit items).
 */
const spellings = {
  time:
    "eventtime eventtimestamp eventdatetime eventdate transactiontime transactiondate occurredat occurred happenedat actiontime accesstime audittime " +
    "audittimestamp auditdate messagetime requesttime requestedat timestamp time datetime dateandtime date timegenerated generatedat recordedat ts when at timecreated " +
    "systemtime performedat epoch unixtime realtimetimestamp zeitstempel zeitpunkt ereigniszeit uhrzeit zeit datum datumuhrzeit datumzeit horodatage horodate " +
    "heure dateheure fechahora fechayhora marcadetiempo fecha hora dataora datahora tijdstip tijdstempel",
  /** The time at which a log system got it. */
  arrival:
    "receivedat receivedtime receivetime receivetimestamp timereceived ingestedat ingestiontime ingesttime ingested eventingested eventcreated indexedat " +
    "indextime insertedat inserttime loggedat logtime logtimestamp logdate storedat publishedat publishtime exportedat collectedat processedat arrivaltime " +
    "approximatearrivaltimestamp observedtimestamp observedtime",
  /** The time at which something was made: an item, or what it is about. */
  creation:
    "createdat createdon created createdtime creationtime creationdate createdate createddate",
  /** The zone of the times beside it. */
  zone: "timezone tz zone utcoffset zeitzone",
  action:
    "action audititem audititemtype audititemname auditaction actiontype actionname eventaction eventtype eventname event activity activitytype operation " +
    "operationtype operationname auditevent auditeventtype transactiontype itemtype item audittype methodname type name kind verb aktion vorgang ereignis " +
    "ereignistyp aktivitat evenement accion evento operacion actividad azione operazione acao actie",
  vault:
    "vaultuuid vaultudid vaultid vaultguid vaultidentifier vault walletuuid walletudid walletid walletguid wallet vaultref vaultreference tresor tresorid " +
    "tresoruuid tresorkennung coffre coffreid coffreuuid coffrefort idcoffre boveda bovedaid bovedauuid idboveda cofre kluis",
  /** What an item is about, which need not be a vault. */
  target:
    "targetuuid targetid target resourceuuid resourceid objectuuid objectid entityuuid entityid subjectuuid subjectid subject",
  /** Words for the outcome of a call. */
  outcome:
    "outcome result actionresult operationresult eventoutcome eventresult actionoutcome operationoutcome resultstatus resulttype ergebnis resultat resultado " +
    "esito risultato resultaat uitkomst wynik sonuc vysledek 結果",
  /** Whether it succeeded, or failed. */
  success:
    "success succeeded issuccess successful issuccessful wassuccessful ok isok allowed granted accepted erfolg erfolgreich succes reussi exito",
  failure:
    "failed isfailed hasfailed failure isfailure unsuccessful rejected isrejected denied isdenied refused isrefused blocked iserror haserror haserrors error " +
    "errored errorcount failures fehlgeschlagen fehler abgelehnt echec echoue fallido rechazado denegado rc returncode exitcode resultcode resulttype " +
    "grpcstatus grpcstatuscode grpccode rpcstatus",
  /** Names that may be about something else than the call. */
  permission:
    "authorized authorised isauthorized permitted passed approved decision disposition entscheidung genehmigt zugelassen gewahrt autorise permitido " +
    "autorizado sucesso riuscito geslaagd gelukt",
  status:
    "status responsestatus responsestatusstatus eventstatus actionstatus operationstatus requeststatus statuscode resultcode outcomecode responsecode " +
    "grpcstatus grpcstatuscode grpccode rpcstatus httpstatus httpstatuscode httpresponsestatuscode httpresponsecode scstatus statut estado stato",
  /** Columns that only a failed call fills. */
  error:
    "errorcode error errors errormessage errortype errorname errorclass errorkind exception exceptionmessage exceptiontype exceptionclass exceptionname " +
    "errcode err errmessage errname errordescription failurereason failurecode rejectreason denyreason fehlercode fehlermeldung fehler codeerreur erreur " +
    "codigoerror",
  ip:
    "ip ipaddress ipaddr client clientip clientipaddress clientaddress clientaddr requestorip requestoripaddress requestorsip requesterip requesteripaddress " +
    "callerip calleripaddress calleraddress sourceip sourceipaddress sourceaddress srcip cip userip originip requestoraddress requesteraddress " +
    "xforwardedfor httpxforwardedfor forwardedfor remoteip remoteipaddress remoteaddr remoteaddress remotehost address ipadresse adresseip direccionip",
  ref:
    "externalref externalreference externalid extref ref reference clientref clientreference clientrefid referenceid refid customerref customerreference " +
    "requestref requestreference transactionref transactionreference correlationid referenz externereferenz referencia",
  endpoint:
    "endpoint httpendpoint apiendpoint requestendpoint httprequest request requesturl requesturi requestpath httppath httpurl httpuri url uri path route " +
    "resource resourcename apipath endpunkt pfad",
  app:
    "applicationuuid applicationid applicationguid appuuid appid appguid application app applicationudid clientapplication clientapp clientappid clientid " +
    "clientuuid xapplicationuuid applicationname appname anwendung aplicacion",
  id: "id uuid guid itemid itemuuid audititemid audititemuuid auditid audituuid eventid eventuuid recordid recorduuid logid entryid insertid transactionid rowid requestid",
  reason:
    "description desc reason failurereason message msg errormessage details detail text note notes comment summary error exception responsestatusmessage " +
    "statusmessage resultdescription resultreason statusreason errordetail errordetails denialreason rejectionreason refusalreason body grund ursache beschreibung meldung nachricht bemerkung motif raison motivo descripcion mensaje razon",
} as const;

export type Kind = keyof typeof spellings;

/** Keys around a whole item in exports of log systems, which say nothing about the column. */
const wrapper =
  /^(?:_?source|fields|data|item|audititem|auditevent|audit|event|attributes|record|payload|log|node|properties|document|result|detail|jsonpayload|protopayload|requestparameters|responseelements|body|outcome|response|after|value|row|entry|content|tags)$/i;

const ranks = new Map(Object.entries(spellings).map(([kind, names]) => [kind, names.split(" ")]));

/** Length of a name that says something, at most: a key may be a megabyte of dots. */
const longestName = 200;

/** Ranks a column name for a kind: 0 is best, Infinity unknown. Nested names come after others. */
export function rankOf(kind: Kind, column: string): number {
  if (column.length > longestName) return Infinity;
  // MongoDB exports a time as {"$date": …}, others a text as {"S": …}; (UTC) and such are units.
  const parts = column
    .replace(/(?<=.)[([].*$|(?:\.(?:\$\w+|S|N|BOOL|(?:string|int|bool)Value))+$/, "")
    .split(".");
  for (const from of parts.keys()) {
    const name = plain(parts.slice(from).join(""));
    const rank = ranks.get(kind)?.indexOf(name) ?? -1;
    if (rank < 0) continue;
    if (parts.slice(0, from).every((part) => wrapper.test(part))) return rank;
    if (name.length > 8 && kind !== "time" && kind !== "id") return rank + 1000;
  }
  return Infinity;
}

/** Whether a "true" is a failure (`failed`) or a success (`success`); else undefined. */
export const isInverted = ({ name, inverted }: Omit<Column, "by">): boolean | undefined =>
  inverted ??
  (Math.min(rankOf("success", name), rankOf("permission", name)) < Infinity ? false : undefined);

/** Whether other times go before it: of a log system (`@timestamp`, `_time`), or a local one. */
export const isSecondary = (column: string): boolean =>
  /(?:^|\.)[@_]+(?!source\b)\w*$|(?:^|[^a-z])local|Local/.test(column);

/** Whether a column is about a vault or session, not the event: `dateCreated`, `expiryDate`. */
export const isProperty = (column: string): boolean =>
  /creat|modif|updat|expir|last|lock(?!ed)|valid|until|delet|vault|wallet|birth|login|geburt|ablauf|erstell/i.test(
    column.split(".").at(-1) ?? "",
  );

/** Whether ids or addresses are of people, sessions or machines, never of a vault or its caller. */
export const isOthers = (column: string): boolean =>
  /user|actor|principal|person|subject|session|request|trace|span|correlation|tenant|account|organi[sz]ation|device|host|node|pod|container|instance|agent|server|observer|local|dest|upstream|proxy|benutzer|sitzung|utilisateur|usuario/i.test(
    /[^.]*(?:\.(?:id|uuid|guid|ip|addr|address|name))?$/i.exec(column.slice(-longestName))?.[0] ??
      "",
  );

const plain = (name: string): string =>
  name
    .normalize("NFD")
    .replaceAll(/[^\p{L}\p{N}]/gu, "")
    .toLowerCase()
    .replace(
      /(?<=time|stamp|date|at|ts|on|epoch)(?:utc|gmt|ms|millis|iso|iso8601|ns|seconds)$|^utc(?=time)/,
      "",
    );

/** Current, former and administrators' actions, unseparated (docs/interface.md, Audit items). */
const knownActions =
  /(?:CREATE|READ|ACKNOWLEDGEREAD|UPDATE|ACKNOWLEDGEUPDATE|DELETE|REGISTER|STARTUSE|COMPLETEUSE|LOCK|UNLOCK)VAULT|APIKEYCHECK|ADDRESSCHECK/;

/** Whether a value is a known action in any spelling (`READ_VAULT`, `Read vault`, `readVault`). */
export const looksLikeAction = (value: string): boolean =>
  value.length <= 200 && knownActions.test(value.replaceAll(/[^A-Za-z]/g, "").toUpperCase());

/** Parses a uuid, also in braces or without dashes. Returns it in lower case, or null. */
export function uuidOf(value: string): string | null {
  const text = value
    .replaceAll(/\p{Cf}/gu, "")
    .trim()
    .toLowerCase()
    .replace(/^\{(.*)\}$|^(?:urn:uuid:|vaults?[:/#])/, "$1");
  const dashed = /^[0-9a-f]{32}$/.test(text)
    ? text.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-")
    : text;
  return isUuid(dashed) ? dashed : null;
}

/** The uuid after `/vault/`, where others may come before. */
const vaultInPath = /\/vaults?\/(?:[a-z-]{1,30}\/){0,3}([0-9a-f-]{36})(?![0-9a-f-])/i;
const uuidInPath = /\/([0-9a-f-]{36})(?![0-9a-f-])/i;

/** Returns the uuid in a path (`/vault/generic/online/{uuid}/…`), in lower case; or null. */
export const uuidInEndpoint = (value: string): string | null =>
  (vaultInPath.exec(value) ?? uuidInPath.exec(value))?.[1]?.toLowerCase() ?? null;

export const isMethod = (text: string): boolean =>
  /^(?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS)$/.test(text);

/** Whether a value is like `POST /vault/…`, or a path or URL with `/vault/` in it. */
export const looksLikeEndpoint = (value: string): boolean =>
  value.length <= 4096 &&
  /^(?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS) +(?:https?:\/\/|\/)|\/vault\//i.test(value);

const ipv4 = /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)$/;
const ipv6 = /^(?=[^:]*:[^:]*:)(?:[0-9a-f]{0,4}:){2,7}(?:[0-9a-f]{0,4}|[\d.]{7,15})(?:%[\w.]+)?$/i;

/** An address without its brackets and its port, which gateways write. */
export const bareAddress = (text: string): string =>
  text.replace(/^\[([^\]]*)\](?::\d+)?$/, "$1").replace(/^\/?((?:::ffff:)?[\d.]+):\d+$/i, "$1");

/** Whether a value is an IP address, also with a port, in brackets or first of a forwarder list. */
export function looksLikeAddress(value: string): boolean {
  if (value.length > 200) return false;
  const bare = bareAddress((value.split(",", 1)[0] ?? "").trim());
  return ipv4.test(bare) || ipv6.test(bare);
}

/** Whether a value is true or false, or a small number, of which 0 is false. */
export const looksLikeFlag = (value: string): boolean =>
  /^(?:true|false|[tfynx]|yes|non?|ja|nein|ne[ej]|oui|s[ií]m?|n[aã]o|tak|nie|\d\d?)$/i.test(value);

export const looksLikeLevel = (value: string): boolean =>
  /^(?:trace|debug|info(?:rmation)?|notice|warn(?:ing)?|err(?:or)?|crit(?:ical)?|fatal|severe|alert)$/i.test(
    value,
  );

export const isDate = (value: string): boolean =>
  /^\d{4}-\d\d-\d\d$|^\d{1,4}([-/.])\d\d?\1\d{1,4}$/.test(value);

export const isTimeOfDay = (value: string): boolean =>
  /^\d\d?:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?[ap]m)?$/i.test(value);

/** A date beside a time of day, or a number since some day. */
const dateAndTime =
  /\d\D{1,20}\d.{0,20}\d:\d\d|\p{L}.{0,20}\d:\d\d|^\d{8,19}(?:[.,]\d+)?$|[[(]\d{4}, ?\d\d?, ?\d/u;

/** Whether a value looks like a date with a time of day, be it one that can be read or not. */
export const looksLikeTime = (value: string): boolean =>
  value.length <= 140 && !isDate(value) && !isTimeOfDay(value) && dateAndTime.test(value);

export const isTimeOrPart = (value: string): boolean =>
  isDate(value) || isTimeOfDay(value) || looksLikeTime(value);

/** Whether a value is a time of 2010 to 2099: without a telling name, digits may be anything. */
export function isRecentTime(value: string): boolean {
  const time = parseTime(value);
  return time !== null && time >= Date.UTC(2010, 0) && time < Date.UTC(2100, 0);
}
