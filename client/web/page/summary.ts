// The head: what was profiled, threads on average by state, and what is selected.
import { countedTimeText, countsText, kCountColumns } from "./counts";
import { byId, fill, make } from "./dom";
import { axisOf, filterText, kSecondNs, matching } from "./engine";
import { count, duration, shellWord, share, threads } from "./format";
import type { State } from "./state";

/** The length of time that the selection covers. */
export function lengthOf(state: State): number {
  const { selection, profile } = state;
  return Math.min(selection.toNs, profile.lengthNs) - Math.min(selection.fromNs, profile.lengthNs);
}

/** What hardware counters say of it, where these have counted. */
function drawCounts({ profile, total }: State): HTMLElement[] {
  if (profile.counts.length === 0) return [];
  const lines = [
    ["counts", countsText(total)],
    ["counted", countedTimeText(profile, total)],
    ["count-columns", kCountColumns],
  ];
  return lines.map(([id, text]) => make("p", { class: "dim count", id: id! }, text!));
}

function drawStates(state: State): void {
  const { profile } = state;
  const time = state.total;
  const all = time.all;
  const length = lengthOf(state);
  const bar = make("div", { class: "bar", role: "img", "aria-label": "shares of all thread time" });
  const legend = make("ul", { class: "legend" });
  const axis = axisOf(profile, "state");
  profile.parts.forEach((part, i) => {
    const ns = time.ns[i]!;
    if (ns === 0) return;
    bar.append(make("span", { class: `part ${part}`, style: `flex-grow:${ns}` }));
    const value = axis ? axis.names.indexOf(part) : -1;
    legend.append(
      make(
        "li",
        {},
        make(
          "button",
          {
            type: "button",
            "data-state": part,
            "data-ns": ns,
            "aria-pressed": String(state.isOnly("state", value)),
            title: "select only this state",
            click: () => state.toggle("state", value),
          },
          make("i", { class: `swatch ${part}` }),
          `${threads(ns, length)} ${part}`,
          make("small", {}, share(ns, all)),
        ),
      ),
    );
  });
  legend.append(
    make("li", { class: "sum", "data-ns": all }, `= ${threads(all, length)} threads on average`),
  );
  fill(byId("states"), bar, legend, ...drawCounts(state));
}

function drawSelection(state: State): void {
  const { profile, selection } = state;
  const parts: (Node | string)[] = [];
  const narrowed =
    selection.only.size > 0 || selection.fromNs > 0 || selection.toNs !== Infinity;
  if (selection.fromNs > 0 || selection.toNs !== Infinity)
    parts.push(
      `${(selection.fromNs / kSecondNs).toFixed(2)} s to ` +
        `${(Math.min(selection.toNs, profile.lengthNs) / kSecondNs).toFixed(2)} s`,
    );
  for (const [key, values] of selection.only) {
    const axis = axisOf(profile, key);
    if (axis) parts.push(`${key}: ${[...values].map((value) => axis.names[value]).join(", ")}`);
  }
  const text = parts.join("; ");
  const { origin } = state;
  const filter = [filterText(profile, selection), origin.filter && `(${origin.filter})`]
    .filter(Boolean)
    .join(" and ");
  const time = state.total;
  fill(
    byId("selection"),
    make(
      "span",
      {},
      narrowed ? `selected: ${text}. ` : "everything is selected. ",
      `${count(time.points)} samples, ${duration(time.all)} of thread time. `,
    ),
    ...(narrowed
      ? [make("button", { type: "button", id: "clear", click: () => state.clear() }, "select all (Esc)")]
      : []),
    ...(filter ? [make("code", {}, ` ${origin.command} --filter ${shellWord(filter)}`)] : []),
  );
  const found = byId("found");
  found.textContent =
    state.search === ""
      ? ""
      : `${(100 * matching(profile, state.stacks, (name) => state.fits(name))).toFixed(1)} % of the time matches`;
}

export function showSummary(state: State): void {
  const { profile } = state;
  fill(byId("title"), profile.title);
  fill(byId("facts"), [profile.host, profile.begin, ...profile.facts].filter(Boolean).join(" · "));
  fill(byId("notes"), ...profile.notes.map((note) => make("li", {}, note)));
  document.title = `${profile.title} - profd`;
  state.draws(() => {
    drawStates(state);
    drawSelection(state);
  });
}
