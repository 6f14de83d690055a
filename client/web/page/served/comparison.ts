// A comparison: how the states and the functions of what is shown differ from what it is compared
// with.
import { fill, make } from "../dom";
import { count, duration } from "../format";
import type { Diff, DiffTime } from "./api";
import { changeClass, changeText, showDiffGraph } from "./diff_graph";

const kRows = 30;

function cells(time: DiffTime): HTMLElement[] {
  const { a_ns: a, b_ns: b } = time;
  return [
    make("td", { "data-column": "before", "data-value": a }, a ? duration(a) : ""),
    make("td", { "data-column": "now", "data-value": b }, b ? duration(b) : ""),
    make(
      "td",
      { "data-column": "change", "data-value": b - a },
      make("span", { class: `change ${changeClass(a, b)}` }, changeText(a, b)),
    ),
  ];
}

function functionTable(diff: Diff, all: boolean, redraw: (all: boolean) => void): HTMLElement[] {
  const shown = all ? diff.functions : diff.functions.slice(0, kRows);
  const head = make(
    "tr",
    {},
    ...["before", "now", "change", "self before", "self now", "change of self"].map((name) =>
      make("th", { scope: "col" }, name),
    ),
    make("th", { scope: "col", class: "name" }, "function"),
  );
  const rows = shown.map((one) =>
    make(
      "tr",
      { "data-name": one.name },
      ...cells(one.total),
      ...cells(one.self),
      make("th", { scope: "row", class: "name" }, one.name),
    ),
  );
  const table = make("table", { id: "diff-table" }, make("thead", {}, head), make("tbody", {}, ...rows));
  const more = diff.functions.length - shown.length;
  return [
    make("div", { class: "scroll" }, table),
    ...(more > 0
      ? [make("button", { type: "button", id: "diff-more", click: () => redraw(true) }, `${count(more)} more`)]
      : []),
  ];
}

export function showComparison(
  element: HTMLElement,
  diff: Diff,
  names: { before: string; now: string },
  fits: (name: string) => boolean,
): void {
  const graph = make("div", { id: "diff-graph" });
  const table = make("div", {});
  const drawTable = (all: boolean): void => fill(table, ...functionTable(diff, all, drawTable));
  const scaled = Math.abs(diff.scale_of_a - 1) > 1e-9;
  fill(
    element,
    make("h2", { id: "comparison-title" }, "What changed"),
    make(
      "p",
      { class: "dim" },
      `before: ${names.before} (${duration(diff.a.elapsed_ns)}, ${count(diff.a.samples)} samples). ` +
        `now: ${names.now} (${duration(diff.b.elapsed_ns)}, ${count(diff.b.samples)} samples). ` +
        (scaled ? "Times of before are scaled to the length of now." : ""),
    ),
    make(
      "ul",
      { class: "legend", id: "diff-states" },
      ...diff.states.map((state) =>
        make(
          "li",
          { "data-state": state.name, "data-a": state.a_ns, "data-b": state.b_ns },
          make("i", { class: `swatch ${state.state}` }),
          `${state.name} ${duration(state.a_ns)} to ${duration(state.b_ns)} `,
          make("span", { class: `change ${changeClass(state.a_ns, state.b_ns)}` }, changeText(state.a_ns, state.b_ns)),
        ),
      ),
    ),
    make(
      "p",
      { class: "dim", id: "diff-key" },
      "colours: ",
      ...[["more3", "more than before"], ["new", "new"], ["less3", "less"], ["gone", "gone"]].map(([kind, text]) =>
        make("span", { class: `change ${kind}` }, text!),
      ),
      "widths are the sum of both sides",
    ),
    graph,
    make("h3", {}, "functions, the largest change first"),
    table,
  );
  drawTable(false);
  showDiffGraph(graph, diff, fits);
}
