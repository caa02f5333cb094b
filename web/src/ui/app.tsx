/** The application: controls at the left, views at the right. */

import { Controls } from "../controls/controls";
import { RunBar } from "../controls/run-bar";
import { Network } from "../net/network";
import { OwnControl } from "../own/own-control";
import { Remote, ResultPage } from "../remote/remote";
import { embedded, Notices, OpenWhole } from "../share/notices";
import { Views } from "../views/views";
import "./style.css";
import "./app.css";

/** Controls and views of the scenario: the main page, and the part of a lesson that is tried. */
export function Laboratory() {
  return (
    <>
      <RunBar />
      <div class="laboratory">
        <div>
          <Controls />
          <OwnControl />
        </div>
        <main>
          <Network />
          <Views />
        </main>
      </div>
    </>
  );
}

/** The page inside another one: what a scenario does, without the controls. */
function Embedded() {
  return (
    <div class="app">
      <Notices />
      <RunBar />
      <main>
        <Network />
        <Views />
      </main>
      <footer>
        <OpenWhole />
      </footer>
    </div>
  );
}

export function App() {
  if (embedded) return <Embedded />;
  return (
    <div class="app">
      <header>
        <h1>Narrows laboratory</h1>
        <nav aria-label="Pages">
          <a href="lessons/index.html">Lessons</a>
        </nav>
      </header>
      <Notices />
      <Remote />
      <Laboratory />
      <ResultPage />
    </div>
  );
}
