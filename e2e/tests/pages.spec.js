// Every page, wide and narrow, light and dark.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { MANAGER, ONCE, api, expect, test } from "../fixtures.js";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const shots = fileURLToPath(new URL("../shots/", import.meta.url));

const PAGES = {
  now: () => "/",
  queue: () => "/queue",
  "queue, nothing found": () => "/queue?mine=1&under=speech",
  workload: ({ workload }) => `/workloads/${workload}`,
  "cancel workload": ({ workload }) => `/workloads/${workload}?dialog=cancel`,
  "new workload": () => "/workloads/new",
  standing: () => "/standing",
  "standing of a program": () => "/standing?node=language",
  budgets: ({ period }) => `/budgets/${period}`,
  "move hours": ({ period }) => `/budgets/${period}?dialog=move&from=perception&to=speech&hours=500`,
  hosts: () => "/hosts",
  "sign in": () => "/sign-in",
};

const WIDTHS = [360, 1280];
const SCHEMES = ["light", "dark"];

async function ids(page, server) {
  const periods = await api(page, server, "/periods");
  const { rows } = await api(page, server, "/queue");
  return { period: periods.find((period) => period.current).id, workload: rows[0].id };
}

/** One heading, nothing that sticks out, every field labelled. */
async function checkShape(page, what) {
  await expect(page.getByRole("heading", { level: 1 }), `${what}: one main heading`).toHaveCount(1);
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  expect(overflow, `${what}: pixels that stick out to the right`).toBeLessThanOrEqual(0);
  expect(await page.title(), `${what}: the title names the page and the product`).toMatch(/\S+ · Stint$/);
}

async function accessibilityProblems(page) {
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  return violations.flatMap((rule) => rule.nodes.map((node) => `${rule.id}: ${node.target} ${node.failureSummary}`));
}

for (const [name, path] of Object.entries(PAGES)) {
  test(`${name}: one heading, no sideways scrolling, accessible`, async ({ page, still, signIn, open, javaScriptEnabled }, info) => {
    if (javaScriptEnabled) await page.addInitScript(axe);
    await signIn(still, MANAGER);
    const address = path(await ids(page, still));
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 800 });
      for (const colorScheme of SCHEMES) {
        await page.emulateMedia({ colorScheme });
        const response = await open(still, address);
        const what = `${name} at ${width} px, ${colorScheme}`;
        expect(response.status(), what).toBe(200);
        await checkShape(page, what);
        if (javaScriptEnabled) expect(await accessibilityProblems(page), what).toEqual([]);
        const file = `${name.replaceAll(/[^a-z]+/g, "-")}-${width}-${colorScheme}-${info.project.name.replace(" ", "-")}.png`;
        await page.screenshot({ path: shots + file });
      }
    }
  });
}

test("a visitor sees the pool on the first page, and a way to sign in", async ({ page, still, open }) => {
  await open(still, "/");
  await checkShape(page, "signed out");
  await expect(page.getByRole("main")).toContainText(/philly/);
  await expect(page.getByRole("banner").getByRole("link", { name: "Sign in" })).toBeVisible();
});

test.describe("what isn't there", () => {
  test.use({ tolerated: [/Failed to load resource.*404/] });

  test("an unknown address is a page of its own with status 404", async ({ page, still, signIn, open }) => {
    await signIn(still, MANAGER);
    for (const path of ["/nowhere", "/workloads/w-999999999"]) {
      const response = await open(still, path);
      expect(response.status(), path).toBe(404);
      await checkShape(page, path);
      await expect(page.getByRole("navigation", { name: "Main" })).toBeVisible();
    }
  });
});

test("every page is reached by the navigation and marks where one is", async ({ page, still, signIn, follow }) => {
  await signIn(still, MANAGER);
  for (const [name, path] of [["Queue", "/queue"], ["Standing", "/standing"], ["Budgets", "/budgets"], ["Hosts", "/hosts"], ["Now", "/"]]) {
    const link = page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: new RegExp(`^${name}`) });
    await follow(link, (url) => (path === "/" ? url.pathname === "/" : url.pathname.startsWith(path)));
    await expect(link).toHaveAttribute("aria-current", "page");
    await expect(page.getByRole("heading", { level: 1 })).toHaveCount(1);
  }
});

test("the browser's code leaves the text of a page as the server wrote it", ONCE, async ({ page, still, signIn }) => {
  await signIn(still, MANAGER);
  const known = await ids(page, still);
  let release;
  await page.route("**/pkg/*.wasm", async (route) => {
    await new Promise((resolve) => (release = resolve));
    await route.continue();
  });
  for (const [name, path] of Object.entries(PAGES)) {
    release = undefined;
    await page.goto(still.url + path(known), { waitUntil: "commit" });
    await page.waitForFunction(() => document.readyState !== "loading");
    await expect.poll(() => release !== undefined, { message: `${name} asks for the browser's code` }).toBe(true);
    const text = () => page.evaluate(() => document.body.textContent.replaceAll(/\s+/g, " ").trim());
    await expect(page.locator("html[data-hydrated]")).toHaveCount(0);
    const written = await text();
    release();
    await page.locator("html[data-hydrated]").waitFor({ state: "attached" });
    expect(await text(), name).toBe(written);
  }
});

test("compressed copies are served to those who understand them", ONCE, async ({ page, still }) => {
  for (const file of ["/pkg/stint.wasm", "/pkg/stint.js", "/pkg/stint.css"]) {
    const plain = await page.request.get(still.url + file, { headers: { "Accept-Encoding": "identity" } });
    const small = await page.request.get(still.url + file, { headers: { "Accept-Encoding": "br" } });
    expect(small.headers()["content-encoding"], file).toBe("br");
    expect(small.headers().vary?.toLowerCase(), file).toContain("accept-encoding");
    expect(await small.body(), file).toEqual(await plain.body());
  }
});
