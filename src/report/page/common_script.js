// Shared by all pages: readable numbers, elements, charts. Text from outside reaches a page by textContent only. A page calls
// ridge.translate(dictionary) first and ridge.show(parts) last.
'use strict';
const ridge = (() => {
const chinese = document.documentElement.lang.startsWith('zh');
let dictionary = {};
const translate = words => { dictionary = words; };
const say = text => (chinese && dictionary[text]) || text;

// ---------------------------------------------------------------- readable numbers (base/units.h)
const digits = value => {
  if (value === 0) return '0';
  const size = Math.floor(Math.log10(Math.abs(value)));
  return value.toFixed(Math.max(0, 2 - size));
};
const scaled = (value, unit, base, prefixes) => {
  let step = 0;
  while (Math.abs(value) >= base && step + 1 < prefixes.length) { value /= base; ++step; }
  return digits(value) + ' ' + prefixes[step] + unit;
};
const decimal = unit => value => scaled(value, unit, 1000, ['', 'k', 'M', 'G', 'T', 'P', 'E']).trim();
const bytes = value => scaled(value, 'B', 1024, ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi']);
const milliseconds = value =>
  value >= 1000 ? digits(value / 1000) + ' s' : value >= 1 ? digits(value) + ' ms'
  : value >= 1e-3 ? digits(value * 1e3) + ' µs' : digits(value * 1e6) + ' ns';
const flops = decimal('FLOP'), rate = decimal('FLOP/s'), count = decimal(''), bandwidth = decimal('B/s');
const intensity = value => digits(value) + ' FLOP/byte';
const plusMinus = value => '± ' + digits(value) + ' %';
const rowsPerSecond = value => Number(value.toPrecision(4)) + ' ' + say('rows/s');
const percent = value => digits(100 * value) + ' %';
const dollars = value => Number(value.toPrecision(4)) + ' $';

// ---------------------------------------------------------------- elements
const make = (tag, text, attributes = {}, ...children) => {
  const element = document.createElement(tag);
  if (text !== null && text !== undefined) element.textContent = text;
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
};
const page = document.getElementById('page');
const section = (id, title, ...children) => make('section', null, {id}, make('h2', say(title)), ...children);
const quiet = text => make('p', say(text), {class: 'quiet'});
// The page's JSON, and its member 'curve.3.bound_ms'; undefined or null: missing.
const data = JSON.parse(document.getElementById('data').textContent);
const valueOf = member => member.split('.').reduce((value, part) => value === null || value === undefined ? value : value[part], data);
// A member's number, which keeps its value and its member.
const number = (tag, show, member, attributes = {}) => {
  const value = valueOf(member);
  return value === null || value === undefined ? make(tag, '-', attributes)
    : make(tag, show(value), {...attributes, 'data-member': member, 'data-value': value});
};
const cell = (show, member) => number('td', show, member, {class: 'number'});
const noCell = () => make('td', '-', {class: 'number'});
// A tile with one number.
const figure = (name, show, member, note = '') =>
  make('div', null, {class: 'figure'}, make('span', say(name), {class: 'quiet'}), number('b', show, member),
       ...(note ? [make('span', note, {class: 'quiet'})] : []));
const table = (head, rows) => {
  const line = (cells, tag) => {
    const row = make('tr');
    for (const cell of cells)
      row.append(cell instanceof Element ? cell : make(tag, cell));
    return row;
  };
  return make('div', null, {class: 'scroll'},
              make('table', null, {}, make('thead', null, {}, line(head.map(name =>
                name.startsWith('#') ? make('th', say(name.slice(1)), {class: 'number'}) : say(name)), 'th')),
              make('tbody', null, {}, ...rows.map(row => line(row, 'td')))));
};
const originCell = origin => make('td', say(origin), {class: 'origin'});

// Rows of [name, formatter, member, origin, source], without those that have no value.
function properties(id, title, rows, ...more) {
  const body = rows.filter(([, , member]) => valueOf(member) !== null && valueOf(member) !== undefined)
    .map(([name, show, member, origin, source]) => [say(name), cell(show, member), originCell(origin), source || '']);
  return section(id, title, table(['figure', '#value', 'origin', 'source'], body), ...more);
}

// ---------------------------------------------------------------- charts
const colours = () => {
  const style = getComputedStyle(document.documentElement);
  const of = name => style.getPropertyValue('--' + name).trim();
  return {text: of('text'), quiet: of('quiet'), line: of('line'), compute: of('compute'), memory: of('memory'),
          other: of('other'), accent: of('accent'), warn: of('warn'), panel: of('panel')};
};
const faded = colour => colour + 'b0';
const drawings = [];  // functions that create a Chart in the current colours
const canvas = (id, low) => {
  const element = make('canvas', null, {id, role: 'img'});
  return [element, make('div', null, {class: low ? 'chart low' : 'chart'}, element)];
};
const draw = (element, configure) => drawings.push(c => new Chart(element, configure(c)));

const axis = (c, title, extra = {}) => ({
  title: {display: true, text: say(title), color: c.quiet}, grid: {color: c.line}, ticks: {color: c.quiet}, ...extra,
  ...(extra.ticks ? {ticks: {color: c.quiet, ...extra.ticks}} : {}),
});
const plain = (c, scales, tooltip, legend = true) => ({
  responsive: true, maintainAspectRatio: false, animation: false, parsing: false, normalized: true, scales,
  plugins: {legend: {display: legend, labels: {color: c.text, boxWidth: 14}}, tooltip},
});
// Only the powers of ten of a logarithmic axis.
const decades = show => ({callback: value => Number.isInteger(Math.round(Math.log10(value) * 1e6) / 1e6) ? show(value) : ''});

let charts = [];
const redraw = () => {
  for (const chart of charts) chart.destroy();
  const c = colours();
  charts = drawings.map(drawing => drawing(c));
};

// The existing parts, in order; then the charts.
function show(parts) {
  page.append(...parts.filter(part => part));
  redraw();
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
  addEventListener('beforeprint', () => { redraw(); for (const chart of charts) chart.resize(); });
  addEventListener('afterprint', () => { redraw(); });
  document.documentElement.dataset.ready = 'yes';
}

return {translate, say, digits, bytes, milliseconds, flops, rate, count, bandwidth, intensity, plusMinus, rowsPerSecond, percent,
        dollars, data, make, section, quiet, number, cell, noCell, figure, table, originCell, properties, faded, canvas, draw, axis, plain, decades, show};
})();
