import { writeFileSync, existsSync } from "node:fs";
import { join, delimiter } from "node:path";
import { pathToFileURL } from "node:url";
import axe from "axe-core";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { HtmlParts } from "../../src/audit/render/html/page.ts";
import { writeHtml } from "../../src/audit/render/html/page.ts";
import * as reports from "../support/audit-reports.ts";
import { isWhole } from "../support/campaign.ts";
import { tempDir } from "../support/cleanup.ts";

const names = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];

/** Where this machine has a Chromium; a test that needs one is skipped where there is none. */
const chromiumPath: string | undefined = (process.env["PATH"] ?? "")
  .split(delimiter)
  .flatMap((folder) => names.map((name) => join(folder, name)))
  .find(existsSync);

/** Without a window, an account or anything that it would fetch on its own, in a new empty folder of user data. */
async function startChromium(): Promise<Browser> {
  const { chromium } = await import("playwright-core");
  const quiet = [
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
  ];
  const args = ["--headless", "--no-sandbox", "--disable-gpu", ...quiet];
  return await chromium.launch({
    ...(chromiumPath === undefined ? {} : { executablePath: chromiumPath }),
    args,
  });
}

/** An expression for a page: says of each text that overlaps another, is cut off or makes something scroll sideways which. */
const layoutFaults = `(() => {
  const faults = [];
  const width = document.documentElement.clientWidth;
  const short = (text) => text.trim().slice(0, 40);
  if (document.documentElement.scrollWidth > width) faults.push("the page scrolls sideways");
  for (const each of document.querySelectorAll("main *:not(input)"))
    if (each.checkVisibility() && each.scrollWidth > each.clientWidth + 1 && getComputedStyle(each).overflowX !== "visible")
      faults.push("cut: " + short(each.textContent));
  const boxes = [];
  const range = document.createRange();
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode() !== null) {
    const { currentNode: node } = texts;
    if (node.data.trim() === "" || !node.parentElement.checkVisibility() || node.parentElement.closest(".skip, thead, script, title, desc")) continue;
    range.selectNodeContents(node);
    for (const { left, right, top, bottom } of range.getClientRects()) boxes.push({ node, text: node.data, left, right, top, bottom });
  }
  for (const cell of document.querySelectorAll("td[data-label]")) {
    const { position, left, top, width, height } = getComputedStyle(cell, "::before");
    if (!cell.checkVisibility() || position !== "absolute") continue;
    const place = cell.getBoundingClientRect();
    const [x, y] = [place.left + parseFloat(left), place.top + parseFloat(top)];
    boxes.push({ node: cell, text: cell.dataset.label, left: x, right: x + parseFloat(width), top: y, bottom: y + parseFloat(height) });
  }
  for (const { left, right, text } of boxes) if (left < -1 || right > width + 1) faults.push("outside: " + short(text));
  boxes.sort((one, other) => one.top - other.top);
  for (const [index, one] of boxes.entries())
    for (let next = index + 1; next < boxes.length && boxes[next].top < one.bottom - 3; next += 1) {
      const other = boxes[next];
      const shared = Math.min(one.right, other.right) - Math.max(one.left, other.left);
      if (one.node !== other.node && shared > 1 && Math.min(one.bottom, other.bottom) - other.top > 3)
        faults.push("overlap: " + short(one.text) + " / " + short(other.text));
    }
  return faults;
})()`;

const generatedAt = "2026-11-20T16:00:00Z";
const vaults = [...reports.problems(), reports.deleted()];
const whole: HtmlParts = {
  title: "Ticket 4711: our vault is locked",
  generatedAt,
  summary: reports.summaryOf([...vaults, reports.fine()]),
  vaults,
  whatIf: reports.whatIf(),
};
const [script, , , , , escapes] = reports.hostileTexts;
const evil: HtmlParts = {
  title: script + escapes,
  generatedAt: reports.hostileTexts[1],
  summary: reports.hostileSummary([reports.hostile()]),
  vaults: [reports.hostile(), reports.lockedByStarts()],
  whatIf: {
    change: script + escapes,
    vaults: [{ uuid: script, before: reports.hostile(), after: reports.hostile() }],
    unchanged: 0,
    moreChanged: 0,
  },
};

