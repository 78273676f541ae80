// Draws the ledger in the element "data". Numbers keep their value in data-value.
(() => {

ridge.translate({
  'confirmed': '证实', 'larger': '更大', 'smaller': '更小', 'contradicted': '相反', 'not testable here': '此处无法检验',
  'Claims and measurements': '说法与实测', 'Ledger': '账本', 'Conditions': '条件', 'Not tested here': '此处未检验', 'claim': '说法',
  'verdict': '结论', 'measured': '实测', '95 % interval': '95 % 区间', 'claimed': '所称', 'compared, and why': '比较与原因', 'time': '时间', 'against': '对比',
  'why': '原因', 'condition': '条件', 'value': '值', 'experiment': '实验', 'way': '方式', 'rate': '速率', 'source': '来源', 'registers': '寄存器', 'occupancy': '占用率',
  'times as fast, or share of the limit': '速度倍数,或占极限的比例', 'Every way of every case': '各实验的各种方式', 'kernels': '核函数',
  'The broad bar is what the guides claim, open to the right where they name no upper end; dot and thin bar are what was measured here, with its 95 % interval.':
    '宽条为指南所称(未给上限者向右敞开);点与细条为此处实测及其 95 % 区间。',
  'Medians of all rounds. Bytes and FLOPs are those that the work itself needs.': '各轮的中位数。字节与 FLOP 为该工作本身所需。',
  'interrupted: the other claims were not tested': '已中断:其余说法未检验',
});
const ledger = ridge.data;
const {say, digits, milliseconds, bandwidth, rate, make, section, quiet, number, cell, figure, table, faded, canvas, draw, axis, plain, show} = ridge;

const ratio = value => value.toFixed(2) + ' ×';
const percentOf = value => digits(100 * value) + ' %';
const seconds = value => milliseconds(1000 * value);
const shown = row => row.claimed.kind === 'share' ? percentOf : ratio;
const tested = ledger.ledger.map((row, i) => ({...row, member: `ledger.${i}`})).filter(row => row.experiment);
const untested = ledger.ledger.filter(row => !row.experiment);
const verdictClass = row => row.verdict === 'contradicted' ? 'warn' : '';

function header() {
  const {conditions} = ledger;
  const card = ([name]) => figure(name, String, `verdicts.${name}`);
  return [
    make('h1', conditions.name),
    make('p', [conditions.device, conditions.platform, conditions.driver].filter(text => text).join(' · ')),
    ...(conditions.note ? [make('p', conditions.note, {class: 'quiet'})] : []),
    ...(ledger.interrupted ? [make('p', say('interrupted: the other claims were not tested'), {class: 'warn'})] : []),
    make('div', null, {class: 'figures'}, ...Object.entries(ledger.verdicts).map(card)),
  ];
}

const short = text => text.length > 40 ? text.slice(0, 19) + '…' + text.slice(-20) : text;
const narrow = () => matchMedia('(max-width: 800px)').matches;
// A chart with its own line for each of `lines` bars.
const tall = (id, lines) => {
  const [element, box] = canvas(id, true);
  box.style.height = `${90 + 26 * lines}px`;
  return [element, box];
};

function claims() {
  if (tested.length === 0) return null;
  const [element, box] = tall('claim-chart', tested.length);
  const end = Math.max(...tested.flatMap(row => [row.effect.high, row.claimed.high || row.claimed.low])) * 1.25;
  const colourOf = (c, row) => ({confirmed: c.accent, contradicted: c.warn}[row.verdict] || c.compute);
  draw(element, c => ({
    type: 'bar',
    data: {
      labels: tested.map(row => narrow() ? row.claim : `${row.claim}  ${short(`${row.variant} : ${row.baseline}`)}`),
      datasets: [
        {type: 'line', label: say('measured'), showLine: false, pointRadius: 4, data: tested.map(row => row.effect.value),
         borderColor: tested.map(row => colourOf(c, row)), backgroundColor: tested.map(row => colourOf(c, row))},
        {label: say('95 % interval'), data: tested.map(row => [row.effect.low, row.effect.high]), grouped: false, barThickness: 5,
         minBarLength: 3, backgroundColor: tested.map(row => colourOf(c, row))},
        {label: say('claimed'), data: tested.map(row => [row.claimed.low, row.claimed.high === null ? end : row.claimed.high]), grouped: false,
         barThickness: 15, minBarLength: 3, backgroundColor: faded(c.memory)},
      ],
    },
    options: {...plain(c, {
      x: axis(c, 'times as fast, or share of the limit', {type: 'logarithmic', max: end, ticks: {maxRotation: 0, autoSkip: true,
                                                          autoSkipPadding: 16, callback: value => `${Number(value.toPrecision(2))}`}}),
      y: axis(c, '', {title: {display: false}, ticks: {autoSkip: false, font: {size: 10}}}),
    }, {callbacks: {
      title: items => `${tested[items[0].dataIndex].claim}: ${tested[items[0].dataIndex].variant} ${say('against')} ${tested[items[0].dataIndex].baseline}`,
      label: item => {
        const row = tested[item.dataIndex];
        const at = shown(row);
        return [`${say('measured')} ${at(row.effect.value)} [${at(row.effect.low)}, ${at(row.effect.high)}]`,
                `${say('claimed')} ${row.claimed.text}`, say(row.verdict)][item.datasetIndex === 2 ? 1 : 0];
      }}}),
    indexAxis: 'y', parsing: true, normalized: false},
  }));
  return section('claims', 'Claims and measurements', box,
    quiet('The broad bar is what the guides claim, open to the right where they name no upper end; dot and thin bar are what was measured here, with its 95 % interval.'));
}

// Registers per thread and occupancy of both variants, if the device reports them.
const resident = row => row.variant_registers === undefined || row.baseline_registers === undefined ? []
  : [make('p', null, {class: 'quiet'}, ...['variant', 'baseline'].flatMap((way, i) => [
      i ? ` ${say('against')} ` : '', number('span', String, `${row.member}.${way}_registers`), ` ${say('registers')}, `,
      number('span', value => digits(value) + ' %', `${row.member}.${way}_occupancy_percent`),
      ` ${say('occupancy')}`]))];

function rows() {
  if (tested.length === 0) return null;
  const body = tested.map(row => {
    const at = shown(row);
    const of = (name, format) => cell(format, `${row.member}.${name}`);
    return [
      make('td', null, {class: 'name'}, make('b', row.claim), ` ${row.statement}`),
      make('td', say(row.verdict), {class: verdictClass(row)}),
      of('effect.value', at), of('effect.low', at), of('effect.high', at),
      make('td', row.claimed.text, {class: 'number'}), of('variant_seconds', seconds), of('baseline_seconds', seconds),
      make('td', null, {class: 'name wide'}, make('b', `${row.variant} ${say('against')} ${row.baseline}`),
           make('p', row.work, {class: 'quiet'}), make('p', row.explanation), ...resident(row))];
  });
  const whole = section('ledger', 'Ledger', table(
    ['claim', 'verdict', '#measured', '#≥', '#≤', '#claimed', '#time', '#against', 'compared, and why'], body));
  whole.classList.add('long');
  return whole;
}

const ofBytes = one => one.variants.every(way => way.bytes_per_s !== null);
const rateOf = way => way.bytes_per_s === null ? way.flops_per_s : way.bytes_per_s;

// One case: bars by name, or a line over the parameter.
function plotted(one, index) {
  const swept = one.parameter && one.variants.every(way => way.at !== null);
  const format = ofBytes(one) ? bandwidth : rate;
  const [element, box] = swept ? canvas(`case-${index}`, true) : tall(`case-${index}`, one.variants.length);
  const tooltip = {callbacks: {label: item => `${one.variants[item.dataIndex].name}: ${format(rateOf(one.variants[item.dataIndex]))}`}};
  const points = one.variants.map(way => ({x: way.at, y: rateOf(way)}));
  draw(element, c => swept ? {
    type: 'line',
    data: {datasets: [{label: one.experiment, data: points, borderColor: c.accent, backgroundColor: c.accent, borderWidth: 2, pointRadius: 4}]},
    options: plain(c, {
      x: axis(c, one.parameter, {type: 'logarithmic', ticks: {callback: String, autoSkip: true, maxRotation: 0},
                                 afterBuildTicks: scale => { scale.ticks = points.map(point => ({value: point.x})); }}),
      y: axis(c, 'rate', {title: {display: false}, beginAtZero: true, ticks: {callback: format, maxTicksLimit: 7}}),
    }, tooltip, false),
  } : {
    type: 'bar',
    data: {labels: one.variants.map(way => short(way.name)),
           datasets: [{label: one.experiment, data: one.variants.map(rateOf), backgroundColor: faded(c.accent), maxBarThickness: 18}]},
    options: {...plain(c, {
      x: axis(c, 'rate', {title: {display: false}, beginAtZero: true, ticks: {callback: format, maxRotation: 0, autoSkip: true, autoSkipPadding: 16}}),
      y: axis(c, '', {title: {display: false}, ticks: {autoSkip: false, font: {size: 10}}}),
    }, tooltip, false), indexAxis: 'y', parsing: true, normalized: false},
  });
  const cells = one.variants.map((way, i) => [
    make('td', way.name, {class: 'name'}), cell(seconds, `cases.${index}.variants.${i}.seconds`),
    cell(format, `cases.${index}.variants.${i}.${way.bytes_per_s === null ? 'flops' : 'bytes'}_per_s`)]);
  return make('div', null, {class: 'case'}, make('h3', `${one.experiment}: ${one.work}`), box, table(['way', '#time', '#rate'], cells));
}

function cases() {
  if (ledger.cases.length === 0) return null;
  const whole = section('cases', 'Every way of every case',
    quiet('Medians of all rounds. Bytes and FLOPs are those that the work itself needs.'),
    make('div', null, {class: 'cases'}, ...ledger.cases.map(plotted)));
  whole.classList.add('long');
  return whole;
}

function missing() {
  if (untested.length === 0) return null;
  return section('untested', 'Not tested here', table(['', 'claim', 'why'], untested.map(row =>
    [make('td', row.claim), make('td', row.statement, {class: 'name'}), make('td', row.explanation, {class: 'name'})])));
}

function conditions() {
  const text = value => Array.isArray(value) ? value.join(' ') : String(value);
  const body = Object.entries(ledger.conditions).filter(([, value]) => value !== null && value !== '').map(([name, value]) => [
    name.replaceAll('_', ' '),
    typeof value === 'number' ? number('td', v => v.toLocaleString('en-US', {maximumFractionDigits: 3}), `conditions.${name}`, {class: 'name'})
                              : make('td', text(value), {class: 'name'})]);
  return section('conditions', 'Conditions', table(['condition', 'value'], body));
}

show([...header(), claims(), rows(), cases(), missing(), conditions()]);
})();
