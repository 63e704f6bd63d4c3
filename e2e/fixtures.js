// What every test gets: a server, and a page that tolerates no complaint of the browser.
import { test as base, expect } from "@playwright/test";
import { QUICK, STILL, Server } from "./server.js";

/** People of the example. */
export const MANAGER = "Mira Castell";
export const RESEARCHER = "Noor Haddad";

/** A test that would be the same without scripts. */
export const ONCE = { tag: "@once" };

export { expect };

const serverAt = (speed) => [
  async ({}, use) => {
    const server = new Server(speed);
    try {
      await use(await server.start());
      await server.stop();
    } finally {
      await server.clear();
    }
  },
  { scope: "worker", timeout: 150_000 },
];

export const test = base.extend({
  /** A server whose clock runs as ours: nothing moves while a test looks. */
  still: serverAt(STILL),
  /** A server on which an hour passes in six seconds. */
  quick: serverAt(QUICK),

  /** A server for one test, which may kill it. */
  doomed: [
    async ({}, use) => {
      const server = new Server(QUICK);
      try {
        await use(await server.start());
      } finally {
        await server.clear();
      }
    },
    { timeout: 150_000 },
  ],

  /** Complaints of the browser that a test expects, as patterns. */
  tolerated: [[], { option: true }],

  page: async ({ page, tolerated }, use) => {
    const complaints = [];
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) complaints.push(`${message.type()}: ${message.text()}`);
    });
    page.on("pageerror", (error) => complaints.push(`thrown: ${error.message}`));
    page.on("response", (response) => {
      if (response.status() >= 500) complaints.push(`${response.status()} ${response.url()}`);
    });
    await use(page);
    const unexpected = complaints.filter((text) => !tolerated.some((pattern) => pattern.test(text)));
    expect(unexpected, "the browser complained").toEqual([]);
  },

  /** Opens a page of a server; with scripts, waits until they have taken over. */
  open: async ({ page, javaScriptEnabled }, use) => {
    await use(async (server, path) => {
      const response = await page.goto(server.url + path);
      await settled(page, javaScriptEnabled);
      return response;
    });
  },

  /** Clicks something that leads to another page, and waits for that page. */
  follow: async ({ page, javaScriptEnabled }, use) => {
    await use(async (target, url) => {
      await target.click();
      await page.waitForURL(url);
      await settled(page, javaScriptEnabled);
    });
  },

  /** Signs in by the button of the sign-in page. */
  signIn: async ({ page, open, follow }, use) => {
    await use(async (server, name, next = "/") => {
      await open(server, `/sign-in?next=${encodeURIComponent(next)}`);
      await follow(page.getByRole("button", { name: `Sign in as ${name}` }), server.url + next);
      await expect(page.getByRole("banner").getByText(name)).toBeVisible();
    });
  },

  /** Waits until the page shows something: with scripts it comes by itself, without them by asking again. */
  eventually: async ({ page, javaScriptEnabled }, use) => {
    await use(async (check, timeout = 60_000) => {
      const attempt = async () => {
        if (!javaScriptEnabled) await page.reload();
        await check();
      };
      await expect(attempt).toPass({ timeout, intervals: [500] });
    });
  },
});

/** Until then a click would do what it does without scripts. */
async function settled(page, javaScriptEnabled) {
  if (javaScriptEnabled) await page.locator("html[data-hydrated]").waitFor({ state: "attached" });
}

/** The API as the person who is signed in on the page. */
export async function api(page, server, path) {
  const response = await page.request.get(`${server.url}/api/v1${path}`);
  expect(response.ok(), `${path}: ${response.status()}`).toBe(true);
  return response.json();
}
