
// --- draw.js: from a view to elements ---

// Drawn in place of the picture that stands behind the script.
const kRow = 18;
const kNarrowest = 1;  // px; what is narrower is merged with its narrow siblings
const kNamed = 34;     // px; narrower frames show no name
const kEdged = 3;      // px; narrower frames have no edge, it would be most of what is seen
const kPad = 4;
const kMark = 15;      // px that an arrow before a name takes
const kBelow = 12;     // px free below the frames
const svg = document.documentElement;
const pane = document.getElementById('graph');
const frames = document.getElementById('frames');

function element(name, attributes = {}, text = '') {
  const made = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const key in attributes) made.setAttribute(key, attributes[key]);
  if (text) made.textContent = text;
  return made;
}

function html(name, attributes = {}, text = '') {
  const made = document.createElementNS('http://www.w3.org/1999/xhtml', name);
  for (const key in attributes) made.setAttribute(key, attributes[key]);
  if (text) made.textContent = text;
  return made;
}

// Cuts names to a width in px, in the font of `element`.
function ruler(element) {
  const context = html('canvas').getContext('2d');
  const widths = new Map();
  const font = getComputedStyle(element);
  context.font = `${font.fontWeight} ${font.fontSize} ${font.fontFamily}`;
  const widthOf = (text) => {
    let width = 0;
    for (const char of text) {
      let own = widths.get(char);
      if (own === undefined) widths.set(char, own = context.measureText(char).width);
      width += own;
    }
    return width;
  };
  // '' where not even three characters fit.
  const cut = (text, width) => {
    if (text.length * 2 < width && widthOf(text) <= width) return text;
    let room = width - widthOf('\u2026');
    let kept = '';
    for (const char of text) {
      room -= widthOf(char);
      if (room < 0) break;
      kept += char;
    }
    return kept.length > 2 ? kept + '\u2026' : '';
  };
  // a::B<c::d>::e -> B<c::d>::e; '' when there is no scope to leave out.
  const withoutScope = (name) => {
    let nesting = 0;
    for (let i = 0; i + 2 < name.length; ++i) {
      const char = name[i];
      if (char === ' ' && nesting === 0) return '';
      if ('<({['.includes(char)) ++nesting;
      if ('>)}]'.includes(char)) --nesting;
      if (nesting === 0 && char === ':' && name[i + 1] === ':') return name.slice(i + 2);
    }
    return '';
  };
  // Scopes go before letters: a function's own name says more than where it is.
  const cutName = (name, width) => {
    for (;;) {
      const shown = cut(name, width);
      const shorter = shown === name ? '' : withoutScope(name);
      if (!shorter) return shown;
      name = shorter;
    }
  };
  return {cut, cutName};
}

const names = ruler(document.querySelector('text.line'));

// The lines of the head, where a name is too long for the window.
const lines = [...document.querySelectorAll('#head > text')].filter((line) => !line.children.length)
    .map((line) => ({line, ruler: ruler(line), full: line.textContent}));

function cutLines(width) {
  for (const {line, ruler, full} of lines) {
    line.textContent = ruler.cut(full, width);
    if (line.textContent !== full) line.append(element('title', {}, full));
  }
}

// What is shown: the range [from, to) of the whole in ns, and the frame it is about.
const view = {from: 0, to: graph.total, node: 0, icicle: false, found: null};
const isWhole = () => view.to - view.from === graph.total;

// The frames on screen: {node, merged, ns, count, frames, left, element}; by row, left to right.
let drawn = [];
let rowsOfWhole = 0;
let rowsNow = 0;

function layout(width) {
  const scale = width / (view.to - view.from);
  const rows = Array.from({length: graph.rows}, () => []);
  const add = (frame, from) => {
    const left = Math.max(0, (from - view.from) * scale);
    const right = Math.min(width, (from + frame.ns - view.from) * scale);
    if (right <= left) return;
    rows[graph.depth[frame.node] + (frame.merged ? 1 : 0)].push(
        Object.assign(frame, {left, width: right - left}));
  };
  for (let i = 0; i < graph.size;) {
    const from = graph.start[i];
    if (from + graph.ns[i] <= view.from || from >= view.to) {
      i = graph.after[i];
      continue;
    }
    if (i === 0 || graph.ns[i] * scale >= kNarrowest) {
      add({node: i, merged: false, ns: graph.ns[i], count: graph.count[i]}, from);
      ++i;
      continue;
    }
    // Siblings come heaviest first: all that follow up to the parent's end are narrow too.
    const below = graph.parent[i];
    const merged = {node: below, merged: true, first: i, ns: 0, count: 0, frames: 0};
    for (const end = graph.after[below]; i < end; i = graph.after[i]) {
      merged.ns += graph.ns[i];
      merged.count += graph.count[i];
    }
    for (let j = merged.first; j < i; ++j) {
      ++merged.frames;
      if (view.found && view.found[j]) merged.hit = true;
    }
    add(merged, from);
  }
  while (rows[rows.length - 1].length === 0) rows.pop();
  return rows;
}

// As high as what is drawn, but zooming never takes rows away. Frames stay where they are on screen.
function setHeight() {
  if (isWhole()) rowsOfWhole = drawn.length;
  const rows = Math.max(drawn.length, rowsOfWhole);
  pane.setAttribute('height', rows * kRow);
  svg.setAttribute('height', Number(pane.getAttribute('y')) + rows * kRow + kBelow);
  if (rowsNow > 0 && !view.icicle) scrollBy(0, (rows - rowsNow) * kRow);
  rowsNow = rows;
}

// Places in percent, so that a page that is printed or about to be drawn again is not torn.
const box = element('rect', {height: kRow});

function drawFrame(frame, y, percent, labels) {
  const hit = frame.merged ? frame.hit : view.found && view.found[frame.node];
  const covers = !frame.merged && graph.depth[frame.node] < graph.depth[view.node];
  const style = (frame.merged ? 'few' : graph.style(frame.node)) + (hit ? ' hit' : '') +
      (view.found && !hit ? ' miss' : '') + (covers ? ' covers' : '') + (frame.width < kEdged ? ' thin' : '');
  const made = box.cloneNode();
  const x = (frame.left * percent).toFixed(4) + '%';
  made.setAttribute('class', style);
  made.setAttribute('x', x);
  made.setAttribute('y', y);
  made.setAttribute('width', (frame.width * percent).toFixed(4) + '%');
  made.frame = frame;
  frame.element = made;
  if (frame.width < kNamed) return;
  const own = frame.merged ? '' : graph.style(frame.node);
  const mark = own.startsWith('up') ? '\u25b2 ' : own.startsWith('dn') ? '\u25bc ' : '';
  const name = frame.merged ? `+${format.count(frame.frames)}` : graph.name(frame.node);
  const room = frame.width - 2 * kPad - (mark ? kMark : 0);
  const text = names.cutName(name, room);
  if (text) {
    labels.append(element('text', {
      class: style + ' in', x, dx: kPad, y: y + 13,
    }, mark + text));
  }
}

// The pane leaves 1 % free on either side.
function draw(width = 0.98 * svg.getBoundingClientRect().width) {
  cutLines(width);
  drawn = layout(width);
  setHeight();
  const boxes = document.createDocumentFragment();
  const labels = document.createDocumentFragment();
  drawn.forEach((row, depth) => {
    const y = (view.icicle ? depth : rowsNow - 1 - depth) * kRow;
    for (const frame of row) {
      drawFrame(frame, y, 100 / width, labels);
      boxes.append(frame.element);
    }
  });
  frames.replaceChildren(boxes, labels);
}
