/** What is to be done when the test file has ended. The files of a worker share this module: a hook here would run for the first alone. */
const jobs: (() => unknown)[] = [];

/** Does it when the test file has ended, the last one first. */
export function atEndOfFile(job: () => unknown): void {
  jobs.push(job);
}

export async function endFile(): Promise<void> {
  for (const job of jobs.splice(0).toReversed()) await job();
}
