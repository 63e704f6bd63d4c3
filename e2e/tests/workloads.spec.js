// A researcher's day: submit, see why it waits, see it start, take another one back.
import { RESEARCHER, api, expect, test } from "../fixtures.js";

/** Fills the form; what a field is called is what its label says. */
async function fill(page, fields) {
  for (const [label, value] of Object.entries(fields)) {
    const field = page.getByLabel(label, { exact: false }).first();
    if ((await field.evaluate((element) => element.tagName)) === "SELECT") await field.selectOption(value);
    else await field.fill(value);
  }
}

const heading = (page) => page.getByRole("heading", { level: 1 });

test("a workload is submitted, waits with a reason, starts, and another one is cancelled", async ({
  page,
  quick,
  signIn,
  open,
  follow,
  eventually,
}, info) => {
  await signIn(quick, RESEARCHER, "/queue");

  const small = `small of ${info.project.name}`;
  await follow(page.getByRole("link", { name: "Submit a workload" }).first(), /\/workloads\/new/);
  await fill(page, {
    Name: small,
    GPUs: "1",
    "Minimum runtime": "60",
    Priority: "100",
  });
  await follow(page.getByRole("button", { name: /submit/i }), /\/workloads\/w-\d+/);
  const smallPage = new URL(page.url()).pathname;
  await expect(heading(page)).toHaveText(small);

  // The whole pool for a day: nothing of that size is ever free at once in the example.
  const large = `large of ${info.project.name}`;
  await open(quick, "/workloads/new");
  await fill(page, { Name: large, GPUs: "256", Hosts: "32", "Minimum runtime": "480" });
  await follow(page.getByRole("button", { name: /submit/i }), /\/workloads\/w-\d+/);
  const largePage = new URL(page.url()).pathname;
  await expect(heading(page)).toHaveText(large);
  await expect(page.getByRole("main").getByText("Queued", { exact: true }).first()).toBeVisible();
  const id = largePage.split("/").pop();
  await eventually(async () => {
    const shown = await page.getByRole("main").innerText();
    const { row } = await api(page, quick, `/workloads/${id}`);
    expect(row.why?.sentence ?? "", "a workload that waits has a reason").not.toBe("");
    expect(shown).toContain(row.why.sentence);
  });

  await open(quick, smallPage);
  await eventually(async () => {
    await expect(page.getByRole("main").getByText("Protected", { exact: true }).first()).toBeVisible({ timeout: 1000 });
  });

  await open(quick, largePage);
  await follow(page.getByRole("link", { name: /cancel workload/i }), /dialog=cancel/);
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel(/reason/i).fill("asked for too much");
  await dialog.getByRole("button", { name: /cancel workload/i }).click();
  await page.waitForURL((url) => url.pathname === largePage && !url.searchParams.has("dialog"));
  await eventually(async () => {
    await expect(page.getByRole("main").getByText("Cancelled", { exact: true }).first()).toBeVisible({ timeout: 1000 });
  });
});

test("a refused form says which field and keeps what was typed", async ({ page, still, signIn, follow }) => {
  await signIn(still, RESEARCHER, "/workloads/new");
  await fill(page, { Name: "too large", GPUs: "100000", "Minimum runtime": "60" });
  await follow(page.getByRole("button", { name: /submit/i }), /refused=/);
  await expect(page.getByRole("alert").first()).toBeVisible();
  await expect(page.getByLabel("Name").first()).toHaveValue("too large");
  const gpus = page.getByLabel("GPUs").first();
  await expect(gpus).toHaveValue("100000");
  await expect(gpus).toHaveAttribute("aria-invalid", "true");
  await expect(gpus).toHaveAccessibleDescription(/256/);
});

test("somebody who is not signed in is asked to, and comes back", async ({ page, still, open, follow }) => {
  await open(still, "/queue?mine=1");
  await follow(page.getByRole("banner").getByRole("link", { name: "Sign in" }), /\/sign-in\?next=/);
  await follow(page.getByRole("button", { name: `Sign in as ${RESEARCHER}` }), `${still.url}/queue?mine=1`);
});
