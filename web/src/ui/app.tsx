/** The application: controls at the left, views at the right. */

import { Controls } from "../controls/controls";
import { Network } from "../net/network";
import { OwnControl } from "../own/own-control";
import { Views } from "../views/views";
import "./style.css";
import "./app.css";

/** Controls and views of the scenario: the main page, and the part of a lesson that is tried. */
export function Laboratory() {
  return (
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
  );
}

export function App() {
  return (
    <div class="app">
      <header>
        <h1>Narrows laboratory</h1>
        <nav aria-label="Pages">
          <a href="lessons/index.html">Lessons</a>
        </nav>
      </header>
      <Laboratory />
    </div>
  );
}
