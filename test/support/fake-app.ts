import type { Basics, SettingsPart } from "../../src/parts/settings.ts";
import { createIo } from "../../src/parts/io.ts";
import type { FakeHost } from "./fake-host.ts";
import { fakeHost } from "./fake-host.ts";

/** The parts of what touches neither state nor service: the real ones, on a fake host, with the settings that matter to a test. */
export function fakeBasics(
  host: FakeHost = fakeHost(),
  given: Partial<SettingsPart> = {},
  flags: Readonly<Record<string, string | boolean>> = {},
): Basics {
  const settings = { output: "table", maxWait: 0, flags, ...given } as SettingsPart;
  return { io: createIo(host, flags, settings), settings };
}
