// The SVG in a real browser. Truth about small.svg (tests/support/sample_profiles.cc): two threads
// of 2 s each; compute 1.70 s, wait 0.30 s, run 2.00 s (of it fsync 0.80 s).
import assert from 'node:assert/strict';
import test from 'node:test';
import {fileUrl, keepPicture, useBrowser} from './browser.mjs';

const open = useBrowser();

// The drawn frame with this name, as the page has it.
const frameOf = (page, name) => page.evaluateHandle((wanted) => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const all = [...document.querySelectorAll('#frames rect')];
  return all.find((rect) => !rect.frame.merged && data.labels[data.label[rect.frame.node]] === wanted);
}, name);

async function boxOf(page, name) {
  const box = await (await frameOf(page, name)).asElement().boundingBox();
  return {...box, middle: [box.x + box.width / 2, box.y + box.height / 2]};
}

async function clickOn(page, name) {
  await page.mouse.click(...(await boxOf(page, name)).middle);
}

const close = (actual, wanted) => assert.ok(Math.abs(actual - wanted) < 1.5, `${actual}, not ${wanted}`);
const drawnNames = (page) => page.$$eval('#frames text', (texts) => texts.map((text) => text.textContent));
const tip = (page) => page.$eval('#tip', (tip) =>
    tip.getAttribute('visibility') === 'visible' ? tip.textContent : '');

test('opens without errors and shows every frame as wide as its time', async (t) => {
  const page = await open(t, 'small.svg');
  const width = 0.98 * 1200;
  close((await boxOf(page, 'demo (4242)')).width, width);
  close((await boxOf(page, 'compute')).width, width * 1.7 / 4);
  close((await boxOf(page, 'wait')).width, width * 0.3 / 4);
  close((await boxOf(page, '[blocked:sleep]')).width, width * 1.2 / 4);
  assert.equal(await page.title(), '/usr/bin/demo --fast (4242)');
  assert.equal(await page.$('#still'), null);
  assert.deepEqual(page.errors, []);
  await keepPicture(page, 'small-1200-light');
});

test('a click zooms, and the way back is there', async (t) => {
  const page = await open(t, 'small.svg');
  assert.ok(await page.$eval('#reset', (button) => button.disabled));
  const before = await boxOf(page, 'fsync_[k]');
  await clickOn(page, 'run');
  close((await boxOf(page, 'run')).width, 0.98 * 1200);
  close((await boxOf(page, 'fsync_[k]')).width, 0.98 * 1200 * 0.4);
  close((await boxOf(page, '_start')).width, 0.98 * 1200);  // the callers stay
  assert.equal((await frameOf(page, 'compute')).asElement(), null);
  await page.click('#reset');
  close((await boxOf(page, 'fsync_[k]')).x, before.x);
  close((await boxOf(page, 'compute')).width, 0.98 * 1200 * 1.7 / 4);
  assert.ok(await page.$eval('#reset', (button) => button.disabled));
  assert.deepEqual(page.errors, []);
});

// Of the wait for a lock, 860 ms, 830 ms are for engine-worker: for 620 ms of these it runs one function, for 210 ms it flushes.
test('a click opens on whom a stack waits, and what that thread does', async (t) => {
  const page = await open(t, 'on-whom.svg');
  const full = 0.98 * 1200;
  await clickOn(page, '[blocked:lock]');
  close((await boxOf(page, '[waits for engine-worker]')).width, full * 830 / 860);
  await clickOn(page, '[waits for engine-worker]');
  close((await boxOf(page, '[waits for engine-worker]')).width, full);
  close((await boxOf(page, 'get_device_properties')).width, full * 620 / 830);
  close((await boxOf(page, '[runs]')).width, full * 600 / 830);
  close((await boxOf(page, 'flush')).width, full * 210 / 830);
  assert.equal((await frameOf(page, 'nanosleep')).asElement(), null);
  await keepPicture(page, 'on-whom-1200');
  await page.click('#reset');
  close((await boxOf(page, '[blocked:sleep]')).width, full * 98 / 1930);
  assert.deepEqual(page.errors, []);
});

