
// --- controls.js: mouse, keyboard, search, tooltip ---

const kToolsHeight = 34;
const kToolsTop = Number(pane.getAttribute('y')) - kToolsHeight - 6;
// Tab comes to the tools first, although they are drawn last, on top of the frames.
const kTabTools = 1;
const kTabFrames = 2;

const paper = element('rect', {class: 'paper', width: '100%', height: kToolsHeight});
const tools = element('svg', {id: 'tools', y: kToolsTop, width: '100%', height: kToolsHeight});
const toolsBody = element('foreignObject', {x: '1%', width: '98%', height: kToolsHeight});
const bar = html('div', {class: 'tools', role: 'toolbar', 'aria-label': 'Flame graph'});
const input = html('input', {
  type: 'search', id: 'search', placeholder: 'search: name or regular expression',
  'aria-label': 'Search frames', tabindex: kTabTools, spellcheck: 'false', autocomplete: 'off',
});
const result = html('output', {id: 'result', 'aria-live': 'polite'});
const resetButton = html('button', {
  id: 'reset', type: 'button', title: 'Esc', tabindex: kTabTools,
}, 'Reset zoom');
const turnButton = html('button', {
  id: 'turn', type: 'button', title: 'i', tabindex: kTabTools, 'aria-pressed': 'false',
}, 'Icicle');
const sideButton = html('button', {
  id: 'side', type: 'button', title: 'w', tabindex: kTabTools, 'aria-pressed': 'false',
}, 'Widths of A');
const keys = html('span', {class: 'keys'},
                  '/ search \u00b7 arrows, Enter zoom \u00b7 Backspace out \u00b7 Esc reset');
bar.append(resetButton, turnButton, ...(sides.length > 1 ? [sideButton] : []), input, result, keys);
toolsBody.append(bar);
tools.append(paper, toolsBody);

const ring = element('rect', {id: 'ring', height: kRow, visibility: 'hidden'});
const tipBody = element('foreignObject', {id: 'tip', width: 460, height: 10, visibility: 'hidden'});
const tip = html('div', {class: 'tip', role: 'tooltip'});
tipBody.append(tip);

pane.append(ring);
svg.append(tools, tipBody);
svg.classList.add('live');
frames.setAttribute('role', 'tree');
frames.setAttribute('aria-label', 'Call stacks, the outermost caller first');

let current = null;  // the frame that the keyboard is at

function find(node) {
  return (drawn[graph.depth[node]] || []).find((frame) => !frame.merged && frame.node === node);
}

// Roving: one frame is in the order of Tab, and only it says what it is.
function setCurrent(frame) {
  if (current) current.element.removeAttribute('tabindex');
  current = frame;
  const described = describe(frame);
  const attributes = {
    tabindex: kTabFrames, role: 'treeitem', 'aria-level': graph.depth[frame.node] + 1,
    'aria-label': [described.name, ...described.rows].join(', '),
  };
  for (const key in attributes) frame.element.setAttribute(key, attributes[key]);
}

function redraw() {
  const kept = current;
  const focused = kept !== null && document.activeElement === kept.element;
  hideTip();
  current = null;
  draw();
  const row = kept && drawn[graph.depth[kept.node] + (kept.merged ? 1 : 0)];
  const again = row && row.find((frame) => frame.node === kept.node && frame.merged === kept.merged);
  setCurrent(again || find(view.node) || drawn[0][0]);
  if (focused) current.element.focus();
}

const whole = (node) => ({node, merged: false, ns: graph.ns[node]});

function setZoom(frame) {
  view.node = frame.node;
  view.from = graph.start[frame.merged ? frame.first : frame.node];
  view.to = view.from + frame.ns;
  resetButton.disabled = isWhole();
}

function setTurned(icicle) {
  view.icicle = icicle;
  turnButton.setAttribute('aria-pressed', icicle);
}

// A diff: as wide as the times of B (0) or A (1). What is zoomed to stays, where the other side has it.
function setSide(index) {
  const to = sides[index];
  if (!to || to === graph || to.size === 0) return;
  const node = sameFrame(view.node, graph, to);
  graph = to;
  rowsNow = 0;
  sideButton.setAttribute('aria-pressed', index === 1);
  setZoom(whole(node));
  setSearch(input.value);
}

function setSearch(text) {
  input.value = text;
  const results = text === '' ? null : search(text);
  view.found = results && results.found;
  result.textContent = results === null ? '' :
      `${format.share(results.ns, graph.total)} of the time matches (` +
      `${format.duration(results.ns)}, ${format.number(results.frames, 'frame')})`;
}

// What is shown is kept in the address: reloading it and passing it on show the same.
function show() {
  redraw();
  const state = new URLSearchParams();
  if (input.value) state.set('s', input.value);
  if (view.node > 0) state.set('z', view.node);
  if (view.icicle) state.set('i', 1);
  if (graph === sides[1]) state.set('w', 1);
  try {
    history.replaceState(null, '', '#' + state);
  } catch {
    // Embedded where it has no address of its own, or more often than the browser likes.
  }
}

