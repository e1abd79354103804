import { VaultError } from "../../../errors.ts";
import type { EventKind } from "../../fold/events.ts";
import { clip } from "../clip.ts";

/** Section 6: current and former action names, and actions of administrators, which some exports have. */
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
  VAULT_UNLOCKED: "unlock",
  LOCK_VAULT: "lock",
  VAULT_LOCKED: "lock",
} as const satisfies Record<string, EventKind>;

/** Names that --action takes. Items to ignore are left out, like those about the application. */
const meanings: Readonly<Record<string, EventKind>> = { ...names, IGNORE: "application" };

const formerNames = /REGISTER_VAULT|START_USE_VAULT|COMPLETE_USE_VAULT/;

/** Words that may accompany the name of an action. With any other word it is another action: READ_VAULT_INFO. */
const besideName =
  /^(?:FAILED|FAILURE|FAIL|FAILS|DENIED|REFUSED|REJECTED|ERROR|INVALID|UNAUTHORI[SZ]ED|SUCCESS|SUCCESSFUL|SUCCEEDED|OK|BAD|WRONG|CREDENTIALS?|EVENT|AUDIT|ITEM|STARTED|LOCKED|BY|THE|FOR|ATTEMPT)$/;

/** What actions of an export mean, by their own names: a known name for each. */
export type Renames = Readonly<Record<string, string>>;

const hint = `like --action VAULT_OPENED=READ_VAULT; the names are ${Object.keys(meanings).join(", ")}`;

/**
 * Parses the values of --action, each `OLD=NEW`.
 *
 * @throws `usage` naming the one that is wrong.
 */
export function parseActions(texts: readonly string[]): Renames {
  const renames = new Map<string, string>();
  for (const text of texts) {
    const at = text.lastIndexOf("=");
    const [from, to] = [text.slice(0, Math.max(at, 0)).trim(), normal(text.slice(at + 1))];
    if (from === "")
      throw new VaultError("usage", `--action: ${clip(text)} is not OLD=NEW`, { hint });
    if (!Object.hasOwn(meanings, to))
      throw new VaultError("usage", `--action: ${clip(text)} gives no known name`, { hint });
    if (renames.has(from))
      throw new VaultError("usage", `--action: ${clip(from)} is given twice`, { hint });
    renames.set(from, to);
  }
  return Object.fromEntries(renames);
}

/** The names of actions: those of the service, and those of an export that its user has explained. */
export class ActionNames {
  readonly #kinds: ReadonlyMap<string, EventKind>;
  readonly #renamed: ReadonlyMap<string, EventKind>;
  /** Any of the names; longer ones come before those that they contain. */
  readonly #any: RegExp;

  constructor(renames: Renames = {}) {
    const renamed = Object.entries(renames).map(
      ([from, to]) => [from, meanings[to] as EventKind] as const,
    );
    this.#renamed = new Map(renamed);
    const byWords = renamed.map(([from, kind]) => [normal(from), kind] as const);
    this.#kinds = new Map([...Object.entries(names), ...byWords.filter(([words]) => words !== "")]);
    const all = [...this.#kinds.keys()].sort((a, b) => b.length - a.length);
    this.#any = new RegExp(all.join("|"));
  }

  /** Finds the name in an action. Returns its kind with the rest of the text, which may tell of a failure. */
  find(action: string): { kind: EventKind; rest: string } | undefined {
    const renamed = this.#renamed.get(action.trim());
    if (renamed !== undefined) return { kind: renamed, rest: action.replaceAll("_", " ") };
    const [head = ""] = /^[^:;,.()[\]{}–—|]*/.exec(action) ?? [];
    const text = normal(head);
    const name = this.#any.exec(text)?.[0];
    const kind = this.#kinds.get(name ?? "");
    if (name === undefined || kind === undefined) return undefined;
    const beside = text
      .replace(name, "_")
      .split("_")
      .filter((word) => word !== "");
    if (!beside.every((word) => besideName.test(word))) return undefined;
    const own = Object.hasOwn(names, name) ? [] : [name.replaceAll("_", " ")];
    return { kind, rest: [...own, ...beside, action.slice(head.length)].join(" ") };
  }
}

/** Normalizes `readVault`, `read-vault` and `Read Vault` to READ_VAULT. */
const normal = (action: string): string =>
  action
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toUpperCase()
    .replaceAll(/[^A-Z0-9]+/g, "_")
    .replaceAll(/^_|_$/g, "");

/** Whether an action has a name of releases before 1.2.11 (section 9). */
export const isFormerName = (action: string): boolean => formerNames.test(normal(action));

const calls: Readonly<Record<string, EventKind>> = {
  "get-start": "read",
  "get-end": "ack-read",
  "update-start": "update",
  "update-end": "ack-update",
};

/** Returns what a call does, by its endpoint (section 4): `POST /vault/generic/offline/{uuid}/get-start`. */
export function eventOfEndpoint(endpoint: string): EventKind | undefined {
  const path = endpoint
    .slice(0, 4096)
    .replace(/[?#].*$/s, "")
    .replace(/ HTTP\/\S+$/i, "")
    .replace(/[/\s]+$/, "")
    .toLowerCase();
  const [, call] = /\/vault\/.*\/((?:get|update)-(?:start|end))$/.exec(path) ?? [];
  if (call !== undefined) return calls[call];
  const [, method, uuid] =
    /^(post|delete) .*\/vault\/(?:credit-card|generic)\/(?:online|offline)(\/[0-9a-f-]{36})?$/.exec(
      path,
    ) ?? [];
  if (method === "post" && uuid === undefined) return "create";
  return method === "delete" && uuid !== undefined ? "delete" : undefined;
}
