// Draws devices of the catalogue in the element "data": a sheet of one, several side by side, or a recommendation.
// Numbers keep their value in data-value.
(() => {
const gpus = ridge.data;
const {say, sentence, bytes, milliseconds, rate, bandwidth, hertz, rowsPerSecond, percent, watts, dollars, make,
       section, longSection, quiet, bullets, name, prose, known, cell, figure, figures, table, listTable, expander,
       halves, properties, header, faded, canvas, draw, axis, plain, thirds, barChart} = ridge;

// ---------------------------------------------------------------- one device
function sheet() {
  const facts = properties(
      'facts', 'Facts',
      [
        ['memory', bytes, 'memory_bytes', 'datasheet', gpus.memory_type || ''],
        ['memory bandwidth', bandwidth, 'bytes_per_s', 'datasheet'], ['L2 cache', bytes, 'l2_bytes', 'datasheet'],
        ['multiprocessors', String, 'multiprocessors', 'datasheet'], ['cores', String, 'cores', 'datasheet'],
        ['tensor cores', String, 'tensor_cores', 'datasheet'], ['boost clock', hertz, 'boost_hz', 'datasheet'],
        ['power', watts, 'power_w', 'datasheet'],
        ['link, both ways', bandwidth, 'interconnect_bytes_per_s', 'datasheet', gpus.interconnect || ''],
        ['MIG instances', String, 'mig_instances', 'datasheet']
      ],
      quiet([gpus.pcie && `PCIe ${gpus.pcie}`, gpus.form_factor].filter(part => part).join(' · ')));
  const listed = gpus.peaks.filter(peak => known(peak.flops_per_s));
  const peaks = section(
      'peaks', 'Peaks',
      barChart(
          'peak-chart', listed.map(peak => peak.arithmetic),
          c => [['peak', listed.map(peak => peak.flops_per_s), faded(c.accent)]], rate),
      listTable('peaks'),
      quiet('Dense, at boost clock; fp16_fp32acc with FP32 accumulators, fp16 with any.'));
  const wrong = (gpus.corrections ||
                 []).map(each => [name(each.quantity), name(each.claim), name(each.right), name(each.source)]);
  return [
    header(
        gpus.name,
        [gpus.vendor, gpus.family, gpus.architecture, gpus.compute_capability, gpus.year]
            .filter(part => part)
            .join(' · '),
        quiet('datasheet figures')),
    peaks, halves(facts),
    (gpus.prices || []).length ? section('prices', 'Prices', listTable('prices')) : null,
    wrong.length ?
        longSection('corrections', 'Often stated wrongly', table(['figure', 'stated', 'right', 'source'], wrong)) :
        null,
    section('source', 'Source', name(gpus.source, 'p'), gpus.notes ? name(gpus.notes, 'p') : null)
  ];
}

// ---------------------------------------------------------------- several devices
const kArithmetic = ['fp64', 'fp32', 'tf32', 'fp16', 'fp16_fp32acc', 'bf16', 'fp8', 'int8', 'fp4'];
const peakOf = (device, arithmetic) => device.peaks.findIndex(peak => peak.arithmetic === arithmetic);

function list() {
  const {devices} = gpus;
  const some = kArithmetic.filter(arithmetic => devices.some(device => peakOf(device, arithmetic) >= 0));
  const few = devices.length <= 8;
  const rateOf = (device, arithmetic) =>
      peakOf(device, arithmetic) < 0 ? null : device.peaks[peakOf(device, arithmetic)].flops_per_s;
  const rates = some.map(
      arithmetic =>
          [`#${arithmetic}`,
           (device, i) => cell(rate, `devices.${i}.peaks.${peakOf(device, arithmetic)}.flops_per_s`)]);
  const [element, box] = canvas('device-chart', false);
  const dots = devices.filter(device => device.bytes_per_s && rateOf(device, 'fp32'))
                   .map(device => ({x: device.bytes_per_s, y: rateOf(device, 'fp32'), device}));
  element.dataset.dots = dots.length;
  draw(element, c => {
    const vendors = [...new Set(dots.map(dot => dot.device.vendor))],
          shades = [c.accent, c.compute, c.memory, c.fourth];
    return {
      type: 'scatter',
      data: {
        datasets: vendors.map((vendor, i) => ({
                                label: vendor,
                                backgroundColor: faded(shades[i % 4]),
                                borderColor: shades[i % 4],
                                pointRadius: 5,
                                data: dots.filter(dot => dot.device.vendor === vendor)
                              }))
      },
      options: plain(
          c, {
            x: axis(c, 'memory bandwidth', {type: 'logarithmic', ticks: thirds(bandwidth)}),
            y: axis(c, 'FP32 peak', {type: 'logarithmic', ticks: thirds(rate)})
          },
          {callbacks: {label: item => `${item.raw.device.name} · ${rate(item.raw.y)} · ${bandwidth(item.raw.x)}`}}),
    };
  });
  const shades = c => [c.accent, c.memory, c.compute, c.fourth, c.other, c.warn, c.text, c.quiet];
  const bars = few ? section('peaks', 'Peaks', barChart('peak-chart', some, c => devices.map((device, i) =>
    [device.name, some.map(arithmetic => rateOf(device, arithmetic)), faded(shades(c)[i])]), rate)) : null;
  return [
    header(
        say(devices.length === 1 ? devices[0].name : `${devices.length} devices of the catalogue`),
        few ? devices.map(device => device.name).join(' · ') : null, quiet('datasheet figures, dense, at boost clock')),
    bars, few || dots.length < 2 ? null : section('devices', 'Peak and bandwidth', box),
    longSection('table', 'Devices', listTable('devices', {last: rates}))
  ];
}

// ---------------------------------------------------------------- a recommendation
// Why it is where it is, from its members.
const why = one => sentence(
    `held.${['compute', 'memory', 'start'].sort((a, b) => one.held_by[b] - one.held_by[a])[0]}`, one.reason,
    {share: percent(Math.max(...Object.values(one.held_by)))});

const kFirst = 10;
function recommendation() {
  const {goal, ranked, refused} = gpus;
  const asked = [
    say(goal.for), goal.precision, say(`batch ${goal.batch}`),
    known(goal.p99_ms) && `p99 ≤ ${milliseconds(goal.p99_ms)}`, known(goal.rps) && rowsPerSecond(goal.rps),
    known(goal.budget_usd_per_hour) && `≤ ${dollars(goal.budget_usd_per_hour)}/h`, `${say('by')} ${say(goal.by)}`
  ];
  const {apart} = gpus, shown = (apart || gpus).ranked.slice(0, 20);
  const bars = barChart(
      'rank-chart', shown.map(one => one.device),
      c => [['one run, from fast to slow', shown.map(one => [one.run_ms.fast, one.run_ms.slow]), faded(c.memory)]],
      milliseconds);
  const kinds = [...new Set(refused.map(one => one.refusal))];
  const reasons = kinds.map(kind => {
    const all = refused.filter(one => one.refusal === kind);
    return [
      prose(sentence(`refusal.${kind}`, all[0].reason.split(':')[0])),
      make('td', String(all.length), {class: 'number'}), name(all[0].device), prose(all[0].reason)
    ];
  });
  const ranking = most => listTable('ranked', {
    first: [['#', (_, i) => make('td', String(i + 1), {class: 'number'})]],
    last: [['why', one => prose(why(one))]],
    except: ['/reason'],
    order: Object.keys(ranked).slice(0, most)
  });
  return [
    header(
        say('Recommended devices'), name(ridge.fileName(gpus.model), 'p'), asked.filter(part => part).join(' · '),
        quiet('Estimated for devices that are not here: the bars go from the fast to the slow end.'),
        ranked.length === 0 ? ridge.warning('No considered device meets the goal.') : null,
        gpus.tie ?
            quiet(
                'The first devices are equal: the start of kernels takes the time. A larger batch tells them apart.') :
            null),
    ranked.length ? section('ranking', apart ? `Time of one run at batch ${apart.batch}` : 'Time of one run', bars) :
                                               null,
    ranked.length ?
                                   longSection(
            'ranked', 'Ranking', ranking(kFirst),
            ranked.length > kFirst ? expander(`all ${ranked.length} devices`, ranking(ranked.length)) : null) :
                                   null,
    reasons.length ? section('refused', 'Rejected', table(['reason', '#devices', 'for example', 'why'], reasons)) :
                                                null,
                               section('assumptions', 'Assumptions', bullets(gpus.assumptions))
  ];
}

ridge.page(() => gpus.ranked ? recommendation() : gpus.devices ? list() : sheet());
})();
