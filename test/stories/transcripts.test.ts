import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { openScene, parseStory, playStep, type Scene } from "./story.ts";

/** Another runtime than this one, for the releases of Node that the program supports. */
const node = process.env["STORY_NODE"];

const isInstalled = (program: string): boolean =>
  spawnSync("/bin/sh", ["-c", `command -v ${program}`]).status === 0;

const folder = join(import.meta.dirname, "transcripts");
const scenes: Scene[] = [];
afterAll(async () => {
  for (const { sandbox } of scenes) await sandbox.close();
});

describe.concurrent.each(readdirSync(folder).toSorted((a, b) => a.localeCompare(b)))(
  "%s",
  (name) => {
    const { title, needs, steps } = parseStory(readFileSync(join(folder, name), "utf8"));
    test.skipIf(!needs.every(isInstalled))(`goes as told: ${title}`, async () => {
      const scene = await openScene(node, steps);
      scenes.push(scene);
      expect(steps.length).toBeGreaterThan(1);
      for (const step of steps) expect(await playStep(step, scene)).toBeNull();
    });
  },
);
