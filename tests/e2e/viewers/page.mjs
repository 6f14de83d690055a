// What a page shows of a profile, and what `profctl report` says of the same selection.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';

// What a person would type into a shell, with options behind it.
export function run(command, ...options) {
  const line = command.replace(/^profctl /, '"$0" ') + ' "$@"';
  return execFileSync('sh', ['-c', line, process.env.VIEWER_PROFCTL, ...options],
                      {maxBuffer: 1 << 28});
}
export const report = (command, key) => JSON.parse(run(command, '--by', key, '-f', 'json'));

// The command that the page names for what is selected; null: everything is.
export const commandOf = (page) => page.$eval('#selection', (selection) => {
  const code = selection.querySelector('code');
  return code ? code.textContent.trim() : null;
});
// Its filter; "": none.
export async function filterOf(page) {
  const command = await commandOf(page);
  return command === null
      ? '' : command.replace(/^.*? --filter '/, '').replace(/'$/, '').replaceAll(`'\\''`, `'`);
}

// name -> column -> number, of all rows of a table.
export const tableOf = (page, id) => page.$eval('#' + id, (table) => Object.fromEntries(
    [...table.querySelectorAll('tbody tr')].map((row) => [
      row.dataset.name,
      Object.fromEntries([...row.querySelectorAll('td')].map(
          (cell) => [cell.dataset.column, Number(cell.dataset.value)])),
    ])));

export async function showAllRows(page, section) {
  for (;;) {
    const more = await page.$(`#${section} .scroll > button`);
    if (!more) return;
    await more.click();
  }
}

// The columns of hardware counters: none where `report` has no counts.
function compareCounts(shown, row, prefix, column, what) {
  if (row[prefix + 'cycles'] === undefined) {
    assert.equal(shown[column + 'cycles'], undefined, what);
    return;
  }
  const [cycles, instructions, misses] =
      ['cycles', 'instructions', 'cache_misses'].map((name) => row[prefix + name]);
  const rate = (of, by) => (of && by ? of / by : 0);
  assert.equal(shown[column + 'cycles'], cycles, what);
  assert.equal(shown[column + 'CPI'], rate(cycles, instructions), what);
  assert.equal(shown[column + 'misses'], rate(1000 * misses, instructions), what);
}

// Every number of the tables is that of `command`, a profctl report.
export async function compareWith(page, command) {
  await showAllRows(page, 'functions');
  const functions = await tableOf(page, 'function-table');
  const expected = report(command, 'function');
  assert.deepEqual(Object.keys(functions).sort(), expected.rows.map((row) => row.function).sort());
  for (const row of expected.rows) {
    const shown = functions[row.function];
    assert.ok(shown, row.function);
    assert.equal(shown.self, row.self_ns ?? 0, `self of ${row.function}: ${command}`);
    assert.equal(shown.total, row.total_ns ?? 0, `total of ${row.function}: ${command}`);
    compareCounts(shown, row, 'self_', '', `counts of self of ${row.function}: ${command}`);
    compareCounts(shown, row, 'total_', 'total ', `counts of total of ${row.function}: ${command}`);
  }
  for (const key of await page.$$eval('#key option', (all) => all.map((one) => one.value))) {
    await page.selectOption('#key', key);
    await showAllRows(page, 'keys');
    const rows = await tableOf(page, 'key-table');
    const values = report(command, key).rows;
    const wanted = Object.fromEntries(values.map((row) => [row[key], row.ns]));
    const times = Object.fromEntries(Object.entries(rows).map(([value, row]) => [value, row.time]));
    assert.deepEqual(times, wanted, `by ${key}: ${command}`);
    for (const row of values) compareCounts(rows[row[key]], row, '', '', `counts by ${key}: ${command}`);
  }
  const sum = await page.$eval('#states .sum', (sum) => Number(sum.dataset.ns));
  assert.equal(sum, expected.total_ns);
  assert.deepEqual(page.errors, []);
}

// Drags over the map of time, from one row of one second to another.
export async function dragTime(page, from, to) {
  const middle = async (cell) => {
    const box = await (await page.$(`[data-cell="${cell}"]`)).boundingBox();
    return [box.x + box.width / 2, box.y + box.height / 2];
  };
  await page.locator('#heat').scrollIntoViewIfNeeded();
  const begin = await middle(from);
  const end = await middle(to);
  await page.mouse.move(...begin);
  await page.mouse.down();
  await page.mouse.move(...end, {steps: 4});
  await page.mouse.up();
}
