import type { App } from "../app.ts";
import { VaultError } from "../errors.ts";
import { uuid } from "../protocol/fields.ts";
import { validate } from "../protocol/validate.ts";
import { printableLine } from "../terminal/redactor.ts";

/** Shorter prefixes would fit by chance. */
const fewestDigits = 4;
/** Vaults that a message lists. */
const listedAtMost = 10;

/**
 * Returns the UUID of the vault that `name` stands for, among those known here: an exact UUID (of any vault), else a label, else the
 * first digits of a UUID. Where `exact` is set, digits are taken only from a person who can be asked.
 * @throws `usage` for digits that are too few or not taken, and for what fits several vaults; `no-credentials` for what fits none
 */
export async function vaultNamed(app: Pick<App, "ask" | "store">, name: string, exact: boolean): Promise<string> {
  if (validate(uuid, name).ok) return name;
  const known = await (await app.store()).list();
  const one = (found: typeof known): string | undefined => {
    const uuids = new Map(found.map((record) => [record.uuid.toLowerCase(), record]));
    if (uuids.size > 1) throw severalFit(name, [...uuids.values()]);
    return found[0]?.uuid;
  };
  const labelled = one(known.filter(({ label }) => label === name));
  if (labelled !== undefined) return labelled;
  if (!/^[\da-f-]+$/i.test(name)) throw unknown(name);
  if (name.replaceAll("-", "").length < fewestDigits) {
    throw new VaultError("usage", `${name}: at least ${fewestDigits} digits of a UUID are needed, or a label`, { hint: "vault status" });
  }
  const prefixed = one(known.filter((record) => record.uuid.toLowerCase().startsWith(name.toLowerCase())));
  if (prefixed === undefined) throw unknown(name);
  if (exact && !app.ask.isPossible) {
    throw new VaultError("usage", `${name}: without a terminal, this command takes the whole UUID (${prefixed}) or a label`);
  }
  return prefixed;
}

/** The error with the label of the vault that it is about; null where the vault has none, or the state cannot be read. */
export async function withLabel(app: Pick<App, "store">, error: VaultError): Promise<VaultError> {
  const { uuid } = error.facts;
  if (uuid === undefined) return error;
  const [record] = await (async () => await (await app.store()).find(uuid))().catch(() => []);
  return error.with({ label: record?.label ?? null });
}

const unknown = (name: string): VaultError =>
  new VaultError("no-credentials", `no vault known here has the label or UUID ${printableLine(name)}; nothing was sent`, {
    hint: "vault status",
  });

function severalFit(name: string, found: readonly Named[]): VaultError {
  const shown = found.slice(0, listedAtMost).map(({ uuid, label }) => (label === null ? uuid : `${uuid} (${printableLine(label)})`));
  const more = found.length > shown.length ? ` and ${found.length - shown.length} more` : "";
  return new VaultError("usage", `${printableLine(name)} fits ${found.length} vaults: ${shown.join(", ")}${more}`, {
    hint: "vault status",
  });
}

type Named = { uuid: string; label: string | null };

/** Order of vaults in lists: by label without regard to case, those without one last; then by UUID. */
export function byLabel(a: Named, b: Named): number {
  if (a.label === null || b.label === null) return Number(a.label === null) - Number(b.label === null) || compare(a.uuid, b.uuid);
  return compare(a.label.toLowerCase(), b.label.toLowerCase()) || compare(a.uuid, b.uuid);
}

const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b));
