// The firefox, chrome and perf-script files in the Firefox Profiler: its own upgraders and call trees, without a browser,
// by its command-line tool profiler-cli. The numbers are those of SmallProfile.
import assert from 'node:assert/strict';
import {spawn, spawnSync} from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import test, {after} from 'node:test';
import {createRequire} from 'node:module';
import {files} from './browser.mjs';

const folder = path.dirname(createRequire(import.meta.url).resolve('@firefox-devtools/profiler-cli/package.json'));
const cli = path.join(folder, 'dist/profiler-cli.js');
// Its sockets stay in a folder of this run.
const home = fs.mkdtempSync(path.join(os.tmpdir(), 'profiler-cli-'));
const env = {...process.env, HOME: home, PROFILER_CLI_SESSION_DIR: home, PROFILER_CLI_NO_SYMBOLICATE: '1'};

const command = (...words) => spawnSync(process.execPath, [cli, ...words], {env, encoding: 'utf8'});

let sessions = 0;

// Loads a file, and passes on what shows it. `profiler-cli load` would give its session half a second to start; here it
// takes the time that it needs, by its log: who asks a session that just begins takes it for a dead one, and removes it.
// A file that cannot be loaded ends the wait with the reason.
async function withLoaded(name, look) {
  const id = `session-${++sessions}`;
  const log = path.join(home, `${id}.log`);
  const output = path.join(home, `${id}.output`);
  const file = fs.openSync(output, 'w');
  const session = spawn(process.execPath, [cli, '--daemon', path.join(files, name), '--session', id],
                        {env, stdio: ['ignore', file, file]});
  fs.closeSync(file);
  const ended = new Promise((done) => session.on('exit', done));
  try {
    for (let said = ''; !said.includes('Profile loaded successfully');) {
      assert.equal(session.exitCode, null, `${name}: ${fs.readFileSync(output, 'utf8')}`);
      assert.doesNotMatch(said, /Failed to load/);
      await new Promise((done) => setTimeout(done, 50));
      if (fs.existsSync(log)) said = fs.readFileSync(log, 'utf8');
    }
    look((...words) => {
      const done = command(...words, '--session', id);
      assert.equal(done.status, 0, `${name}, ${words.join(' ')}: ${done.stderr || done.stdout}`);
      return done.stdout;
    });
  } finally {
    session.kill('SIGKILL');
    await ended;
  }
}

after(() => fs.rmSync(home, {recursive: true, force: true}));

test('firefox: shows the time of each state', () => withLoaded('small.firefox.json.gz', (show) => {
  const main = show('thread', 'samples', '--thread', 't-0', '--include-idle');
  assert.match(main, /Native .* 1680 +84\.0%/);
  assert.match(main, /Blocked .* 300 +15\.0%\n +lock .* 300 +15\.0%/);
  assert.match(main, /Runnable .* 20 +1\.0%/);
  assert.match(main, /compute - total: 1\.700s \(85\.0%\)/);
  const worker = show('thread', 'samples', '--thread', 't-1', '--include-idle');
  assert.match(worker, /sleep .* 1200 +60\.0%/);
  assert.match(worker, /fsync_\[k\] - total: 800ms/);
  const threads = show('thread', 'list');
  assert.match(threads, /demo +demo \(4242\) +4242 +1680\.000ms/);
  assert.match(threads, /worker +demo \(4242\) +4242 +0\.000ms/);
}));

test('firefox: waits are markers', () => withLoaded('small.firefox.json.gz', (show) => {
  assert.match(show('thread', 'markers', '--thread', 't-1'), /Wait +2 markers .*min=800ms, avg=1s, max=1\.200s/);
  assert.match(show('thread', 'markers', '--thread', 't-0'), /Wait +1 markers .*max=300ms/);
}));

for (const [name, threads] of [['large', 3], ['many', 1000], ['hostile', 17], ['empty', 1], ['typical', 2]]) {
  test(`firefox: loads ${name}`, () => withLoaded(`${name}.firefox.json.gz`, (show) => {
    assert.match(show('thread', 'list'), new RegExp(`Threads \\(${threads} thread`));
  }));
}

test('perf-script: loads', () => withLoaded('small.perf', (show) => {
  assert.match(show('thread', 'functions', '--thread', 't-0'), /compute - self: 2 .*total: 3/);
}));

test('chrome: its threads are threads', () => withLoaded('small.trace.json', (show) => {
  assert.match(show('thread', 'list'), /demo \(4242\)/);
}));