test('search says how much of the time matches, nested matches once', async (t) => {
  const page = await open(t, 'small.svg');
  const search = async (text) => {
    await page.fill('#search', text);
    return page.textContent('#result');
  };
  assert.equal(await search('compute'), '42.5 % of the time matches (1.70 s, 1 frame)');
  assert.equal(await search('MAIN|compute|futex'), '50.0 % of the time matches (2.00 s, 3 frames)');
  assert.equal(await search('^run$|wait$'), '57.5 % of the time matches (2.30 s, 2 frames)');
  assert.equal(await search('demo ('), '100.0 % of the time matches (4.00 s, 1 frame)');  // no regexp
  assert.equal(await search('nothing'), '0.0 % of the time matches (0 ns, 0 frames)');
  await search('fsync');
  const hits = await page.$$eval('#frames rect.hit', (rects) => rects.length);
  assert.equal(hits, 1);
  await keepPicture(page, 'small-1200-search');
  assert.equal(await search(''), '');
  assert.equal(await page.$('#frames rect.hit, #frames rect.miss'), null);
  assert.deepEqual(page.errors, []);
});

test('a share that rests on samples has its interval', async (t) => {
  const page = await open(t, 'sampled.svg');
  await page.mouse.move(...(await boxOf(page, 'read')).middle);
  assert.match(await tip(page), /^read600 ms, 60.0 % \+-2.2 of all, 60.0 % of its parent60 samples/);
  await page.mouse.move(...(await boxOf(page, 'main')).middle);
  assert.match(await tip(page), /^main1.00 s, 100.0 % of all, /);
  assert.deepEqual(page.errors, []);
});

test('hovering shows name, location, module, time, shares and samples', async (t) => {
  const page = await open(t, 'typical.svg');
  const {middle: [x, y]} = await boxOf(page, 'Tensor.numpy (tensor.py:31)');
  await page.mouse.move(x, y);
  assert.equal(await tip(page), 'Tensor.numpy (tensor.py:31)' +
      '7.98 s, 39.9 % of all, 79.8 % of its parent790 samples' +
      'working 0.0 %, runnable 0.0 %, blocked 100.0 %/srv/app/tensor.py:31');
  const native = await boxOf(page, 'pthread_cond_wait');
  await page.mouse.move(...native.middle);
  assert.match(await tip(page), /\/usr\/bin\/demo$/);
  const few = await boxOf(page, '[blocked:gil]');  // one sample: the share is doubtful
  await page.mouse.move(...few.middle);
  assert.match(await tip(page), /^\[blocked:gil\]160 ms, ~0.8 % of all, ~100.0 % of its parent1 sample/);
  await keepPicture(page, 'typical-1200-hover');
  await page.mouse.move(5, 5);
  assert.equal(await tip(page), '');
  assert.deepEqual(page.errors, []);
});

test('works with the keyboard alone, and says what it is at', async (t) => {
  const page = await open(t, 'small.svg');
  const focused = () => page.evaluate(() => document.activeElement.getAttribute('aria-label'));
  const press = async (...keys) => {
    for (const key of keys) await page.keyboard.press(key);
  };
  await page.focus('#search');
  await press('Tab');
  assert.match(await focused(), /^demo \(4242\), 4.00 s, 100.0 % of all, 172 samples/);
  await press('ArrowUp', 'ArrowUp');
  assert.match(await focused(), /^main, 2.00 s/);  // equally heavy: the first by name
  assert.match(await tip(page), /^main/);
  await press('ArrowRight');
  assert.match(await focused(), /^run, 2.00 s/);
  await press('ArrowLeft', 'ArrowUp', 'Enter');
  assert.match(await focused(), /^compute/);
  close((await boxOf(page, 'compute')).width, 0.98 * 1200);
  await press('ArrowDown');
  assert.match(await focused(), /^main/);
  await press('Backspace');
  close((await boxOf(page, 'main')).width, 0.98 * 1200);
  await press('Escape');
  close((await boxOf(page, 'main')).width, 0.98 * 600);
  await press('/', ...'fsync');
  assert.equal(await page.$eval('#search', (input) => input.value), 'fsync');
  assert.match(await page.textContent('#result'), /^20.0 %/);
  await press('Escape');
  assert.equal(await page.$eval('#search', (input) => input.value), '');
  await press('i');
  assert.equal(await page.getAttribute('#turn', 'aria-pressed'), 'true');
  // One frame, and only one, is in the order of Tab.
  assert.equal(await page.$$eval('#frames [tabindex]', (all) => all.length), 1);
  assert.equal(await page.getAttribute('#frames [tabindex]', 'role'), 'treeitem');
  assert.deepEqual(page.errors, []);
});

