import * as z from "zod/mini";
import type { App } from "../../app.ts";
import { VaultError } from "../../errors.ts";
import type { GivenCredentials } from "../../exchange/recovery/document.ts";
import { parseCredentials } from "../../exchange/recovery/document.ts";
import type { Kind } from "../../protocol/endpoints.ts";
import { device, type Device, uuid } from "../../protocol/fields.ts";
import { parseJson } from "../../protocol/json.ts";
import { validate } from "../../protocol/validate.ts";
import { optionTypes } from "../../cli/option-types.ts";

const line = z.object({
  uuid,
  kind: z.optional(optionTypes.kind),
  credentials: z.looseObject({}, { error: 'must be an object, such as {"encryptedData":"…","payload":"…"}' }),
  device: z.optional(device),
  label: z.optional(z.nullable(optionTypes.text)),
});

/** One vault to import, checked as far as it can be without the state. */
export interface Entry {
  uuid: string;
  kind: Kind | undefined;
  given: GivenCredentials | undefined;
  device: Device | undefined;
  label: string | undefined;
  rebind: boolean;
}

/** Where an entry stands in --file: a line of it, or an item of its list. */
export type Place = { line: number } | { item: number };

export const placeName = (place: Place): string => ("line" in place ? `line ${place.line}` : `item ${place.item}`);

/**
 * All that a file for `vault import --file` holds: NDJSON, or a JSON array.
 * @throws `invalid-input` with the place of the first entry that is not valid
 */
export async function readImportFile(app: Pick<App, "sources">, path: string, rebind: boolean): Promise<{ place: Place; entry: Entry }[]> {
  const content = path === "-" ? await app.sources.readStdin("--file") : await readNamed(app, path);
  if (content.trimStart().startsWith("[")) {
    const list = readJson(content, "--file") as unknown[];
    return list.map((value, index) => {
      const place = { item: index + 1 };
      return { place, entry: readEntry(value, `--file ${placeName(place)}`, rebind) };
    });
  }
  return content.split("\n").flatMap((row, index) => {
    const place = { line: index + 1 };
    const where = `--file ${placeName(place)}`;
    return row.trim() === "" ? [] : [{ place, entry: readEntry(readJson(row, where), where, rebind) }];
  });
}

async function readNamed(app: Pick<App, "sources">, path: string): Promise<string> {
  try {
    return await app.sources.readFile(path);
  } catch (cause) {
    throw new VaultError(
      "invalid-input",
      `--file: cannot read the file ${path} (${(cause as NodeJS.ErrnoException).code ?? "unreadable"})`,
      {
        hint: "vault import --file vaults.ndjson (or --file -, for standard input)",
        cause,
      },
    );
  }
}

function readJson(text: string, where: string): unknown {
  try {
    return parseJson(text);
  } catch {
    throw new VaultError("invalid-input", `${where}: not valid JSON`, {
      hint: 'a valid line: {"uuid":"…","kind":"generic/offline","credentials":{…}}',
    });
  }
}

function readEntry(value: unknown, where: string, rebind: boolean): Entry {
  const checked = validate(line, value);
  if (!checked.ok) {
    const [first] = checked.violations;
    throw new VaultError("invalid-input", `${where}: ${first?.path ?? ""} ${first?.rule ?? ""}`, { hint: "nothing was imported" });
  }
  const given = parseCredentials(JSON.stringify(checked.value.credentials), `${where}: credentials`);
  const { uuid, kind = kindOf(given), device, label } = checked.value;
  return { uuid, kind, given, device, label: label ?? undefined, rebind };
}

/** Where a document names the kind, it need not stand beside it. */
export const kindOf = (given: GivenCredentials): Kind | undefined => (given.type === "pair" ? given.kind : undefined);
