// `profctl web` over a real profd that keeps windows of 2 s, while "web-spins" is busy.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import path from 'node:path';
import test from 'node:test';
import {shots, useBrowser} from './browser.mjs';
import {commandOf, compareWith, tableOf} from './page.mjs';
import {after, ready, serve, wholeCommand} from './served.mjs';

const open = useBrowser();
const host = process.env.VIEWER_HOST;
process.env.PROFD_HOST = host;  // of the commands that the page names

async function openHistory(t, least, options = {}) {
  const address = await serve(t, [], host);
  // What the page shows at first ends with what is kept when it opens.
  const windows = async () => (await (await fetch(address + 'api/v1/sources')).json()).history?.windows ?? 0;
  while (await windows() < least) await new Promise((done) => setTimeout(done, 100));
  const page = await open(t, address, options);
  await ready(page);
  assert.equal(await page.inputValue('#source'), 'history');
  await page.waitForFunction((least) => document.querySelectorAll('#strip > .strip .column').length >= least, least,
                             {timeout: 60_000});
  await page.selectOption('#span', '900');
  await page.waitForFunction((least) => document.querySelectorAll('#strip > .strip .column').length >= least, least);
  return page;
}

// Over the columns from the `from`th to the `to`th, counted from the last one.
async function dragStrip(page, from, to) {
  const [a, b, y] = await page.evaluate(([from, to]) => {
    const boxes = [...document.querySelectorAll('#strip > .strip .column')].map((one) => one.getBoundingClientRect());
    const strip = document.querySelector('#strip > .strip').getBoundingClientRect();
    const middle = (box) => box.x + box.width / 2;
    return [middle(boxes[boxes.length - from]), middle(boxes[boxes.length - to]), strip.y + strip.height / 2];
  }, [from, to]);
  await page.mouse.move(a, y);
  await page.mouse.down();
  await page.mouse.move(b, y, {steps: 4});
  await page.mouse.up();
}

test('a range of the strip: the numbers are those of report for that time', async (t) => {
  const page = await openHistory(t, 3);
  await after(page, () => dragStrip(page, 3, 2));
  const command = await wholeCommand(page);
  assert.match(command, /^profctl report --from \S+Z --to \S+Z$/);
  await compareWith(page, command);
  // As a filter of the page, and as one of the history.
  await page.fill('#filter', 'state = working');
  await after(page, () => page.press('#filter', 'Enter'));
  await compareWith(page, await commandOf(page));
  await page.fill('#filter', '');
  await after(page, () => page.press('#filter', 'Enter'));
  await after(page, () => page.click('.strip-row[data-group="web-spins"] button'));
  assert.match(await wholeCommand(page), / --comm web-spins$/);
  await compareWith(page, await wholeCommand(page));
  await page.selectOption('#key', 'process');
  assert.deepEqual(Object.keys(await tableOf(page, 'key-table')).filter((name) => !name.includes('web-spins')), []);
  await after(page, () => page.click('#only button'));
  assert.equal(await wholeCommand(page), command);
});

test('the strip by keys, a comparison with the time before, and a link', async (t) => {
  const page = await openHistory(t, 4);
  await page.focus('#strip > .strip');
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('ArrowLeft');
  assert.equal((await page.$$('.chosen.pending')).length, 1);
  await after(page, () => page.keyboard.press('Enter'));
  await compareWith(page, await wholeCommand(page));
  await page.selectOption('#before', 'earlier');
  await page.waitForSelector('#diff-table, html[data-failed]');
  assert.ok(await page.isVisible('#diff-table'), await page.textContent('#status'));
  const sides = new URLSearchParams(new URL(page.url()).hash.slice(1));
  const time = (name) => new Date(Number(sides.get(name)) / 1000).toISOString();
  const diff = JSON.parse(execFileSync(process.env.VIEWER_PROFCTL, [
    'diff', `${time('a.from_unix_us')}..${time('a.to_unix_us')}`, `${time('from_unix_us')}..${time('to_unix_us')}`,
    '-f', 'json']));
  const rows = await page.$$eval('#diff-table tbody tr', (all) => all.map((row) => [
    row.dataset.name, ...[...row.querySelectorAll('td')].slice(0, 2).map((cell) => Number(cell.dataset.value))]));
  assert.deepEqual(rows, diff.functions.slice(0, rows.length).map(({name, total}) => [name, total.a_ns, total.b_ns]));
  const other = await open(t, page.url());
  await ready(other);
  assert.equal(await wholeCommand(other), await wholeCommand(page));
  await other.waitForSelector('#diff-table');
});

test('the strip has the time of its windows', async (t) => {
  const page = await openHistory(t, 3);
  const address = page.url().replace(/#.*/, '');
  const sources = await (await fetch(address + 'api/v1/sources')).json();
  const {first_unix_us: from, last_unix_us: to} = sources.history;
  const got = [];
  for (let at = from; at < to;) {
    const strip = await (await fetch(
        `${address}api/v1/strip?from_unix_us=${at}&to_unix_us=${to}&step_us=1000000`)).json();
    got.push(...strip.columns);
    at = strip.next_unix_us;
  }
  assert.ok(got.length >= 3);
  for (const column of got) {
    const bytes = await (await fetch(`${address}api/v1/download?source=history&format=json&` +
        `from_unix_us=${column.from_unix_us}&to_unix_us=${column.to_unix_us}`)).json();
    const all = bytes.profile.samples.weight_ns.reduce((sum, ns) => sum + Number(ns), 0);
    assert.equal(column.ns.reduce((sum, ns) => sum + ns, 0), all);
    assert.equal(column.groups.reduce((sum, {ns}) => sum + ns.reduce((a, b) => a + b, 0), 0), all);
  }
});

test('live shows a program that runs, again and again', async (t) => {
  // Of a profd of its own: the other one is busy with the names of the whole host.
  const page = await open(t, await serve(t, [], '') + '#source=live&comm=web-spins');
  await ready(page);
  assert.equal(await page.getAttribute('#live', 'aria-pressed'), 'true');
  assert.equal(await page.inputValue('#live-of'), 'web-spins');
  const seen = async () => Object.keys(await tableOf(page, 'function-table')).join(' ');
  assert.match(await seen(), /turning/);
  await page.fill('#search', 'turning');
  await after(page, () => Promise.resolve());
  assert.match(await seen(), /turning/);
  assert.equal(await page.inputValue('#search'), 'turning');  // what was chosen stays
  await page.click('#live');
  assert.equal(await page.getAttribute('#live', 'aria-pressed'), 'false');
  const href = await page.$eval('#download a[download="profile.folded"]', (link) => link.href);
  assert.match(href, /source=live%3A\d+/);
  assert.match(await (await fetch(href)).text(), /turning/);
  assert.deepEqual(page.errors, []);
});

test('pictures for people', async (t) => {
  for (const [width, colorScheme] of [[800, 'light'], [1600, 'dark'], [2500, 'light']]) {
    const page = await openHistory(t, 4, {viewport: {width, height: 1400}, colorScheme});
    await after(page, () => dragStrip(page, 3, 2));
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width);
    await page.screenshot({path: path.join(shots, `web-host-${width}-${colorScheme}.png`), fullPage: true});
  }
});
