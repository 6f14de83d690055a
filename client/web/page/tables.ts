// Tables: functions, any key of samples, steps. A click on a head sorts, one on a row selects.
import { cyclesOf, cyclesPerInstruction, fewRan, missesPerThousand } from "./counts";
import { byId, fill, make } from "./dom";
import { axisOf, byAxis, byFunction, namedShare, stepsIn, Time, type Row } from "./engine";
import { count, duration, rate, share } from "./format";
import type { State } from "./state";

const kRows = 30;

interface Column {
  name: string;
  value: (row: Row) => number;
  text: (row: Row) => string;
}

/** Columns of the parts that occur. */
function partColumns(state: State, rows: Row[], of: (row: Row) => Time, all: number): Column[] {
  return state.profile.parts.flatMap((part, i) =>
    rows.some((row) => of(row).ns[i]! > 0)
      ? [
          {
            name: part,
            value: (row: Row) => of(row).ns[i]!,
            text: (row: Row) => share(of(row).ns[i]!, all),
          },
        ]
      : [],
  );
}

/** Columns of hardware counters, where these have counted: as in `report --counters`. */
function countColumns(state: State, rows: Row[], prefix: string, of: (row: Row) => Time): Column[] {
  if (state.profile.counts.length === 0) return [];
  const all = rows.reduce((sum, row) => sum + cyclesOf(row.self), 0);
  const marked = (row: Row, text: string): string => rough(text !== "" && fewRan(of(row)), text);
  const rates = (name: string, rateOf: (time: Time) => number | null): Column => ({
    name: prefix + name,
    value: (row) => rateOf(of(row)) ?? 0,
    text: (row) => {
      const value = rateOf(of(row));
      return marked(row, value === null ? "" : rate(value));
    },
  });
  return [
    {
      name: `${prefix}cycles`,
      value: (row) => cyclesOf(of(row)),
      text: (row) => marked(row, share(cyclesOf(of(row)), all)),
    },
    rates("CPI", cyclesPerInstruction),
    rates("misses", missesPerThousand),
  ];
}

/** With the mark of what rests on few samples. */
function rough(is: boolean, text: string): string {
  return (is ? "~" : "") + text;
}

interface Table {
  id: string;
  rows: Row[];
  columns: Column[];
  head: string; // of the names
  label: (row: Row) => string;
  pressed: (row: Row) => boolean;
  hit: (row: Row) => boolean;
  choose: (row: Row) => void;
}

class Sorting {
  column = "";
  all = false; // every row is shown
}

function drawTable(table: Table, sorting: Sorting, redraw: () => void): HTMLElement {
  const column = table.columns.find((one) => one.name === sorting.column);
  const rows = [...table.rows];
  if (column) rows.sort((a, b) => column.value(b) - column.value(a));
  const head = make(
    "tr",
    {},
    ...table.columns.map((one) =>
      make(
        "th",
        { scope: "col", "aria-sort": one === column ? "descending" : "none" },
        make(
          "button",
          {
            type: "button",
            click: () => {
              sorting.column = one.name;
              redraw();
            },
          },
          one.name,
        ),
      ),
    ),
    make("th", { scope: "col", class: "name" }, table.head),
  );
  const shown = sorting.all ? rows : rows.slice(0, kRows);
  const body = shown.map((row) =>
    make(
      "tr",
      { class: table.hit(row) ? "hit" : "", "data-name": row.name },
      ...table.columns.map((one) =>
        make("td", { "data-column": one.name, "data-value": one.value(row) }, one.text(row)),
      ),
      make(
        "th",
        { scope: "row", class: "name" },
        make(
          "button",
          {
            type: "button",
            "aria-pressed": String(table.pressed(row)),
            click: () => table.choose(row),
          },
          table.label(row),
        ),
        row.module ? make("small", {}, row.module) : "",
      ),
    ),
  );
  const more =
    rows.length > shown.length
      ? [
          make(
            "button",
            {
              type: "button",
              click: () => {
                sorting.all = true;
                redraw();
              },
            },
            `${count(rows.length - shown.length)} more`,
          ),
        ]
      : [];
  return make(
    "div",
    { class: "scroll" },
    make("table", { id: table.id }, make("thead", {}, head), make("tbody", {}, ...body)),
    ...more,
  );
}

