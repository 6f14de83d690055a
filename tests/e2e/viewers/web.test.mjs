// `profctl web` over files, in a real browser: whatever is selected, filtered or compared, its
// numbers are those of the commands that the page names.
import assert from 'node:assert/strict';
import http from 'node:http';
import path from 'node:path';
import test from 'node:test';
import {files, shots, useBrowser} from './browser.mjs';
import {commandOf, compareWith, dragTime, filterOf, run, showAllRows, tableOf} from './page.mjs';
import {after, ready, serve} from './served.mjs';

const open = useBrowser();
const file = (name) => path.join(files, name + '.json');

async function openPage(t, names, options = {}, hash = '') {
  const address = await serve(t, names.map(file));
  const page = await open(t, address + hash, options);
  page.address = address;
  await ready(page);
  return page;
}

// name -> {before, now, change} of the table of a comparison, and what profctl diff says.
async function compareDiff(page, a, b, ...options) {
  for (const more = '#diff-more'; await page.$(more);) await page.click(more);
  const rows = await page.$$eval('#diff-table tbody tr', (all) => all.map((row) => [
    row.dataset.name,
    [...row.querySelectorAll('td')].map((cell) => Number(cell.dataset.value)),
  ]));
  const expected = JSON.parse(run(`profctl diff '${file(a)}' '${file(b)}'`, '-f', 'json', ...options));
  assert.deepEqual(rows, expected.functions.map(({name, total, self}) => [
    name,
    [total, self].flatMap(({a_ns, b_ns}) => [a_ns, b_ns, b_ns - a_ns]),
  ]));
  const states = await page.$$eval('#diff-states li[data-state]', (all) => all.map(
      (one) => [one.dataset.state, Number(one.dataset.a), Number(one.dataset.b)]));
  assert.deepEqual(states, expected.states.map(({name, a_ns, b_ns}) => [name, a_ns, b_ns]));
  const root = await page.$eval('#diff-graph .frame', (frame) => [frame.dataset.a, frame.dataset.b].map(Number));
  assert.deepEqual(root, [expected.a.total_ns, expected.b.total_ns]);
  return Object.fromEntries(rows);
}

test('files: the numbers are those of report', async (t) => {
  const page = await openPage(t, ['timed', 'typical', 'small']);
  await compareWith(page, `profctl report '${file('timed')}'`);
  await dragTime(page, 2, 12);
  await compareWith(page, await commandOf(page));
  for (const [source, name] of [['file:1', 'typical'], ['file:2', 'small']]) {
    await after(page, () => page.selectOption('#source', source));
    await compareWith(page, `profctl report '${file(name)}'`);
  }
});

