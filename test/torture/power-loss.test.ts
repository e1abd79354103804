import { describe, expect, it } from "vitest";
import { sample, tried } from "../support/campaign.ts";
import {
  apply,
  copyOf,
  digestOf,
  leftBy,
  readDisk,
  recording,
  stepsOf,
  writeDisk,
} from "./disk-record.ts";
import { exchanges } from "./operations/exchanges.ts";
import { keeping } from "./operations/keeping.ts";
import { many } from "./operations/many.ts";
import { openRewindLab } from "./rewind-lab.ts";
import { straceMissing, traced } from "./strace.ts";

const chosen = [...exchanges, ...keeping, ...many].filter(({ onDisk }) => onDisk === true);

describe.skipIf(straceMissing !== null)(
  `a power loss at any point of${straceMissing === null ? "" : ` (skipped: ${straceMissing})`}`,
  () => {
    it.each(chosen.map((operation) => [operation.name, operation] as const))(
      "%s",
      async (_, operation) => {
        const lab = await openRewindLab(operation.seed);
        await operation.prepare(lab);
        lab.keep();
        const { home } = lab.machine;
        const before = readDisk(lab.kept, home);
        lab.rewind();
        const { result, calls } = await traced(lab.machine, operation.args(lab), recording);
        expect(result.code, result.stderr).toBe(0);
        const service = structuredClone(lab.history);
        const steps = stepsOf(calls, home, before);
        const sent = steps.filter(({ type }) => type === "sent").length;
        // As many as the service has processed: no request is overlooked.
        expect(service).toHaveLength(sent + 1);

        // The record is right: all of it makes the files that the run has left.
        const all = copyOf(before);
        for (const step of steps) if (step.type === "change") apply(all, step.change);
        const real = readDisk(home, home);
        const contents = ({ names, contents: held }: typeof all): Map<string, string> =>
          new Map(
            [...names]
              .filter(([path]) => !path.endsWith("-shm"))
              .sort()
              .map(([path, node]) => [
                path,
                node === "folder" ? node : (held.get(node) ?? Buffer.alloc(0)).toString("latin1"),
              ]),
          );
        expect(contents(all)).toEqual(contents(real));

        const states = sample([...leftBy(steps, before)], 6);
        const tries = new Set<string>();
        for (const { where, base, more, taken, printed } of states) {
          const disk = copyOf(base);
          for (const change of more) apply(disk, change);
          const one = `${digestOf(disk)} ${taken} ${printed}`;
          if (tries.has(one)) continue;
          tries.add(one);
          lab.clear();
          writeDisk(disk, home);
          lab.rewindService(service[taken] as (typeof service)[number]);
          try {
            await operation.goesOn(lab, printed, false);
          } catch (error) {
            throw new Error(
              `${where}; the service has taken ${taken} of its requests: ${(error as Error).message}`,
              { cause: error },
            );
          }
        }
        tried("states after a power loss", tries.size);
      },
    );
  },
);
