import { afterEach, beforeEach } from "vitest";
import type { Clock, VaultSession, Waiting } from "../../src/exchange/ports.ts";
import type { Intent, Started, VaultRecord } from "../../src/exchange/records.ts";
import type { Credentials } from "../../src/protocol/requests.ts";
import type { State } from "../../src/store/whole/stored-whole.ts";

/** A clock that stands still until somebody sleeps. */
export class TestClock implements Clock {
  at: number;
  slept: number[] = [];
  #elapsed = 0;
  /** Called in every sleep: what happens elsewhere in the meantime. */
  meanwhile: () => void | Promise<void> = () => undefined;

  constructor(at: string) {
    this.at = Date.parse(at);
  }

  now(): number {
    return this.at;
  }

  /** Only sleeping moves it, whatever `at` is set to. */
  elapsed(): number {
    return this.#elapsed;
  }

  async sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
    this.slept.push(milliseconds);
    await this.meanwhile();
    signal?.throwIfAborted();
    this.at += milliseconds;
    this.#elapsed += milliseconds;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** One state, empty at first, which is gone when the test has ended. */
export interface StoreFixture {
  store: State;
  clock: TestClock;
  /** Moves the clock of the rate limit by so many milliseconds: in a database, what was reserved. */
  pass(milliseconds: number): Promise<void> | void;
  /** The same state as another process has it. */
  another(): State;
}

/** Gives an empty state. */
export type Make = () => StoreFixture | Promise<StoreFixture>;

export const service = "https://vault.example/vaultsvc/v1-2";
export const elsewhere = "https://moved.example/vaultsvc/v1-2";
export const uuid = "AAAAAAAA-bbbb-4ccc-8ddd-000000000001";
export const lower = uuid.toLowerCase();

export const pair = (name: string): Credentials => ({
  encryptedData: `data-of-${name}`,
  payload: `payload-of-${name}`,
});
export const problem = { code: "network", message: "no answer" };

export const patient = (clock: Clock, milliseconds = 1000): Waiting => ({
  deadline: clock.elapsed() + milliseconds,
  signal: new AbortController().signal,
});

/** The fixture and the held vault of the test that runs: made anew for each test of the suite around. */
interface OnVault {
  fixture: StoreFixture;
  session: VaultSession;
}

export function eachOn(
  make: Make,
  hold: (fixture: StoreFixture) => Promise<VaultSession>,
): OnVault {
  const on = {} as OnVault;
  beforeEach(async () => {
    on.fixture = await make();
    on.session = await hold(on.fixture);
  });
  afterEach(async () => await on.session.release());
  return on;
}

export const held = async (fixture: StoreFixture, id = uuid, at = service): Promise<VaultSession> =>
  await fixture.store.lock(at, id, patient(fixture.clock));

export const known = async (session: VaultSession): Promise<VaultRecord> => {
  const record = await session.read();
  if (record === null) throw new Error("the vault is not known");
  return record;
};

export const intent = (
  exchangeId: string,
  generation: number,
  more: Partial<Intent> = {},
): Intent => ({
  exchangeId,
  operation: "get",
  kind: "credit-card/offline",
  externalRef: `ref-${exchangeId}`,
  generation,
  sole: false,
  seen: null,
  ...more,
});

export const started = (name: string, more: Partial<Started> = {}): Started => ({
  pair: pair(name),
  token: `token-of-${name}`,
  tokenExpiry: "2026-11-21T10:05:00Z",
  usesRemaining: null,
  limited: false,
  expiryDate: null,
  autoLockDate: null,
  dateCreated: null,
  lastModified: null,
  combination: `combination-of-${name}`,
  elsewhere: false,
  ...more,
});

/** Lets the vault go and holds it again: what others did without its lock is seen then. */
export async function holdAgain(on: OnVault): Promise<void> {
  await on.session.release();
  on.session = await held(on.fixture);
}

/** A session of a vault with one imported pair, generation 1. */
export async function imported(fixture: StoreFixture, name = "first"): Promise<VaultSession> {
  const session = await held(fixture);
  await session.recordPair({ credentials: pair(name), kind: "credit-card/offline" });
  return session;
}

/** Starts an exchange: it is at ②. Returns the new generation. */
export async function startExchange(
  session: VaultSession,
  exchangeId: string,
  base: number,
  name: string,
): Promise<number> {
  await session.recordIntent(intent(exchangeId, base));
  await session.recordStarted(exchangeId, started(name));
  return (await known(session)).open?.newGeneration ?? 0;
}

/** A whole exchange. Returns the new generation. */
export async function exchange(
  session: VaultSession,
  exchangeId: string,
  base: number,
  name: string,
): Promise<number> {
  const generation = await startExchange(session, exchangeId, base, name);
  await session.recordEnding(exchangeId, true);
  await session.acknowledge(exchangeId);
  return generation;
}

/** Generation numbers with their standing, newest first, like "2 current". */
export const standings = async (session: VaultSession): Promise<string[]> =>
  (await known(session)).generations.map((g) => `${g.generation} ${g.standing}`);
