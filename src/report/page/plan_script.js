// Draws the plan in the element "data". Numbers keep their value in data-value; the only computed values are shares for
// the size of a dot.
(() => {
const plan = ridge.data;
const {say, digits, bytes, milliseconds, flops, rate, count, bandwidth, intensity, rowsPerSecond, percent, percentOf,
       dollars, range, make, section, longSection, quiet, bullets, warning, name, number, cell, noCell, figure, figures,
       table, listTable, expander, originCell, properties, limitRows, fileName, header, faded, canvas, draw, axis,
       plain, decades, byteTicks, kDashes, batchLine, batchChart} = ridge;

const estimated = plan.estimate_ms > 0 && plan.estimate.range_ms;
const words = text => text.replaceAll('_', ' ');
const arithmetic = (plan.arithmetic || []).filter(one => one.percent >= 1);  // the longest first

function title() {
  const {device} = plan;
  const threads = device.kind === 'cpu' && say(`${plan.threads} threads`);
  return header(
      fileName(plan.model),
      [
        `${say('batch')} ${plan.batch}`, arithmetic.map(one => one.precision).join(', ') || plan.precision, device.name,
        threads, say(device.origin)
      ].filter(part => part)
          .join(' · '),
      quiet('what it costs, and the least time this device needs'));
}

// By the shares of their limits that publicly measured devices reach; never less than the bound.
function estimateRange() {
  const {fast, slow} = plan.estimate.range_ms;
  return range(Math.max(fast, plan.bound_ms), slow, milliseconds);
}

function tiles() {
  return figures(
      figure('bound', milliseconds, 'bound_ms', say(`limited by ${plan.limiter}`)),
      estimated ? figure('estimate', milliseconds, 'estimate_ms', estimateRange()) : null,
      plan.measured ? figure('measured', milliseconds, 'measured.latency_ms.p50', say(`${plan.measured.runs} runs`)) :
                      null,
      figure('FLOPs', flops, 'flops'), figure('parameters', count, 'params'),
      figure('memory', bytes, 'memory_bytes.inference'),
      figure('ridge point', intensity, 'ridge_point', say(plan.device.origin)));
}

// Of a bound below, an engine's call takes longer: the rate that it would allow says nothing.
const kLeastCall = 1e-3;  // [ms]

function summary() {
  const limits = plan.device.origin;
  const rows = [
    ['FLOPs', flops, 'flops', 'derived'], ['multiply-adds', count, 'macs', 'derived'],
    ['parameters', count, 'params', 'derived'], ['weights', bytes, 'weight_bytes', 'derived'],
    ['bytes', bytes, 'bytes', 'derived'], ['peak activations', bytes, 'peak_activation_bytes', 'derived'],
    ['memory', bytes, 'memory_bytes.inference', 'derived'], ['device memory', bytes, 'device.memory_bytes', limits],
    ['ridge point', intensity, 'ridge_point', limits],
    ['least time for the arithmetic', milliseconds, 'compute_bound_ms', 'derived'],
    ['least time for the memory', milliseconds, 'memory_bound_ms', 'derived'],
    ['bound', milliseconds, 'bound_ms', 'derived']
  ];
  if (estimated) rows.push(['estimate', milliseconds, 'estimate_ms', 'derived']);
  if (plan.measured) rows.push(['measured', milliseconds, 'measured.latency_ms.p50', 'measured']);
  const body = rows.map(([title, show, member, origin]) => [say(title), cell(show, member), originCell(origin)]);
  if (plan.bound_ms >= kLeastCall)
    body.push([
      say('at most'), make('td', rowsPerSecond(1000 * plan.batch / plan.bound_ms), {class: 'number'}),
      originCell('derived')
    ]);
  return section('summary', 'Summary', table(['figure', '#value', 'origin'], body));
}

// The origin of each limit of a GPU in this machine.
function limits() {
  const rows = limitRows('device.limits');
  return rows.length ? properties('limits', 'Limits of the device', rows) : null;
}

const running = plan.layers.filter(layer => layer.runs !== false);
const summed = running.reduce((sum, layer) => sum + layer.bound_ms, 0);

function roofline() {
  const dots = running.filter(layer => layer.flops > 0 && layer.intensity > 0 && layer.bound_ms > 0)
    .map(layer => ({x: layer.intensity, y: 1000 * layer.flops / layer.bound_ms, layer}));
  if (dots.length === 0 || !(plan.ridge_point > 0)) return null;
  const left = Math.min(plan.ridge_point / 10, ...dots.map(dot => dot.x)) / 1.3;
  const right = Math.max(plan.ridge_point * 10, ...dots.map(dot => dot.x)) * 1.3;
  const peaks = arithmetic.filter(one => one.flops_per_s > 0);
  const top = 2.5 * Math.max(plan.peak_flops_per_s, ...peaks.map(one => one.flops_per_s), ...dots.map(dot => dot.y));
  const bottom = Math.min(plan.peak_flops_per_s / 100, ...dots.map(dot => dot.y)) / 2.5;
  const [element, box] = canvas('roofline-chart', false);
  element.dataset.dots = dots.length;
  const roofs = plan.roofs.map((roof, index) => {
    const ridge = plan.peak_flops_per_s / roof.bytes_per_s;
    const at = x => ({x, y: Math.min(plan.peak_flops_per_s, x * roof.bytes_per_s)});
    const outermost = index + 1 === plan.roofs.length;
    return {
      label: `${roof.level} ${bandwidth(roof.bytes_per_s)}`,
      outermost,
      dash: outermost ? [] : kDashes[1 + index % (kDashes.length - 1)],
      data: [at(left), at(Math.min(Math.max(ridge, left), right)), at(right)]
    };
  });
  // A top for each further precision of the model.
  const slope = plan.roofs.at(-1).bytes_per_s;
  for (const {peak, flops_per_s: most, percent: share} of peaks.slice(1))
    roofs.push({label: `${peak} ${rate(most)} (${percentOf(share)})`, outermost: true, dash: kDashes[1],
                data: [{x: Math.max(left, most / slope), y: most}, {x: right, y: most}]});
  draw(element, c => {
    const cloud = (limiter, colour) => ({
      type: 'scatter', label: say(`${limiter}-bound layers`), data: dots.filter(dot => dot.layer.limiter === limiter),
      backgroundColor: faded(colour), borderColor: colour,
      pointRadius: context => context.raw ? 3 + 14 * Math.sqrt(context.raw.layer.bound_ms / summed) : 3,
      pointHoverRadius: context => context.raw ? 5 + 14 * Math.sqrt(context.raw.layer.bound_ms / summed) : 5,
    });
    const shades = [c.fourth, c.other, c.accent, c.quiet];
    const lines = roofs.map((roof, index) => ({
                              type: 'line',
                              label: roof.label,
                              data: roof.data,
                              borderColor: roof.outermost ? c.text : shades[index % shades.length],
                              borderWidth: roof.outermost ? 2 : 1.5,
                              borderDash: roof.dash,
                              pointStyle: 'line',
                              pointRadius: 0,
                              pointHitRadius: 0,
                              tension: 0,
                            }));
    const about = layer => [layer.name, layer.op, flops(layer.flops), bytes(layer.bytes), intensity(layer.intensity),
                            `${say('bound')} ${milliseconds(layer.bound_ms)} (${say(`limited by ${layer.limiter}`)})`];
    const options = plain(
        c, {
          x: axis(
              c, 'arithmetic intensity [FLOP/byte]',
              {type: 'logarithmic', min: left, max: right, ticks: decades(String)}),
          y: axis(c, 'FLOP/s', {type: 'logarithmic', min: bottom, max: top, ticks: decades(rate)}),
        },
        {filter: item => item.raw.layer !== undefined, callbacks: {label: item => about(item.raw.layer)}});
    options.plugins.legend.labels.usePointStyle = true;  // a line's dashes and a cloud's dot
    options.plugins.legend.labels.pointStyleWidth = 34;
    const clouds = [cloud('compute', c.compute), cloud('memory', c.memory)].filter(set => set.data.length);
    return {type: 'scatter', data: {datasets: [...clouds, ...lines]}, options};
  });
  return section(
      'roofline', 'Roofline', box,
      quiet(
          'Each dot is a layer where its bound puts it; its size is its share of the summed bounds. Above a ' +
              'slope its data stay in a nearer memory; above the top some of its FLOPs are counted but not bounded, ' +
              'as those of LayerNormalization, or need no time, as taps on padding.'));
}

function memory() {
  const nodes = running.filter(layer => layer.live_bytes !== undefined);
  if (nodes.length === 0) return null;
  const [element, box] = canvas('memory-chart', true);
  element.dataset.points = nodes.length;
  const points = nodes.map((layer, index) => ({x: index + 1, y: layer.live_bytes, layer}));
  draw(
      element,
      c => ({
        type: 'line',
        data: {
          datasets: [{
            label: say('live activations'),
            data: points,
            stepped: 'middle',
            pointRadius: 0,
            pointHitRadius: 8,
            borderWidth: 1.5,
            borderColor: c.accent,
            backgroundColor: c.accent + '40',
            fill: true
          }]
        },
        options: plain(
            c, {
              x: axis(c, 'node, in the order of the file', {type: 'linear', min: 1, max: Math.max(2, nodes.length)}),
              y: axis(c, 'bytes', {beginAtZero: true, ...byteTicks}),
            },
            {
              callbacks:
                  {title: items => items[0].raw.layer.name, label: item => `${item.raw.layer.op}: ${bytes(item.raw.y)}`}
            },
            false),
      }));
  return section('memory', 'Memory over time', box,
    quiet('Bytes of activations that live while each node runs, each freed after its last use.'));
}

function curve() {
  if (!plan.curve) return null;
  const [element, box] = canvas('curve-chart', true);
  element.dataset.points = plan.curve.length;
  const guessed = plan.curve.some(point => point.estimate_ms);
  draw(element, c => {
    const line = (label, colour, axisName, value, dash) =>
        batchLine(label, colour, axisName, plan.curve.filter(value), value, dash);
    const lines = [
      line('rows/s at the bound', c.accent, 'y', point => point.bound_ms >= kLeastCall && point.throughput_per_s),
      line('bound of one run', c.memory, 'y1', point => point.bound_ms, kDashes[1])
    ];
    if (guessed)
      lines.push(
          line(
              'rows/s, estimate', c.compute, 'y', point => point.estimate_ms && 1000 * point.batch / point.estimate_ms),
          line('one run, estimate', c.fourth, 'y1', point => point.estimate_ms, kDashes[1]));
    return batchChart(c, plan.curve, lines);
  });
  const guess = point =>
      make('td', point.estimate_ms ? rowsPerSecond(1000 * point.batch / point.estimate_ms) : '–', {class: 'number'});
  const most = (point, i) =>
      point.bound_ms >= kLeastCall ? cell(rowsPerSecond, `curve.${i}.throughput_per_s`) : noCell();
  return section(
      'curve', 'Batch', box, quiet('At the bound: no engine on this device is faster.'),
      listTable(
          'curve',
          {except: ['/throughput_per_s'], last: [['#at most', most], ...(guessed ? [['#estimate', guess]] : [])]}));
}

function estimate() {
  if (!estimated) return null;
  return longSection('estimate', 'Estimate', make('p', null, {},
    number('b', milliseconds, 'estimate_ms'), make('span', ` (${estimateRange()}) · ${say(plan.estimate.basis)}`)),
    (plan.estimate.notes || []).map(quiet));
}

// Members of an object in bytes, by their names.
const parts = (object, prefix, names) => names.filter(part => typeof object[part] === 'number').map(part =>
  [words(part), bytes, `${prefix}.${part}`, 'derived']);

function inferenceMemory() {
  const answer = plan.memory;
  if (!answer) return null;
  return properties(
      'inference-memory', 'Memory before loading',
      [
        ...parts(
            answer, 'memory',
            [
              'runtime', 'context', 'weights', 'activations', 'workspace', 'inputs', 'arena_slack', 'retained',
              'resident', 'loading_peak', 'peak'
            ]),
        ['memory limit', bytes, 'memory.limit', 'given', answer.limit_origin],
        ['largest batch', String, 'max_batch', 'derived'], ['instances that fit', String, 'memory.instances', 'derived']
      ],
      answer.fits ? null : warning('does not fit'));
}

// "accumulate 4" of the set-up; a switch by its name.
const choice = ([key, value]) => typeof value === 'string' ? `${say(words(key))} ${value}` :
    value === true ? say(words(key)) :
                     `${say(words(key))} ${value}`;

function training() {
  const answer = plan.training;
  if (!answer) return null;
  const setup =
      make('p', Object.entries(answer.setup).filter(([, value]) => value).map(choice).join(' · '), {class: 'quiet'});
  return properties(
      'training', 'Training',
      [
        ...parts(
            answer.memory_bytes, 'training.memory_bytes',
            ['parameters', 'gradients', 'optimiser', 'activations', 'working', 'total', 'host']),
        ['largest batch', String, 'training.max_batch', 'derived']
      ],
      setup, listTable('training.curve'), (answer.notes || []).map(quiet));
}

function load() {
  const answer = plan.load;
  if (!answer) return null;
  const of = (title, member, show, origin = 'derived', source = '') => [title, show, 'load.' + member, origin, source];
  return properties(
      'load', 'Load',
      [
        of('arrival rate', 'goal.rows_per_s', rowsPerSecond, 'given'),
        of('goal for p99', 'goal.p99_ms', milliseconds, 'given'),
        of('highest utilisation', 'goal.most_utilisation', percent, 'assumed'), of('batch', 'batch', String),
        of('time of one run', 'service_ms', milliseconds, '', answer.basis), of('instances', 'instances', String),
        of('utilisation', 'utilisation', percent), of('instances per machine', 'instances_per_machine', String),
        of('machines', 'machines', String), of('mean wait', 'mean_wait_ms', milliseconds),
        of('99th percentile of the wait', 'p99_wait_ms', milliseconds),
        of('99th percentile of the answer', 'p99_ms', milliseconds)
      ],
      answer.met ? null : warning(answer.reason));
}

function cost() {
  const answer = plan.cost;
  if (!answer) return null;
  const of = (title, member, show, origin = 'derived', source = '') => [title, show, 'cost.' + member, origin, source];
  const given = Object.entries(answer.inputs)
                    .map(
                        ([key, input]) =>
                            [words(key), value => `${Number(value.toPrecision(3))} ${say(input.unit)}`.trim(),
                             `cost.inputs.${key}.value`, input.origin, input.source]);
  return properties(
      'cost', 'Energy and cost',
      [
        of('batch', 'batch', String), of('time of one run', 'service_ms', milliseconds, '', answer.basis),
        of('rows while at work', 'rows_per_s', rowsPerSecond), of('energy per row', 'joules_per_row', ridge.joules),
        of('energy per million rows, at the meter', 'kwh_per_million', value => digits(value) + ' kWh'),
        of('renting, per million rows', 'renting_usd_per_million', dollars),
        of('owning, per million rows', 'owning_usd_per_million', dollars),
        of('renting, per hour', 'renting_usd_per_hour', dollars),
        of('owning, per hour', 'owning_usd_per_hour', dollars),
        of('break-even', 'break_even_months', value => say(`${digits(value)} months`)), ...given
      ],
      answer.verdict ? make('p', say(answer.verdict)) : null);
}

function layers() {
  const order = Object.keys(plan.layers).filter(i => plan.layers[i].runs !== false)
    .sort((a, b) => plan.layers[b].bound_ms - plan.layers[a].bound_ms);
  return longSection(
      'layers', 'Layers',
      expander(
          `all ${order.length} layers`,
          listTable('layers', {first: [['layer', layer => name(layer.name)]], order}), order.length <= 30));
}

function notes() {
  if (!plan.notes || plan.notes.length === 0) return null;
  return section('notes', 'Notes', bullets(plan.notes));
}

ridge.page(
    () =>
        [title(),
         tiles(),
         roofline(),
         memory(),
         curve(),
         ridge.halves(summary(), limits(), inferenceMemory(), training(), load()),
         cost(),
         estimate(),
         layers(),
         notes(),
]);
})();
