import type { Rules } from "./rules.ts";
import { asDesigned } from "./rules.ts";

/** A rule that is left out, where that can be seen, and what comes of it. */
interface WholeFlaw {
  mistake: string;
  in: string;
  breaks: RegExp;
  rules: Rules;
}

const both = "two machines move into one state";
const dropped = "a target that is dropped and made anew";
const others = "a state that others use";
const source = "one state that two machines move";
const made = "a target that two machines make";

const without = (...names: (keyof Rules)[]): Rules => ({
  ...asDesigned,
  ...Object.fromEntries(names.map((name) => [name, false])),
});

export const wholeFlaws: WholeFlaw[] = [
  {
    mistake: "what was read is written although others wrote in between",
    in: others,
    breaks: /^lost/,
    rules: without("oneTransaction", "gateHolds", "waitsForLeases"),
  },
  {
    mistake: "epochs are not renewed",
    in: others,
    breaks: /^lost/,
    rules: without("renewsEpochs"),
  },
  {
    mistake: "COMMIT without an answer counts as failed, and the new key is dropped",
    in: others,
    breaks: /^lost/,
    rules: without("looksUpDone"),
  },
  {
    mistake: "COMMIT without an answer in the target counts as failed, and the source is opened",
    in: source,
    breaks: /^live twice/,
    rules: without("looksUpDone"),
  },
  {
    mistake: "the key's id is read before the transaction",
    in: others,
    breaks: /^lost/,
    rules: without("readsKeyInside"),
  },
  {
    mistake: "the new key is kept only once everything is sealed with it",
    in: others,
    breaks: /^lost/,
    rules: without("keepsKeyFirst"),
  },
  {
    mistake: "restore replaces what is there",
    in: others,
    breaks: /^lost/,
    rules: without("merges"),
  },
  {
    mistake: "places are compared by path",
    in: both,
    breaks: /^(lost|live twice)/,
    rules: without("knowsMoveById"),
  },
  {
    mistake: "a target that holds something is replaced",
    in: both,
    breaks: /^(lost|live twice)/,
    rules: without("checksEmpty"),
  },
  {
    mistake: "the target is not compared by its state id",
    in: dropped,
    breaks: /^live twice/,
    rules: without("checksTarget"),
  },
  {
    mistake: "--cancel looks, and leaves no tombstone",
    in: source,
    breaks: /^live twice/,
    rules: without("leavesTombstone"),
  },
  {
    mistake: "init makes anew what another machine has made",
    in: made,
    breaks: /^lost/,
    rules: without("initLooksAgain"),
  },
  {
    mistake: "claim opens a state that its target holds",
    in: dropped,
    breaks: /^live twice/,
    rules: without("claimAsks"),
  },
];
