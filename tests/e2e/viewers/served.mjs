// profctl web, as a test starts it and a browser sees it.
import assert from 'node:assert/strict';
import {spawn} from 'node:child_process';

// Runs it until the end of the test `t`. Resolves to its address.
export async function serve(t, args, host) {
  const child = spawn(process.env.VIEWER_PROFCTL, ['web', ...args],
                      {env: {...process.env, PROFD_HOST: host ?? 'unix:/nowhere'}, stdio: ['ignore', 'pipe', 'pipe']});
  let said = '';
  child.stderr.on('data', (part) => said += part);
  const ended = new Promise((done) => child.on('close', (code) => done(code)));
  t.after(async () => {
    child.kill('SIGINT');
    assert.equal(await ended, 0, said);
  });
  let out = '';
  return new Promise((done, fail) => {
    child.stdout.on('data', (part) => {
      out += part;
      if (out.includes('\n')) done(out.trim());
    });
    ended.then((code) => fail(new Error(`profctl web ended with ${code}: ${said}`)));
  });
}

// The number of what was shown or refused so far.
const shown = (page) => page.evaluate(
    () => Math.max(Number(document.documentElement.dataset.ready ?? 0), Number(document.documentElement.dataset.failed ?? 0)));

// Until what `action` brings is shown, or refused.
export async function after(page, action) {
  const before = await shown(page);
  await action();
  await page.waitForFunction(
      (before) => !('busy' in document.documentElement.dataset) &&
          Math.max(Number(document.documentElement.dataset.ready ?? 0),
                   Number(document.documentElement.dataset.failed ?? 0)) > before,
      before);
}

// Until something is shown.
export async function ready(page) {
  await page.waitForSelector('html[data-ready]:not([data-busy]), html[data-failed]:not([data-busy])');
  assert.ok(await page.isVisible('#profile'), await page.textContent('#status'));
}

// The command line that the page names for its whole profile.
export const wholeCommand = (page) => page.$eval('#status', (status) => {
  const at = status.textContent.indexOf('profctl report');
  return at < 0 ? null : status.textContent.slice(at);
});
