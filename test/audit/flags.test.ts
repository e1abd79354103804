import { expect, test } from "vitest";
import * as flags from "../../src/audit/flags.ts";
import { rows } from "./support.ts";

const parsers: Record<string, (text: string) => unknown> = {
  "--map": flags.parseMap,
  "--action": (text) => flags.parseActions(text.split(",")),
  "--outcome": (text) => flags.parseOutcomes(text.split(",")),
  "--where": (text) => flags.parseWhere([text]),
  "--what-if": flags.parseWhatIf,
  "--zone": flags.parseZone,
};

test.each(
  rows(`
--map     | time=a b,vault=a=b,reason=r,outcome=none | {"time":"a b","vault":"a=b","description":"r","outcome":"none"}
--action  | op=7=READ_VAULT              | {"op=7":"READ_VAULT"}
--outcome | Bounced=FAILURE,x=success    | {"bounced":"failure","x":"success"}
--where   | ref=a=b                      | [{"key":"ref","value":"a=b"}]
--what-if | lock-after-unacked=6         | {"text":"lock-after-unacked=6","limits":{"unackedStarts":6}}
--zone    | Europe/Berlin                | "Europe/Berlin"
--zone    | -0530                        | "-0530"`),
)("%s %s", (flag = "", text = "", parsed = "") => {
  expect(parsers[flag]?.(text)).toEqual(JSON.parse(parsed));
});

test.each(
  rows(`
--map     |                              | "" is not ROLE=COLUMN
--map     | time=                        | "time=" is not ROLE=COLUMN
--map     | time=a,                      | "" is not ROLE=COLUMN
--map     | __proto__=a                  | "__proto__=a" is not ROLE=COLUMN
--map     | time=a,time=b                | "time" is given twice
--map     | time=none                    | "time=none" is not ROLE=COLUMN
--action  | READ_VAULT                   | "READ_VAULT" is not OLD=NEW
--action  | OPENED=__proto__             | "OPENED=__proto__" is not OLD=NEW
--action  | A=READ_VAULT,A=LOCK_VAULT    | "A" is given twice
--outcome | WARN=perhaps                 | "warn=perhaps" is not VALUE=success or VALUE=failure
--outcome | x=success,X=failure          | "x" is given twice
--where   | toString=a                   | "toString=a" is not KEY=VALUE
--where   | ref                          | "ref" is not KEY=VALUE
--what-if | lock-after=5                 | "lock-after=5" is not lock-after-failed=N or lock-after-unacked=N
--what-if | lock-after-failed=0          | "lock-after-failed=0" is not lock-after-failed=N or lock-after-unacked=N
--zone    | Europe/Atlantis              | "Europe/Atlantis" is no time zone
--zone    | IST                          | "IST" is no time zone
--zone    | +25:00                       | "+25:00" is no time zone`),
)("%s %s is refused", (flag = "", text = "", message = "") => {
  expect(() => parsers[flag]?.(text)).toThrow(`${flag}: ${message}`);
});
