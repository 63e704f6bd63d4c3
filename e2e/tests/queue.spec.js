// The queue on the screen is the queue of the API.
import { MANAGER, api, expect, test } from "../fixtures.js";

async function placesAndIds(page) {
  const rows = page.getByRole("main").getByRole("table").first().getByRole("row");
  const texts = await rows.allInnerTexts();
  return texts.map((text) => text.match(/w-\d+/)?.[0]).filter(Boolean);
}

test("the rows stand in the order of the API, and every row says why it waits", async ({ page, still, signIn, open }) => {
  await signIn(still, MANAGER);
  await expect(async () => {
    const first = await api(page, still, "/queue");
    await open(still, "/queue");
    const ids = await placesAndIds(page);
    const text = await page.getByRole("main").innerText();
    const second = await api(page, still, "/queue");
    const order = (queue) => queue.rows.map((row) => row.id);
    // The pass of the engine may fall between the two readings; then look again.
    expect(order(second)).toEqual(order(first));
    expect(ids.length).toBeGreaterThan(50);
    expect(ids).toEqual(order(first));
    for (const row of second.rows.slice(0, 20)) expect(text).toContain(row.why.sentence);
  }).toPass({ timeout: 30_000 });
});

/** Every id, page by page. */
async function walk(page, follow, server) {
  const seen = [];
  for (;;) {
    seen.push(...(await placesAndIds(page)));
    const next = page.getByRole("link", { name: "Next page" });
    if ((await next.count()) === 0) return seen;
    await follow(next, server.url + (await next.getAttribute("href")));
    await expect.poll(async () => (await placesAndIds(page)).some((id) => !seen.includes(id))).toBe(true);
  }
}

test("all pages of the queue together are the queue", async ({ page, still, signIn, open, follow }) => {
  await signIn(still, MANAGER);
  await expect(async () => {
    const before = await api(page, still, "/queue");
    await open(still, "/queue");
    const seen = await walk(page, follow, still);
    const after = await api(page, still, "/queue");
    // A workload that starts meanwhile moves those behind it; then look again.
    expect(after.rows.map((row) => row.id)).toEqual(before.rows.map((row) => row.id));
    expect(new Set(seen).size, "no workload twice").toBe(seen.length);
    expect(seen.length).toBe(before.queued);
  }).toPass({ timeout: 80_000 });
});

test("filters are part of the address and can be taken away", async ({ page, still, signIn, open, follow }) => {
  await signIn(still, MANAGER);
  await open(still, "/queue");
  await page.getByLabel("Under").selectOption("perception");
  await follow(page.getByRole("button", { name: "Filter" }), /under=perception/);
  const queue = await api(page, still, "/queue?under=perception");
  expect(queue.rows.length).toBeGreaterThan(0);
  await expect(page.getByRole("main").getByText("Under: Perception")).toBeVisible();
  await expect(async () => expect(await placesAndIds(page)).toEqual(queue.rows.map((row) => row.id))).toPass();
  await follow(page.getByRole("link", { name: /Remove filter Under/ }), (url) => !url.searchParams.has("under"));
});

test("the queue of a running pool moves by itself", async ({ page, quick, signIn, open, eventually }) => {
  await signIn(quick, MANAGER);
  await open(quick, "/queue");
  const asOf = page.getByRole("banner").getByRole("time");
  const first = { ids: await placesAndIds(page), asOf: await asOf.getAttribute("datetime") };
  await eventually(async () => {
    expect(await placesAndIds(page)).not.toEqual(first.ids);
    expect(await asOf.getAttribute("datetime")).not.toBe(first.asOf);
  }, 30_000);
});