export function showFunctions(state: State): void {
  const sorting = new Sorting();
  const draw = (): void => {
    const rows = byFunction(state.profile, state.stacks);
    const all = rows.reduce((sum, row) => sum + row.self.all, 0);
    const columns: Column[] = [
      { name: "self", value: (row) => row.self.all, text: (row) => share(row.self.all, all) },
      { name: "total", value: (row) => row.total.all, text: (row) => share(row.total.all, all) },
      ...partColumns(state, rows, (row) => row.self, all),
      ...countColumns(state, rows, "", (row) => row.self),
      ...countColumns(state, rows, "total ", (row) => row.total),
      { name: "samples", value: (row) => row.self.points, text: (row) => (row.self.points ? count(row.self.points) : "") },
    ];
    fill(
      byId("functions"),
      drawTable(
        {
          id: "function-table",
          rows,
          columns,
          head: "function",
          label: (row) => row.name,
          pressed: (row) => row.value === state.fn,
          hit: (row) => state.fits(row.name),
          choose: (row) => {
            state.fn = row.value === state.fn ? -1 : row.value;
            state.redraw();
          },
        },
        sorting,
        draw,
      ),
    );
  };
  state.draws(draw);
}

export function showKeys(state: State): void {
  const { profile } = state;
  const sorting = new Sorting();
  const choice = make("select", { id: "key", "aria-label": "key of the table" });
  for (const axis of profile.axes) choice.append(make("option", { value: axis.key }, axis.key));
  choice.value = state.key;
  const table = make("div", {});
  const coverage = make("p", { class: "dim", id: "coverage" });
  fill(byId("keys"), make("div", { class: "tools" }, choice), coverage, table);
  const draw = (): void => {
    const axis = axisOf(profile, state.key);
    if (!axis) return;
    const named = axis.key === "operator" ? namedShare(profile, state.samples, axis) : null;
    coverage.textContent =
      named === null ? "" : `operators named for ${(100 * named).toFixed(0)} % of working time`;
    const rows = byAxis(profile, state.samples, axis);
    const all = rows.reduce((sum, row) => sum + row.self.all, 0);
    fill(
      table,
      drawTable(
        {
          id: "key-table",
          rows,
          columns: [
            { name: "time", value: (row) => row.self.all, text: (row) => share(row.self.all, all) },
            ...partColumns(state, rows, (row) => row.self, all),
            ...countColumns(state, rows, "", (row) => row.self),
            { name: "samples", value: (row) => row.self.points, text: (row) => (row.self.points ? count(row.self.points) : "") },
          ],
          head: axis.key,
          label: (row) => row.name,
          pressed: (row) => state.isOnly(axis.key, row.value),
          hit: () => false,
          choose: (row) => state.toggle(axis.key, row.value),
        },
        sorting,
        draw,
      ),
    );
  };
  choice.addEventListener("change", () => {
    state.key = choice.value;
    sorting.column = "";
    draw();
  });
  state.draws(draw);
}

export function showSteps(state: State): void {
  const { profile } = state;
  const { steps } = profile;
  const section = byId("steps");
  const axis = axisOf(profile, "step");
  if (!steps || steps.count === 0 || !axis) {
    fill(section, make("p", { class: "dim" }, "No steps are known in this profile."));
    return;
  }
  const sorting = new Sorting();
  const { length } = steps.beginNs;
  const about =
    rough(steps.rough, `${count(steps.count)} steps, ${duration(steps.medianNs)} median`) +
    (length < steps.count ? `; the first ${count(length)} are here` : "");
  const none = new Time(profile);
  const valueOf = (step: number): number => axis.names.indexOf(String(step + 1));
  const draw = (): void => {
    const rows = stepsIn(profile, state.selection).map(
      (step): Row => ({ value: step, name: String(step + 1), module: "", self: none, total: none }),
    );
    const columns: Column[] = [
      ...steps.parts.map(({ name, ns }) => ({
        name,
        value: (row: Row) => ns[row.value]!,
        text: (row: Row) => (ns[row.value] ? rough(steps.rough, duration(ns[row.value]!)) : ""),
      })),
      { name: "begin", value: (row) => steps.beginNs[row.value]!, text: (row) => duration(steps.beginNs[row.value]!) },
    ];
    if (sorting.column === "") sorting.column = steps.parts[0]!.name;
    fill(
      section,
      make("p", { class: "dim" }, about),
      drawTable(
        {
          id: "step-table",
          rows,
          columns,
          head: "step",
          label: (row) => row.name,
          pressed: (row) => state.isOnly("step", valueOf(row.value)),
          hit: () => false,
          choose: (row) => {
            const value = valueOf(row.value);
            if (value >= 0) state.toggle("step", value);
          },
        },
        sorting,
        draw,
      ),
    );
  };
  state.draws(draw);
}
