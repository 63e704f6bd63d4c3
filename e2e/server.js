// The real server on the example, in a folder of its own.
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const binary = process.env.STINT_BIN ?? fileURLToPath(new URL("../target/debug/stint", import.meta.url));

// A debug build imports 45,000 rows before it answers for the first time.
const START_LIMIT_MS = 120_000;
const STOP_LIMIT_MS = 20_000;

/** How fast the shown clock runs: so slow that nothing moves during a test, or so fast that workloads start. */
export const STILL = 1;
export const QUICK = 600;

export class Server {
  #child;
  #log = "";

  constructor(speed) {
    this.speed = speed;
    this.folder = mkdtempSync(join(tmpdir(), "stint-e2e-"));
  }

  /** Starts it and waits until it is ready to serve. The second start goes on where the first one was. */
  async start() {
    const port = await freePort();
    this.url = `http://127.0.0.1:${port}`;
    const flags = ["demo", "--data", this.folder, "--listen", `127.0.0.1:${port}`, "--speed", String(this.speed)];
    const child = spawn(binary, flags, { stdio: ["ignore", "pipe", "pipe"] });
    this.#child = child;
    const keep = (chunk) => {
      this.#log = (this.#log + chunk).slice(-20_000);
    };
    child.stdout.on("data", keep);
    child.stderr.on("data", keep);
    child.ended = new Promise((resolve) => {
      child.on("exit", (code, signal) => resolve(signal ?? code));
      child.on("error", (error) => resolve(error.message));
    });
    const begun = Date.now();
    while (!(await this.#isReady())) {
      const ended = await Promise.race([child.ended, pause(100, "still running")]);
      if (ended !== "still running") throw new Error(`the server ended with ${ended}:\n${this.#log}`);
      if (Date.now() - begun > START_LIMIT_MS) throw new Error(`the server was not ready in time:\n${this.#log}`);
    }
    return this;
  }

  async #isReady() {
    try {
      return (await fetch(`${this.url}/readyz`)).ok;
    } catch {
      return false; // nobody listens yet
    }
  }

  /** Takes the process away between two instructions. */
  async kill() {
    this.#child.kill("SIGKILL");
    await this.#child.ended;
  }

  /** Asks it to stop, and expects that it does so cleanly. */
  async stop() {
    this.#child.kill("SIGTERM");
    const ended = await Promise.race([this.#child.ended, pause(STOP_LIMIT_MS, "still running", { ref: false })]);
    if (ended !== 0) throw new Error(`the server did not stop cleanly (${ended}):\n${this.#log}`);
  }

  /** Leaves nothing behind, whatever happened. */
  async clear() {
    if (this.#child?.exitCode === null && this.#child.signalCode === null) await this.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Runs another command of the binary on this server's data. */
  command(...flags) {
    return spawnSync(binary, flags, { cwd: this.folder, encoding: "utf8" });
  }
}

async function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.on("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}
