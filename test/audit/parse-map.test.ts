import { describe, expect, test } from "vitest";
import { parseMap } from "../../src/audit/columns/given.ts";

describe("--map", () => {
  test("names a column for each role", () => {
    const roles =
      "time=transactionTime,action=description,vault=vault.uuid,outcome=o,ip=i p,ref=r,endpoint=e,application=a,id=x,description=d";
    expect(parseMap(roles)).toEqual({
      time: "transactionTime",
      action: "description",
      vault: "vault.uuid",
      outcome: "o",
      ip: "i p",
      ref: "r",
      endpoint: "e",
      application: "a",
      id: "x",
      description: "d",
    });
    expect(parseMap(" time = when , vault = a=b ")).toEqual({ time: "when", vault: "a=b" });
  });

  test.each([
    ["", '--map: "" is not ROLE=COLUMN'],
    ["time", '--map: "time" is not ROLE=COLUMN'],
    ["time=", '--map: "time=" is not ROLE=COLUMN'],
    ["time=a,", '--map: "" is not ROLE=COLUMN'],
    [
      "clock=a",
      '--map: "clock" must be one of time, action, vault, outcome, ip, ref, endpoint, application, id, description',
    ],
    [
      "__proto__=a",
      '--map: "__proto__" must be one of time, action, vault, outcome, ip, ref, endpoint, application, id, description',
    ],
    ["time=a,time=b", "--map: time is given twice"],
  ])("%j is refused", (text, message) => {
    expect(() => parseMap(text)).toThrow(expect.objectContaining({ code: "usage", message }));
  });
});
