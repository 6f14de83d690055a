// What the page computes of a profile, against sums that are made sample by sample and frame by frame.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {pathToFileURL} from 'node:url';

const {counts, data, engine, format} = await import(pathToFileURL(process.env.PROFD_PAGE_MODULES));

const PARTS = ['working', 'spinning', 'runnable', 'blocked', 'stolen'];
const SECOND = 1_000_000_000;

// Numbers that look random and are the same each time (the generator is Numerical Recipes' LCG).
function draws(seed) {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

// A profile whose stacks have recursion, functions of the kernel at the inner end, and none at all.
function profileOf(seed, samples = 400) {
  const draw = draws(seed);
  const names = ['main', 'work', 'recurse', 'read', 'flush', 'sys_read', 'schedule'];
  const firstOfKernel = 5;
  const nodes = 60;
  const profile = {
    title: 't', facts: [], notes: ['n'], host: 'h', begin: 'b', lengthNs: 3 * SECOND, hasTimes: true, parts: PARTS,
    functions: {
      name: names, module: names.map((_, fn) => (fn < firstOfKernel ? 'a.so' : '[kernel]')),
      kind: names.map(() => 0),
    },
    parent: new Uint32Array(nodes), fn: new Uint32Array(nodes), shown: new Uint32Array(nodes),
    axes: [
      {key: 'thread', plural: 'threads', names: ['a', 'b', 'c "x"'], unnamed: [], values: new Uint32Array(samples)},
      {key: 'operator', plural: 'operators', names: ['mm', '[none]'], unnamed: [1], values: new Uint32Array(samples)},
      {key: 'cpu', plural: 'cpus', names: ['0', '1'], unnamed: [], values: new Uint32Array(samples)},
    ],
    steps: null,
    timeNs: new Float64Array(samples), ns: new Float64Array(samples), points: new Uint32Array(samples),
    part: new Uint32Array(samples), leaf: new Uint32Array(samples),
    counts: seed % 2 === 0 ? [] : data.kCounts.map(() => new Float64Array(samples)),
  };
  for (let node = 1; node < nodes; ++node) {
    profile.parent[node] = draw(node);
    const ofKernel = profile.fn[profile.parent[node]] >= firstOfKernel || draw(4) === 0;
    profile.fn[node] = ofKernel ? firstOfKernel + draw(2) : draw(firstOfKernel);
    profile.shown[node] = ofKernel ? profile.shown[profile.parent[node]] : node;
  }
  for (let i = 0; i < samples; ++i) {
    profile.timeNs[i] = draw(3 * SECOND);
    profile.ns[i] = draw(5_000_000);
    profile.points[i] = draw(3);
    profile.part[i] = draw(PARTS.length);
    profile.leaf[i] = draw(nodes);
    for (const axis of profile.axes) axis.values[i] = draw(axis.names.length);
    // Only what ran is counted.
    for (const column of profile.counts) column[i] = profile.part[i] < 2 ? draw(9_000_000) : 0;
  }
  return profile;
}

// The functions of a sample, innermost first.
function stackOf(profile, sample, kernel) {
  const inner = profile.leaf[sample];
  const stack = [];
  for (let node = kernel ? inner : profile.shown[inner]; node !== 0; node = profile.parent[node])
    stack.push(profile.fn[node]);
  return stack;
}

const indexesOf = (profile) => [...profile.ns.keys()];
const sum = (profile, samples) => samples.reduce((ns, i) => ns + profile.ns[i], 0);
const countsOf = (profile, samples) =>
  profile.counts.map((column) => samples.reduce((all, i) => all + column[i], 0));
const ranOf = (profile, samples) =>
  samples.reduce((points, i) => points + (profile.part[i] < 2 ? profile.points[i] : 0), 0);

function selectionOf(change) {
  return Object.assign(engine.everything(), change);
}

function eachSelection(check) {
  for (let seed = 1; seed <= 20; ++seed) {
    const profile = profileOf(seed);
    const some = selectionOf({
      fromNs: 0.4 * SECOND, toNs: 2.1 * SECOND, kernel: seed % 2 === 0,
      only: new Map([['thread', new Set([0, 2])], ['cpu', new Set()]]),
    });
    const inTime = (i) => profile.timeNs[i] >= some.fromNs && profile.timeNs[i] < some.toNs;
    const wanted = indexesOf(profile).filter((i) => inTime(i) && profile.axes[0].values[i] !== 1);
    check(profile, engine.everything(), indexesOf(profile));
    check(profile, some, wanted);
  }
}

test('a selection has the samples of its time and its values', () => {
  eachSelection((profile, selection, wanted) => {
    assert.deepEqual([...engine.select(profile, selection)], wanted);
    const total = engine.totalOf(profile, engine.select(profile, selection));
    assert.equal(total.all, sum(profile, wanted));
    assert.equal(total.points, wanted.reduce((points, i) => points + profile.points[i], 0));
    for (const [part, name] of PARTS.entries())
      assert.equal(total.ns[part], sum(profile, wanted.filter((i) => profile.part[i] === part)), name);
  });
});

test('a profile without instants has all its samples at any time', () => {
  const profile = profileOf(3);
  profile.hasTimes = false;
  const selection = selectionOf({fromNs: SECOND, toNs: SECOND});
  assert.equal(engine.select(profile, selection).length, profile.ns.length);
  profile.hasTimes = true;
  assert.equal(engine.select(profile, selection).length, 0);
  assert.equal(engine.select(profile, selection, true).length, profile.ns.length);
});

test('self is that of the innermost function, total counts recursion once', () => {
  eachSelection((profile, selection, wanted) => {
    const rows = engine.byFunction(profile, engine.stacksOf(profile, engine.select(profile, selection), selection));
    const self = new Map();
    const total = new Map();
    const add = (to, fn, ns) => to.set(fn, (to.get(fn) ?? 0) + ns);
    for (const i of wanted) {
      const stack = stackOf(profile, i, selection.kernel);
      add(self, stack[0] ?? -1, profile.ns[i]);
      for (const fn of new Set(stack.length === 0 ? [-1] : stack)) add(total, fn, profile.ns[i]);
    }
    assert.equal(rows.length, total.size);
    for (const row of rows) {
      assert.equal(row.total.all, total.get(row.value), row.name);
      assert.equal(row.self.all, self.get(row.value) ?? 0, row.name);
    }
    assert.equal(rows.reduce((ns, row) => ns + row.self.all, 0), sum(profile, wanted));
    for (let i = 1; i < rows.length; ++i) assert.ok(rows[i - 1].self.all >= rows[i].self.all);
  });
});

test('the values of a key add up to all time', () => {
  eachSelection((profile, selection, wanted) => {
    for (const axis of profile.axes) {
      const rows = engine.byAxis(profile, engine.select(profile, selection), axis);
      for (const row of rows)
        assert.equal(row.self.all, sum(profile, wanted.filter((i) => axis.values[i] === row.value)), row.name);
      assert.equal(rows.reduce((ns, row) => ns + row.self.all, 0), sum(profile, wanted));
    }
  });
});

test('counts are summed as time is: of all, of functions with what they call, of the values of a key', () => {
  eachSelection((profile, selection, wanted) => {
    const samples = engine.select(profile, selection);
    const check = (time, of, name) => {
      assert.deepEqual([...time.counts], countsOf(profile, of), name);
      assert.equal(time.ran, ranOf(profile, of), name);
    };
    check(engine.totalOf(profile, samples), wanted, 'all');
    for (const row of engine.byFunction(profile, engine.stacksOf(profile, samples, selection))) {
      const stacks = wanted.map((i) => [i, stackOf(profile, i, selection.kernel)]);
      const isIn = (stack) => (row.value < 0 ? stack.length === 0 : stack.includes(row.value));
      check(row.self, stacks.filter(([, stack]) => (stack[0] ?? -1) === row.value).map(([i]) => i), row.name);
      check(row.total, stacks.filter(([, stack]) => isIn(stack)).map(([i]) => i), row.name);
    }
    for (const axis of profile.axes)
      for (const row of engine.byAxis(profile, samples, axis))
        check(row.self, wanted.filter((i) => axis.values[i] === row.value), row.name);
  });
});

test('counts are said in the words of report, as far as they are known', () => {
  const profile = profileOf(1);
  const time = (ns, values) => Object.assign(new engine.Time(profile), {
    ns: Float64Array.from(ns), counts: Float64Array.from(values),
  });
  assert.equal(counts.countsText(time([1000, 0, 0, 0, 0], [1000, 3000, 1500, 6])),
               '3.00 GHz, CPI 2.00 (0.50 instructions a cycle), 4.00 cache misses per 1,000 instructions');
  assert.equal(counts.countsText(time([1000, 0, 0, 0, 0], [10, 20, 0, 1])), '2.00 GHz');
  assert.equal(counts.countsText(time([0, 0, 0, 0, 0], [0, 0, 0, 0])), 'nothing was counted');
  const share = (ns, countedNs) => counts.countedTimeText(profile, time(ns, [countedNs, 0, 0, 0]));
  assert.equal(share([600, 300, 50, 9000, 100], 983), 'counted for 98.3 % of running time');
  assert.equal(share([980, 0, 0, 0, 0], 983), 'counted for 100.0 % of running time');
  assert.equal(share([980, 0, 0, 0, 0], 0), 'counted for 0.0 % of running time');
  assert.equal(share([0, 0, 5, 5, 0], 983), '');
});

test('a branch of the tree has its own time and that of its children', () => {
  eachSelection((profile, selection, wanted) => {
    const root = engine.tree(profile, engine.stacksOf(profile, engine.select(profile, selection), selection));
    assert.equal(root.time.all, sum(profile, wanted));
    const check = (branch, path) => {
      const children = engine.childrenOf(branch);
      assert.equal(branch.time.all, branch.self + children.reduce((ns, child) => ns + child.time.all, 0));
      const under = wanted.filter((i) => {
        const stack = stackOf(profile, i, selection.kernel).reverse();
        return path.every((fn, depth) => stack[depth] === fn);
      });
      assert.equal(branch.time.all, sum(profile, under), path.join(' '));
      for (const child of children) check(child, [...path, child.fn]);
    };
    check(root, []);
  });
});

test('both sides of a function: its outermost frame is called, its innermost one calls', () => {
  eachSelection((profile, selection, wanted) => {
    const stacks = engine.stacksOf(profile, engine.select(profile, selection), selection);
    const recurse = 2;
    const {callers, callees} = engine.sides(profile, stacks, recurse);
    const has = wanted.filter((i) => stackOf(profile, i, selection.kernel).includes(recurse));
    assert.equal(callers.time.all, sum(profile, has));
    assert.equal(callees.time.all, sum(profile, has));
    const expect = (branch, neighbour) => {
      const byFn = new Map();
      for (const i of has) {
        const fn = neighbour(stackOf(profile, i, selection.kernel));
        if (fn !== undefined) byFn.set(fn, (byFn.get(fn) ?? 0) + profile.ns[i]);
      }
      assert.deepEqual(new Map([...branch.children].map(([fn, child]) => [fn, child.time.all]).sort()),
                       new Map([...byFn].sort()));
    };
    expect(callers, (stack) => stack[stack.lastIndexOf(recurse) + 1]);
    expect(callees, (stack) => stack[stack.indexOf(recurse) - 1]);
  });
});

test('links between the values of two keys add up, also those of all others', () => {
  eachSelection((profile, selection, wanted) => {
    const [thread, , cpu] = profile.axes;
    const blocked = PARTS.indexOf('blocked');
    const waits = wanted.filter((i) => profile.part[i] === blocked);
    for (const most of [1, 2, 9]) {
      const links = engine.links(profile, engine.select(profile, selection), thread, cpu, blocked, most);
      assert.equal(links.reduce((ns, link) => ns + link.ns, 0), sum(profile, waits));
      assert.ok(new Set(links.map((link) => link.from).filter((value) => value >= 0)).size <= most);
      for (const {from, to, ns} of links) {
        if (from < 0 || to < 0) continue;
        assert.equal(ns, sum(profile, waits.filter((i) => thread.values[i] === from && cpu.values[i] === to)));
      }
    }
  });
});

test('a cell of the heat map has what begins in it', () => {
  eachSelection((profile, selection, wanted) => {
    const rows = 50;
    const parts = new Set([0, 3]);
    const {cells, columns, most} = engine.heat(profile, engine.select(profile, selection), parts, rows);
    assert.equal(columns, 3);
    const expected = new Array(columns * rows).fill(0);
    for (const i of wanted)
      if (parts.has(profile.part[i])) expected[Math.floor(profile.timeNs[i] / (SECOND / rows))] += profile.ns[i];
    assert.deepEqual([...cells], expected);
    assert.equal(most, Math.max(...expected));
  });
});

test('a search counts a stack once, however often its functions fit', () => {
  eachSelection((profile, selection, wanted) => {
    const stacks = engine.stacksOf(profile, engine.select(profile, selection), selection);
    const fits = (name) => name.startsWith('re');
    const found = wanted.filter((i) =>
      stackOf(profile, i, selection.kernel).some((fn) => fits(profile.functions.name[fn])));
    assert.equal(engine.matching(profile, stacks, fits), sum(profile, found) / sum(profile, wanted));
  });
});

test('operators are named for a share of the working time', () => {
  eachSelection((profile, selection, wanted) => {
    const working = wanted.filter((i) => profile.part[i] === 0);
    const named = working.filter((i) => profile.axes[1].values[i] === 0);
    assert.equal(engine.namedShare(profile, engine.select(profile, selection), profile.axes[1]),
                 sum(profile, named) / sum(profile, working));
  });
  assert.equal(engine.namedShare(profileOf(1), new Uint32Array(0), profileOf(1).axes[1]), null);
});

test('steps of a range are those that begin in it', () => {
  const profile = {...profileOf(1), steps: {count: 3, rough: false, medianNs: 1, beginNs: [0, 10, 20], parts: []}};
  assert.deepEqual(engine.stepsIn(profile, engine.everything()), [0, 1, 2]);
  assert.deepEqual(engine.stepsIn(profile, selectionOf({fromNs: 10, toNs: 20})), [1]);
  assert.deepEqual(engine.stepsIn(profileOf(1), engine.everything()), []);
});

test('the filter names what report has fields for', () => {
  const profile = profileOf(1);
  assert.equal(engine.filterText(profile, engine.everything()), '');
  const only = new Map([['thread', new Set([0, 2])], ['cpu', new Set([1])]]);
  assert.equal(engine.filterText(profile, selectionOf({fromNs: SECOND / 2, only})),
               'time = 0.5.. and (thread = "a" or thread = "c x")');
  assert.equal(engine.filterText(profile, selectionOf({toNs: 2 * SECOND})), 'time = ..2');
});

// The layout of client/format/html/page_data.h.
function encode(profile) {
  const bytes = [];
  const put = (value) => {
    while (value >= 128) {
      bytes.push((value % 128) + 128);
      value = Math.floor(value / 128);
    }
    bytes.push(value);
  };
  for (const column of ['parent', 'fn', 'shown']) profile[column].forEach(put);
  let last = 0;
  for (const time of profile.timeNs) {
    put(time >= last ? 2 * (time - last) : 2 * (last - time) - 1);
    last = time;
  }
  for (const column of ['ns', 'points', 'part', 'leaf']) profile[column].forEach(put);
  for (const column of profile.counts) column.forEach(put);
  for (const axis of profile.axes) axis.values.forEach(put);
  const {title, facts, notes, host, begin, parts, functions} = profile;
  const head = new TextEncoder().encode(JSON.stringify({
    title, facts, notes, host, begin, parts, functions, length_ns: profile.lengthNs, has_times: profile.hasTimes,
    counted: profile.counts.length > 0,
    nodes: profile.parent.length, samples: profile.ns.length, steps: null,
    axes: profile.axes.map(({key, plural, names, unnamed}) => ({key, plural, names, unnamed})),
  }));
  const whole = new Uint8Array(4 + head.length + bytes.length);
  new DataView(whole.buffer).setUint32(0, head.length, true);
  whole.set(head, 4);
  whole.set(bytes, 4 + head.length);
  return whole;
}

test('data is read as it was written, also behind an offset and above 32 bits', () => {
  assert.deepEqual(data.decode(encode(profileOf(8))), profileOf(8));  // without counts
  const profile = profileOf(7);
  profile.ns[0] = 2 ** 53 - 1;
  const bytes = encode(profile);
  assert.deepEqual(data.decode(bytes), profile);
  const shifted = new Uint8Array(bytes.length + 3);
  shifted.set(bytes, 3);
  assert.deepEqual(data.decode(shifted.subarray(3)), profile);
});

test('data that is cut is refused, wherever', () => {
  const bytes = encode(profileOf(7, 20));
  for (let length = 0; length < bytes.length; ++length)
    assert.throws(() => data.decode(bytes.subarray(0, length)), `${length} of ${bytes.length} bytes`);
});

test('numbers are written as profctl writes them', () => {
  const wanted = [[0, '0 ns'], [999, '999 ns'], [1000, '1.00 us'], [9_994_000, '9.99 ms'], [9_996_000, '10.0 ms'],
                  [999_499_999, '999 ms'], [999_500_000, '1.00 s'], [123_456_789_000, '123 s']];
  for (const [ns, text] of wanted) assert.equal(format.duration(ns), text);
  assert.equal(format.share(1, 3), '33.3 %');
  assert.equal(format.share(0, 3), '');
  // Halves go to the even digit.
  const rates = [[1.125, '1.12'], [1.375, '1.38'], [9.994, '9.99'], [12.25, '12.2'], [12.34, '12.3'], [100.5, '100'],
                 [123.4, '123']];
  for (const [value, text] of rates) assert.equal(format.rate(value), text);
  assert.equal(format.share(9, 80), '11.2 %');
  assert.equal(format.shellWord("it's"), `'it'\\''s'`);
});
