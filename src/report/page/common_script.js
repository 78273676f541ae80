// Shared by all pages: languages, readable numbers, elements, charts. Text from outside reaches a page by textContent
// only. A page's script calls ridge.page(draw) once; draw() returns the page's parts and is called again when the
// language changes.
'use strict';
const ridge = (() => {
const read = id => JSON.parse(document.getElementById(id).textContent);
const data = read('data');  // what the verb prints with --json

// ---------------------------------------------------------------- languages chinese.json has `texts`, English →
// Chinese, in which {#} is a number, {=} a number with its unit and {} any value; in the Chinese they are {0}, {1}, …;
// and `sentences`, id → Chinese with {names}, for what the data name by an id.
let chinese = document.documentElement.lang.startsWith('zh');
const {texts, sentences} = read('chinese');
const kNumber = '[-+−]?\\d[\\d.,]*(?:e[-+]?\\d+)?';
const kValues = {'{#}': `(${kNumber})`, '{=}': `(${kNumber}(?: ?[A-Za-zµ%°/]+)?)`, '{}': '((?:(?!; |\\. |: ).)+?)'};
const patterns = Object.entries(texts)
                     .filter(([english]) => english.includes('{'))
                     .sort((a, b) => b[0].length - a[0].length)  // the most specific first
                     .map(
                         ([english, text]) =>
                             [new RegExp(
                                  '^' +
                                  english.split(/(\{[#=]?\})/)
                                      .map(
                                          (part, i, all) => part === '{}' && i === all.length - 2 && all[i + 1] === '' ?
                                              '((?:(?!; |\\. ).)+)'  // the last thing may have more parts
                                              :
                                              kValues[part] || part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
                                      .join('') +
                                  '$'),
                              text]);

const own = (object, key) => Object.hasOwn(object, key) ? object[key] : undefined;
// A whole text; undefined: there is none.
const translated = text => {
  const known = own(texts, text);
  if (known !== undefined) return known;
  for (const [pattern, into] of patterns) {
    const match = pattern.exec(text);
    if (match) return into.replace(/\{(\d)\}/g, (_, i) => say(match[Number(i) + 1]));
  }
  return undefined;
};
// Split at the coarsest separator that it has.
const kSeparators = [['. ', '。'], ['; ', '；'], [': ', '：'], [', ', '，']];
const byParts = text => {
  const end = text.endsWith('.') ? '。' : '';
  const whole = end ? text.slice(0, -1) : text;
  const [separator, wide] = kSeparators.find(([separator]) => whole.includes(separator)) || [];
  if (!separator && !end) return text;
  const parts = separator ? whole.split(separator) : [whole];
  const known = parts.map(say);
  return known.some((part, i) => part !== parts[i]) ? known.join(wide) + end : text;
};
function say(text) { return !chinese || !text || text.includes('\n') ? text : translated(text) ?? byParts(text); }
// The sentence of that id with these values (ready to be shown); in English the one in the data.
const sentence = (id, english, values = {}) => {
  const template = chinese && own(sentences, id);
  return template ? template.replace(/\{(\w+)\}/g, (_, name) => values[name]) : say(english);
};
const colon = () => chinese ? '：' : ': ';
const comma = () => chinese ? '，' : ', ';
const listed = parts => parts.filter(part => part).join(chinese ? '、' : ', ');

// ---------------------------------------------------------------- readable numbers (base/units.h)
const digits = value => {
  if (value === 0) return '0';
  const size = Math.floor(Math.log10(Math.abs(value)));
  return value.toFixed(Math.max(0, 2 - size));
};
const scaled = (value, unit, base, prefixes) => {
  let step = 0;
  while (Math.abs(value) >= base && step + 1 < prefixes.length) { value /= base; ++step; }
  return (digits(value) + ' ' + prefixes[step] + unit).trim();
};
const kNone = '–';
const unlessZero = show => value => value === 0 ? kNone : show(value);
const decimal = unit => value => scaled(value, unit, 1000, ['', 'k', 'M', 'G', 'T', 'P', 'E']);
const bytes = unlessZero(value => scaled(value, 'B', 1024, ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi']));
const milliseconds = unlessZero(value =>
  value >= 1000 ? digits(value / 1000) + ' s' : value >= 1 ? digits(value) + ' ms'
  : value >= 1e-3 ? digits(value * 1e3) + ' µs' : value >= 1e-6 ? digits(value * 1e6) + ' ns' : '< 1 ns');
const seconds = value => milliseconds(1000 * value);
const flops = unlessZero(decimal('FLOP')), rate = unlessZero(decimal('FLOP/s')), bandwidth = unlessZero(decimal('B/s'));
const count = decimal(''), hertz = decimal('Hz');
const intensity = value => digits(value) + ' FLOP/byte';
const plusMinus = value => '± ' + digits(value) + ' %';
const rowsPerSecond = value => count(value) + ' ' + say('rows/s');
const percentOf = value => value !== 0 && Math.abs(value) < 0.01 ? '< 0.01 %' : digits(value) + ' %';
const percent = value => percentOf(100 * value);
const ratio = value => value.toFixed(2) + ' ×';
const joules = value => scaled(value, 'J', 1000, ['', 'k', 'M']);
const watts = value => `${Number(value.toPrecision(4))} W`;
const dollars = value => Number(value.toPrecision(3)) + ' $';
const plainNumber = value => String(Number(value.toPrecision(3)));
const range = (low, high, show) => `${show(low)} – ${show(high)}`;
// Of an interval, of which a side may not be known.
const ends = (interval, show) => interval && (known(interval.low) || known(interval.high))
  ? range(interval.low, interval.high, value => known(value) ? show(value) : '?') : '';

// ---------------------------------------------------------------- elements
const make = (tag, text, attributes = {}, ...children) => {
  const element = document.createElement(tag);
  if (text !== null && text !== undefined) element.textContent = text;
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children.flat(Infinity).filter(child => child));
  return element;
};
const main = document.getElementById('page');
const section = (id, title, ...children) => make('section', null, {id}, make('h2', say(title)), ...children);
// One that may go over several sheets of paper.
const longSection = (id, title, ...children) => {
  const whole = section(id, title, ...children);
  whole.classList.add('long');
  return whole;
};
const quiet = text => make('p', say(text), {class: 'quiet'});
const warning = text => make('p', say(text), {class: 'warn'});
// The lines that the terminal ends with; a repository's tuning.json has none.
const next = () => (data.next || []).length
  ? section('next', 'Next', data.next.map(line => make('p', null, {}, make('code', line, {translate: 'no'})))) : null;
const bullets = texts => make('ul', null, {}, texts.map(text => make('li', say(text))));
// A name from outside: stays as it is in every language.
const name = (text, tag = 'td') => make(tag, text, {class: 'name', translate: 'no'});
const prose = (text, attributes = {}) => make('td', say(text), {class: 'name wide', ...attributes});
const known = value => value !== null && value !== undefined;
// The data's member 'curve.3.bound_ms'; undefined or null: missing.
const valueOf = member => member.split('.').reduce((value, part) => known(value) ? value[part] : value, data);
// A member's number, which keeps its value and its member.
const number = (tag, show, member, attributes = {}) => {
  const value = valueOf(member);
  return known(value) ? make(tag, show(value), {...attributes, 'data-member': member, 'data-value': value}) :
                        make(tag, kNone, attributes);
};
const cell = (show, member) => number('td', show, member, {class: 'number'});
const noCell = () => make('td', kNone, {class: 'number'});
// A tile with one number.
const figure = (title, show, member, note = '') =>
  make('div', null, {class: 'figure'}, make('span', say(title), {class: 'quiet'}), number('b', show, member),
       note ? make('span', note, {class: 'quiet'}) : null);
const figures = (...tiles) => make('div', null, {class: 'figures'}, ...tiles);
// Heads with '#' are of numbers; cells are texts or elements. In a narrow window rows with prose stand as blocks, each
// cell after its head.
const table = (head, rows) => {
  const titles = head.map(title => say(title.replace(/^#(?=.)/, '')));
  const line = row => make('tr', null, {}, row.map((cell, i) => {
    const element = cell instanceof Element ? cell : make('td', cell);
    element.dataset.head = titles[i] && titles[i] + colon();
    return element;
  }));
  const body = make('tbody', null, {}, rows.map(line));
  return make(
      'div', null, {class: 'scroll', tabindex: 0},
      make(
          'table', null, body.querySelector('.wide') ? {class: 'blocks'} : {},
          make(
              'thead', null, {},
              make(
                  'tr', null, {},
                  titles.map((title, i) => make('th', title, head[i].startsWith('#') ? {class: 'number'} : {})))),
          body));
};
// How a figure of that unit is shown.
const kUnits = {
  'ms': milliseconds,
  's': seconds,
  '/s': count,
  'tokens/s': count,
  'requests/s': count,
  'starts/s': value => `${count(value)}/s`,
  'rows/s': rowsPerSecond,
  'rows/J': count,
  'rows/USD': count,
  '%': percentOf,
  '% of the limit': unlessZero(percentOf),
  'share': percent,
  '×': ratio,
  'B': bytes,
  'B/s': bandwidth,
  'FLOP': flops,
  'FLOP/s': rate,
  'FLOP/byte': intensity,
  'Hz': hertz,
  'MHz': value => `${value} MHz`,
  '°C': value => `${value} °C`,
  'J': joules,
  'W': watts,
  'mW': value => watts(value / 1000),
  'USD': dollars
};
// {"points": [{member, label, unit}]}: what the lists of the values' fields say of the document's lists;
// "cards.batches" of the lists in each card.
const columns = read('columns');
// A list of the document, as 'cards.0.batches': the columns that some element has, not 0 in all, without `except`
// ('/clock_hz'), between the page's own: [head, cell of an element and its index]; `order`: indices of elements, else
// all. A figure's range stands below it. What a sheet of paper has no room for follows in a table of its own, with the
// first column again.
const kMostColumns = 12;
const listCell = (member, show) => {
  const value = valueOf(member);
  if (Array.isArray(value)) return make('td', listed(value.map(each => say(String(each)))), {class: 'name'});
  if (known(value) && typeof value === 'object') return make('td', ends(value, show) || kNone, {class: 'number'});
  if (typeof value === 'string') {
    const text = value.split('\n')[0];
    return text.length > 40 ? prose(text) : make('td', say(text), text.length > 12 ? {class: 'name'} : {});
  }
  if (typeof value === 'boolean') return make('td', say(value ? 'yes' : 'no'));
  return cell(show, member);
};
const showsSomething = value => Array.isArray(value) ? value.length > 0 :
  known(value) && typeof value === 'object' ? known(value.low) : known(value) && value !== 0 && value !== '';
const listTable = (list, {first = [], last = [], except = [], order} = {}) => {
  const rows = (order || Object.keys(valueOf(list) || [])).map(i => `${list}.${i}`);
  const own = all => all.map(([head, cellOf]) => ({head, cells: rows.map((row, i) => cellOf(valueOf(row), i))}))
                         .filter(({cells}) => cells.length === 0 || cells.some(cell => cell.textContent ?? cell));
  const all = columns[list.replace(/\.\d+/g, '')] || [];
  const ofList = all.flatMap(({member, label, unit, range_of: isRange}) => {
    const members = rows.map(row => row + member.replaceAll('/', '.')), values = members.map(valueOf);
    if (isRange || except.includes(member) || !values.some(showsSomething)) return [];
    const numbers = values.some(value => typeof value === 'number' || known(value?.low));
    const show = kUnits[unit] || (value => Number.isInteger(value) ? String(value) : plainNumber(value));
    const cells = members.map(at => numbers || known(valueOf(at)) ? listCell(at, show) : make('td'));
    const range = all.find(column => column.range_of === member);
    if (range) cells.forEach((cell, i) => {
      const interval = valueOf(rows[i] + range.member.replaceAll('/', '.'));
      if (interval && interval.low !== interval.high)
        cell.append(make('span', ends(interval, show), {class: 'below'}));
    });
    return [{head: numbers ? '#' + label : label, cells}];
  });
  const [front, ...rest] = [...own(first), ...ofList, ...own(last)];
  const tables = Math.max(1, Math.ceil(rest.length / kMostColumns)), each = Math.ceil(rest.length / tables);
  return Array.from({length: tables}, (_, i) => {
    const leading = i === 0 ? front : {head: front.head, cells: front.cells.map(cell => cell.cloneNode(true))};
    const part = [leading, ...rest.slice(i * each, (i + 1) * each)];
    return table(part.map(({head}) => head), rows.map((_, row) => part.map(({cells}) => cells[row])));
  });
};
// Small sections side by side where the window is wide.
const halves = (...sections) => make('div', null, {class: 'halves'}, ...sections);
const expander = (text, content, open = false) =>
    make('details', null, open ? {open: ''} : {}, make('summary', say(text)), content);
const originCell = origin => make('td', say(origin), {class: 'origin'});
// Rows of [name, formatter, member, origin, source], without those that have no value.
function properties(id, title, rows, ...more) {
  const body = rows.filter(([, , member]) => known(valueOf(member)))
                   .map(([title, show, member, origin,
                          source]) => [say(title), cell(show, member), originCell(origin), say(source || '')]);
  const sources = body.some(row => row[3]);
  return section(id, title, table(['figure', '#value', 'origin', ...(sources ? ['source'] : [])],
                                  sources ? body : body.map(row => row.slice(0, 3))), ...more);
}
// Such rows of the limits in that member, each with its origin.
const limitRows = member => (valueOf(member) || []).map((limit, i) => [
  limit.what, ['DRAM', 'L1', 'L2', 'L3'].includes(limit.what) ? bandwidth : rate, `${member}.${i}.per_s`, limit.origin,
  limit.by ? `${limit.by}, ${plusMinus(limit.spread_percent)}` : '']);
const fileName = path => path.slice(path.lastIndexOf('/') + 1);
// The page's title with what it shows, and where the figures come from.
function header(title, ...lines) {
  const {date, ridge: version, machine, command} = data.about || {};
  const facts = [
    date && date.replace('T', ' ').replace('Z', ' UTC'), version && `ridge ${version}`,
    machine && `${machine.name}${comma()}${say(`${machine.cpus} CPUs`)}`, machine && machine.id
  ].filter(part => part);
  return [
    make('h1', title, {translate: 'no'}),
    ...lines.flat(Infinity).filter(line => line).map(line => line instanceof Element ? line : make('p', line)),
    facts.length ? make('p', facts.join(' · '), {class: 'quiet', id: 'about'}) : null,
    command ? make('p', null, {}, make('code', command, {id: 'command', translate: 'no'})) : null
  ];
}
// A machine that was busy says so before any figure.
const disturbed = one => one && one.disturbed ? warning(one.sentence.replace(/\.?$/, '.')) : null;

// ---------------------------------------------------------------- charts
const colours = () => {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(['text', 'quiet', 'line', 'compute', 'memory', 'other', 'accent', 'warn', 'panel', 'fourth']
    .map(of => [of, style.getPropertyValue('--' + of).trim()]));
};
const faded = colour => colour + 'b0';
const narrow = () => matchMedia('(max-width: 800px)').matches;
const short = (text, most = 40) =>
    text.length > most ? text.slice(0, most / 2 - 1) + '…' + text.slice(-most / 2) : text;
let drawings = [];  // functions that create a Chart in the current colours
const canvas = (id, low) => {
  const element = make('canvas', null, {id, role: 'img'});
  return [element, make('div', null, {class: low ? 'chart low' : 'chart'}, element)];
};
// With its own line for each of `lines` bars.
const tallCanvas = (id, lines) => {
  const [element, box] = canvas(id, true);
  box.style.height = `${90 + 26 * lines}px`;
  return [element, box];
};
const draw = (element, configure) => drawings.push(c => new Chart(element, configure(c)));

const axis = (c, title, extra = {}) => ({
  title: {display: Boolean(title), text: say(title), color: c.quiet},
  grid: {color: c.line},
  ...extra,
  ticks: {
    color: c.quiet,
    maxRotation: 0,
    autoSkipPadding: 12,
    ...extra.ticks,
    ...(extra.ticks && extra.ticks.callback ? {callback: value => value === 0 ? '0' : extra.ticks.callback(value)} : {})
  },
});
const plain = (c, scales, tooltip, legend = true) => ({
  responsive: true, maintainAspectRatio: false, animation: false, parsing: false, normalized: true, scales,
  plugins: {legend: {display: legend, labels: {color: c.text, boxWidth: 14, filter: item => item.text}}, tooltip},
});
// Of horizontal bars with labels.
const bars = (c, scales, tooltip, legend = true) =>
    ({...plain(c, scales, tooltip, legend), indexAxis: 'y', parsing: true, normalized: false});
const labelAxis = c => axis(c, '', {ticks: {autoSkip: false, font: {size: 10}}});
// Of a logarithmic axis only the ticks whose first digit is one of these.
const leading = firsts => show => ({
  callback: value =>
      firsts.includes(Number((value / 10 ** Math.floor(Math.log10(value) + 1e-9)).toPrecision(3))) ? show(value) : ''
});
const decades = leading([1]), thirds = leading([1, 3]), fifths = leading([1, 2, 5]);
// Ticks of a logarithmic axis at these values, without those that would touch the one before.
const ticksAt = values => ({
  ticks: {callback: String, autoSkip: false, maxRotation: 0},
  afterBuildTicks: scale => {
    const sorted = [...new Set(values)].sort((a, b) => a - b);
    const gap = Math.log(sorted[sorted.length - 1] / sorted[0]) / (narrow() ? 7 : 14);
    const far = sorted.filter(value => value > 0);
    scale.ticks =
        far.filter(
               (value, i) => i === 0 ||
                   far.slice(0, i).every(
                       before => before > value || Math.log(value / before) > gap || before === value))
            .reduce(
                (kept, value) =>
                    kept.length && Math.log(value / kept[kept.length - 1].value) <= gap ? kept : [...kept, {value}],
                []);
  }});
// Bytes in steps of a power of two.
const byteTicks = {
  ticks: {callback: bytes},
  afterBuildTicks: scale => {
    const step = 2 ** Math.ceil(Math.log2(Math.max(1, scale.max / 6)));
    scale.ticks = Array.from({length: Math.floor(scale.max / step) + 1}, (_, i) => ({value: i * step}));
  }};
// Over the batch: rows/s on the left ('y'), the time of one run on the right ('y1').
const batchLine = (label, colour, axisName, points, value, dash = []) => ({
  label: say(label),
  yAxisID: axisName,
  borderColor: colour,
  backgroundColor: colour,
  borderWidth: 2,
  borderDash: dash,
  pointRadius: 3,
  data: points.map(point => ({x: point.batch, y: value(point)}))
});
const batchChart = (c, points, lines) => ({
  type: 'line',
  data: {datasets: lines},
  options: plain(
      c, {
        x: axis(c, 'batch', {type: 'logarithmic', ...ticksAt(points.map(point => point.batch))}),
        y: axis(c, 'rows/s', {beginAtZero: true, ticks: {callback: count}}),
        y1: axis(c, 'one run', {
          position: 'right',
          beginAtZero: true,
          grid: {drawOnChartArea: false},
          ticks: {callback: milliseconds}
        }),
      },
      {
        callbacks: {
          label: item => `${item.dataset.label}${colon()}${
              item.dataset.yAxisID === 'y' ? rowsPerSecond(item.raw.y) : milliseconds(item.raw.y)}`
        }
      })
});
// Horizontal bars: `sets` gives, in the current colours, [label, values, colour, more].
const barChart = (id, names, sets, format, title = '') => {
  const [element, box] = tallCanvas(id, names.length);
  element.dataset.bars = names.length;
  draw(element, c => ({
                  type: 'bar',
                  data: {
                    labels: names.map(text => short(text, 40)),
                    datasets: sets(c).map(
                        ([label, values, colour, more = {}]) =>
                            ({label: say(label), data: values, backgroundColor: colour, maxBarThickness: 18, ...more}))
                  },
                  options:
                      bars(
                          c, {x: axis(c, title, {beginAtZero: true, ticks: {callback: format}}), y: labelAxis(c)}, {
                            callbacks: {
                              title: items => names[items[0].dataIndex],
                              label: item => `${item.dataset.label}${colon()}${
                                  Array.isArray(item.raw) ? range(...item.raw, format) : format(item.raw)}`
                            }
                          },
                          sets(c).length > 1),
                }));
  return box;
};
const kDashes = [[], [7, 4], [2, 3], [9, 3, 2, 3], [4, 8]];
// The upper left edge of points {x, y} where a small x and a large y are good, as corners of a staircase.
const staircase = points => {
  const edge = [];
  for (const point of [...points].sort((a, b) => a.x - b.x || b.y - a.y))
    if (edge.length === 0 || point.y > edge[edge.length - 1].y) edge.push({x: point.x, y: point.y});
  return [...edge, {x: Math.max(...points.map(point => point.x)), y: edge[edge.length - 1].y}];
};
// Beyond this span of the points' own values an interval is cut: it says no more, and would leave no room for the
// points.
const span = (values, least = 0) => [least * Math.min(...values), 1.5 * Math.max(...values)];
// A vertical bar through each point from low to high, in the points' units, within [low, high]; `across`: a horizontal
// one.
const whiskers = (label, colour, points, [least, most], across = false) => ({
  type: 'line',
  label,
  borderColor: colour,
  borderWidth: 1.5,
  pointRadius: 0,
  pointHitRadius: 0,
  spanGaps: false,
  data: points.filter(point => known(point.low) && known(point.high))
            .flatMap(
                point => [Math.max(point.low, least), Math.min(point.high, most), NaN].map(
                    end => across ? {x: end, y: point.y} : {x: point.x, y: end}))
});

let charts = [];
const redraw = () => {
  for (const chart of charts) chart.destroy();
  const c = colours();
  charts = drawings.map(drawing => drawing(c));
};
// Boxes whose table is wider say that they can be moved.
const hint = () => {
  for (const box of document.querySelectorAll('.scroll'))
    box.classList.toggle('moves', box.scrollWidth > box.clientWidth + 1);
};

// Draws the parts that draw() returns, now and in the other language.
function page(drawParts) {
  const all = () => {
    document.documentElement.lang = chinese ? 'zh-CN' : 'en';
    document.documentElement.style.setProperty('--hint', JSON.stringify(say('move sideways for more columns →')));
    drawings = [];
    const other =
        make('button', chinese ? 'English' : '中文', {id: 'language', type: 'button', lang: chinese ? 'en' : 'zh-CN'});
    other.addEventListener('click', () => { chinese = !chinese; all(); });
    main.replaceChildren(other, ...drawParts().flat(Infinity).filter(part => part));
    redraw();
    hint();
  };
  all();
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
  addEventListener('resize', hint);
  const paper = yes => () => {
    document.documentElement.classList.toggle('paper', yes);
    redraw();
  };
  addEventListener('beforeprint', paper(true));
  addEventListener('afterprint', paper(false));
  document.documentElement.dataset.ready = 'yes';
}

return {
  next,
  data,
  say,
  sentence,
  colon,
  comma,
  listed,
  digits,
  bytes,
  milliseconds,
  seconds,
  flops,
  rate,
  count,
  hertz,
  bandwidth,
  intensity,
  plusMinus,
  rowsPerSecond,
  percent,
  percentOf,
  ratio,
  joules,
  watts,
  dollars,
  plainNumber,
  range,
  make,
  section,
  longSection,
  quiet,
  warning,
  bullets,
  name,
  prose,
  known,
  number,
  cell,
  noCell,
  figure,
  figures,
  table,
  listTable,
  expander,
  originCell,
  halves,
  properties,
  limitRows,
  fileName,
  header,
  disturbed,
  faded,
  narrow,
  short,
  canvas,
  tallCanvas,
  draw,
  axis,
  plain,
  bars,
  labelAxis,
  decades,
  thirds,
  fifths,
  ticksAt,
  batchLine,
  batchChart,
  byteTicks,
  barChart,
  kDashes,
  staircase,
  span,
  whiskers,
  ends,
  page
};
})();
