import { endOf, type EventKind } from "../read/item.ts";

/** Current and former actions (docs/interface.md, Audit items), and those of administrators. */
const names = {
  ACKNOWLEDGE_UPDATE_VAULT: "ack-update",
  ACKNOWLEDGE_READ_VAULT: "ack-read",
  COMPLETE_USE_VAULT: "ack-read",
  START_USE_VAULT: "read",
  REGISTER_VAULT: "create",
  CREATE_VAULT: "create",
  UPDATE_VAULT: "update",
  DELETE_VAULT: "delete",
  READ_VAULT: "read",
  UNLOCK_VAULT: "unlock",
  LOCK_VAULT: "lock",
  VAULT_LOCKED: "lock-noted",
} as const satisfies Record<string, EventKind>;

/** Names that --action takes. Items to ignore are left out, like those about the application. */
const meanings: Readonly<Record<string, EventKind>> = { ...names, IGNORE: "application" };

export const knownNames = Object.keys(meanings);

/** Returns a name that --action takes, by any spelling of it. */
export const knownName = (text: string): string | undefined =>
  knownNames.find((name) => name === normal(text));

/** Words of consoles for each word of a name, as `normal` returns them: "Tresor gelesen". */
const spellings: Readonly<Record<string, string>> = {
  VAULT: "TRESOR TRESORS COFFRE BOVEDA",
  ACKNOWLEDGE:
    "ACKNOWLEDGED ACK CONFIRMED BESTATIGT BESTATIGEN CONFIRME CONFIRMEE ACQUITTE ACQUITTEE CONFIRMADA CONFIRMADO",
  READ: "LESEN GELESEN LECTURE LU LECTURA LEIDA",
  UPDATE: "UPDATED AKTUALISIERT AKTUALISIEREN AKTUALISIERUNG MISE_A_JOUR ACTUALIZADA ACTUALIZACION",
  CREATE: "CREATED CREATION ERSTELLT ANGELEGT CREE CREACION CREADA",
  DELETE: "DELETED DELETION GELOSCHT LOSCHEN SUPPRIME SUPPRESSION ELIMINADA ELIMINACION BORRADA",
  REGISTER: "REGISTERED",
  UNLOCK: "UNLOCKED ENTSPERRT ENTSPERREN DEVERROUILLE DEVERROUILLAGE DESBLOQUEADA DESBLOQUEO",
  LOCK: "SPERREN",
  LOCKED: "GESPERRT VERROUILLE BLOQUEADA",
};

const spelled = (word: string): string =>
  Object.keys(spellings).find((name) => ` ${spellings[name]} `.includes(` ${word} `)) ?? word;

/** What the words of a name mean, in any order: sorted. */
const byWords: ReadonlyMap<string, EventKind> = new Map(
  Object.entries({
    ...names,
    ACKNOWLEDGE_READ: "ack-read",
    ACKNOWLEDGE_UPDATE: "ack-update",
    START_READ_VAULT: "read",
    // The calls (docs/interface.md, Endpoints).
    GET_START: "read",
    GET_END: "ack-read",
    UPDATE_START: "update",
    UPDATE_END: "ack-update",
  } as const).map(([name, kind]) => [keyOf(name.split("_")), kind]),
);

function keyOf(words: readonly string[]): string {
  return [...new Set(words)].sort().join("_");
}

/** Words that may accompany an action's name. Any other makes it another one: READ_VAULT_INFO. */
const besideName =
  /^(?:|FAILED|FAILURE|FAIL|FAILS|DENIED|REFUSED|REJECTED|ERROR|INVALID|UNAUTHORI[SZ]ED|SUCCESS|SUCCESSFUL(?:LY)?|SUCCEEDED|OK|BAD|WRONG|CREDENTIALS?|EVENT|AUDIT|ITEM|STARTED|LOCKED|HAS|BEEN|WAS|IS|OF|BY|THE|AN?|FOR|DE|L|D|DER|DES|DEN|DU|LA|LE|EL|VON|DURCH|PAR|POR|WURDE|FEHLGESCHLAGEN|ECHEC|FALLIDA)$/;

/** Words that tell who did what calls do not do. */
const doers =
  /^(?:ADMIN|ADMINISTRATOR|ADMINISTRATEUR|ADMINISTRADOR|OPERATOR|CONSOLE|SUPPORT|MANUALLY|MANUAL|AUTO|AUTOMATIC|AUTOMATICALLY|SYSTEM)$/;

/** What actions of an export mean, by their own names: a known name for each. */
export type Renames = Readonly<Record<string, string>>;

/**
 * Finds the name in an action: one of the service, or one of an export that its user has explained.
 * Returns its kind with the rest of the text, which may mention a failure.
 */
export function nameIn(
  action: string,
  renames: Renames = {},
): { kind: EventKind; rest: string } | undefined {
  const [head = ""] = /^(?:[^:;,.()[\]{}–—|]|\.(?=\w))*/.exec(action) ?? [];
  const text = normal(head);
  const tail = action.slice(head.length);
  const renamed = Object.entries(renames).find(
    ([from]) => from === action.trim() || (text !== "" && normal(from) === text),
  );
  const meaning = meanings[renamed?.[1] ?? ""];
  if (meaning !== undefined) return { kind: meaning, rest: action.replaceAll("_", " ") };
  const words = text.replace("MISE_A_JOUR", "UPDATE").split("_").map(spelled);
  const isDone = words.some((word) => doers.test(word));
  const named = words.filter((word) => !besideName.test(word) && !doers.test(word));
  const kind =
    byWords.get(keyOf(named)) ??
    byWords.get(keyOf(named.filter((word) => word !== "VAULT"))) ??
    (words.includes("LOCKED") ? byWords.get(keyOf([...named, "LOCKED"])) : undefined);
  if (kind === undefined || (isDone && endOf(kind) !== undefined)) return undefined;
  const beside = words.filter((word) => !named.includes(word));
  // "VAULT_LOCK" is what happened to a vault, "LOCK_VAULT" what somebody did.
  const isNoted = kind === "lock" && words.indexOf("LOCK") > words.indexOf("VAULT");
  return { kind: isNoted ? "lock-noted" : kind, rest: [...beside, tail].join(" ") };
}

/** Normalizes `readVault`, `read-vault` and `Read Vault` to READ_VAULT. */
export const normal = (action: string): string =>
  action
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1_$2")
    .normalize("NFKD")
    .replaceAll(/\p{M}/gu, "")
    .toUpperCase()
    .replaceAll(/[^A-Z0-9]+/g, "_")
    .replaceAll(/^_|_$/g, "");

/** Returns what a call does, by its endpoint: `POST /vault/generic/offline/{uuid}/get-start`. */
export function eventOfEndpoint(endpoint: string): EventKind | undefined {
  const path = endpoint
    .slice(0, 4096)
    .replace(/[?#].*$/s, "")
    .replace(/ HTTP\/\S+$/i, "")
    .replace(/[/\s]+$/, "")
    .toLowerCase();
  const [, call = ""] = /\/vault\/.*\/((?:get|update)-(?:start|end))$/.exec(path) ?? [];
  if (call !== "") return byWords.get(keyOf(normal(call).split("_")));
  if (/^post .*\/vault\/(?:credit-card|generic)\/o(?:n|ff)line$/.test(path)) return "create";
  return /^delete .*\/vault\/(?:credit-card|generic)\/o(?:n|ff)line\/[0-9a-f-]{36}$/.test(path)
    ? "delete"
    : undefined;
}
