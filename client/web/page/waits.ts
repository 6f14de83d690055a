// Who waits, and on whom in the end: bands as wide as the time.
import type { Axis } from "./data";
import { byId, fill, make, svg } from "./dom";
import { axisOf, links, type Link } from "./engine";
import { duration, share } from "./format";
import type { State } from "./state";

const kMost = 16; // on each side; the others are one
const kHeight = 340;
const kGap = 6;
const kLeast = 1; // px of a band
const kLabel = 12; // px that a name needs

interface Side {
  value: number;
  ns: number;
  top: number;
  height: number;
  used: number; // px that bands have taken
}

/** The values of one side, most time first, and where they stand. */
function place(all: Link[], of: (link: Link) => number, total: number): Map<number, Side> {
  const sides = new Map<number, Side>();
  for (const link of all) {
    const side = sides.get(of(link)) ?? { value: of(link), ns: 0, top: 0, height: 0, used: 0 };
    side.ns += link.ns;
    sides.set(side.value, side);
  }
  const room = kHeight - kGap * (sides.size - 1);
  let top = 0;
  for (const side of [...sides.values()].sort((a, b) => (a.value < 0 ? 1 : b.value < 0 ? -1 : b.ns - a.ns))) {
    side.top = top;
    side.height = Math.max(kLeast, (room * side.ns) / total);
    top += side.height + kGap;
  }
  return sides;
}

export function showWaits(state: State): void {
  const { profile } = state;
  const section = byId("waits");
  const part = profile.parts.indexOf("blocked");
  const threads = axisOf(profile, "thread");
  const whom = axisOf(profile, "on-whom") ?? axisOf(profile, "wait");
  if (!threads || !whom) {
    fill(section, make("p", { class: "dim" }, "No thread waits in this profile."));
    return;
  }
  const nameOf = (axis: Axis, value: number): string => (value < 0 ? "all others" : axis.names[value]!);
  state.draws(() => {
    const all = links(profile, state.samples, threads, whom, part, kMost);
    const total = all.reduce((sum, link) => sum + link.ns, 0);
    if (total === 0) {
      fill(section, make("p", { class: "dim" }, "No thread waits in what is selected."));
      return;
    }
    const left = place(all, (link) => link.from, total);
    const right = place(all, (link) => link.to, total);
    const bands = svg("svg", { viewBox: `0 0 100 ${kHeight}`, preserveAspectRatio: "none", role: "list" });
    // In the order of the other side, so that bands cross as little as they can.
    const end = (side: Side, link: Link): number => {
      const width = Math.max(kLeast, (side.height * link.ns) / side.ns);
      side.used += width;
      return side.top + side.used - width / 2;
    };
    const ends = new Map<Link, [number, number]>();
    for (const link of [...all].sort((x, y) => right.get(x.to)!.top - right.get(y.to)!.top))
      ends.set(link, [end(left.get(link.from)!, link), 0]);
    for (const link of [...all].sort((x, y) => left.get(x.from)!.top - left.get(y.from)!.top))
      ends.get(link)![1] = end(right.get(link.to)!, link);
    const room = kHeight - kGap * (Math.max(left.size, right.size) - 1);
    for (const link of all) {
      const [y, z] = ends.get(link)!;
      const tip = `${nameOf(threads, link.from)} waits for ${nameOf(whom, link.to)}: ${duration(link.ns)}, ${share(link.ns, total)} of the waits`;
      const band = svg("path", {
        d: `M0 ${y} C50 ${y} 50 ${z} 100 ${z}`,
        "stroke-width": Math.max(kLeast, (room * link.ns) / total),
        class: "band",
        role: "listitem",
        tabindex: 0,
        "aria-label": tip,
        "data-from": nameOf(threads, link.from),
        "data-to": nameOf(whom, link.to),
        "data-ns": link.ns,
      });
      const title = svg("title", {});
      title.textContent = tip;
      band.append(title);
      bands.append(band);
    }
    const column = (axis: Axis, sides: Map<number, Side>): HTMLElement =>
      make(
        "div",
        { class: "side" },
        ...[...sides.values()].map((side) =>
          make(
            "button",
            {
              type: "button",
              style: `top:${side.top}px;height:${Math.max(side.height, 3)}px`,
              title: `${nameOf(axis, side.value)}: ${duration(side.ns)}`,
              click: () => side.value >= 0 && state.toggle(axis.key, side.value),
            },
            side.height >= kLabel
              ? make("span", {}, `${nameOf(axis, side.value)} ${share(side.ns, total)}`)
              : "",
          ),
        ),
      );
    fill(section, make("div", { class: "waits" }, column(threads, left), make("div", { class: "bands" }, bands), column(whom, right)));
  });
}