test('a filter: the numbers are those of report, also with a selection', async (t) => {
  const page = await openPage(t, ['timed']);
  await page.fill('#filter', 'state = blocked and not wait = io');
  await after(page, () => page.press('#filter', 'Enter'));
  assert.match(await commandOf(page), /--filter '\(state = blocked and not wait = io\)'$/);
  await compareWith(page, await commandOf(page));
  await dragTime(page, 1, 9);
  assert.match(await commandOf(page), /time = .* and \(state = blocked and not wait = io\)'$/);
  await compareWith(page, await commandOf(page));
  await page.fill('#filter', 'state = ');
  await after(page, () => page.press('#filter', 'Enter'));
  assert.ok(await page.isVisible('#status[role="alert"]'));
  assert.ok(await page.isHidden('#profile'));
  page.errors.length = 0;  // Chromium logs the status 400
  await page.fill('#filter', '');
  await after(page, () => page.press('#filter', 'Enter'));
  assert.match(await filterOf(page), /^time = \S+$/);  // what is selected stays
  await compareWith(page, await commandOf(page));
});

test('a comparison has the numbers of diff, and names what is new and what is gone', async (t) => {
  const page = await openPage(t, ['small', 'later']);
  assert.ok(await page.isHidden('#comparison'));
  await page.selectOption('#before', 'file:1');
  await page.waitForSelector('#diff-table');
  await compareDiff(page, 'later', 'small');
  await after(page, () => page.selectOption('#source', 'file:1'));
  await page.selectOption('#before', 'file:0');
  await page.waitForFunction(() => document.querySelector('#comparison p')?.textContent.includes('small.json ('));
  const rows = await compareDiff(page, 'small', 'later');
  const texts = await page.$$eval('#diff-table tbody tr', (all) => Object.fromEntries(
      all.map((row) => [row.dataset.name, row.querySelector('.change').textContent])));
  const kinds = {new: 0, gone: 0};
  for (const [name, [before, now]] of Object.entries(rows)) {
    if (before === 0 && now > 0) assert.equal(texts[name], 'new', `${name} ${++kinds.new}`);
    if (before > 0 && now === 0) assert.equal(texts[name], 'gone', `${name} ${++kinds.gone}`);
  }
  assert.ok(kinds.new > 0 && kinds.gone > 0);
  assert.ok((await page.$$('#diff-graph .frame.gone')).length > 0, 'what is gone can be seen');
  assert.ok((await page.$$('#diff-graph .frame.new')).length > 0, 'what is new can be seen');
  await page.focus('#diff-graph .frame');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Enter');
  assert.ok(await page.isVisible('#diff-zoom-out'));
  await page.selectOption('#before', '');
  assert.ok(await page.isHidden('#comparison'));
  assert.deepEqual(page.errors, []);
});

test('a link shows the same again', async (t) => {
  const page = await openPage(t, ['small', 'timed']);
  await after(page, () => page.selectOption('#source', 'file:1'));
  await page.fill('#filter', 'state = blocked');
  await after(page, () => page.press('#filter', 'Enter'));
  await dragTime(page, 2, 8);
  await page.selectOption('#key', 'wait');
  await page.click('#key-table tbody tr:nth-child(1) th button');
  await page.selectOption('#before', 'file:0');
  await page.waitForSelector('#diff-table');
  const command = await commandOf(page);
  const other = await open(t, await page.evaluate(() => location.href));
  await ready(other);
  assert.equal(await commandOf(other), command);
  assert.equal(await other.inputValue('#filter'), 'state = blocked');
  assert.equal(await other.inputValue('#key'), 'wait');
  assert.ok(await other.isVisible('#diff-table'));
  await compareWith(other, command);
  await after(page, () => page.goBack());
  assert.ok(await page.isHidden('#comparison'));
});

test('a link may hold anything', async (t) => {
  const address = await serve(t, [file('timed')]);
  const hostile = ['source=file:9', 'source=%00', 'source=file:0&page=%7B%22only%22%3A1%2C%22time%22%3A%5B0%2C%22x%22%5D%7D',
    'source=file:0&page=' + encodeURIComponent('{"only":[["thread",["<img src=x onerror=alert(1)>"]],7],"zoom":[1],"fn":{}}'),
    'source=file:0&filter=' + encodeURIComponent('"><script>alert(1)</script>'), 'source=history', '%', '&&&=',
    'source=file:0&by=<b>&strip=NaN&a.source=<b>'];
  for (const hash of hostile) {
    const page = await open(t, address + '#' + hash);
    await page.waitForSelector('html[data-ready], html[data-failed]');
    assert.equal(await page.$$eval('img, iframe, object, body script', (all) => all.length), 0, hash);
    assert.deepEqual(page.errors.filter((error) => !error.includes('Failed to load resource')), [], hash);
  }
});

test('names are text, whatever they are', async (t) => {
  const page = await openPage(t, ['hostile', 'small']);
  await showAllRows(page, 'functions');
  await compareWith(page, `profctl report '${file('hostile')}'`);
  await page.selectOption('#before', 'file:1');
  await page.waitForSelector('#diff-table');
  await compareDiff(page, 'small', 'hostile');
  await page.selectOption('#key', 'thread');
  await page.click('#key-table tbody tr:nth-child(1) th button');
  await compareWith(page, await commandOf(page));
  assert.equal(await page.$$eval('script', (all) => all.length), 1);
  assert.equal(await page.$$eval('img, iframe, object, embed, base, form', (all) => all.length), 0);
  assert.deepEqual(page.errors, []);
});

test('the policy keeps scripts and other hosts out', async (t) => {
  const page = await openPage(t, ['small']);
  const refused = await page.evaluate(async () => {
    const said = [];
    document.addEventListener('securitypolicyviolation', (event) => said.push(event.effectiveDirective));
    const script = document.createElement('script');
    script.textContent = 'document.title = "run"';
    document.body.append(script);
    const image = document.createElement('img');
    image.setAttribute('onerror', 'document.title = "run"');
    image.src = 'http://127.0.0.2:9/x';
    document.body.append(image);
    await fetch('http://127.0.0.2:9/').catch(() => said.push('fetch'));
    await new Promise((done) => setTimeout(done, 0));
    return said;
  });
  assert.notEqual(await page.title(), 'run');
  for (const directive of ['script-src-elem', 'img-src', 'connect-src', 'fetch'])
    assert.ok(refused.includes(directive), `${directive} in ${refused}`);
});

test('without the token, or for another host, nothing is there', async (t) => {
  const address = new URL(await serve(t, [file('small')]));
  const get = (where, host, method = 'GET') => new Promise((done, fail) => http.request(
      {host: '127.0.0.1', port: address.port, path: where, method, headers: {host, connection: 'close'}},
      (answer) => {
        let body = '';
        answer.on('data', (part) => body += part);
        answer.on('end', () => done([answer.statusCode, body]));
      }).on('error', fail).end());
  const wrong = address.pathname.replace(/[0-9a-f]{4}\/$/, (end) => (end.startsWith('0') ? 'ffff/' : '0000/'));
  assert.equal((await get(address.pathname + 'api/v1/sources', address.host))[0], 200);
  for (const [where, host, status] of [
    ['/', address.host, 404], ['/api/v1/sources', address.host, 404], [wrong + 'api/v1/sources', address.host, 404],
    [address.pathname + 'api/v1/sources', 'evil.example', 403], [address.pathname + 'api/v1/sources', `evil.example:${address.port}`, 403]]) {
    const [got, body] = await get(where, host);
    assert.equal(got, status, where);
    assert.ok(!body.includes('small.json'));
  }
  assert.equal((await get(address.pathname + 'api/v1/sources', address.host, 'POST'))[0], 405);
});

test('the keyboard is enough', async (t) => {
  const page = await openPage(t, ['small', 'timed']);
  await page.focus('#source');
  await after(page, () => page.keyboard.press('ArrowDown'));
  await compareWith(page, `profctl report '${file('timed')}'`);
  await page.focus('#filter');
  await page.keyboard.type('state = blocked');
  await after(page, () => page.keyboard.press('Enter'));
  await compareWith(page, await commandOf(page));
  await page.focus('.grid');
  await page.keyboard.press('ArrowRight');
  assert.match(await filterOf(page), /^time = /);
  await page.keyboard.press('Escape');
  assert.equal(await filterOf(page), '(state = blocked)');
  await page.keyboard.press('/');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'search');
  await page.focus('#download summary');
  await page.keyboard.press('Enter');
  const begins = page.waitForEvent('download');
  await page.focus('#download a[download="profile.folded"]');
  await page.keyboard.press('Enter');
  const download = await begins;
  assert.equal(download.suggestedFilename(), 'profile.folded');
  for (const control of await page.$$('button, select, input, summary, [tabindex="0"]')) {
    const named = await control.evaluate((one) => Boolean(
        one.getAttribute('aria-label') || one.textContent.trim() || one.closest('label') || one.title));
    assert.ok(named, await control.evaluate((one) => one.outerHTML));
  }
});

