// The queue on the screen is the queue of the API.
import { MANAGER, api, expect, test } from "../fixtures.js";

async function placesAndIds(page) {
  const rows = page.getByRole("main").getByRole("table").first().getByRole("row");
  const texts = await rows.allInnerTexts();
  return texts.map((text) => text.match(/w-\d+/)?.[0]).filter(Boolean);
}

const ids = (queue) => queue.rows.map((row) => row.id);

test("the rows stand in the order of the API, and every row says why it waits", async ({ page, still, signIn, open }) => {
  await signIn(still, MANAGER);
  await expect(async () => {
    const first = await api(page, still, "/queue");
    await open(still, "/queue");
    const shown = await placesAndIds(page);
    const text = await page.getByRole("main").innerText();
    const second = await api(page, still, "/queue");
    // The pass of the engine may fall between the two readings; then look again.
    expect(ids(second)).toEqual(ids(first));
    expect(shown.length).toBeGreaterThan(50);
    expect(shown).toEqual(ids(first));
    for (const row of second.rows.slice(0, 20)) expect(text).toContain(row.why.sentence);
  }).toPass({ timeout: 30_000 });
});

test("the next page goes on where the first one ends", async ({ page, still, signIn, open, follow }) => {
  await signIn(still, MANAGER);
  await expect(async () => {
    const first = await api(page, still, "/queue");
    expect(first.next, "the example has more than one page").toBeTruthy();
    await open(still, "/queue");
    expect(await placesAndIds(page)).toEqual(ids(first));
    await follow(page.getByRole("link", { name: "Next page" }), /after=/);
    const second = await api(page, still, `/queue?after=${encodeURIComponent(first.next)}`);
    // Standings change as time goes by, and the order with them; then look again.
    await expect(async () => expect(await placesAndIds(page)).toEqual(ids(second))).toPass({ timeout: 2_000 });
    expect(ids(await api(page, still, "/queue"))).toEqual(ids(first));
    expect(ids(second).filter((id) => ids(first).includes(id))).toEqual([]);
    await follow(page.getByRole("link", { name: "First page" }), (url) => !url.searchParams.has("after"));
  }).toPass({ timeout: 60_000 });
});

test("filters are part of the address and can be taken away", async ({ page, still, signIn, open, follow }) => {
  await signIn(still, MANAGER);
  await open(still, "/queue");
  await page.getByLabel("Under").selectOption("perception");
  await follow(page.getByRole("button", { name: "Filter" }), /under=perception/);
  const queue = await api(page, still, "/queue?under=perception");
  expect(queue.rows.length).toBeGreaterThan(0);
  await expect(page.getByRole("main").getByText("Under: Perception")).toBeVisible();
  await expect(async () => expect(await placesAndIds(page)).toEqual(ids(queue))).toPass();
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
