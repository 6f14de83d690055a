// The page in a real browser. Whatever is selected, its numbers are those of `profctl report` with
// the filter that the page itself names.
import assert from 'node:assert/strict';
import path from 'node:path';
import test from 'node:test';
import {files, shots, useBrowser} from './browser.mjs';
import {compareWith, dragTime, filterOf, report, run, showAllRows, tableOf} from './page.mjs';

const open = useBrowser();

async function openPage(t, name, options = {}) {
  const page = await open(t, name + '.html', options);
  await page.waitForSelector('html[data-ready]');
  return page;
}

const commandFor = (name, filter) =>
    `profctl report '${path.join(files, name + '.json')}'` +
    (filter ? ` --filter '${filter.replaceAll(`'`, `'\\''`)}'` : '');
const reportOf = (name, key, filter) => report(commandFor(name, filter), key);

const compare = async (page, name) => compareWith(page, commandFor(name, await filterOf(page)));

test('everything: the numbers are those of report', async (t) => {
  for (const name of ['small', 'timed', 'typical', 'operators', 'stepped', 'counted']) {
    const page = await openPage(t, name);
    assert.equal(await filterOf(page), '');
    await compare(page, name);
  }
});

test('a state, a thread and a range of time: the numbers are those of report', async (t) => {
  const page = await openPage(t, 'timed');
  await page.click('#states button[data-state="blocked"]');
  assert.match(await filterOf(page), /^state = "blocked"$/);
  await compare(page, 'timed');
  await page.click('#clear');
  await page.selectOption('#key', 'thread');
  await page.click('#key-table tbody tr:nth-child(2) th button');
  assert.match(await filterOf(page), /^thread = /);
  await compare(page, 'timed');
  await page.keyboard.press('Escape');
  assert.equal(await filterOf(page), '');
  const cells = await page.$$eval('.cell', (all) => all.length);
  await dragTime(page, 2, Math.min(12, cells - 1));
  assert.match(await filterOf(page), /^time = /);
  await compare(page, 'timed');
  await page.selectOption('#key', 'thread');
  await page.click('#key-table tbody tr:nth-child(1) th button');
  assert.match(await filterOf(page), /^time = .* and thread = /);
  await compare(page, 'timed');
});

test('the keyboard is enough', async (t) => {
  const page = await openPage(t, 'timed');
  const [name] = Object.keys(await tableOf(page, 'function-table'));
  await page.keyboard.press('/');
  await page.keyboard.type(name.slice(0, 5));
  assert.equal(await page.evaluate(() => document.activeElement.id), 'search');
  assert.match(await page.textContent('#found'), /^\d+\.\d % of the time matches$/);
  assert.ok((await page.$$('.frame.hit')).length > 0);
  await page.keyboard.press('Escape');
  assert.equal(await page.textContent('#found'), '');
  await page.focus('.grid');
  await page.keyboard.press('ArrowRight');
  assert.match(await filterOf(page), /^time = /);
  await compare(page, 'timed');
  await page.keyboard.press('Escape');
  await page.focus('.frame');
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('Enter');
  assert.ok(await page.isVisible('#zoom-out'));
  assert.ok((await page.textContent('#sides')).includes('callers'));
});

test('both sides of a function have its time', async (t) => {
  const page = await openPage(t, 'timed');
  const rows = (await tableOf(page, 'function-table'));
  const name = Object.keys(rows).find((one) => rows[one].total > rows[one].self);
  await page.click(`#function-table tr[data-name="${name}"] th button`);
  const sum = (side) => page.$$eval(`#${side} > ul > li[data-ns]`,
      (items) => items.reduce((all, item) => all + Number(item.dataset.ns), 0));
  assert.equal(await sum('callees'), rows[name].total - rows[name].self);
  assert.ok(await sum('callers') <= rows[name].total);
});

test('bands are the waits of threads, by on whom', async (t) => {
  const page = await openPage(t, 'timed');
  const check = async () => {
    const bands = await page.$$eval('.band', (all) => all.map(
        (band) => [band.dataset.from, band.dataset.to, Number(band.dataset.ns)]));
    const filter = [await filterOf(page), 'state = blocked'].filter(Boolean).join(' and ');
    const expected = reportOf('timed', 'thread,on-whom', filter);
    const seen = {};
    for (const [from, to, ns] of bands) (seen[from] ??= {})[to] = ns;
    for (const row of expected.rows)
      for (const [whom, ns] of Object.entries(row)) {
        if (whom === 'thread' || whom === 'ns' || whom === 'samples' || !ns) continue;
        assert.equal(seen[row.thread]?.[whom.replace(/ ns$/, '')], ns, `${row.thread}, ${whom}`);
      }
    assert.equal(bands.reduce((sum, [, , ns]) => sum + ns, 0), expected.total_ns);
  };
  await check();
  await dragTime(page, 1, 8);
  await check();
  assert.deepEqual(page.errors, []);
});

