// The process is taken away in the middle of its work, again and again.
import { ONCE, RESEARCHER, api, expect, test } from "../fixtures.js";

const ROUNDS = 3;

test("a killed server loses nothing that it acknowledged and doubles nothing", ONCE, async ({ page, signIn, doomed: server }) => {
  test.setTimeout(240_000);
  const acknowledged = new Map();
  const unanswered = [];
  let number = 0;

  for (let round = 0; round < ROUNDS; round += 1) {
    await signIn(server, RESEARCHER, "/sign-in");
    // Leave the page: its stream of events would complain when the server goes.
    await page.goto("about:blank");
    const submit = async () => {
      const name = `crash-${(number += 1)}`;
      const body = { name, charged_to: "perception", gpus: 1, min_runtime_s: 3600, external_id: name };
      try {
        const answer = await page.request.post(`${server.url}/api/v1/workloads`, {
          data: body,
          headers: { "Idempotency-Key": name, "Sec-Fetch-Site": "same-origin", Origin: server.url },
        });
        expect(answer.status(), await answer.text()).toBe(201);
        acknowledged.set(name, (await answer.json()).row.id);
      } catch (error) {
        if (!/ECONNREFUSED|ECONNRESET|socket hang up/.test(String(error))) throw error;
        unanswered.push(name);
      }
    };
    const load = (async () => {
      while (unanswered.length === round) await submit();
    })();
    await page.waitForTimeout(700 + 431 * round);
    await server.kill();
    await load;

    const audit = server.command("audit", "--data", server.folder);
    expect(audit.status, audit.stdout + audit.stderr).toBe(0);
    await server.start();
  }

  expect(acknowledged.size, "the load was real").toBeGreaterThan(ROUNDS * 5);
  await signIn(server, RESEARCHER, "/sign-in");
  await page.goto("about:blank");
  for (const [name, id] of acknowledged) {
    const { row, external_id } = await api(page, server, `/workloads/${id}`);
    expect(row.name).toBe(name);
    expect(external_id).toBe(name);
  }
  const ids = [...acknowledged.values()];
  expect(new Set(ids).size, "no id twice").toBe(ids.length);
  await server.stop();
});
