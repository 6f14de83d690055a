// The heat map of time: a column is a second, a row a part of it. What is dragged over is selected.
import { byId, fill, make } from "./dom";
import { heat, kSecondNs, select } from "./engine";
import type { State } from "./state";

const kRows = 25;
const kLevels = 5;

export function showHeatMap(state: State): void {
  const { profile } = state;
  const section = byId("heat");
  if (!profile.hasTimes || profile.lengthNs === 0) {
    fill(section, make("p", {}, "The samples of this profile are sums over time: there is no course of it."));
    return;
  }
  const shown = new Map<string, Set<number>>([
    ["running", new Set(profile.parts.flatMap((part, i) => (part === "working" || part === "spinning" ? [i] : [])))],
    ["runnable", new Set(profile.parts.flatMap((part, i) => (part === "runnable" ? [i] : [])))],
    ["blocked", new Set(profile.parts.flatMap((part, i) => (part === "blocked" ? [i] : [])))],
  ]);
  const choice = make("select", { id: "heat-state", "aria-label": "state that the heat map shows" });
  for (const name of shown.keys()) choice.append(make("option", { value: name }, name));
  const grid = make("div", {
    class: "grid",
    tabindex: 0,
    role: "application",
    "aria-label": "time by second; arrow keys move a selection of a second, shift extends it",
  });
  const words = make("p", { class: "dim", id: "heat-words" });
  fill(section, make("div", { class: "tools" }, choice), grid, words);

  let anchor: number | null = null; // cell where the drag began
  const from = (cell: number): number => (cell * kSecondNs) / kRows;
  const take = (a: number, b: number): void =>
    state.change({ fromNs: from(Math.min(a, b)), toNs: from(Math.max(a, b) + 1) });
  const cellOf = (event: PointerEvent): number | null => {
    const target = document.elementFromPoint(event.clientX, event.clientY);
    const cell = target instanceof HTMLElement ? target.dataset["cell"] : undefined;
    return cell === undefined ? null : Number(cell);
  };
  const draw = (): void => {
    const map = heat(profile, select(profile, state.selection, true), shown.get(choice.value)!, kRows);
    const columns: HTMLElement[] = [];
    for (let column = 0; column < map.columns; ++column) {
      const cells: HTMLElement[] = [];
      for (let row = 0; row < kRows; ++row) {
        const cell = column * kRows + row;
        const ns = map.cells[cell]!;
        const level = ns === 0 ? 0 : Math.max(1, Math.ceil((kLevels * ns) / map.most));
        const at = from(cell);
        const inside = at >= state.selection.fromNs && at < state.selection.toNs;
        cells.push(
          make("i", {
            class: `cell heat${level}${inside && state.selection.toNs !== Infinity ? " in" : ""}`,
            "data-cell": cell,
            "data-ns": ns,
            title: `${(at / kSecondNs).toFixed(2)} s: ${(ns / map.rowNs).toFixed(2)} threads ${choice.value}`,
          }),
        );
      }
      columns.push(make("div", { class: "second" }, ...cells));
    }
    fill(grid, ...columns);
    words.textContent =
      "Drag over the map to select a range of time. " +
      `Darkest: ${(map.most / map.rowNs).toFixed(2)} threads ${choice.value} at once, in parts of ${1000 / kRows} ms.`;
  };
  choice.addEventListener("change", draw);
  grid.addEventListener("pointerdown", (event) => {
    anchor = cellOf(event);
    if (anchor !== null) event.preventDefault();
    grid.focus();
  });
  window.addEventListener(
    "pointerup",
    (event) => {
      const cell = cellOf(event);
      if (anchor !== null && cell !== null) take(anchor, cell);
      anchor = null;
    },
    { signal: state.signal },
  );
  grid.addEventListener("keydown", (event) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const { fromNs, toNs } = state.selection;
    const last = Math.ceil(profile.lengthNs / kSecondNs) - 1;
    const none = toNs === Infinity;
    const first = none ? (step > 0 ? -1 : last + 1) : Math.floor(fromNs / kSecondNs);
    const end = none ? first + 1 : Math.ceil(toNs / kSecondNs);
    const begin = Math.max(0, Math.min(last, event.shiftKey && !none ? first : first + step));
    const until = event.shiftKey && !none ? Math.max(begin + 1, Math.min(last + 1, end + step)) : begin + 1;
    state.change({ fromNs: begin * kSecondNs, toNs: until * kSecondNs });
  });
  state.draws(draw);
}