test('what is downloaded is what is shown', async (t) => {
  const page = await openPage(t, ['small', 'timed']);
  await after(page, () => page.selectOption('#source', 'file:1'));
  await page.fill('#filter', 'state = blocked');
  await after(page, () => page.press('#filter', 'Enter'));
  const href = await page.$eval('#download a[download="profile.json"]', (link) => link.href);
  const saved = await (await fetch(href)).json();
  const ns = (await tableOf(page, 'key-table'));
  const all = Object.values(ns).reduce((sum, row) => sum + row.time, 0);
  assert.equal(saved.profile.samples.weight_ns.reduce((sum, one) => sum + Number(one), 0), all);
});

test('pictures for people', async (t) => {
  for (const [width, colorScheme] of [[800, 'light'], [800, 'dark'], [1600, 'dark'], [2500, 'light']]) {
    const page = await openPage(t, ['typical', 'small'], {viewport: {width, height: 1400}, colorScheme});
    await page.selectOption('#before', 'file:1');
    await page.waitForSelector('#diff-table');
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width);
    await page.screenshot({path: path.join(shots, `web-${width}-${colorScheme}.png`), fullPage: true});
    await page.emulateMedia({media: 'print'});
    await page.screenshot({path: path.join(shots, `web-${width}-${colorScheme}-print.png`), fullPage: true});
  }
});
