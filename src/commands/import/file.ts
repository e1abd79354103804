import * as z from "zod/mini";
import type { ValueSources } from "../../settings/given.ts";
import type { GivenCredentials } from "../../exchange/recovery/document.ts";
import { checkCredentials } from "../../exchange/recovery/document.ts";
import type { Kind } from "../../protocol/endpoints.ts";
import type { Device } from "../../protocol/fields.ts";
import type { Place } from "../../protocol/json.ts";
import { parseList, placeName } from "../../protocol/json.ts";
import { checkGiven } from "../../protocol/validate.ts";
import { givenCredentials, vaultProperties } from "../../input/list.ts";

const line = z.object({ ...vaultProperties, credentials: givenCredentials });

/** One vault to import, checked as far as it can be without the state. */
export interface Entry {
  uuid: string;
  kind: Kind | undefined;
  given: GivenCredentials;
  device: Device | undefined;
  label: string | undefined;
}

/**
 * All that a file for `vault import --file` holds.
 * @throws `invalid-input` with the place of the first entry that is not valid
 */
export const readImportFile = async (
  sources: ValueSources,
  path: string,
): Promise<{ place: Place; entry: Entry }[]> =>
  Array.from(
    parseList(await sources.read(path, "--file"), "--file", example),
    ({ place, value }) => ({ place, entry: asEntry(value, `--file ${placeName(place)}`) }),
  );

const example = 'a valid line: {"uuid":"…","kind":"generic/offline","credentials":{…}}';

function asEntry(value: unknown, where: string): Entry {
  const { uuid, kind, device, label, credentials } = checkGiven(
    line,
    value,
    where,
    "nothing was imported",
    "place",
  );
  const given = checkCredentials(credentials, `${where}: credentials`);
  return { uuid, kind: kind ?? kindOf(given), given, device, label: label ?? undefined };
}

/** Where a document names the kind, it need not stand beside it. */
export const kindOf = (given: GivenCredentials): Kind | undefined =>
  given.type === "pair" ? given.kind : undefined;