test('can be turned over', async (t) => {
  const page = await open(t, 'small.svg');
  const root = async () => (await boxOf(page, 'demo (4242)')).y;
  const leaf = async () => (await boxOf(page, '[blocked:lock]')).y;
  assert.ok(await root() > await leaf());
  await page.click('#turn');
  assert.ok(await root() < await leaf());
  await keepPicture(page, 'small-1200-icicle');
  await page.click('#turn');
  assert.ok(await root() > await leaf());
});

test('the address keeps zoom, search and side', async (t) => {
  const page = await open(t, 'small.svg');
  await clickOn(page, 'run');
  await page.fill('#search', 'fsync|a b');
  await page.click('#turn');
  const again = await open(t, page.url());
  close((await boxOf(again, 'run')).width, 0.98 * 1200);
  assert.equal(await again.$eval('#search', (input) => input.value), 'fsync|a b');
  assert.equal(await again.getAttribute('#turn', 'aria-pressed'), 'true');
  const nonsense = await open(t, fileUrl('small.svg') + '#z=99999&s=(&i=x');
  assert.ok(await nonsense.$eval('#reset', (button) => button.disabled));
  assert.deepEqual([...page.errors, ...again.errors, ...nonsense.errors], []);
});

test('20,000 frames: nothing is left out, and the time it takes', async (t) => {
  const page = await open(t, 'large.svg', {viewport: {width: 2500, height: 1340}});
  const seen = await page.evaluate(async () => {
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    const data = JSON.parse(document.getElementById('data').textContent);
    const rects = [...document.querySelectorAll('#frames rect')];
    const merged = rects.filter((rect) => rect.frame.merged);
    const timing = performance.getEntriesByType('navigation')[0];
    return {
      frames: data.ns.length,
      drawn: rects.length - merged.length,
      merged: merged.reduce((sum, rect) => sum + rect.frame.frames, 0),
      mergedRects: merged.length,
      parents: new Set(merged.map((rect) => rect.frame.node)).size,
      narrowest: Math.min(...rects.filter((r) => !r.frame.merged).map((r) => r.frame.width)),
      milliseconds: Math.round(timing.domContentLoadedEventEnd - timing.responseEnd),
    };
  });
  console.log(`large.svg: ${JSON.stringify(seen)}`);
  assert.ok(seen.frames >= 20000);
  assert.equal(seen.drawn + seen.merged, seen.frames);
  assert.equal(seen.parents, seen.mergedRects);  // one per parent
  assert.ok(seen.narrowest >= 1);
  await keepPicture(page, 'large-2500-light');

  // Frames merged at first are there when one zooms in.
  const target = await page.evaluate(() => {
    const rects = [...document.querySelectorAll('#frames rect')].filter((rect) => rect.frame.merged);
    const widest = rects.reduce((a, b) => a.frame.width > b.frame.width ? a : b);
    const box = widest.getBoundingClientRect();
    return {x: box.x + box.width / 2, y: box.y + box.height / 2, ns: widest.frame.ns};
  });
  await page.mouse.move(target.x, target.y);
  assert.match(await tip(page), /^[\d,]+ frames.*each too narrow to be drawn/);
  await page.mouse.click(target.x, target.y);
  const shown = await page.evaluate((ns) => {
    const rects = [...document.querySelectorAll('#frames rect')];
    const rows = new Map();
    for (const rect of rects) rows.set(rect.getAttribute('y'), (rows.get(rect.getAttribute('y')) || 0) + rect.frame.width);
    return {widest: Math.max(...rows.values()), fully: rects.some((rect) => !rect.frame.merged && rect.frame.ns < ns)};
  }, target.ns);
  assert.ok(shown.fully);
  close(shown.widest, 0.98 * 2500);
  assert.deepEqual(page.errors, []);
});

test('is as high as what is drawn, and grows where zooming shows more', async (t) => {
  const page = await open(t, 'tower.svg');
  const height = () => page.$eval('#graph', (pane) => Number(pane.getAttribute('height')) / 18);
  assert.equal(await height(), 4);  // demo, main, wide, [working]; the tower is merged
  await page.evaluate(() => {
    const merged = [...document.querySelectorAll('#frames rect')].find((rect) => rect.frame.merged);
    merged.dispatchEvent(new MouseEvent('click', {bubbles: true}));
  });
  assert.equal(await height(), 53);
  close((await boxOf(page, 'tower_49')).width, 0.98 * 1200);
  assert.equal(await page.$eval('#reset', (button) => button.disabled), false);
  await page.click('#reset');
  assert.equal(await height(), 4);
  assert.deepEqual(page.errors, []);
});

