// node page_opens.mjs ADDRESS: writes the ms until Chromium shows the page, and until a click on its first thread has
// taken effect. Both begin before the browser is asked for the page; its own start is not in them.
import {createRequire} from 'node:module';

const {chromium} = createRequire(process.env.PAGE_PACKAGES + '/')('playwright-core');

const browser = await chromium.launch({executablePath: process.env.PAGE_CHROMIUM, args: ['--no-sandbox', '--disable-gpu']});
const page = await browser.newPage({viewport: {width: 1600, height: 1200}});
page.setDefaultTimeout(120_000);
// Until what was shown is also drawn.
const drawn = () => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))));
let begin = Date.now();
await page.goto(process.argv[2]);
await page.waitForSelector('html[data-ready]:not([data-busy])', {state: 'attached'});
await drawn();
const shown = Date.now() - begin;
const row = page.locator('#key-table tbody tr th button').first();
await row.scrollIntoViewIfNeeded();
begin = Date.now();
await row.click();
await page.waitForSelector('#selection code', {state: 'attached'});
await drawn();
console.log(shown, Date.now() - begin);
await browser.close();
