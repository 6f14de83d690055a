// Can it be read: contrast of names, and colours that stay apart for the colour-blind, in both schemes.
import assert from 'node:assert/strict';
import test from 'node:test';
import {keepPicture, useBrowser} from './browser.mjs';

const open = useBrowser();
const kStates = ['run', 'rdy', 'blk', 'blk lock', 'blk gil', 'blk io', 'blk driver', 'blk kernel',
                 'blk net', 'blk pipe', 'blk child', 'blk sleep'];
const kFrames = ['pro', 'psd', 'who', 'nat s0', 'nat s1', 'nat s2', 'ker s0', 'ker s1', 'ker s2', 'pyt s0',
                 'pyt s1', 'pyt s2', 'jit s0', 'jit s1', 'jit s2'];

// What is seen of a rect and a name of each class: its colour laid over the paper.
async function coloursOf(page, classes) {
  return page.evaluate((names) => {
    const parse = (text) => text.match(/[\d.]+/g).slice(0, 3).map(Number);
    const paper = parse(getComputedStyle(document.querySelector('rect.paper')).fill);
    const seen = (element, below) => {
      const style = getComputedStyle(element);
      const alpha = Number(style.fillOpacity);
      return parse(style.fill).map((value, i) => alpha * value + (1 - alpha) * below[i]);
    };
    const made = {};
    for (const name of names) {
      const pair = ['rect', 'text'].map((kind) => {
        const element = document.createElementNS('http://www.w3.org/2000/svg', kind);
        element.setAttribute('class', name + (kind === 'text' ? ' in' : ''));
        document.getElementById('frames').append(element);
        return element;
      });
      const fill = seen(pair[0], paper);
      made[name] = {fill, ink: seen(pair[1], fill)};
      pair.forEach((element) => element.remove());
    }
    return made;
  }, classes);
}

const linear = (value) => (value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;

// WCAG 2.1.
function contrast(a, b) {
  const [light, dark] = [a, b].map((c) => 0.2126 * linear(c[0]) + 0.7152 * linear(c[1]) + 0.0722 * linear(c[2]))
      .sort((x, y) => y - x);
  return (light + 0.05) / (dark + 0.05);
}

// Machado, Oliveira, Fernandes 2009, severity 1.0, on linear RGB.
const kVision = {
  full: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  protanopia: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  deuteranopia: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
  tritanopia: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
};

function lab(colour, vision) {
  const rgb = colour.map(linear);
  const [r, g, b] = kVision[vision].map((row) => Math.min(1, Math.max(0, row.reduce((sum, f, i) => sum + f * rgb[i], 0))));
  const f = (t) => t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116;
  const [x, y, z] = [(0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505, 0.2126 * r + 0.7152 * g + 0.0722 * b,
                     (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089].map(f);
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

const distance = (a, b, vision) => Math.hypot(...lab(a, vision).map((value, i) => value - lab(b, vision)[i]));

for (const colorScheme of ['light', 'dark']) {
  test(`names can be read (${colorScheme})`, async (t) => {
    const page = await open(t, 'typical.svg', {colorScheme, viewport: {width: 1200, height: 420}});
    const all = [...kStates, ...kFrames];
    const colours = await coloursOf(page, [...all, 'nat hit', ...all.map((name) => name + ' miss')]);
    for (const [name, {fill, ink}] of Object.entries(colours))
      assert.ok(contrast(fill, ink) >= 4.5, `${name}: ${contrast(fill, ink).toFixed(2)}`);
    await keepPicture(page, 'typical-1200-' + colorScheme);
  });

  test(`states and languages stay apart for every eye (${colorScheme})`, async (t) => {
    const page = await open(t, 'typical.svg', {colorScheme});
    const colours = await coloursOf(page, [...kStates, ...kFrames]);
    const apart = (a, b, least) => {
      for (const vision in kVision) {
        const found = distance(colours[a].fill, colours[b].fill, vision);
        assert.ok(found >= least, `${a} and ${b}, ${vision}: ${found.toFixed(1)}`);
      }
    };
    // 2.3 is just noticeable; frames of different kinds lie next to each other, so more is requested.
    for (const state of kStates.slice(1)) apart('run', state, 20);
    for (const state of kStates.slice(2)) apart('rdy', state, 20);
    for (const a of kStates.slice(2)) for (const b of kStates.slice(2)) if (a < b) apart(a, b, 2.5);
    const languages = ['nat s0', 'ker s0', 'pyt s0', 'jit s0', 'pro', 'who'];
    for (const a of languages) for (const b of languages) if (a < b) apart(a, b, 7);
    for (const state of ['run', 'rdy', 'blk']) for (const b of languages) apart(state, b, 15);
  });
}
