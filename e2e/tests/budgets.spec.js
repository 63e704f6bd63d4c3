// A manager moves hours between two teams.
import { MANAGER, ONCE, RESEARCHER, api, expect, test } from "../fixtures.js";

const AMOUNT = 500 * 3600;

/** Two teams under different programs. */
const FROM = { id: "perception", name: "Perception" };
const TO = { id: "speech", name: "Speech" };

async function budgets(page, server) {
  const periods = await api(page, server, "/periods");
  const period = periods.find((period) => period.current).id;
  const tree = await api(page, server, `/budgets/${period}/tree`);
  return { period, granted: Object.fromEntries(tree.rows.map((row) => [row.node, row.granted_gpu_seconds])) };
}

const shown = (seconds) => Math.floor(seconds / 3600).toLocaleString("en-US");

test("five hundred GPU-hours are moved in three clicks, and the effect is seen before", async ({
  page,
  still,
  signIn,
  open,
  follow,
  javaScriptEnabled,
}) => {
  await signIn(still, MANAGER);
  const before = await budgets(page, still);
  await open(still, `/budgets/${before.period}`);
  const row = (node) => page.getByRole("treegrid").getByRole("row", { name: node.name });
  await expect(row(FROM)).toContainText(shown(before.granted[FROM.id]));

  let clicks = 0;
  const click = async (target, url) => {
    clicks += 1;
    await follow(target, url);
  };
  await click(page.getByRole("link", { name: `Move hours from ${FROM.name}` }), /dialog=move/);
  const dialog = page.getByRole("dialog", { name: "Move hours" });
  await expect(dialog.getByLabel("From")).toHaveValue(FROM.id);
  await dialog.getByLabel("To").selectOption(TO.id);
  await dialog.getByLabel("Hours, GPU-h").fill("500");
  await dialog.getByLabel("Reason, kept in the ledger").fill("a new microphone array");
  if (!javaScriptEnabled) await click(dialog.getByRole("button", { name: "Show effect" }), /hours=500/);

  await expect(dialog).toContainText("Moves 500.00 GPU-h from Perception to Speech.");
  const effect = dialog.getByRole("region", { name: "Before and after" });
  await expect(effect.getByRole("row", { name: FROM.name })).toContainText(shown(before.granted[FROM.id] - AMOUNT));
  await expect(effect.getByRole("row", { name: TO.name })).toContainText(shown(before.granted[TO.id] + AMOUNT));
  await expect(dialog.getByLabel("Reason, kept in the ledger")).toHaveValue("a new microphone array");
  expect((await budgets(page, still)).granted, "seeing the effect changes nothing").toEqual(before.granted);

  await click(dialog.getByRole("button", { name: "Move 500.00 GPU-h" }), /moved=t-\d+/);
  expect(clicks).toBeLessThanOrEqual(3);

  await expect(page.getByRole("dialog")).toHaveCount(0);
  await expect(row(FROM)).toContainText(shown(before.granted[FROM.id] - AMOUNT));
  await expect(row(TO)).toContainText(shown(before.granted[TO.id] + AMOUNT));
  const after = await budgets(page, still);
  expect(after.granted[FROM.id]).toBe(before.granted[FROM.id] - AMOUNT);
  expect(after.granted[TO.id]).toBe(before.granted[TO.id] + AMOUNT);
  expect(after.granted.institute, "nothing comes from nowhere").toBe(before.granted.institute);
});

test("more than a team can give is refused before and after the click, and nothing is lost of what was typed", async ({
  page,
  still,
  signIn,
  open,
  follow,
}) => {
  await signIn(still, MANAGER);
  const before = await budgets(page, still);
  await open(still, `/budgets/${before.period}?dialog=move&from=${FROM.id}&to=${TO.id}&hours=9999999`);
  const dialog = page.getByRole("dialog", { name: "Move hours" });
  await expect(dialog.getByRole("alert")).toBeVisible();
  await expect(dialog.getByLabel("Hours, GPU-h")).toHaveAccessibleDescription(/Perception can give at most [\d,.]+ GPU-h/);

  await dialog.getByLabel("Reason, kept in the ledger").fill("everything");
  await follow(dialog.getByRole("button", { name: "Move 9,999,999.00 GPU-h" }), /refused=/);
  await expect(dialog.getByRole("alert").first()).toBeVisible();
  await expect(dialog.getByLabel("Hours, GPU-h")).toHaveValue("9999999");
  await expect(dialog.getByLabel("Reason, kept in the ledger")).toHaveValue("everything");
  expect((await budgets(page, still)).granted).toEqual(before.granted);
});

test("a researcher sees the budgets and is offered no move", async ({ page, still, signIn }) => {
  await signIn(still, RESEARCHER, "/budgets");
  await expect(page.getByRole("treegrid")).toBeVisible();
  await expect(page.getByRole("link", { name: "Move hours" })).toHaveCount(0);
});

test("a form sent from another site changes nothing", ONCE, async ({ page, still, signIn }) => {
  await signIn(still, MANAGER);
  const before = await budgets(page, still);
  const answer = await page.request.post(`${still.url}/budgets/${before.period}/transfers`, {
    form: { pool: "philly", from: FROM.id, to: TO.id, hours: "500", reason: "x", idempotency_key: "forged" },
    headers: { Origin: "https://elsewhere.example", "Sec-Fetch-Site": "cross-site" },
    maxRedirects: 0,
  });
  expect(answer.status()).toBe(403);
  expect((await budgets(page, still)).granted).toEqual(before.granted);
});
