// A researcher's day: submit, see why it waits, see it start, take another one back.
import { RESEARCHER, api, expect, test } from "../fixtures.js";

/** Fills the form by its labels. */
async function fill(page, fields) {
  for (const [label, value] of Object.entries(fields)) {
    await page.getByRole("main").getByLabel(label, { exact: true }).fill(value);
  }
}

async function submit(page, follow, fields) {
  await fill(page, fields);
  await follow(page.getByRole("main").getByRole("button", { name: "Submit" }), /\/workloads\/w-\d+/);
  await expect(heading(page)).toHaveText(fields.Name);
  return new URL(page.url()).pathname;
}

const heading = (page) => page.getByRole("heading", { level: 1 });

const state = (page, word) => page.getByRole("main").getByText(word, { exact: true }).first();

test("a workload is submitted, waits with a reason, starts, and another one is cancelled", async ({
  page,
  quick,
  signIn,
  open,
  follow,
  eventually,
}, info) => {
  await signIn(quick, RESEARCHER, "/queue");

  await follow(page.getByRole("link", { name: "Submit a workload" }).first(), /\/workloads\/new/);
  const small = await submit(page, follow, {
    Name: `small of ${info.project.name}`,
    "GPUs in all": "1",
    "Minimum runtime, minutes": "60",
    // First of its team, so that only the team's standing decides when it starts.
    "Priority within the team": "1000",
  });

  // The whole pool at once: the example never leaves that much free.
  await open(quick, "/workloads/new");
  const large = await submit(page, follow, {
    Name: `large of ${info.project.name}`,
    "GPUs in all": "256",
    Hosts: "32",
    "Minimum runtime, minutes": "480",
  });
  await expect(state(page, "Queued")).toBeVisible();
  const id = large.split("/").pop();
  await eventually(async () => {
    const { row } = await api(page, quick, `/workloads/${id}`);
    expect(row.why?.sentence ?? "", "a workload that waits has a reason").not.toBe("");
    await expect(page.getByRole("region", { name: "Why" })).toContainText(row.why.sentence, { timeout: 500 });
  });

  await open(quick, small);
  await eventually(() => expect(state(page, "Protected")).toBeVisible({ timeout: 500 }));

  await open(quick, large);
  await follow(page.getByRole("link", { name: "Cancel workload…" }), /dialog=cancel/);
  const dialog = page.getByRole("dialog", { name: "Cancel workload" });
  await dialog.getByLabel("Reason, kept in the decision log").fill("asked for too much");
  await follow(
    dialog.getByRole("button", { name: "Cancel workload" }),
    (url) => url.pathname === large && !url.searchParams.has("dialog"),
  );
  await eventually(() => expect(state(page, "Cancelled")).toBeVisible({ timeout: 500 }));
  await expect(page.getByRole("main")).toContainText("asked for too much");
});

test("a refused form says which field and keeps what was typed", async ({ page, still, signIn, follow }) => {
  await signIn(still, RESEARCHER, "/workloads/new");
  await fill(page, { Name: "too large", "GPUs in all": "100000" });
  await follow(page.getByRole("main").getByRole("button", { name: "Submit" }), /refused=/);
  await expect(page.getByRole("alert").first()).toBeVisible();
  await expect(page.getByLabel("Name", { exact: true })).toHaveValue("too large");
  const gpus = page.getByLabel("GPUs in all");
  await expect(gpus).toHaveValue("100000");
  await expect(gpus).toHaveAttribute("aria-invalid", "true");
  await expect(gpus).toHaveAccessibleDescription(/256/);
});

test.describe("signed out", () => {
  // The page itself is answered with 401, which the browser notes.
  test.use({ tolerated: [/Failed to load resource.*401/] });

  test("somebody who is not signed in is asked to, and comes back", async ({ page, still, open, follow }) => {
    const response = await open(still, "/queue?mine=1");
    expect(response.status()).toBe(401);
    await follow(page.getByRole("banner").getByRole("link", { name: "Sign in" }), /\/sign-in\?next=/);
    await follow(page.getByRole("button", { name: `Sign in as ${RESEARCHER}` }), `${still.url}/queue?mine=1`);
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("Queue");
  });
});
