// The speedscope file: valid against speedscope's own schema, and opened in speedscope itself,
// served from the package over loopback.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import test, {after, before} from 'node:test';
import {createRequire} from 'node:module';
import Ajv from 'ajv';
import {files, keepPicture, useBrowser} from './browser.mjs';

const release = path.join(path.dirname(createRequire(import.meta.url).resolve('speedscope/package.json')),
                          'dist/release');
// speedscope draws with WebGL: in software here.
const open = useBrowser(['--use-angle=swiftshader', '--enable-unsafe-swiftshader']);
const read = (name) => JSON.parse(fs.readFileSync(path.join(files, name), 'utf8'));

let server;
before(async () => {
  const types = {'.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.json': 'application/json'};
  server = http.createServer((request, response) => {
    const name = path.basename(new URL(request.url, 'http://x').pathname);
    const found = [path.join(release, name), path.join(files, name)].find((file) => name && fs.existsSync(file));
    if (!found) return response.writeHead(404).end();
    response.writeHead(200, {'content-type': types[path.extname(name)] || 'application/octet-stream'});
    fs.createReadStream(found).pipe(response);
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
});
after(() => server.close());

async function openProfile(t, name) {
  const root = `http://127.0.0.1:${server.address().port}`;
  const page = await open(t, `${root}/index.html#profileURL=${encodeURIComponent(`${root}/${name}`)}`);
  await page.getByText('Time Order').waitFor();
  return page;
}

test('is valid against the schema of the format', () => {
  const schema = JSON.parse(fs.readFileSync(path.join(release, 'file-format-schema.json'), 'utf8'));
  const validate = new Ajv({strict: false}).compile(schema);
  for (const name of ['small', 'typical', 'large', 'hostile', 'empty', 'many']) {
    assert.ok(validate(read(`${name}.speedscope.json`)), `${name}: ${JSON.stringify(validate.errors)}`);
  }
  const broken = read('small.speedscope.json');
  delete broken.profiles[0].weights;
  assert.equal(validate(broken), false);
});

test('opens with a profile per thread, in order of time', async (t) => {
  const page = await openProfile(t, 'small.speedscope.json');
  await page.getByText('demo (4242) / demo (4242) (1/2)').waitFor();
  await keepPicture(page, 'speedscope-time-order-1');
  await page.keyboard.press('n');
  await page.getByText('demo (4242) / worker (4243) (2/2)').waitFor();
  await keepPicture(page, 'speedscope-time-order-2');
  await page.getByText('Sandwich').click();
  await page.getByText('fsync_[k]').first().waitFor();
  await page.getByText('[blocked:sleep]').first().waitFor();
  await keepPicture(page, 'speedscope-sandwich');
  assert.deepEqual(page.errors.filter((text) => !/favicon|404/.test(text)), []);
});

test('opens the text of perf script, callgrind and a trace', async (t) => {
  for (const [name, title, frame] of [['small.perf', 'small.linux-perf.txt', 'compute'],
                                      ['small.callgrind', 'callgrind.small', 'compute'],
                                      ['small.trace.json', 'trace.json', 'compute']]) {
    fs.copyFileSync(path.join(files, name), path.join(files, title));
    const page = await openProfile(t, title);
    await page.getByText('Sandwich').click();
    await page.getByText(frame).first().waitFor();
    assert.deepEqual(page.errors.filter((text) => !/favicon|404/.test(text)), [], name);
  }
});

test('opens what is large, has many threads, hostile names or nothing', async (t) => {
  for (const [name, title] of [['large', '/3)'], ['many', '/1000)'], ['hostile', '/17)'], ['empty', 'no samples']]) {
    const began = Date.now();
    const page = await openProfile(t, `${name}.speedscope.json`);
    await page.getByText(title, {exact: false}).first().waitFor();
    console.log(`${name}.speedscope.json: ${Date.now() - began} ms`);
    assert.notEqual(await page.title(), 'owned');
    assert.deepEqual(page.errors.filter((text) => !/favicon|404/.test(text)), []);
  }
});
