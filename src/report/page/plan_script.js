// Draws the plan in the element "data". Numbers keep their value in data-value; the only computed values are shares for the
// size of a dot.
'use strict';
(() => {

const kChinese = {
  'what it costs, and the least time this device needs': '模型的开销,以及该设备所需的最短时间',
  'Summary': '概要', 'Roofline': '屋顶线', 'Memory over time': '内存随时间的变化', 'Batch': '批量',
  'Estimate': '预测值', 'Predicted and measured': '预测与实测', 'predicted': '预测', 'prediction error': '预期误差', 'Load': '负载', 'Energy and cost': '能耗与成本', 'Layers': '各层', 'Notes': '说明',
  'batch': '批量', 'threads': '线程', 'FLOPs': '浮点运算', 'multiply-adds': '乘加', 'parameters': '参数', 'weights': '权重',
  'bytes': '字节', 'peak activations': '激活峰值', 'memory': '内存', 'intensity': '计算强度', 'ridge point': '脊点',
  'bound': '理论下限', 'estimate': '预测值', 'carried over': '由公开测得的设备推算', 'at most': '至多', 'limited by': '受限于', 'compute': '计算', 'unknown': '未知',
  'Limits of the device': '设备的极限', 'device memory': '设备内存', 'measured': '实测', 'datasheet': '数据手册', 'derived': '推导', 'assumed': '假定',
  'layer': '层', 'operator': '算子', 'limiter': '受限于', 'rows/s': '行/秒', 'latency': '延迟', 'throughput': '吞吐量',
  'origin': '来源', 'figure': '项目', 'value': '数值', 'source': '出处', 'live activations': '存活的激活',
  'node, in the order of the file': '节点,按文件中的次序', 'arithmetic intensity [FLOP/byte]': '计算强度 [FLOP/byte]',
  'Each dot is a layer where its bound puts it; its size is its share of the summed bounds. Above a slope its data stay in a nearer memory; above the top its FLOPs count taps on padding, which need no time.':
    '每个点是一层,位置由其理论下限决定,大小为其在理论下限总和中的占比。位于斜线之上的层,其数据停留在更近的存储中;高于顶线的层,其运算数包含不需要时间的填充。',
  'Bytes of activations that live while each node runs, each freed after its last use.': '每个节点运行时存活的激活字节数,最后一次使用后即释放。',
  'At the bound: no engine on this device is faster.': '按理论下限计:该设备上没有引擎能更快。',
  'does not fit': '放不下', 
  'Memory before loading': '加载前的内存', 'Training': '训练', 'largest batch': '最大批量', 'runtime': '运行时', 'context': '上下文',
  'activations': '激活', 'workspace': '工作区', 'inputs': '输入', 'arena slack': '内存池余量', 'retained': '保留', 'resident': '常驻',
  'loading peak': '加载峰值', 'peak': '峰值', 'limit': '上限', 'gradients': '梯度', 'optimiser': '优化器', 'working': '工作内存',
  'total': '合计', 'host': '主机', 'least time for the arithmetic': '计算所需的最短时间', 'least time for the memory': '访存所需的最短时间', 'given': '给定',
  'rows that arrive': '到达的行', 'goal for p99': 'p99 目标', 'busy at most': '最高占用', 'time of one run': '一次运行的时间',
  'instances': '实例', 'utilisation': '利用率', 'instances per machine': '每台机器的实例', 'machines': '机器', 'mean wait': '平均等待',
  '99th percentile of the wait': '等待的第 99 百分位', '99th percentile of the answer': '应答的第 99 百分位',
  'rows while at work': '工作时的行数', 'energy per row': '每行能耗', 'energy per million rows, at the meter': '每百万行能耗(电表处)',
  'renting, per million rows': '租用,每百万行', 'owning, per million rows': '自有,每百万行', 'renting, per hour': '租用,每小时',
  'owning, per hour': '自有,每小时', 'break-even': '盈亏平衡', 'months': '个月', 'power': '功率', 'load factor': '负载系数',
  'idle factor': '空闲系数', 'pue': 'PUE', 'electricity': '电价', 'years': '折旧年限', 'staff share': '人员占比', 'rented share': '租用时间占比',
  'price': '价格', 'hour': '每小时价格',
};
ridge.translate(kChinese);
const plan = ridge.data;
const {say, digits, bytes, milliseconds, flops, rate, count, bandwidth, intensity, plusMinus, rowsPerSecond, percent, dollars, make,
       section, quiet, number, cell, figure, table, originCell, properties, faded, canvas, draw, axis, plain, decades} = ridge;

// ---------------------------------------------------------------- parts
const throughput = plan.bound_ms > 0 ? 1000 * plan.batch / plan.bound_ms : 0;

function header() {
  const device = plan.device;
  const threads = device.kind === 'cpu' ? ` · ${plan.threads} ${say('threads')}` : '';
  return [
    make('h1', plan.model),
    make('p', `${say('batch')} ${plan.batch} · ${plan.precision} · ${device.name}${threads} (${say(device.origin)})`),
    quiet('what it costs, and the least time this device needs'),
  ];
}

function figures() {
  const cards = [figure('bound', milliseconds, 'bound_ms', `${say('limited by')} ${say(plan.limiter)}`)];
  if (plan.estimate_ms)
    cards.push(figure('estimate', milliseconds, 'estimate_ms', plusMinus(plan.estimate_error_percent)));
  cards.push(figure('FLOPs', flops, 'flops'), figure('parameters', count, 'params'),
             figure('memory', bytes, 'memory_bytes.inference'),
             figure('ridge point', intensity, 'ridge_point', say(plan.device.origin)));
  return make('div', null, {class: 'figures'}, ...cards);
}

function summary() {
  const limits = plan.device.origin;
  const rows = [
    ['FLOPs', flops, 'flops', 'derived'], ['multiply-adds', count, 'macs', 'derived'], ['parameters', count, 'params', 'derived'],
    ['weights', bytes, 'weight_bytes', 'derived'], ['bytes', bytes, 'bytes', 'derived'],
    ['peak activations', bytes, 'peak_activation_bytes', 'derived'], ['memory', bytes, 'memory_bytes.inference', 'derived'],
    ['device memory', bytes, 'device.memory_bytes', limits], ['ridge point', intensity, 'ridge_point', limits],
    ['least time for the arithmetic', milliseconds, 'compute_bound_ms', 'derived'],
    ['least time for the memory', milliseconds, 'memory_bound_ms', 'derived'], ['bound', milliseconds, 'bound_ms', 'derived'],
  ];
  if (plan.estimate_ms) rows.push(['estimate', milliseconds, 'estimate_ms', 'derived']);
  const body = rows.map(([name, show, member, origin]) => [say(name), cell(show, member), originCell(origin)]);
  body.push([say('at most'), make('td', rowsPerSecond(throughput), {class: 'number'}), originCell('derived')]);
  return section('summary', 'Summary', table(['figure', '#value', 'origin'], body));
}

// The origin of each limit of a GPU in this machine.
function limits() {
  const known = plan.device.limits || [];
  if (known.length === 0) return null;
  return properties('limits', 'Limits of the device', known.map((limit, index) =>
    [limit.what, ['DRAM', 'L2'].includes(limit.what) ? bandwidth : rate, `device.limits.${index}.per_s`, limit.origin,
     limit.by ? `${limit.by}, ${plusMinus(limit.spread_percent)}` : '']));
}

const running = plan.layers.filter(layer => layer.runs !== false);
const summed = running.reduce((sum, layer) => sum + layer.bound_ms, 0);

// The executed kernels that kept their layer's name.
const kernels = new Map(plan.estimate ? plan.estimate.kernels.map(kernel => [kernel.name, kernel]) : []);

function roofline() {
  const dots = running.filter(layer => layer.flops > 0 && layer.intensity > 0 && layer.bound_ms > 0)
    .map(layer => ({x: layer.intensity, y: 1000 * layer.flops / layer.bound_ms, layer}));
  if (dots.length === 0 || !(plan.ridge_point > 0)) return null;
  const left = Math.min(plan.ridge_point / 10, ...dots.map(dot => dot.x)) / 1.3;
  const right = Math.max(plan.ridge_point * 10, ...dots.map(dot => dot.x)) * 1.3;
  const top = 2.5 * Math.max(plan.peak_flops_per_s, ...dots.map(dot => dot.y));
  const bottom = Math.min(plan.peak_flops_per_s / 100, ...dots.map(dot => dot.y)) / 2.5;
  const [element, box] = canvas('roofline-chart', false);
  element.dataset.dots = dots.length;
  const roofs = plan.roofs.map((roof, index) => {
    const ridge = plan.peak_flops_per_s / roof.bytes_per_s;
    const at = x => ({x, y: Math.min(plan.peak_flops_per_s, x * roof.bytes_per_s)});
    const outermost = index + 1 === plan.roofs.length;
    return {label: `${roof.level} ${bandwidth(roof.bytes_per_s)}`, outermost,
            data: [at(left), at(Math.min(Math.max(ridge, left), right)), at(right)]};
  });
  draw(element, c => {
    const cloud = (limiter, colour) => ({
      type: 'scatter', label: say(limiter), data: dots.filter(dot => dot.layer.limiter === limiter),
      backgroundColor: faded(colour), borderColor: colour,
      pointRadius: context => context.raw ? 3 + 14 * Math.sqrt(context.raw.layer.bound_ms / summed) : 3,
      pointHoverRadius: context => context.raw ? 5 + 14 * Math.sqrt(context.raw.layer.bound_ms / summed) : 5,
    });
    const lines = roofs.map(roof => ({
      type: 'line', label: roof.label, data: roof.data, borderColor: roof.outermost ? c.text : c.quiet,
      borderWidth: roof.outermost ? 2 : 1, borderDash: roof.outermost ? [] : [4, 4], pointRadius: 0, pointHitRadius: 0, tension: 0,
    }));
    const about = layer => {
      const lines = [layer.name, layer.op, flops(layer.flops), bytes(layer.bytes), intensity(layer.intensity),
                     `${say('bound')} ${milliseconds(layer.bound_ms)}, ${say('limited by')} ${say(layer.limiter)}`];
      const kernel = kernels.get(layer.name);
      if (kernel) lines.push(`${say('estimate')} ${milliseconds(kernel.ms)} ${plusMinus(kernel.error_percent)}`);
      return lines;
    };
    return {
      type: 'scatter',
      data: {datasets: [cloud('compute', c.compute), cloud('memory', c.memory), ...lines]},
      options: plain(c, {
        x: axis(c, 'arithmetic intensity [FLOP/byte]',
                {type: 'logarithmic', min: left, max: right, ticks: {maxRotation: 0, ...decades(value => value.toString())}}),
        y: axis(c, 'FLOP/s', {type: 'logarithmic', min: bottom, max: top, ticks: decades(rate)}),
      }, {filter: item => item.raw.layer !== undefined, callbacks: {label: item => about(item.raw.layer)}}),
    };
  });
  return section('roofline', 'Roofline', box,
    quiet('Each dot is a layer where its bound puts it; its size is its share of the summed bounds. Above a slope its data stay in a nearer memory; above the top its FLOPs count taps on padding, which need no time.'));
}

function memory() {
  const nodes = running.filter(layer => layer.live_bytes !== undefined);
  if (nodes.length === 0) return null;
  const [element, box] = canvas('memory-chart', true);
  element.dataset.points = nodes.length;
  const points = nodes.map((layer, index) => ({x: index + 1, y: layer.live_bytes, layer}));
  draw(element, c => ({
    type: 'line',
    data: {datasets: [{label: say('live activations'), data: points, stepped: 'middle', pointRadius: 0, pointHitRadius: 8,
                       borderWidth: 1.5, borderColor: c.accent, backgroundColor: c.accent + '40', fill: true}]},
    options: plain(c, {
      x: axis(c, 'node, in the order of the file', {type: 'linear', min: 1, max: Math.max(2, nodes.length)}),
      y: axis(c, 'bytes', {beginAtZero: true, ticks: {callback: bytes}}),
    }, {callbacks: {title: items => items[0].raw.layer.name, label: item => `${item.raw.layer.op}: ${bytes(item.raw.y)}`}}, false),
  }));
  return section('memory', 'Memory over time', box,
    quiet('Bytes of activations that live while each node runs, each freed after its last use.'));
}

function curve() {
  if (!plan.curve) return null;
  const [element, box] = canvas('curve-chart', true);
  element.dataset.points = plan.curve.length;
  draw(element, c => {
    const line = (label, colour, axisName, value) => ({
      label: say(label), yAxisID: axisName, borderColor: colour, backgroundColor: colour, borderWidth: 2, pointRadius: 3,
      data: plan.curve.filter(point => value(point)).map(point => ({x: point.batch, y: value(point)}))});
    const lines = [line('throughput', c.accent, 'y', point => point.throughput_per_s),
                   line('latency', c.memory, 'y1', point => point.bound_ms)];
    if (plan.curve.some(point => point.estimate_ms)) lines.push(line('estimate', c.compute, 'y1', point => point.estimate_ms));
    return {
      type: 'line', data: {datasets: lines},
      options: plain(c, {
        x: axis(c, 'batch', {type: 'logarithmic', ticks: {callback: String, autoSkip: true, maxRotation: 0},
                             afterBuildTicks: scale => { scale.ticks = plan.curve.map(point => ({value: point.batch})); }}),
        y: axis(c, 'rows/s', {beginAtZero: true, ticks: {callback: count}}),
        y1: axis(c, 'latency', {position: 'right', beginAtZero: true, grid: {drawOnChartArea: false}, ticks: {callback: milliseconds}}),
      }, {callbacks: {label: item => `${item.dataset.label}: ${item.dataset.yAxisID === 'y' ? rowsPerSecond(item.raw.y) : milliseconds(item.raw.y)}`}}),
    };
  });
  const rows = plan.curve.map((point, i) => [
    cell(String, `curve.${i}.batch`), cell(milliseconds, `curve.${i}.bound_ms`), cell(rowsPerSecond, `curve.${i}.throughput_per_s`),
    cell(bytes, `curve.${i}.memory_bytes`), say(point.fits === false ? 'does not fit' : point.limiter)]);
  return section('curve', 'Batch', box, quiet('At the bound: no engine on this device is faster.'),
                 table(['#batch', '#bound', '#at most', '#memory', 'limiter'], rows));
}

// The engine's expected performance, kernel by kernel, with the expected error of each.
function estimate() {
  const answer = plan.estimate;
  if (!answer) return null;
  const order = answer.kernels.map((kernel, index) => [kernel, index]).sort((a, b) => b[0].ms - a[0].ms);
  const rows = order.map(([kernel, index]) => [
    make('td', kernel.name, {class: 'name'}), kernel.op,
    cell(milliseconds, `estimate.kernels.${index}.ms`), cell(plusMinus, `estimate.kernels.${index}.error_percent`)]);
  const list = table(['layer', 'operator', '#estimate', '#prediction error'], rows);
  const whole = section('estimate', 'Estimate', make('p', null, {},
    number('b', milliseconds, 'estimate_ms'), ' ',
    number('span', plusMinus, 'estimate_error_percent'),
    answer.engine ? ` · ${answer.engine} · ${answer.calibrated_at}` : ` · ${say(answer.basis)}`),
    ...(rows.length === 0 ? [] :
      [make('details', null, rows.length <= 15 ? {open: ''} : {}, make('summary', String(rows.length)), list)]),
    ...(answer.notes || []).map(note => make('p', note, {class: 'quiet'})));
  whole.classList.add('long');
  return whole;
}

// Predictions and measurements on this machine so far, one dot per comparison; on the line is exact, between the dashes within
// 10 %.
function predictions() {
  const ledger = plan.ledger;
  if (!Array.isArray(ledger) || ledger.length === 0) return null;
  const [element, box] = canvas('predictions-chart', true);
  element.dataset.points = ledger.length;
  const all = ledger.flatMap(entry => [entry.predicted_ms, entry.measured_ms]);
  const ends = [Math.min(...all) / 1.5, Math.max(...all) * 1.5];
  draw(element, c => {
    const along = (label, factor, dash) => ({type: 'line', label, borderColor: c.quiet, borderDash: dash, borderWidth: 1, pointRadius: 0,
                                             pointHitRadius: 0, data: ends.map(x => ({x, y: x * factor}))});
    const scale = title => axis(c, title, {type: 'logarithmic', min: ends[0], max: ends[1], ticks: {maxRotation: 0, ...decades(milliseconds)}});
    return {
      type: 'scatter',
      data: {datasets: [{label: say('predicted'), backgroundColor: faded(c.accent), pointRadius: 4,
                         data: ledger.map(entry => ({x: entry.measured_ms, y: entry.predicted_ms, entry}))},
                        along('=', 1, []), along('+10 %', 1.1, [4, 4]), along('−10 %', 0.9, [4, 4])]},
      options: plain(c, {x: scale('measured'), y: scale('predicted')},
                     {filter: item => item.raw.entry !== undefined,
                      callbacks: {label: ({raw: {entry}}) => `${entry.model}, ${say('batch')} ${entry.batch}: ${milliseconds(entry.predicted_ms)} / ${milliseconds(entry.measured_ms)}`}}),
    };
  });
  const rows = ledger.map((entry, index) => [
    make('td', entry.model, {class: 'name'}), cell(String, `ledger.${index}.batch`),
    cell(milliseconds, `ledger.${index}.predicted_ms`), cell(milliseconds, `ledger.${index}.measured_ms`), entry.at]);
  return section('predictions', 'Predicted and measured', box,
                 make('details', null, {}, make('summary', String(ledger.length)), table(['', '#batch', '#predicted', '#measured', ''], rows)));
}

// Members of an object in bytes, by their names.
const parts = (object, prefix, names) => names.filter(name => typeof object[name] === 'number').map(name =>
  [name.replaceAll('_', ' '), bytes, `${prefix}.${name}`, 'derived']);

function inferenceMemory() {
  const answer = plan.memory;
  if (!answer) return null;
  return properties('inference-memory', 'Memory before loading', [
    ...parts(answer, 'memory', ['runtime', 'context', 'weights', 'activations', 'workspace', 'inputs', 'arena_slack', 'retained', 'resident',
                                'loading_peak', 'peak', 'limit']),
    ['largest batch', String, 'max_batch', 'derived'], ['instances', String, 'memory.instances', 'derived']],
    ...(answer.fits ? [] : [make('p', say('does not fit'), {class: 'warn'})]));
}

function training() {
  const answer = plan.training;
  if (!answer) return null;
  const setup = make('p', Object.entries(answer.setup).filter(([, value]) => value).map(([name, value]) =>
    `${name.replaceAll('_', ' ')} ${value === true ? '' : value}`.trim()).join(' · '), {class: 'quiet'});
  const rows = answer.curve.map((point, index) => [
    cell(String, `training.curve.${index}.batch`), cell(bytes, `training.curve.${index}.memory_bytes.activations`),
    cell(bytes, `training.curve.${index}.memory_bytes.total`),
    say(point.fits ? '' : 'does not fit')]);
  return properties('training', 'Training', [
    ...parts(answer.memory_bytes, 'training.memory_bytes', ['parameters', 'gradients', 'optimiser', 'activations', 'working', 'total', 'host']),
    ['largest batch', String, 'training.max_batch', 'derived']], setup,
    table(['#batch', '#activations', '#total', ''], rows), ...(answer.notes || []).map(note => make('p', note, {class: 'quiet'})));
}

function load() {
  const answer = plan.load;
  if (!answer) return null;
  const of = (name, member, show, origin = 'derived', source = '') => [name, show, 'load.' + member, origin, source];
  return properties('load', 'Load', [
    of('rows that arrive', 'goal.rows_per_s', rowsPerSecond, 'given'), of('goal for p99', 'goal.p99_ms', milliseconds, 'given'),
    of('busy at most', 'goal.most_utilisation', percent, 'assumed'), of('batch', 'batch', String, ''),
    of('time of one run', 'service_ms', milliseconds, '', answer.basis), of('instances', 'instances', String),
    of('utilisation', 'utilisation', percent), of('instances per machine', 'instances_per_machine', String, ''),
    of('machines', 'machines', String), of('mean wait', 'mean_wait_ms', milliseconds), of('99th percentile of the wait', 'p99_wait_ms', milliseconds),
    of('99th percentile of the answer', 'p99_ms', milliseconds)],
    ...(answer.met ? [] : [make('p', answer.reason, {class: 'warn'})]));
}

function cost() {
  const answer = plan.cost;
  if (!answer) return null;
  const of = (name, member, show, origin = 'derived', source = '') => [name, show, 'cost.' + member, origin, source];
  const given = Object.entries(answer.inputs).map(([name, input]) =>
    [name.replaceAll('_', ' '), value => `${Number(value.toPrecision(4))} ${input.unit}`, `cost.inputs.${name}.value`, input.origin, input.source]);
  return properties('cost', 'Energy and cost', [
    of('batch', 'batch', String, ''), of('time of one run', 'service_ms', milliseconds, '', answer.basis),
    of('rows while at work', 'rows_per_s', rowsPerSecond), of('energy per row', 'joules_per_row', value => digits(value) + ' J'),
    of('energy per million rows, at the meter', 'kwh_per_million', value => digits(value) + ' kWh'),
    of('renting, per million rows', 'renting_usd_per_million', dollars), of('owning, per million rows', 'owning_usd_per_million', dollars),
    of('renting, per hour', 'renting_usd_per_hour', dollars), of('owning, per hour', 'owning_usd_per_hour', dollars),
    of('break-even', 'break_even_months', value => `${digits(value)} ${say('months')}`), ...given],
    ...(answer.verdict ? [make('p', answer.verdict)] : []));
}

function layers() {
  const order = plan.layers.map((layer, index) => [layer, index]).filter(([layer]) => layer.runs !== false)
    .sort((a, b) => b[0].bound_ms - a[0].bound_ms);
  const rows = order.map(([layer, index]) => [
    make('td', layer.name, {class: 'name'}), layer.op,
    cell(flops, `layers.${index}.flops`), cell(bytes, `layers.${index}.bytes`), cell(digits, `layers.${index}.intensity`),
    cell(milliseconds, `layers.${index}.bound_ms`), say(layer.limiter)]);
  const list = table(['layer', 'operator', '#FLOPs', '#bytes', '#intensity', '#bound', 'limiter'], rows);
  const whole = section('layers', 'Layers', make('details', null, rows.length <= 30 ? {open: ''} : {}, make('summary', String(rows.length)), list));
  whole.classList.add('long');
  return whole;
}

function notes() {
  if (!plan.notes || plan.notes.length === 0) return null;
  return section('notes', 'Notes', make('ul', null, {}, ...plan.notes.map(note => make('li', note))));
}

ridge.show([
  ...header(), figures(), roofline(), memory(), curve(), summary(), limits(), estimate(), predictions(), inferenceMemory(), training(),
  load(), cost(), layers(), notes(),
]);
})();
