// Draws the sweep over power limits in the element "data". Numbers keep their value in data-value.
(() => {

const sweep = ridge.data;
const {say, colon, digits, rate, flops, watts, make, section, quiet, warning, name, prose, known, number, cell, noCell,
       figure, figures, table, listTable, header, disturbed, faded, canvas, draw, axis, plain} = ridge;

const points = sweep.points.map((point, i) => ({...point, member: `points.${i}`}));
const rising = [...points].sort((a, b) => a.limit_w - b.limit_w);
const percent = value => (100 * value).toFixed(1) + ' %';
const work = value => sweep.unit === 'FLOP' ? rate(value) : `${Number(value.toPrecision(4))} ${sweep.unit}/s`;
const perJoule = value => sweep.unit === 'FLOP' ? `${flops(value)}/J` : `${digits(value)} ${sweep.unit}/J`;
const celsius = value => `${value} °C`;
const megahertz = value => `${value} MHz`;
const positive = value => value > 0 ? value : null;  // a device that reports no power
const pays = point => [sweep.best_per_watt_w, sweep.within_5_percent_of_peak_w].includes(point.limit_w);
const reference = points.find(point => point.limit_w === sweep.reference_limit_w);

function title() {
  const end = sweep.interrupted ? 'interrupted' :
      sweep.converged           ? '' :
                                  'time was up before every rate was known to 2 %';
  return [
    header(
        sweep.device, name(sweep.workload, 'p'), quiet(`${sweep.rounds} rounds`), end ? warning(end) : null,
        disturbed(sweep.disturbance)),
    figures(
        figure('most work per joule', watts, 'best_per_watt_w'),
        figure('lowest power limit within 5 % of the peak', watts, 'within_5_percent_of_peak_w'),
        figure('compared with', watts, 'reference_limit_w'),
        reference ? figure('performance there', work, `${reference.member}.rate_per_s`) : null),
  ];
}

// A line over the limits; the best limits are larger dots.
const curve = (c, label, colour, value, more = {}) => ({
  type: 'line', label: say(label), borderColor: colour, backgroundColor: colour, borderWidth: 2,
  data: rising.map(point => ({x: point.limit_w, y: value(point)})).filter(point => point.y !== null),
  pointRadius: rising.filter(point => value(point) !== null).map(point => pays(point) ? 7 : 3), ...more});
const limits = c => axis(c, 'power limit [W]', {type: 'linear', offset: true, ticks: {callback: String}});
const upwards = (c, format, more = {}) =>
  axis(c, '', {beginAtZero: true, ticks: {callback: format, maxTicksLimit: 7}, ...more});

function chart(id, title, datasets, scales, format, legend = true) {
  const [element, box] = canvas(id, true);
  const label = item => `${item.dataset.label}${colon()}${[item.raw.y].flat().map(format(item.dataset)).join(' – ')}`;
  draw(element, c => ({
                  type: 'bar',
                  data: {datasets: datasets(c)},
                  options: {
                    ...plain(c, scales(c), {callbacks: {title: items => watts(items[0].raw.x), label}}, legend),
                    parsing: true,
                    normalized: false
                  },
                }));
  return make('div', null, {class: 'case'}, make('h3', say(title)), box);
}

const judged = sweep.claims.filter(claim => claim.relative !== null);

function performance() {
  return chart(
      'performance-chart', 'Performance',
      c =>
          [curve(c, 'relative', c.accent, point => point.relative),
           {
             label: say('95 % interval'),
             data: rising.map(point => ({x: point.limit_w, y: [point.relative_low, point.relative_high]})),
             grouped: false,
             barThickness: 4,
             minBarLength: 2,
             backgroundColor: faded(c.accent)
           },
           ...(judged.length ? [{
             type: 'line',
             label: say('L18, measured'),
             showLine: false,
             pointStyle: 'rectRot',
             pointRadius: 6,
             borderColor: c.compute,
             backgroundColor: c.compute,
             data: judged.map(claim => ({x: claim.share_of_default_limit * sweep.reference_limit_w, y: claim.relative}))
           }] :
                               []),
  ],
      c => ({x: limits(c), y: upwards(c, percent)}), () => percent);
}

function energy() {
  if (!points.some(point => positive(point.per_joule))) return null;
  return chart(
      'energy-chart', 'Work per joule', c => [curve(c, 'measured', c.memory, point => positive(point.per_joule))],
      c => ({x: limits(c), y: upwards(c, perJoule)}), () => perJoule, false);
}

function drawn() {
  if (!points.some(point => positive(point.power_w))) return null;
  return chart(
      'draw-chart', 'Power draw',
      c =>
          [curve(c, 'measured', c.compute, point => positive(point.power_w)),
           curve(
               c, 'the power limit itself', c.other, point => point.limit_w,
               {borderDash: [5, 4], borderWidth: 1, pointRadius: 0}),
  ],
      c => ({x: limits(c), y: upwards(c, watts)}), () => watts);
}

function heat() {
  if (!points.some(point => known(point.temperature_c) || known(point.clock_mhz))) return null;
  const clock = {yAxisID: 'clock'};
  return chart(
      'heat-chart', 'Temperature and clock',
      c => [curve(c, 'temperature', c.warn, point => point.temperature_c),
            curve(c, 'clock', c.memory, point => point.clock_mhz, clock),
  ].filter(set => set.data.length),
      c => ({
        x: limits(c),
        y: upwards(c, celsius),
        ...(points.some(point => known(point.clock_mhz)) ?
                {clock: upwards(c, megahertz, {position: 'right', grid: {display: false}})} :
                {}),
      }),
      set => set.yAxisID === 'clock' ? megahertz : celsius);
}

function curves() {
  return section(
      'curves', 'Every power limit',
      quiet(
          'Medians of all rounds, relative to the compared power limit within each round. The large dots are the ' +
              'power limits that pay.'),
      make('div', null, {class: 'cases'}, performance(), energy(), drawn(), heat()), rows());
}

function rows() {
  const marks = point => [...(point.limit_w === sweep.best_per_watt_w ? [say('most work per joule')] : []),
                          ...(point.limit_w === sweep.within_5_percent_of_peak_w ?
                                  [say('lowest power limit within 5 % of the peak')] :
                                  [])]
                             .join(ridge.comma());
  const origin = sweep.power_origin === 'energy counter' ? 'by the energy counter' : 'by samples every 0.1 s';
  return make(
      'div', null, {},
      listTable('points', {
        last: [
          ['#performance', (_, i) => cell(work, `points.${i}.rate_per_s`)],
          ['#per joule', ({per_joule}, i) => per_joule > 0 ? cell(perJoule, `points.${i}.per_joule`) : noCell()],
          ['', point => make('td', marks(point), {class: 'name'})]
        ]
      }),
      quiet(`power draw: measured, ${origin}`));
}

function claims() {
  if (sweep.claims.length === 0) return null;
  const body = sweep.claims.map((claim, i) => {
    const of = (name, format) => cell(format, `claims.${i}.${name}`);
    return [
      make('td', null, {class: 'number'}, number('span', percent, `claims.${i}.share_of_default_limit`),
           ` ${say('of the default power limit')}`),
      prose(claim.statement), make('td', say(claim.verdict), {class: claim.verdict === 'contradicted' ? 'warn' : ''}),
      of('relative', percent), of('relative_low', percent), of('relative_high', percent),
      prose(claim.reason)];
  });
  return section('claims', 'Claim L18', table(['#at', 'claim', 'verdict', '#measured', '#≥', '#≤', 'why'], body));
}

ridge.page(() => [title(), curves(), claims()]);
})();
