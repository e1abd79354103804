import * as z from "zod/mini";
import type { ValueSources } from "../../secrets/secret-value.ts";
import type { GivenCredentials } from "../../exchange/recovery/document.ts";
import { parseCredentials } from "../../exchange/recovery/document.ts";
import type { Kind } from "../../protocol/endpoints.ts";
import type { Device } from "../../protocol/fields.ts";
import { parseGivenJson } from "../../protocol/json.ts";
import { checkObject, givenCredentials, linesOf, vaultProperties } from "../../input/lines.ts";

const line = z.object({ ...vaultProperties, credentials: givenCredentials });

/** One vault to import, checked as far as it can be without the state. */
export interface Entry {
  uuid: string;
  kind: Kind | undefined;
  given: GivenCredentials;
  device: Device | undefined;
  label: string | undefined;
}

/** Where an entry stands in --file: a line of it, or an item of its list. */
export type Place = { line: number } | { item: number };

export const placeName = (place: Place): string =>
  "line" in place ? `line ${place.line}` : `item ${place.item}`;

/**
 * All that a file for `vault import --file` holds: NDJSON, or a JSON array.
 * @throws `invalid-input` with the place of the first entry that is not valid
 */
export async function readImportFile(
  sources: ValueSources,
  path: string,
): Promise<{ place: Place; entry: Entry }[]> {
  const entries: { place: Place; entry: Entry }[] = [];
  let list: string | undefined;
  for await (const lines of linesOf(sources, {
    flag: "--file",
    path,
    example: "vault import --file vaults.ndjson",
  })) {
    for (const { number, text } of lines) {
      if (list === undefined && entries.length === 0 && text.trimStart().startsWith("[")) list = "";
      if (list === undefined) {
        const where = `--file line ${number}`;
        entries.push({
          place: { line: number },
          entry: asEntry(parseGivenJson(text, where, example), where),
        });
      } else list += `${text}\n`;
    }
  }
  if (list === undefined) return entries;
  return (parseGivenJson(list, "--file", example) as unknown[]).map((value, index) => {
    const place = { item: index + 1 };
    return { place, entry: asEntry(value, `--file ${placeName(place)}`) };
  });
}

const example = 'a valid line: {"uuid":"…","kind":"generic/offline","credentials":{…}}';

function asEntry(value: unknown, where: string): Entry {
  const { uuid, kind, device, label, credentials } = checkObject(
    value,
    line,
    where,
    "nothing was imported",
  );
  const given = parseCredentials(JSON.stringify(credentials), `${where}: credentials`);
  return { uuid, kind: kind ?? kindOf(given), given, device, label: label ?? undefined };
}

/** Where a document names the kind, it need not stand beside it. */
export const kindOf = (given: GivenCredentials): Kind | undefined =>
  given.type === "pair" ? given.kind : undefined;
