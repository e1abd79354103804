import type { Classifier, Wording } from "../columns/classify-item.ts";
import { isFormerName, numberOf } from "../columns/classify-item.ts";

// As scanner/kinds.ts has them: the description has to be asked; and a mark of kinds that are counted.
const ask = 0x7e;
const counted = 0x80;

const otherNumber = numberOf("other");

/** What the scanner is told of items with an action and an outcome: their kind, unless it depends on more. */
export function answerOf(classifier: Classifier, said: Omit<Wording, "description">): number {
  return classifier.asksDescription(said) ? ask : describedAnswerOf(classifier, { ...said, description: null });
}

/** The same where the description is known. */
export function describedAnswerOf(classifier: Classifier, said: Wording): number {
  const kind = numberOf(classifier.kindOf(said));
  return kind === otherNumber || isFormerName(said.action) ? kind | counted : kind;
}