test('fits narrow and wide windows, follows a change, and keeps its tools visible', async (t) => {
  const page = await open(t, 'large.svg', {viewport: {width: 800, height: 700}, colorScheme: 'dark'});
  const right = () => page.$$eval('#frames rect', (rects) =>
      Math.max(...rects.map((rect) => rect.getBoundingClientRect().right)));
  close(await right(), 0.99 * 800);
  await page.mouse.wheel(0, 400);
  await page.waitForFunction(() => scrollY > 200);
  await page.waitForFunction(() => {
    const box = document.getElementById('reset').getBoundingClientRect();
    return box.top >= 0 && box.bottom < 40;
  });
  await page.evaluate(() => scrollTo(0, 0));
  await page.setViewportSize({width: 800, height: 1340});
  await keepPicture(page, 'large-800-dark');
  await page.setViewportSize({width: 2500, height: 1340});
  await page.waitForFunction(() => Math.max(...[...document.querySelectorAll('#frames rect')].map(
      (rect) => rect.frame.left + rect.frame.width)) > 2400);
  close(await right(), 0.99 * 2500);
  assert.deepEqual(page.errors, []);
});

test('no name reaches beyond its frame', async (t) => {
  for (const [name, width] of [['typical.svg', 800], ['large.svg', 1200], ['hostile.svg', 1200]]) {
    const page = await open(t, name, {viewport: {width, height: 900}});
    const beyond = await page.evaluate(() => {
      const rights = new Map();  // of frames, by place
      for (const rect of document.querySelectorAll('#frames rect'))
        rights.set(rect.getAttribute('x') + '/' + rect.getAttribute('y'), rect.getBoundingClientRect().right);
      return [...document.querySelectorAll('#frames text')].filter((text) => {
        const right = rights.get(text.getAttribute('x') + '/' + (text.getAttribute('y') - 13));
        return !(text.getBoundingClientRect().right <= right + 0.5);
      }).map((text) => text.textContent);
    });
    assert.deepEqual(beyond, []);
    const head = await page.$$eval('#head > text', (lines) =>
        Math.max(...lines.map((line) => line.getBoundingClientRect().right)));
    assert.ok(head <= width, `the head ends at ${head}`);
    assert.deepEqual(page.errors, []);
  }
});

test('shows a useful picture without script', async (t) => {
  const page = await open(t, 'typical.svg', {javaScriptEnabled: false, viewport: {width: 1200, height: 400}});
  // playwright's own script runs even so.
  const seen = await page.evaluate(() => ({
    drawn: [...document.querySelectorAll('#still rect')].filter((r) => r.getBoundingClientRect().height > 0).length,
    live: document.querySelectorAll('#frames rect').length,
    title: document.querySelector('#still title').textContent,
  }));
  assert.equal(seen.live, 0);
  assert.ok(seen.drawn > 30);
  assert.equal(seen.title, 'python3 (4242)\n100.0 %, 20.0 s, 1,908 samples');
  await keepPicture(page, 'typical-1200-no-script');
});

test('hostile names stay names', async (t) => {
  const page = await open(t, 'hostile.svg');
  const scripts = await page.$$eval('script', (all) => all.length);
  assert.equal(scripts, 2);
  assert.equal(await page.$('image, img, a, iframe, [onerror], [onload], [href]'), null);
  const rects = await page.$$('#frames rect');
  for (let i = 0; i < rects.length; i += 7) {
    const box = await rects[i].boundingBox();
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  }
  await page.fill('#search', '<script>');
  assert.match(await page.textContent('#result'), /^[1-9]/);
  assert.notEqual(await page.title(), 'owned');
  assert.deepEqual(page.errors, []);
  await keepPicture(page, 'hostile-1200');
});

test('an empty profile says so', async (t) => {
  const page = await open(t, 'empty.svg');
  assert.match(await page.textContent('svg'), /There are no samples in this profile\./);
  assert.deepEqual(page.errors, []);
});

test('is printed light, without tools', async (t) => {
  const page = await open(t, 'typical.svg', {colorScheme: 'dark', viewport: {width: 720, height: 500}});
  await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
  await page.emulateMedia({media: 'print'});
  const seen = await page.evaluate(() => ({
    paper: getComputedStyle(document.querySelector('rect.paper')).fill,
    tools: getComputedStyle(document.getElementById('tools')).display,
  }));
  assert.deepEqual(seen, {paper: 'rgb(255, 255, 255)', tools: 'none'});
  await keepPicture(page, 'typical-print');
});
