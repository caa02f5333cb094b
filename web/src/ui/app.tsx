/** The application: controls at the left, views at the right. */

import { Controls } from "../controls/controls";
import { Network } from "../net/network";
import { OwnControl } from "../own/own-control";
import { Views } from "../views/views";
import "./style.css";
import "./app.css";

export function App() {
  return (
    <div class="app">
      <header>
        <h1>Narrows laboratory</h1>
      </header>
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