test('steps are those of report, and one can be selected', async (t) => {
  const page = await openPage(t, 'stepped');
  const command = commandFor('stepped', '');
  const expected = JSON.parse(run(command, '--steps', '-f', 'json')).rows;
  assert.equal(expected.length, 7);
  const columns = {time: 'ns', gap: 'gap_ns', 'forward and backward': 'forward_backward_ns', tail: 'tail_ns',
                   data: 'data_ns', begin: 'begin_ns'};
  const check = async (wanted) => {
    const rows = await tableOf(page, 'step-table');
    assert.deepEqual(Object.keys(rows).length, wanted.length);
    for (const row of wanted)
      for (const [column, name] of Object.entries(columns))
        assert.equal(rows[row.step][column], row[name], `${column} of ${row.step}`);
  };
  await check(expected);
  const slowest = expected.reduce((a, b) => (b.ns > a.ns ? b : a)).step;
  const first = () => page.$eval('#step-table tbody tr', (row) => row.dataset.name);
  assert.equal(await first(), String(slowest));
  await page.click('#step-table thead button:has-text("begin")');
  assert.equal(await first(), '7');
  await page.click(`#step-table tr[data-name="${slowest}"] th button`);
  assert.equal(await filterOf(page), `step = "${slowest}"`);
  await compare(page, 'stepped');
  await page.click('#clear');
  assert.equal(await page.textContent('#steps p'), '7 steps, 10.0 ms median');
});

test('operators say for how much of the working time they are named', async (t) => {
  const page = await openPage(t, 'operators');
  await page.selectOption('#key', 'operator');
  const said = await page.textContent('#coverage');
  assert.ok(run(commandFor('operators', ''), '--by', 'operator').toString().includes(said), said);
  await page.selectOption('#key', 'thread');
  assert.equal(await page.textContent('#coverage'), '');
  const without = await openPage(t, 'small');
  assert.match(await without.textContent('#steps'), /^No steps are known/);
});

test('counts of hardware are those of report, digit by digit, also of a selection', async (t) => {
  const page = await openPage(t, 'counted');
  const check = async (key, table) => {
    await compare(page, 'counted');
    if (table === 'key-table') await page.selectOption('#key', key);
    const said = run(commandFor('counted', await filterOf(page)), '--counters', '--by', key).toString();
    for (const id of ['counts', 'counted'])
      assert.ok(said.split('\n').includes(await page.textContent('#' + id)), said);
    const lines = said.trimEnd().split('\n');
    const wanted = lines.slice(lines.findIndex((line) => /^ *(self|cycles) +CPI +misses /.test(line)) + 1);
    const rows = await page.$$eval(`#${table} tbody tr`, (all) => all.map((row) => [
      ...[...row.querySelectorAll('td')].filter((cell) => /(cycles|CPI|misses)$/.test(cell.dataset.column))
          .map((cell) => cell.textContent).filter(Boolean),
      row.dataset.name,
    ]));
    // What has not run has no line there; samples stand before the name.
    const counted = rows.filter((cells) => cells.length > 1);
    assert.equal(counted.length, wanted.length, said);
    for (const cells of counted) {
      const name = cells.pop();
      const seen = wanted.map((line) => line.trim().split(/ {2,}/))
          .find((all) => all.at(-1) === name)?.slice(0, cells.length);
      assert.deepEqual(seen, cells, `${name}: ${said}`);
    }
  };
  await check('function', 'function-table');
  await check('thread', 'key-table');
  await page.click('#key-table tbody tr[data-name="chaser (4243)"] th button');
  assert.match(await filterOf(page), /^thread = /);
  await check('thread', 'key-table');
  await check('function', 'function-table');
  assert.match(await page.textContent('#count-columns'), /CPI: cycles per instruction; misses: /);
  const without = await openPage(t, 'small');
  assert.deepEqual(await without.$$('p.count'), []);
});

test('names are text, whatever they are', async (t) => {
  const page = await openPage(t, 'hostile');
  await showAllRows(page, 'functions');
  assert.equal(await page.$$eval('script', (all) => all.length), 2);
  assert.equal(await page.$$eval('main img, main svg, main iframe', (all) => all.length), 0);
  assert.deepEqual(page.errors, []);
});

test('20,000 frames, very deep stacks, nothing', async (t) => {
  for (const name of ['large', 'tower', 'empty', 'many']) {
    const begin = Date.now();
    const page = await openPage(t, name);
    t.diagnostic(`${name} is shown after ${Date.now() - begin} ms`);
    assert.deepEqual(page.errors, []);
  }
});

test('pictures for people', async (t) => {
  for (const [width, colorScheme] of [[800, 'light'], [1600, 'dark'], [2500, 'light']]) {
    const page = await openPage(t, 'typical', {viewport: {width, height: 1400}, colorScheme});
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width);
    await page.screenshot({path: path.join(shots, `page-${width}-${colorScheme}.png`), fullPage: true});
  }
});
