import { describe, expect, it } from "vitest";
import { tried } from "../support/campaign.ts";
import { explore } from "./model/checker.ts";
import { wholeBounds, wholeModel, wholeFlaws } from "./model/whole/model.ts";

describe("operations on a whole state by two machines, as a model", () => {
  it.each(wholeBounds.map((bounds) => [bounds.name, bounds] as const))(
    "%s: explored to the end, nothing becomes unreachable that the service accepts",
    (_, bounds) => {
      const { states, transitions, violation, trace } = explore(wholeModel(bounds));
      expect(violation, trace.join("\n")).toBeUndefined();
      // Numbers that fall by much say that something no longer happens in the model.
      expect(states).toBeGreaterThan(3_000);
      tried("states of the model of whole states, explored to the end", states);
      tried("transitions of the model of whole states, explored to the end", transitions);
    },
  );

  it.each(wholeFlaws.map((flaw) => [flaw.mistake, flaw] as const))(
    "a mistake is found: %s",
    (_, flaw) => {
      const bounds = wholeBounds.find(({ name }) => name === flaw.in);
      if (bounds === undefined) throw new Error(`no bounds are called ${flaw.in}`);
      const { violation, trace } = explore(wholeModel(bounds, flaw.rules));
      expect(violation, trace.join("\n")).toMatch(flaw.breaks);
      tried("mistakes put into the model of whole states, and found", 1);
    },
  );
});
