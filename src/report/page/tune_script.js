// Draws the tuning result in the element "data". Numbers keep their value in data-value.
(() => {

ridge.translate({
  'untuned': '未调优', 'tuned': '调优后', 'closest': '最接近者', 'gain': '增益', 'throughput': '吞吐量', 'latency': '延迟', 'of the limit': '占极限',
  'p99 of one run': '一次运行的 p99', 'p50 of one run': '一次运行的 p50', 'median of one run': '一次运行的中位数', 'rows/s': '行/秒', 'batch': '批量',
  'instances': '实例', 'threads': '线程', 'runs': '运行次数', 'Before and after': '前后对比', 'Measured candidates': '已测候选',
  'Latency over batch': '延迟随批量的变化', 'Layers': '各层', 'layer': '层', 'operator': '算子', 'before': '之前', 'after': '之后', 'limit': '极限',
  'Outputs against FP32': '输出与 FP32 之比', 'output': '输出', 'relative L2': '相对 L2', 'cosine': '余弦', 'largest difference': '最大差值',
  'same top-1': '相同 top-1', 'candidate': '候选', 'front': '前沿', 'memory': '内存', 'energy per row': '每行能耗', 'Not measured': '未测',
  'reason': '原因', 'candidates': '候选数', 'chosen': '选定', 'engine': '引擎', 'precision': '精度', 'verdict': '结论', 'goal': '目标',
  'measured': '实测', 'time per row': '每行时间', 'derived': '推导', 'fits a line': '线性拟合', 'deviation': '数值偏差', 'holds': '通过', 'stays in FP32': '保持 FP32', 'What each layer costs in accuracy': '各层的精度代价', 'measured together': '一并测量', 'fails': '未通过',
  'Each dot is a measured candidate. The line joins those that no other beats in throughput, p99, memory and energy at once.':
    '每个点是一个已测候选。连线为在吞吐量、p99、内存与能耗上无人全面胜出者。',
  'All instances of the chosen layout busy; p50 and p99 of one run.': '所选布局的所有实例均忙;一次运行的 p50 与 p99。',
  'By the engine\'s profile, in which runs are slower; layers of one name are one row of the table. Time per row of the batch; the limit is what this machine needs at least.':
    '按引擎的剖析(此时运行较慢);同名的层在表中为一行。时间按批量中的每行计;极限为该机器至少所需的时间。',
});
const tuning = ridge.data;
const {say, digits, bytes, milliseconds, rowsPerSecond, plusMinus, make, section, quiet, cell, noCell, figure, table, faded, canvas, draw, axis,
       plain, decades, count, show} = ridge;

const ratio = value => value.toFixed(2) + ' ×';
const percentOf = value => digits(value) + ' %';
const plainNumber = value => String(Number(value.toPrecision(3)));
const joules = value => digits(value) + ' J';
const {baseline, best} = tuning;
const title = tuning.choice === 'none' ? 'closest' : 'tuned';
const groupOf = point => `${point.engine || baseline.engine} ${point.variant || ''}`.trim();
// 1, 3, 10, 30, … of a logarithmic axis.
const thirds = show => ({callback: value => [1, 3].includes(Number((value / 10 ** Math.floor(Math.log10(value) + 1e-9)).toPrecision(3))) ? show(value) : ''});

function header() {
  return [
    make('h1', baseline.model),
    make('p', `${best.engine} ${best.engine_version} · ${best.device} · ${tuning.machine.cpu ? tuning.machine.cpu.model : ''}`),
    make('p', tuning.conclusion, {id: 'conclusion'}),
  ];
}

function figures() {
  const interval = tuning.gain.low === null || tuning.gain.high === null ? '' : `95 %: ${ratio(tuning.gain.low)} – ${ratio(tuning.gain.high)}`;
  const cards = [
    figure('gain', ratio, 'gain.ratio', interval),
    figure('throughput', rowsPerSecond, 'best.throughput_per_s', `${say('untuned')} ${rowsPerSecond(baseline.throughput_per_s)}`),
    figure('p99 of one run', milliseconds, 'best.latency_ms.p99', `${say('batch')} ${best.batch}`),
  ];
  if (best.percent_of_limit > 0)
    cards.push(figure('of the limit', percentOf, 'best.percent_of_limit', say(best.limiter)));
  if (tuning.drift) cards.push(figure('relative L2', plainNumber, 'drift.relative_l2', say('deviation')));
  return make('div', null, {class: 'figures'}, ...cards);
}

function comparison() {
  const row = (name, side, key) => [
    say(name), side.engine, side.precision, `${side.instances} × ${side.threads}`,
    cell(String, `${key}.batch`), cell(rowsPerSecond, `${key}.throughput_per_s`),
    cell(milliseconds, `${key}.latency_ms.p50`), cell(milliseconds, `${key}.latency_ms.p99`),
    side.percent_of_limit > 0 ? cell(percentOf, `${key}.percent_of_limit`) : noCell(), cell(String, `${key}.samples`)];
  return section('comparison', 'Before and after', table(
    ['', 'engine', 'precision', `${say('instances')} × ${say('threads')}`, '#batch', '#throughput', '#p50 of one run', '#p99 of one run',
     '#of the limit', '#runs'],
    [row('untuned', baseline, 'baseline'), row(title, best, 'best')]));
}

const sameCandidate = (a, b) => ['engine', 'variant', 'threads', 'instances', 'batch', 'spin', 'inter_op_threads', 'block_base']
  .every(key => a[key] === b[key]);

function front() {
  const points = tuning.points || [];
  if (points.length === 0) return null;
  const [element, box] = canvas('front-chart', false);
  element.dataset.dots = points.length;
  const groups = [...new Set(points.map(groupOf))];
  draw(element, c => {
    const palette = [c.accent, c.memory, c.compute, c.warn, c.other, c.text];
    const dot = point => ({x: point.latency_ms.p99, y: point.throughput_per_s, point});
    const clouds = groups.map((group, index) => ({
      type: 'scatter', label: group, data: points.filter(point => groupOf(point) === group).map(dot),
      backgroundColor: faded(palette[index % palette.length]), borderColor: palette[index % palette.length],
      pointRadius: context => context.raw && sameCandidate(context.raw.point, tuning.candidate) ? 8 : 4, pointHoverRadius: 7}));
    const line = {type: 'line', label: say('front'), borderColor: c.quiet, borderWidth: 1.5, borderDash: [4, 4], pointRadius: 0,
                  pointHitRadius: 0, data: (tuning.pareto || []).map(dot)};
    const before = {type: 'scatter', label: say('untuned'), pointStyle: 'rectRot', pointRadius: 8, borderColor: c.text,
                    backgroundColor: 'transparent', borderWidth: 2,
                    data: [{x: baseline.latency_ms.p99, y: baseline.throughput_per_s}]};
    const about = raw => raw.point
      ? [raw.point.text, rowsPerSecond(raw.y), `p99 ${milliseconds(raw.x)}`, `${say('gain')} ${ratio(raw.point.gain.ratio)}`]
      : [say('untuned'), rowsPerSecond(raw.y), `p99 ${milliseconds(raw.x)}`];
    return {
      type: 'scatter', data: {datasets: [before, ...clouds, line]},
      options: plain(c, {
        x: axis(c, 'p99 of one run', {type: 'logarithmic', ticks: {maxRotation: 0, ...thirds(milliseconds)}}),
        y: axis(c, 'rows/s', {beginAtZero: true, ticks: {callback: count}}),
      }, {filter: item => item.dataset.type !== 'line', callbacks: {label: item => about(item.raw)}}),
    };
  });
  const energy = tuning.pareto.some(point => point.joules_per_row);
  const rows = tuning.pareto.map((point, i) => [
    make('td', point.text, {class: 'name'}),
    cell(rowsPerSecond, `pareto.${i}.throughput_per_s`), cell(milliseconds, `pareto.${i}.latency_ms.p99`),
    point.memory_bytes > 0 ? cell(bytes, `pareto.${i}.memory_bytes`) : noCell(),
    ...(energy ? [cell(joules, `pareto.${i}.joules_per_row`)] : []),
    cell(ratio, `pareto.${i}.gain.ratio`)]);
  return section('front', 'Measured candidates', box,
    quiet('Each dot is a measured candidate. The line joins those that no other beats in throughput, p99, memory and energy at once.'),
    table(['front', '#throughput', '#p99 of one run', '#memory', ...(energy ? ['#energy per row'] : []), '#gain'], rows));
}

function curve() {
  const points = tuning.curve || [];
  if (points.length === 0) return null;
  const advice = tuning.batching_advice;
  const goal = tuning.goal.p99_ms;
  const [element, box] = canvas('batch-chart', true);
  element.dataset.points = points.length;
  draw(element, c => {
    const line = (label, colour, axisName, value, dash = []) => ({
      label: say(label), yAxisID: axisName, borderColor: colour, backgroundColor: colour, borderWidth: 2, borderDash: dash, pointRadius: 3,
      data: points.map(point => ({x: point.batch, y: value(point)}))});
    const lines = [line('throughput', c.accent, 'y', point => point.throughput_per_s),
                   line('median of one run', c.memory, 'y1', point => point.latency_ms.p50),
                   line('p99 of one run', c.compute, 'y1', point => point.latency_ms.p99, [4, 4])];
    if (goal) lines.push({...line('goal', c.warn, 'y1', () => goal, [2, 3]), pointRadius: 0});
    return {
      type: 'line', data: {datasets: lines},
      options: plain(c, {
        x: axis(c, 'batch', {type: 'logarithmic', ticks: {callback: String, autoSkip: true, maxRotation: 0},
                             afterBuildTicks: scale => { scale.ticks = points.map(point => ({value: point.batch})); }}),
        y: axis(c, 'rows/s', {beginAtZero: true, ticks: {callback: count}}),
        y1: axis(c, 'latency', {position: 'right', beginAtZero: true, grid: {drawOnChartArea: false}, ticks: {callback: milliseconds}}),
      }, {callbacks: {label: item => `${item.dataset.label}: ${item.dataset.yAxisID === 'y' ? rowsPerSecond(item.raw.y) : milliseconds(item.raw.y)}`}}),
    };
  });
  const rows = points.map((point, i) => [
    cell(String, `curve.${i}.batch`), cell(milliseconds, `curve.${i}.latency_ms.p50`),
    cell(milliseconds, `curve.${i}.latency_ms.p99`), cell(rowsPerSecond, `curve.${i}.throughput_per_s`)]);
  return section('curve', 'Latency over batch', box, quiet('All instances of the chosen layout busy; p50 and p99 of one run.'),
    table(['#batch', '#p50 of one run', '#p99 of one run', '#throughput'], rows),
    make('p', advice.reason), ...(tuning.batching_outlook ? [make('p', tuning.batching_outlook.sentence, {class: 'quiet'})] : []));
}

// Layers of both sides by their names, the most expensive first.
function paired() {
  const rows = new Map();
  for (const [side, name] of [[baseline, 'before'], [best, 'after']])
    for (const layer of side.layers || []) {
      const row = rows.get(layer.name) || {name: layer.name, op: layer.op};
      row[name] = (row[name] || 0) + layer.ms / side.batch;
      if (layer.bound_ms > 0) row[name + 'Limit'] = (row[name + 'Limit'] || 0) + layer.bound_ms / side.batch;
      rows.set(layer.name, row);
    }
  return [...rows.values()].sort((a, b) => Math.max(b.before || 0, b.after || 0) - Math.max(a.before || 0, a.after || 0));
}

function layers() {
  const rows = paired();
  if (rows.length === 0) return null;
  const shown = rows.slice(0, 14);
  const [element, box] = canvas('layer-chart', false);
  element.dataset.layers = shown.length;
  const label = name => name.length > 28 ? name.slice(0, 12) + '…' + name.slice(-14) : name;
  draw(element, c => ({
    type: 'bar',
    data: {labels: shown.map(row => label(row.name)), datasets: [
      {label: say('before'), data: shown.map(row => row.before || 0), backgroundColor: faded(c.other)},
      {label: say('after'), data: shown.map(row => row.after || 0), backgroundColor: faded(c.accent)},
      {label: say('limit'), data: shown.map(row => row.afterLimit || row.beforeLimit || 0), backgroundColor: c.compute, barPercentage: 0.4}]},
    options: {...plain(c, {
      x: axis(c, 'time per row', {beginAtZero: true, ticks: {callback: milliseconds, maxRotation: 0, autoSkip: true, autoSkipPadding: 16}}),
      y: axis(c, 'layer', {title: {display: false}, ticks: {autoSkip: false, font: {size: 10}}}),
    }, {callbacks: {title: items => shown[items[0].dataIndex].name, label: item => `${item.dataset.label}: ${milliseconds(item.raw)}`}}),
    indexAxis: 'y', parsing: true, normalized: false},
  }));
  const cell = value => make('td', value ? milliseconds(value) : '-', {class: 'number'});
  const body = rows.map(row => [make('td', row.name, {class: 'name'}), row.op, cell(row.before), cell(row.after),
                                cell(row.afterLimit || row.beforeLimit)]);
  const whole = section('layers', 'Layers', box,
    quiet('By the engine\'s profile, in which runs are slower; layers of one name are one row of the table. Time per row of the batch; the limit is what this machine needs at least.'),
    make('details', null, {}, make('summary', String(rows.length)),
         table(['layer', 'operator', '#before', '#after', '#limit'], body)));
  whole.classList.add('long');
  return whole;
}

// The judged outputs: the guard's verdict per implementation and output, or the winner's deviation alone.
function judged() {
  const implementations = (tuning.accuracy && tuning.accuracy.implementations) || [];
  const rows = implementations.flatMap((one, i) => ((one.accuracy && one.accuracy.outputs) || []).map((output, j) => (
    {...output, of: `${one.engine} ${one.variant}`, member: `accuracy.implementations.${i}.accuracy.outputs.${j}`})));
  const lost = ((tuning.accuracy && tuning.accuracy.variants) || []).flatMap((one, i) => one.holds ? []
    : ((one.verdict && one.verdict.outputs) || []).map((output, j) => (
      {...output, of: one.name, member: `accuracy.variants.${i}.verdict.outputs.${j}`})));
  return [...rows, ...lost];
}

function deviation() {
  const outputs = judged();
  const rows = outputs.length > 0 ? outputs
    : tuning.drift ? [{...tuning.drift, of: tuning.candidate.variant || '', name: '', holds: true, member: 'drift'}] : [];
  if (rows.length === 0) return null;
  const one = new Set(rows.map(row => row.name)).size === 1;  // all of one output: its name adds nothing
  const label = row => one ? row.of || row.name : `${row.of} ${row.name}`.trim();
  const least = 1e-9;
  const differ = rows.some(row => row.relative_l2 > least || 1 - row.cosine > least);
  const [element, box] = canvas('drift-chart', true);
  element.dataset.bars = rows.length;
  if (differ) draw(element, c => ({
    type: 'bar',
    data: {labels: rows.map(label), datasets: [
      {label: say('relative L2'), data: rows.map(row => Math.max(row.relative_l2, least)), backgroundColor: rows.map(row => faded(row.holds ? c.accent : c.warn))},
      {label: `1 − ${say('cosine')}`, data: rows.map(row => Math.max(1 - row.cosine, least)), backgroundColor: faded(c.memory)}]},
    options: {...plain(c, {
      x: axis(c, '', {title: {display: false}}),
      y: axis(c, '', {title: {display: false}, type: 'logarithmic', min: least, suggestedMax: 0.01, ticks: decades(value => value.toExponential(0))}),
    }, {callbacks: {label: item => `${item.dataset.label}: ${item.raw <= least ? '≤ ' : ''}${plainNumber(item.raw)}`}}),
    parsing: true, normalized: false},
  }));
  const body = rows.map(row => [
    make('td', `${row.of} ${row.name}`.trim(), {class: 'name'}),
    cell(plainNumber, `${row.member}.relative_l2`), cell(value => value.toFixed(6), `${row.member}.cosine`),
    cell(plainNumber, `${row.member}.max_abs`), cell(value => percentOf(100 * value), `${row.member}.top1_agreement`),
    make('td', say(row.holds ? 'holds' : 'fails') + (row.failure ? `: ${row.failure}` : ''), {class: row.holds ? 'name' : 'name warn'})]);
  return section('drift', 'Outputs against FP32', ...(differ ? [box] : []),
    table(['output', '#relative L2', '#cosine', '#largest difference', '#same top-1', 'verdict'], body),
    ...(tuning.accuracy ? [make('p', tuning.accuracy.samples, {class: 'quiet'})] : []));
}

// The accuracy loss per layer, and the layers kept in FP32.
function sensitivity() {
  const rows = ((tuning.accuracy && tuning.accuracy.variants) || []).flatMap((variant, i) => (variant.sensitivity || []).map((layer, j) => [
    make('td', layer.node, {class: 'name'}), variant.name,
    layer.relative_l2 === null ? make('td', '∞', {class: 'number'}) : cell(plainNumber, `accuracy.variants.${i}.sensitivity.${j}.relative_l2`),
    cell(String, `accuracy.variants.${i}.sensitivity.${j}.together`),
    layer.kept ? say('stays in FP32') : '']));
  if (rows.length === 0) return null;
  const whole = section('sensitivity', 'What each layer costs in accuracy', make('details', null, rows.length <= 20 ? {open: ''} : {},
    make('summary', String(rows.length)), table(['layer', 'precision', '#relative L2', '#measured together', ''], rows)));
  whole.classList.add('long');
  return whole;
}

function skipped() {
  const rows = tuning.space.skipped.map((skip, i) => [make('td', skip.reason, {class: 'name'}), cell(String, `space.skipped.${i}.count`)]);
  const refused = ((tuning.accuracy && tuning.accuracy.refused) || []).map(one =>
    [make('td', `${one.engine} ${one.variant}`), make('td', one.reason, {class: 'name'})]);
  if (rows.length + refused.length === 0) return null;
  return section('skipped', 'Not measured', ...(rows.length > 0 ? [table(['reason', '#candidates'], rows)] : []),
                 ...(refused.length > 0 ? [table(['engine', 'reason'], refused)] : []));
}

show([...header(), figures(), comparison(), front(), curve(), layers(), deviation(), sensitivity(), skipped()]);
})();