function recall() {
  const state = new URLSearchParams(location.hash.slice(1));
  const node = Math.trunc(Number(state.get('z')));
  setTurned(state.has('i'));
  setSide(state.has('w') ? 1 : 0);
  setSearch(state.get('s') || '');
  setZoom(whole(node > 0 && node < graph.size ? node : 0));
  redraw();
}

function zoom(frame) {
  setZoom(frame);
  show();
}

function turn() {
  setTurned(!view.icicle);
  show();
}

function changeSide() {
  setSide(graph === sides[0] ? 1 : 0);
  current = null;
  show();
}

function showTip(frame, x, y) {
  const described = describe(frame);
  const [time, ...rest] = described.rows;
  tip.replaceChildren(html('b', {}, described.name), html('div', {class: 'time'}, time),
                      ...rest.map((row) => html('div', {}, row)));
  for (const key of ['x', 'y', 'width']) ring.setAttribute(key, frame.element.getAttribute(key));
  ring.setAttribute('visibility', 'visible');
  const width = Math.min(460, innerWidth - 16);
  tipBody.setAttribute('width', width);
  tipBody.setAttribute('height', 1000);
  const box = tip.getBoundingClientRect();
  const top = y + 18 + box.height < innerHeight ? y + 18 : Math.max(4, y - 12 - box.height);
  const left = Math.max(8, Math.min(x + 12, innerWidth - 8 - box.width));
  tipBody.setAttribute('height', Math.ceil(box.height));
  tipBody.setAttribute('x', left + scrollX);
  tipBody.setAttribute('y', top + scrollY);
  tipBody.setAttribute('visibility', 'visible');
}

function hideTip() {
  tipBody.setAttribute('visibility', 'hidden');
  ring.setAttribute('visibility', 'hidden');
}

function goTo(frame) {
  if (!frame) return;
  setCurrent(frame);
  frame.element.focus();
  frame.element.scrollIntoView({block: 'nearest', inline: 'nearest'});
}

// The neighbour of the current frame: callers and callees up and down, siblings left and right.
function neighbour(key) {
  const depth = graph.depth[current.node] + (current.merged ? 1 : 0);
  const row = drawn[depth];
  const at = row.indexOf(current);
  if (key === 'ArrowLeft') return row[at - 1];
  if (key === 'ArrowRight') return row[at + 1];
  const middle = current.left + current.width / 2;
  if ((key === 'ArrowUp') === view.icicle)
    return depth > 0 && drawn[depth - 1].find((frame) => frame.left + frame.width >= middle);
  return depth + 1 < drawn.length && !current.merged &&
      drawn[depth + 1].find((frame) =>
          (frame.merged ? frame.node : graph.parent[frame.node]) === current.node);
}

frames.addEventListener('click', (event) => {
  const frame = event.target.frame;
  if (!frame) return;
  setCurrent(frame);
  zoom(frame);
});
frames.addEventListener('pointermove', (event) => {
  if (event.target.frame) showTip(event.target.frame, event.clientX, event.clientY);
});
frames.addEventListener('pointerleave', hideTip);
frames.addEventListener('focusin', (event) => {
  const box = event.target.getBoundingClientRect();
  if (event.target.matches(':focus-visible'))
    showTip(event.target.frame, Math.max(0, box.left), box.bottom - 14);
});
frames.addEventListener('focusout', hideTip);
frames.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key.startsWith('Arrow')) goTo(neighbour(event.key));
  else if (event.key === 'Home') goTo(find(view.node));
  else if (event.key === 'Enter' || event.key === ' ') zoom(current);
  else return;
  event.preventDefault();
});
document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target === input;
  if (event.key === 'Escape') {
    setSearch('');
    zoom(whole(0));
    if (typing) goTo(current);
  } else if (typing) {
    if (event.key === 'Enter') goTo(current);
  } else if (event.key === '/') {
    input.focus();
    input.select();
    event.preventDefault();
  } else if (event.key === 'Backspace') {
    const part = view.to - view.from < graph.ns[view.node];  // narrow frames above this one
    zoom(whole(part ? view.node : Math.max(0, graph.parent[view.node])));
  } else if (event.key === 'i') {
    turn();
  } else if (event.key === 'w') {
    changeSide();
  }
});
input.addEventListener('input', () => {
  setSearch(input.value);
  show();
});
resetButton.addEventListener('click', () => zoom(whole(0)));
turnButton.addEventListener('click', turn);
sideButton.addEventListener('click', changeSide);

// The tools stay visible.
const place = () => tools.setAttribute('y', Math.max(kToolsTop, scrollY));
addEventListener('scroll', place, {passive: true});

let pending = 0;
addEventListener('resize', () => {
  cancelAnimationFrame(pending);
  pending = requestAnimationFrame(() => {
    redraw();
    place();
  });
});
// Names are cut for the width of paper.
addEventListener('beforeprint', () => draw(680));
addEventListener('afterprint', redraw);

document.addEventListener('DOMContentLoaded', () => document.getElementById('still').remove());
recall();
place();
})();
