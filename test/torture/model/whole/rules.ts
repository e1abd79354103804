/** The rules of DESIGN, The whole state: what is wrong on purpose (flaws.ts) turns one of them off. */
export interface Rules {
  /** A lease is taken, and a step of its holder written, only where no gate is closed and no transaction under way. */
  gateHolds: boolean;
  /** An operation stops while a lease is alive. */
  waitsForLeases: boolean;
  /** What is read and what is written are one transaction: one that stalls is there or gone, and nobody writes in between. */
  oneTransaction: boolean;
  /** Every lease gets a new epoch, so that a step of a former holder writes nothing. */
  renewsEpochs: boolean;
  /** A COMMIT without an answer is looked up. */
  looksUpDone: boolean;
  /** The key's id is read inside the transaction. */
  readsKeyInside: boolean;
  /** The new key is kept before anything is sealed with it. */
  keepsKeyFirst: boolean;
  /** `restore` adds, and replaces nothing. */
  merges: boolean;
  /** A move is known by its id, and not by the path from which it came. */
  knowsMoveById: boolean;
  /** The target must be the very state that was named when the source was fenced. */
  checksTarget: boolean;
  /** A target that holds something else is never replaced. */
  checksEmpty: boolean;
  /** `--cancel` leaves a tombstone in the target before it opens the source. */
  leavesTombstone: boolean;
  /** What another machine has just made is looked at again. */
  initLooksAgain: boolean;
  /** `claim` opens a state only where the target of its move is gone, or is another one. */
  claimAsks: boolean;
}

export const asDesigned: Rules = {
  gateHolds: true,
  waitsForLeases: true,
  oneTransaction: true,
  renewsEpochs: true,
  looksUpDone: true,
  readsKeyInside: true,
  keepsKeyFirst: true,
  merges: true,
  knowsMoveById: true,
  checksTarget: true,
  checksEmpty: true,
  leavesTombstone: true,
  initLooksAgain: true,
  claimAsks: true,
};
