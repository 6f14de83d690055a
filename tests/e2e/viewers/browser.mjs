// Chromium for the tests: one browser per file of tests, a page per test, and every error a page
// throws or logs.
import {chromium} from 'playwright-core';
import {after, before} from 'node:test';
import path from 'node:path';
import {pathToFileURL} from 'node:url';

export const files = process.env.VIEWER_FILES;  // what profctl's exporters wrote
export const shots = process.env.VIEWER_SHOTS;  // where pictures for people go

export function useBrowser(extraArguments = []) {
  const held = {};
  before(async () => {
    held.browser = await chromium.launch({
      executablePath: process.env.VIEWER_CHROMIUM,
      args: ['--no-sandbox', '--disable-gpu', ...extraArguments],
    });
  });
  after(() => held.browser.close());

  // A page with `url` (a name: of files) loaded; closed by the end of the test `t`.
  return async (t, url, options = {}) => {
    const context = await held.browser.newContext(
        {viewport: {width: 1200, height: 900}, ...options});
    t.after(() => context.close());
    const page = await context.newPage();
    page.setDefaultTimeout(60_000);
    page.errors = [];
    page.on('pageerror', (error) => page.errors.push(error.message));
    page.on('console', (line) => line.type() === 'error' && page.errors.push(line.text()));
    page.on('dialog', (dialog) => {
      page.errors.push('dialog: ' + dialog.message());
      return dialog.dismiss();
    });
    await page.goto(url.includes(':') ? url : fileUrl(url), {timeout: 60_000});
    return page;
  };
}

export const fileUrl = (name) => pathToFileURL(path.join(files, name)).href;

// Kept for people to look at; playwright cannot take full pages of an SVG, so the window is made tall.
export async function keepPicture(page, name) {
  await page.screenshot({path: path.join(shots, name + '.png'), timeout: 60_000});
}
