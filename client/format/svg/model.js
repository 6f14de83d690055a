(() => {
'use strict';

// --- model.js: the graph as data, its numbers and its words ---

const graphOf = (data) => {
  const size = data.ns.length;
  // A frame is a number; it is directly followed by what is above it, heaviest first.
  const parent = new Int32Array(size);
  const after = new Int32Array(size);  // the first frame that is not above it
  const start = new Float64Array(size);  // ns from the left edge
  const open = [];
  const next = new Float64Array(size);
  let rows = 0;
  for (let i = 0; i < size; ++i) {
    const depth = data.depth[i];
    rows = Math.max(rows, depth + 1);
    while (open.length > depth) after[open.pop()] = i;
    const below = open.length > 0 ? open[open.length - 1] : -1;
    parent[i] = below;
    if (below >= 0) {
      start[i] = next[below];
      next[below] += data.ns[i];
    }
    next[i] = start[i];
    open.push(i);
  }
  while (open.length > 0) after[open.pop()] = size;

  // The last frame of a stack says the state. Where there are none, all time was working.
  const style = (i) => data.styles[data.style[i]];
  const states = Object.fromEntries(['run', 'spn', 'rdy', 'blk'].map((name) => [name, new Float64Array(size)]));
  let known = false;
  for (let i = size - 1; i >= 0; --i) {
    const own = states[style(i).slice(0, 3)];
    if (own) {
      own[i] = data.ns[i];
      known = true;
    }
    if (parent[i] >= 0) for (const name in states) states[name][parent[i]] += states[name][i];
  }
  // What stands behind a state says on whom the thread waits in it.
  const state = new Array(size);
  for (let i = 0; i < size; ++i) {
    const own = style(i).slice(0, 3);
    state[i] = own in states ? own : state[parent[i]];
    if (state[i]) states[state[i]][i] = data.ns[i];
  }
  return {
    size, rows, parent, after, start, style, total: data.ns[0],
    ns: data.ns, count: data.count, depth: data.depth, states: known ? states : null,
    name: (i) => data.labels[data.label[i]],
    label: data.label, labels: data.labels,
    place: (i) => data.places[data.place[i]].split('\n'),  // file:lines, module, why it has no name
    reach: data.reach,  // how far the 95 % interval of ns reaches, where that is known
    other: data.other,  // of a diff: ns on the other side
  };
};

// A diff has two graphs of the same stacks, as wide as the times of B and of A.
const sides = (() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  return data.b ? [{...graphOf(data.b), side: 'B'}, {...graphOf(data.a), side: 'A'}] : [graphOf(data)];
})();
let graph = sides[0].size > 0 || sides.length === 1 ? sides[0] : sides[1];

// The frame of another side with the same names below it; 0 where there is none.
function sameFrame(node, from, to) {
  const path = [];
  for (let i = node; i >= 0; i = from.parent[i]) path.push(from.name(i));
  let found = 0;
  path.pop();
  while (path.length > 0) {
    const name = path.pop();
    let child = found + 1;
    while (child < to.after[found] && to.name(child) !== name) child = to.after[child];
    if (child >= to.after[found]) return 0;
    found = child;
  }
  return found;
}

const format = {
  duration(ns) {
    if (ns >= 999.5e9) {
      const s = Math.floor(ns / 1e9);
      if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
      if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.floor(s % 3600 / 60)} min`;
      return `${Math.floor(s / 86400)} d ${Math.floor(s % 86400 / 3600)} h`;
    }
    if (ns < 1000) return `${Math.round(ns)} ns`;
    let value = ns / 1000;
    let unit = 0;
    for (; unit < 2 && value >= 999.5; ++unit) value /= 1000;
    return `${value.toFixed(value < 9.995 ? 2 : value < 99.95 ? 1 : 0)} ${['us', 'ms', 's'][unit]}`;
  },
  count: (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ','),
  number: (n, thing) => `${format.count(n)} ${thing}${n === 1 ? '' : 's'}`,
  share: (part, whole) => `${(whole > 0 ? 100 * part / whole : 0).toFixed(1)} %`,
  reach: (ns, whole) => (ns < 0.0005 * whole || whole === 0 ? '' : ` +-${(100 * ns / whole).toFixed(1)}`),
};

// Which frames a text is found in, and for how much time they stand; a match above a match is not
// counted again. The text is a regular expression if it can be one.
function search(text) {
  let matches;
  try {
    const pattern = new RegExp(text, 'i');
    matches = (name) => pattern.test(name);
  } catch {
    const lower = text.toLowerCase();
    matches = (name) => name.toLowerCase().includes(lower);
  }
  const labels = graph.labels.map(matches);
  const found = new Uint8Array(graph.size);
  let ns = 0;
  let frames = 0;
  for (let i = 0, counted = 0; i < graph.size; ++i) {
    if (!labels[graph.label[i]]) continue;
    found[i] = 1;
    ++frames;
    if (i < counted) continue;
    ns += graph.ns[i];
    counted = graph.after[i];
  }
  return {found, ns, frames};
}

// "A 1.20 s, B 1.80 s" and "+600 ms, +50.0 %", or "new in B".
function describeChange(frame) {
  if (frame.merged) return [];
  const [a, b] = graph.side === 'A' ? [frame.ns, graph.other[frame.node]] : [graph.other[frame.node], frame.ns];
  const both = `A ${a ? format.duration(a) : 'nothing'}, B ${b ? format.duration(b) : 'nothing'}`;
  if (a === 0 || b === 0) return [both, a === 0 ? 'new in B' : 'gone in B'];
  const sign = b < a ? '-' : '+';
  const change = `${sign}${format.duration(Math.abs(b - a))}, ${sign}${format.share(Math.abs(b - a), a)}`;
  const small = graph.style(frame.node) === 'same' && a !== b ? ': little, or maybe chance' : '';
  return [both, change + small];
}

// The rows of a tooltip. `merged` is a run of siblings too narrow to be drawn.
function describe(frame) {
  const share = (part, whole) => (frame.count < 10 ? '~' : '') + format.share(part, whole);
  const rows = [];
  const below = frame.merged ? frame.node : graph.parent[frame.node];
  const reach = frame.merged || !graph.reach ? 0 : graph.reach[frame.node];
  let time = `${format.duration(frame.ns)}, ${share(frame.ns, graph.total)}${format.reach(reach, graph.total)} of all`;
  if (below >= 0) time += `, ${share(frame.ns, graph.ns[below])} of its parent`;
  rows.push(time);
  rows.push(format.number(frame.count, 'sample'));
  if (frame.merged) {
    rows.push('each too narrow to be drawn: click to zoom in');
    return {name: format.number(frame.frames, 'frame'), rows};
  }
  if (graph.other) rows.splice(0, 0, ...describeChange(frame));
  if (graph.states) {
    const part = (name) => format.share(graph.states[name][frame.node], frame.ns);
    const spinning = graph.states.spn[0] > 0 ? `, spinning ${part('spn')}` : '';
    rows.push(`working ${part('run')}${spinning}, runnable ${part('rdy')}, blocked ${part('blk')}`);
  }
  return {name: graph.name(frame.node), rows: rows.concat(graph.place(frame.node).filter(Boolean))};
}
