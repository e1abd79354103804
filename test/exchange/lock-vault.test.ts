import { expect, test } from "vitest";
import { lockVault, type LockContext } from "../../src/exchange/lock-vault.ts";

const here = "https://here.example/api";
const there = "https://there.example/api";

/** Locks a vault that the state knows under these services, and lists the calls. */
async function lock(
  known: readonly string[],
  options: Partial<LockContext>,
  configured = true,
): Promise<string[]> {
  const done: string[] = [];
  const session = {
    read: async () =>
      Promise.resolve(
        known.includes(done[0]?.replace("lock at ", "") ?? "") ? { generations: [{}] } : null,
      ),
    release: async () => Promise.resolve(void done.push("release")),
  };
  const lockContext = {
    store: {
      breaker: () => ({}),
      find: async () => Promise.resolve(known.map((service) => ({ service }))),
      lock: async (service: string) => {
        done.push(`lock at ${service}`);
        return Promise.resolve(session);
      },
    },
    serviceName: () => here,
    isConfigured: configured,
    waiting: {},
    clock: { now: () => 0 },
    ...options,
  };
  await lockVault(lockContext as unknown as LockContext, "uuid").catch((error: { code: string }) =>
    done.push(error.code),
  );
  return done;
}

test.each<[string, string[], Partial<LockContext>, boolean, string[]]>([
  ["one that another service has too", [there, here], {}, true, [`lock at ${here}`]],
  [
    "one of another service is refused, and not kept locked",
    [there],
    {},
    true,
    [`lock at ${here}`, "release", "no-credentials"],
  ],
  [
    "without a base URL, where two services have it",
    [there, here],
    { local: true },
    false,
    [`lock at ${here}`],
  ],
])("%s", async (_what, known, options, configured, expected) => {
  expect(await lock(known, options, configured)).toEqual(expected);
});
