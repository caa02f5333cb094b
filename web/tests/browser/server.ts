/** `narrows ui` for tests: the server of this checkout's package, with the page that the tests built. */

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";

const ROOT = join(import.meta.dirname, "../../..");

const environment = { ...process.env, PYTHONPATH: join(ROOT, "python") };

/** A Python with the package's dependencies and its extra `ui`; undefined if there is none. */
export const python: string | undefined = [
  join(ROOT, ".venv/bin"),
  ...(process.env.VIRTUAL_ENV ? [join(process.env.VIRTUAL_ENV, "bin")] : []),
  ...(process.env.PATH ?? "").split(delimiter),
]
  .map((directory) => join(directory, "python3"))
  .find((path) => existsSync(path) && runs(path));

function runs(path: string): boolean {
  try {
    execFileSync(path, ["-c", "import narrows._core, numpy, starlette, uvicorn, websockets"], {
      env: environment,
      stdio: "ignore",
    });
    return true;
  } catch {
    return false;
  }
}

const SERVE = `
import signal, sys
from pathlib import Path
from narrows.ui import opened, serve
server = serve.start(opened.find(sys.argv[2] or None), page=Path(sys.argv[1]))
print(server.address, flush=True)
signal.pause()
`;

/** A running server. */
export interface Server {
  address: string;
  process: ChildProcess;
}

/** Starts the server in a directory; `name` is what it opens, or empty. */
export async function serve(page: string, directory: string, name: string): Promise<Server> {
  const child = spawn(python ?? "python3", ["-c", SERVE, page, name], {
    cwd: directory,
    env: environment,
    stdio: ["ignore", "pipe", "inherit"],
  });
  for await (const line of createInterface(child.stdout)) return { address: line, process: child };
  throw new Error("the server ended");
}

/** Runs a text of Python in a directory, with the package. */
export function runPython(directory: string, text: string): void {
  execFileSync(python ?? "python3", ["-c", text], { cwd: directory, env: environment, stdio: "inherit" });
}
