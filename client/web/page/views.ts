// All views of a profile, and the keys that hold everywhere.
import { byId } from "./dom";
import { showFlameGraph } from "./flame_graph";
import { showHeatMap } from "./heat_map";
import { showSides, showTree } from "./sides";
import type { State } from "./state";
import { showSummary } from "./summary";
import { showFunctions, showKeys, showSteps } from "./tables";
import { showWaits } from "./waits";

function listen(state: State): void {
  const { signal } = state;
  const search = byId("search") as HTMLInputElement;
  search.value = state.search;
  search.addEventListener(
    "input",
    () => {
      state.search = search.value;
      state.redraw();
    },
    { signal },
  );
  const kernel = byId("kernel") as HTMLInputElement;
  kernel.checked = state.selection.kernel;
  kernel.addEventListener("change", () => state.change({ kernel: kernel.checked }), { signal });
  document.addEventListener(
    "keydown",
    (event) => {
      const typing = event.target instanceof HTMLInputElement && event.target !== search;
      if (event.key === "Escape" && !typing) {
        search.value = "";
        state.search = "";
        state.clear();
      } else if (event.key === "/" && !typing && document.activeElement !== search) {
        event.preventDefault();
        search.focus();
      }
    },
    { signal },
  );
}

export function listenForTheme(): void {
  byId("theme").addEventListener("click", () => {
    const root = document.documentElement;
    const dark =
      root.dataset["theme"] === "dark" ||
      (!root.dataset["theme"] && matchMedia("(prefers-color-scheme: dark)").matches);
    root.dataset["theme"] = dark ? "light" : "dark";
  });
}

export function showViews(state: State): void {
  showSummary(state);
  showHeatMap(state);
  showFlameGraph(state);
  showFunctions(state);
  showSides(state);
  showKeys(state);
  showSteps(state);
  showWaits(state);
  showTree(state);
  listen(state);
  state.redraw();
}