describe.skipIf(chromiumPath === undefined)(
  "the page in Chromium (skipped where there is none)",
  () => {
    let browser: Browser;
    beforeAll(async () => {
      browser = await startChromium();
    });
    afterAll(async () => {
      await browser.close();
    });
    afterEach(async () => {
      for (const context of browser.contexts()) await context.close();
    });

    /** Opens the page as a file, and collects its errors and requests. */
    async function open(
      parts: HtmlParts,
      options: BrowserContextOptions = {},
    ): Promise<{ page: Page; trouble: string[]; asked: string[] }> {
      const file = join(tempDir("page"), "report.html");
      writeFileSync(file, [...writeHtml(parts)].join(""));
      const context = await browser.newContext({
        viewport: { width: 1200, height: 900 },
        ...options,
      });
      const page = await context.newPage();
      const trouble: string[] = [];
      const asked: string[] = [];
      page.on("console", (message) => trouble.push(message.text()));
      page.on("pageerror", (error) => trouble.push(error.message));
      page.on("dialog", (dialog) => trouble.push(dialog.message()));
      page.on("request", (request) => asked.push(request.url()));
      const url = pathToFileURL(file).href;
      await page.goto(url);
      expect(asked.splice(0)).toEqual([url]);
      return { page, trouble, asked };
    }

    /** Not by clicks of the mouse, which wait for each other. */
    const openAll = async (page: Page): Promise<unknown> =>
      await page.evaluate(
        "for (const summary of document.querySelectorAll('summary')) summary.click()",
      );
    const shown = async (page: Page): Promise<string> =>
      (await page.locator("#shown").textContent()) ?? "";
    const visible = async (page: Page, what: "tr" | "article"): Promise<number> =>
      await page.evaluate(
        `[...document.querySelectorAll("${what}[data-find]")].filter((each) => each.checkVisibility()).length`,
      );
    /** Runs axe through the debugger, to which the policy of the page does not apply. */
    const faults = async (page: Page): Promise<string[]> => {
      await page.evaluate(axe.source);
      const { violations } = await page.evaluate<axe.AxeResults>("axe.run()");
      return violations.flatMap(({ id, nodes }) =>
        nodes.map(
          ({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary ?? ""}`,
        ),
      );
    };

    test.each([
      ["a page of every verdict", whole],
      ["a hostile page", evil],
    ])(
      "%s loads nothing, breaks no policy and has no errors, also when it is used",
      async (_name, parts) => {
        const { page, trouble, asked } = await open(parts);
        await openAll(page);
        await page.locator("#find").fill("checkout");
        await page.locator("#reset").click();
        await page.locator("th a").first().click();
        expect(trouble).toEqual([]);
        expect(asked).toEqual([]);
      },
    );

    test("what its policy forbids is stopped, and seen by this test", async () => {
      const { page, trouble } = await open(whole);
      const stopped: string[] = [];
      page.on("requestfailed", (request) => stopped.push(request.failure()?.errorText ?? ""));
      page.on("requestfinished", (request) => stopped.push(request.url()));
      await page.evaluate(
        `document.body.insertAdjacentHTML("beforeend", '<img src="http://192.0.2.1/x.png" onerror="window.pwned = 1"><p style="color:red">')`,
      );
      await page.evaluate(`fetch("http://192.0.2.1/").catch(() => {})`);
      await expect.poll(() => trouble.join("\n")).toMatch(/script-src|inline event handler/);
      expect(trouble.join("\n")).toMatch(/img-src/);
      expect(trouble.join("\n")).toMatch(/style-src/);
      expect(trouble.join("\n")).toMatch(/connect-src|default-src/);
      expect(stopped).toEqual(["csp"]);
      expect(await page.evaluate("window.pwned")).toBeUndefined();
    });

    test("hostile values are text and nothing else", async () => {
      const { page } = await open(evil);
      expect(await page.evaluate("window.pwned")).toBeUndefined();
      const found = await page.evaluate<{
        tags: string[];
        attributes: string[];
        links: string[];
        scripts: number;
        text: string;
      }>(`({
      tags: [...new Set([...document.querySelectorAll("*")].map((each) => each.localName))],
      attributes: [...new Set([...document.querySelectorAll("*")].flatMap((each) => each.getAttributeNames()))],
      links: [...document.querySelectorAll("[href]")].map((each) => each.getAttribute("href")),
      scripts: document.scripts.length,
      text: document.documentElement.textContent + [...document.querySelectorAll("*")].flatMap((each) => [...each.attributes].map(({ value }) => value)).join(""),
    })`);
      for (const tag of [
        "img",
        "iframe",
        "object",
        "embed",
        "link",
        "form",
        "base",
        "image",
        "use",
      ])
        expect(found.tags).not.toContain(tag);
      expect(found.attributes.filter((name) => /^on|^style$|src|action/.test(name))).toEqual([]);
      expect(found.links.filter((link) => !/^#(vaults|vault-\d+)$/.test(link))).toEqual([]);
      expect(found.scripts).toBe(1);
      expect(await page.locator("body").isVisible()).toBe(true);
      expect(found.text).not.toMatch(
        // eslint-disable-next-line no-control-regex -- what must not be there
        /[\u0000-\u0009\u000B-\u001F\u007F-\u009F\u200B\u200E\u200F\u2028-\u202E\u2066-\u2069\uFEFF\uFFFD]/,
      );
      for (const text of [
        script,
        reports.hostileTexts[1],
        "</script><script>",
        "javascript:window.pwned=1",
        "\\u{1b}[2J",
        "evil\\u{202e}gnp.exe",
      ]) {
        expect(await page.locator("main").textContent()).toContain(text);
      }
    });

    test("the filter goes by text, verdict and time, says how many are shown, and takes it back", async () => {
      const { page } = await open(whole);
      expect([
        await shown(page),
        await visible(page, "tr"),
        await visible(page, "article"),
      ]).toEqual(["9 of 9 vaults shown", 8, 8]);
      await page.locator("#find").fill("CHECKOUT-7");
      expect([
        await shown(page),
        await visible(page, "tr"),
        await visible(page, "article"),
      ]).toEqual(["1 of 9 vaults shown", 1, 1]);
      expect(await page.locator("article:visible h3").textContent()).toBe(reports.uuid(2));
      await page.locator("#find").fill("nightly 203.0.113.8");
      expect(await page.locator("article:visible h3").textContent()).toBe(reports.uuid(7));
      await page.locator("#find").fill("nothing like that");
      expect([await shown(page), await page.locator("#none").isVisible()]).toEqual([
        "0 of 9 vaults shown",
        true,
      ]);
      await page.getByRole("button", { name: "Show all" }).click();
      expect([await shown(page), await page.locator("#none").isVisible()]).toEqual([
        "9 of 9 vaults shown",
        false,
      ]);
      await page.getByLabel("locked", { exact: true }).uncheck();
      expect([await shown(page), await visible(page, "article")]).toEqual([
        "3 of 9 vaults shown",
        3,
      ]);
      await page.getByRole("button", { name: "Show all" }).click();
      await page.getByLabel("Since, from (UTC)").fill("2026-11-20T00:00:00");
      expect(await shown(page)).toBe("3 of 9 vaults shown");
      await page.getByLabel("Since, to (UTC)").fill("2026-11-20T14:02:11");
      expect(await shown(page)).toBe("2 of 9 vaults shown");
      await page.getByLabel("Since, to (UTC)").fill("2026-11-20T14:02:10");
      expect(await shown(page)).toBe("1 of 9 vaults shown");
    });

    test("times of the filter are UTC, wherever the reader is", async () => {
      const { page } = await open(whole, { timezoneId: "Pacific/Auckland" });
      await page.getByLabel("Since, from (UTC)").fill("2026-11-20T14:02:11");
      await page.getByLabel("Since, to (UTC)").fill("2026-11-20T14:02:11");
      expect(await page.locator("article:visible h3").allTextContents()).toEqual([
        `${reports.uuid(1)} (backup card)`,
      ]);
      expect(await page.locator("article:visible .standing time").textContent()).toBe(
        "2026-11-20 14:02:11",
      );
    });

    test("everything works from the keyboard", async () => {
      const { page } = await open(whole);
      const focused = async (): Promise<unknown> =>
        await page.evaluate(
          "document.activeElement.id || document.activeElement.className || document.activeElement.value",
        );
      await page.keyboard.press("Tab");
      expect(await focused()).toBe("skip");
      expect(await page.locator(".skip").boundingBox()).toMatchObject({
        x: expect.toSatisfy((x: number) => x >= 0) as number,
      });
      await page.keyboard.press("Enter");
      expect(await focused()).toBe("vaults");
      await page.keyboard.press("Tab");
      expect(await focused()).toBe("find");
      await page.keyboard.type("203.0.113");
      expect(await shown(page)).toBe("8 of 9 vaults shown");
      await page.keyboard.press("Tab");
      await page.keyboard.press("Space");
      expect(await shown(page)).toBe("3 of 9 vaults shown");
      const outline = await page.evaluate("getComputedStyle(document.activeElement).outlineStyle");
      expect(outline).not.toBe("none");
      await page.locator("#reset").focus();
      await page.keyboard.press("Enter");
      expect([await shown(page), await focused()]).toEqual(["9 of 9 vaults shown", "find"]);
      await page.locator("summary").last().focus();
      await page.keyboard.press("Enter");
      expect(await page.locator("details").last().getAttribute("open")).toBe("");
    });

    test("a link of the table leads to the section of its vault", async () => {
      const { page } = await open(whole);
      await page.getByRole("link", { name: reports.uuid(5) }).click();
      expect(await page.locator("article:target h3").textContent()).toBe(reports.uuid(5));
    });

    test("without script all is shown, and no filter that would not work", async () => {
      const { page } = await open(whole, { javaScriptEnabled: false });
      expect([
        await shown(page),
        await visible(page, "tr"),
        await visible(page, "article"),
      ]).toEqual(["9 vaults", 8, 8]);
      expect(await page.locator("#filter").isVisible()).toBe(false);
    });

    test("vaults that need no action are collapsed, and open when they are looked for", async () => {
      const { page } = await open(whole);
      const rows = page.locator("details.fine").first();
      expect(await rows.locator("summary").textContent()).toBe("2 vaults need no action");
      expect(await rows.locator("tr").last().isVisible()).toBe(false);
      await page.locator("#find").fill(reports.deleted().uuid);
      expect([
        await shown(page),
        await visible(page, "tr"),
        await visible(page, "article"),
      ]).toEqual(["1 of 9 vaults shown", 1, 1]);
      await page.locator("#find").fill("CHECKOUT-7");
      expect(await rows.isVisible()).toBe(false);
    });

    test("a command is copied whole, and breaks between its words only", async () => {
      const { page } = await open(whole, {
        permissions: ["clipboard-read", "clipboard-write"],
        viewport: { width: 390, height: 800 },
      });
      const [command] = await page.locator("code").allTextContents();
      expect(command).toMatch(/^vault [a-z]+ [0-9a-f-]{36}( --[a-z]+)*$/);
      const copy = page.getByRole("button", { name: `Copy: ${command}` }).first();
      await copy.click();
      expect(await page.evaluate("navigator.clipboard.readText()")).toBe(command);
      expect(await copy.textContent()).toBe("Copied");
      const heights = await page.evaluate<number[]>(
        "[...document.querySelectorAll('code span')].map((word) => word.getClientRects().length)",
      );
      expect(new Set(heights)).toEqual(new Set([1]));
    });

    test("times are to the second, with the milliseconds as a title", async () => {
      const late = { ...reports.lockedByFailures(), since: "2026-11-20T14:02:11.042Z" };
      const { page } = await open({ ...whole, vaults: [late] });
      const time = page.locator("article .standing time");
      expect(await time.textContent()).toBe("2026-11-20 14:02:11");
      expect(await time.getAttribute("title")).toBe("2026-11-20 14:02:11.042");
    });

    test("on 390 pixels tables are lists, and drawings give way to their events", async () => {
      const { page } = await open(whole, { viewport: { width: 390, height: 800 } });
      expect(await page.locator("article svg").first().isVisible()).toBe(false);
      expect(await page.locator(".events").first().isVisible()).toBe(true);
      const row = page.locator(".vaults tbody tr").first();
      expect(
        await row
          .locator("td")
          .nth(1)
          .evaluate((cell: { dataset: { label: string } }) => cell.dataset.label),
      ).toBe("Since");
      expect(await page.locator(".vaults").first().ariaSnapshot()).toContain(
        `rowheader "${reports.uuid(1)}`,
      );
    });

    const many = (count: number): HtmlParts => {
      const repeated = Array.from({ length: count }, (_, n) => ({
        ...(vaults[n % vaults.length] as (typeof vaults)[number]),
        uuid: reports.uuid(n),
        label: n % 3 === 0 ? `the card of the office in Sankt Gallen no. ${n}` : null,
      }));
      return { ...whole, vaults: repeated, summary: reports.summaryOf(repeated) };
    };

    describe.each([
      ["1 vault", many(1)],
      ["30 vaults", many(30)],
      ["3,000 vaults", many(3000)],
      ["hostile values", evil],
    ])("with %s", (_name, parts) => {
      test.each([320, 390, 600, 768, 1280])(
        "at %i pixels nothing overlaps, is cut off or scrolls sideways",
        async (width) => {
          const { page } = await open(parts, { viewport: { width, height: 900 } });
          await page.evaluate(
            "for (const each of document.querySelectorAll('details')) each.open = true",
          );
          expect(await page.evaluate(layoutFaults)).toEqual([]);
        },
      );
    });

    test("what overlaps, is cut off or scrolls sideways is found", async () => {
      const { page } = await open(whole, { viewport: { width: 390, height: 800 } });
      const faulty = async (change: string): Promise<unknown> => {
        await page.evaluate(change);
        return await page.evaluate(layoutFaults);
      };
      const cell = "document.querySelector('.vaults td')";
      expect(await faulty(`${cell}.style.paddingLeft = '.5rem'`)).toEqual([
        expect.stringMatching(/^overlap: Verdict \/ locked$|^overlap: locked \/ Verdict$/),
      ]);
      await page.evaluate(`${cell}.removeAttribute('style')`);
      expect(
        await faulty(
          "document.querySelector('section[aria-labelledby=summary] .found').style = 'white-space: nowrap; overflow: hidden'",
        ),
      ).toContainEqual(expect.stringMatching(/^cut: /));
      expect(
        await faulty(
          "document.querySelector('section[aria-labelledby=summary] .found').style.overflow = 'visible'",
        ),
      ).toContain("the page scrolls sideways");
    });

    test("a screen reader finds landmarks, headings, names and descriptions", async () => {
      const told = [reports.lockedByFailures(), reports.openExchange()];
      const { page } = await open({
        title: whole.title,
        generatedAt,
        vaults: told,
        summary: reports.summaryOf(told),
      });
      expect(await page.locator("body").ariaSnapshot()).toMatchSnapshot("the page");
      await page.locator("article summary").first().click();
      const rows = page.getByRole("article").first().getByRole("row");
      expect(await rows.count()).toBe(11);
      expect(await rows.nth(8).ariaSnapshot()).toMatchSnapshot("the event that locked");
      const timeline = page.getByRole("img", { name: `Timeline of vault ${reports.uuid(1)}` });
      expect(await timeline.count()).toBe(1);
      expect(await timeline.locator("desc").textContent()).toBe(
        "10 events from 2026-11-17 09:12:40 to 2026-11-20 15:02:11 UTC; verdict: locked. 3 events are part of the cause. The one at 2026-11-20 14:02:11 (read refused: credentials) locked the vault. The table below lists them.",
      );
      expect(await page.locator("#shown").getAttribute("aria-live")).toBe("polite");
    });

    const some = { ...whole, vaults: [reports.lockedByFailures(), reports.openExchange()] };

    test.each([
      ["light", 1200, some],
      ["dark", 400, evil],
    ] as const)("axe finds no fault in %s at %i", async (colorScheme, width, parts) => {
      const { page } = await open(parts, { colorScheme, viewport: { width, height: 900 } });
      await openAll(page);
      expect(await faults(page)).toEqual([]);
    });

    test("axe and this test find a fault where there is one", async () => {
      const { page } = await open({ ...whole, vaults: [reports.deleted()] });
      await page.evaluate(
        `document.body.insertAdjacentHTML("beforeend", '<main><input type="text"></main>')`,
      );
      expect((await faults(page)).join("\n")).toMatch(/label/);
    });

    test("dark and light differ; on paper there is ink on white and no filter, and nothing is cut off", async () => {
      const { page } = await open(whole);
      const ground = async (): Promise<unknown> =>
        await page.evaluate("getComputedStyle(document.body).backgroundColor");
      expect(await ground()).toBe("rgb(246, 247, 248)");
      await page.emulateMedia({ colorScheme: "dark" });
      expect(await ground()).toBe("rgb(20, 22, 26)");
      await page.emulateMedia({ media: "print", colorScheme: "dark" });
      expect(await ground()).toBe("rgb(255, 255, 255)");
      expect(
        await page.evaluate("getComputedStyle(document.querySelector('.timeline text')).fill"),
      ).toBe("rgb(51, 51, 51)");
      expect(await page.locator("#filter").isVisible()).toBe(false);
      await page.setViewportSize({ width: 690, height: 980 });
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(690);
      expect((await page.pdf({ format: "A4" })).length).toBeGreaterThan(20_000);
    });

    test("the largest page there is opens, and its filter answers at once", async () => {
      const most = isWhole ? 5000 : 310;
      const largest = Array.from({ length: most }, (_, n) => ({
        ...reports.lockedByFailures(),
        uuid: reports.uuid(n),
      }));
      const { page, trouble } = await open({
        ...whole,
        vaults: largest,
        summary: reports.summaryOf(largest),
      });
      expect([await visible(page, "tr"), await visible(page, "article")]).toEqual([most, 300]);
      const started = performance.now();
      await page.locator("#find").fill(reports.uuid(most - 79));
      expect(await shown(page)).toBe(`1 of ${most} vaults shown`);
      expect(performance.now() - started).toBeLessThan(10_000);
      expect(trouble).toEqual([]);
    });
  },
);
