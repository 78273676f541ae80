// Draws the measured limits in the element "data": of the CPU, of a GPU, or of what several GPUs exchange. Numbers keep
// their value in data-value.
(() => {
const device = ridge.data;
const {say, bytes, rate, bandwidth, intensity, percentOf, make, section, quiet, known, figure, figures, listTable,
       header, disturbed, faded, canvas, draw, axis, plain, decades, barChart, kDashes} = ridge;

const peaks = device.peaks || [], levels = device.bandwidth || [];
const most = rows => Math.max(...rows.map(row => row.threads || 0));

// ---------------------------------------------------------------- the CPU
function cpuTitle() {
  const {cpu, memory} = device;
  const caches = cpu.caches.map(cache => `L${cache.level} ${bytes(cache.size_bytes)} × ${cache.instances}`).join(', ');
  const peak = peaks.findIndex(row => row.precision === 'fp32' && row.threads === most(peaks));
  const dram = levels.findIndex(row => row.level === 'DRAM' && row.threads === most(levels));
  const point = (device.ridge_points || []).findIndex(row => row.precision === 'fp32' && row.threads === most(peaks));
  return [
    header(
        device.device, device.system,
        [
          say(`${device.usable_threads} usable threads`), caches, bytes(memory.total_bytes),
          say(`measured ${device.measured_at}`)
        ].join(' · '),
        make('p', cpu.isa.join(' '), {class: 'quiet', translate: 'no'}), disturbed(device.disturbance)),
    figures(
        peak < 0 ? null : figure('FP32 peak', rate, `peaks.${peak}.flops_per_s`, say(`${peaks[peak].threads} threads`)),
        dram < 0 ?
            null :
            figure(
                'memory bandwidth', bandwidth, `bandwidth.${dram}.bytes_per_s`, say(`${levels[dram].threads} threads`)),
        point < 0 ? null : figure('ridge point', intensity, `ridge_points.${point}.flops_per_byte`, 'FP32'))
  ];
}

// The roofs with all threads: a slope per memory level, a flat top per precision.
function roofs() {
  const slopes = levels.filter(row => row.threads === most(levels)),
        tops = peaks.filter(row => row.threads === most(peaks));
  if (slopes.length === 0 || tops.length === 0) return null;
  const highest = Math.max(...tops.map(row => row.flops_per_s)),
        slowest = Math.min(...slopes.map(row => row.bytes_per_s));
  const fastest = Math.max(...slopes.map(row => row.bytes_per_s)),
        lowest = Math.min(...tops.map(row => row.flops_per_s));
  const left = lowest / fastest / 8, right = 4 * highest / slowest;
  const [element, box] = canvas('roof-chart', false);
  element.dataset.roofs = slopes.length + tops.length;
  draw(element, c => {
    const shades = [c.accent, c.memory, c.compute, c.fourth, c.other, c.text];
    const line = (label, data, index, width) => ({
      type: 'line',
      label,
      data,
      borderColor: shades[index % shades.length],
      borderWidth: width,
      pointStyle: 'line',
      borderDash: kDashes[index % kDashes.length],
      pointRadius: 0,
      pointHitRadius: 4
    });
    const options = plain(
        c, {
          x: axis(
              c, 'arithmetic intensity [FLOP/byte]',
              {type: 'logarithmic', min: left, max: right, ticks: decades(String)}),
          y: axis(c, 'FLOP/s', {type: 'logarithmic', min: left * slowest, max: 2 * highest, ticks: decades(rate)}),
        },
        {callbacks: {label: item => item.dataset.label}});
    Object.assign(options.plugins.legend.labels, {usePointStyle: true, pointStyleWidth: 34});
    return {
      type: 'line',
      data: {
        datasets: [
          ...slopes.map(
              (row, i) => line(
                  `${row.level} ${bandwidth(row.bytes_per_s)}`,
                  [left, highest / row.bytes_per_s].map(x => ({x, y: x * row.bytes_per_s})), i, 1.5)),
          ...tops.map(
              (row, i) => line(
                  `${row.precision} ${rate(row.flops_per_s)}`,
                  [row.flops_per_s / fastest, right].map(x => ({x, y: row.flops_per_s})), i, 2.5)),
        ]
      },
      options
    };
  });
  return section(
      'roofs', 'Roofline', box,
      quiet('The measured limits with all threads: what a computation of that intensity can reach at most.'));
}

const cpuTables = () => ['peaks', 'bandwidth'].map(
    list => section(list, list === 'peaks' ? 'Peaks' : 'Bandwidth', listTable(list)));

// ---------------------------------------------------------------- a GPU, or any device of OpenCL
function gpuTitle() {
  const {facts} = device;
  return [header(
      device.device,
      [facts.device, facts.driver || facts.platform, say(`measured ${device.measured_at}`)]
          .filter(part => typeof part === 'string')
          .join(' · '),
      typeof device.datasheet === 'string' ? quiet(`datasheet: ${device.datasheet}`) : null,
      disturbed(device.disturbance))];
}

// One group of limits: a bar of each that was measured, all in the table.
function limits(id, title, key, show, nameOf) {
  const rows = device[id] || [], drawn = rows.filter(row => known(row[key]));
  if (rows.length === 0) return null;
  const shares = row =>
      (row.shares || []).map(share => `${percentOf(share.percent)} (${say(share.of)})`).join('\n');
  return section(
      id, title,
      drawn.length ?
          barChart(
              `${id}-chart`, drawn.map(nameOf), c => [['best', drawn.map(row => row[key]), faded(c.accent)]], show) :
          null,
      listTable(id, {
        last: [['share of the limit', row => make('td', shares(row), {class: 'name lines'})]],
        except: ['/bursts', '/observed/clock_hz', '/observed/power_w', '/observed/temperature_c']
      }));
}

const gpuParts = () => [
  limits('peaks', 'Peaks', 'flops_per_s', rate, row => `${row.precision} · ${say(row.way)}`),
  limits('bandwidth', 'Bandwidth', 'bytes_per_s', bandwidth, row => `${say(row.level)} · ${say(row.access)}`),
  limits('links', 'Links', 'bytes_per_s', bandwidth, row => `${say(row.way)} · ${say(row.memory)}`),
  limits('starts', 'Starts', 'starts_per_s', value => `${ridge.count(value)}/s`, row => say(row.what))];

ridge.page(() => device.cpu ? [cpuTitle(), roofs(), cpuTables()] : [gpuTitle(), gpuParts()]);
})();
