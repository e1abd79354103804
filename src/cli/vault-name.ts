import type { Local, StatePart } from "../parts/state.ts";
import { VaultError, type ErrorKind } from "../errors.ts";
import type { Named } from "../exchange/records.ts";
import { isUuid, unseen, uuidRule } from "../protocol/limits.ts";
import { unseenIn } from "../protocol/validate.ts";
import { printableLine } from "../terminal/redactor.ts";
import { command } from "../way.ts";

/** Shorter prefixes would fit by chance. */
const fewestDigits = 4;
/** Whether a text has the digits of a UUID, or enough of the first ones. */
export const hasDigits = (text: string): boolean =>
  /^[\da-f-]+$/i.test(text) && text.replaceAll("-", "").length >= fewestDigits;
const listedAtMost = 10;

/**
 * Returns the UUID of the vault that `name` stands for, among those known here. Digits are taken only from a person who can be asked: a
 * UUID that lost some in a script must not name another vault.
 * @throws as `VaultNames.find`
 */
export async function vaultNamed(
  { io, state }: Pick<Local, "io" | "state">,
  name: string,
): Promise<string> {
  if (isUuid(name)) return name;
  const names = new VaultNames(await (await state.store()).names());
  return names.find(name, !io.ask.isPossible, printableLine(name)).uuid;
}

/** Vaults known here, by name. */
export class VaultNames<V extends Named> {
  readonly #byUuid = new Map<string, V>();
  readonly #byLabel: Map<string, V[]>;

  constructor(known: Iterable<V>) {
    for (const vault of known) {
      const key = vault.uuid.toLowerCase();
      if (!this.#byUuid.has(key)) this.#byUuid.set(key, vault);
    }
    this.#byLabel = Map.groupBy(this.#byUuid.values(), ({ label }) => label ?? "");
  }

  /** Those that are known, in their order. */
  get vaults(): Iterable<V> {
    return this.#byUuid.values();
  }

  /** The vault of a UUID, if it is known. */
  vault(uuid: string): V | undefined {
    return this.#byUuid.get(uuid.toLowerCase());
  }

  /**
   * Finds what a name stands for: an exact UUID (of any vault; `vault` is undefined if it is not known), else a label, else the
   * first digits of a UUID, unless it must be `exact`. Errors show the name as it is `shown`, if at all.
   * @throws `usage` for digits that are too few, and for what fits several vaults; `invalid-input` for digits that are not taken;
   * `no-credentials` for what fits none
   */
  find(name: string, exact: boolean, shown?: string): { uuid: string; vault: V | undefined } {
    if (isUuid(name)) return { uuid: name.toLowerCase(), vault: this.vault(name) };
    const labelled = this.#labelled(name);
    const found = labelled.length > 0 ? labelled : this.#byDigits(name, exact, shown);
    const [vault] = found;
    const of =
      shown === undefined ? "no vault has this label or UUID" : `no vault named "${shown}"`;
    if (vault === undefined) throw refusal("no-credentials", `${of}; nothing was sent`);
    if (found.length === 1) return { uuid: vault.uuid, vault };
    const listed = found
      .slice(0, listedAtMost)
      .map(({ uuid, label }) => (label === null ? uuid : `${uuid} (${printableLine(label)})`));
    const more = found.length > listed.length ? ` and ${found.length - listed.length} more` : "";
    const fits = `${shown ?? "it"} fits ${found.length} vaults: ${listed.join(", ")}${more}`;
    throw refusal("usage", fits);
  }

  isLabel(name: string): boolean {
    return this.#labelled(name).length > 0;
  }

  #labelled(label: string): V[] {
    return label === "" ? [] : (this.#byLabel.get(label) ?? []);
  }

  #byDigits(name: string, exact: boolean, shown?: string): V[] {
    const start = shown === undefined ? "" : `"${shown}": `;
    // A file, a shell or a mail has added something that nobody sees.
    const visible = name.replaceAll(new RegExp(`[\\s${unseen}]`, "gu"), "");
    if (visible !== name && isUuid(visible))
      throw refusal("invalid-input", `${start}${uuidRule}${unseenIn(name)}; nothing was sent`);
    const digits = /^[\da-f-]+$/i.test(name) ? name.toLowerCase() : "";
    if (exact && (/^[\da-f]{8}-[\da-f]{4}-/i.test(name) || digits.length >= fewestDigits))
      throw refusal(
        "invalid-input",
        `${start}abbreviated UUIDs work only on a terminal; nothing was sent`,
        "use the full UUID (36 characters) or a label",
      );
    if (digits === "") return [];
    if (hasDigits(digits))
      return [...this.vaults].filter(({ uuid }) => uuid.toLowerCase().startsWith(digits));
    const fewest = `at least ${fewestDigits} digits of a UUID are needed, or a label`;
    throw refusal("usage", `${start}${fewest}`);
  }
}

const refusal = (code: ErrorKind, message: string, hint?: string): VaultError =>
  new VaultError(code, message, { hint, next: [command`vault status`] });

/** The error with the label of the vault that it is about; null if the vault has none, or the state cannot be read. */
export async function withLabel(state: StatePart, error: VaultError): Promise<VaultError> {
  const { uuid } = error.facts;
  if (uuid === undefined) return error;
  const [record] = await (async () => await (await state.store()).find(uuid))().catch(() => []);
  return error.with({ label: record?.label ?? null });
}
