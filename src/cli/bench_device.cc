#include "cli/bench_device.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/next_steps.h"
#include "base/csv.h"
#include "base/units.h"
#include "cli/bench_device_text.h"
#include "cli/figure_table.h"
#include "cli/interruption.h"
#include "cli/kept.h"
#include "cli/next_text.h"
#include "cli/number_checks.h"
#include "cli/page_options.h"
#include "cli/terminal.h"
#include "limits/accelerator/store.h"
#include "limits/limits_store.h"
#include "machine/topology.h"

namespace ridge::cli {
namespace {

constexpr const char* kDeviceVerb = "bench device";

struct DeviceOptions {
  app::Command command;
  bool json = false, csv = false;
  std::string output;  // file of the document; empty: none
  PageOptions page;
  std::string device = "cpu";
  double seconds = 20;
  bool keep_disturbed = false;
  limits::LimitOptions limits;
};

void bind(CLI::App& app, DeviceOptions& options) {
  app.add_option("--device,-d", options.device);
  app.add_option("--seconds", options.seconds)->check(positive());
  app.add_flag("--fresh", options.limits.fresh);
  app.add_flag("--keep-disturbed", options.keep_disturbed);
  app.add_option("--cache", options.limits.cache_file);
  app.add_flag("--json", options.json);
  app.add_flag("--csv", options.csv);
  app.add_option("-o,--output", options.output);
  declare(app, options.page);
}

std::string bytes_text(int64_t bytes) { return format_bytes(static_cast<double>(bytes)); }

std::string caches_text(const machine::Cpu& cpu) {
  std::string text;
  for (const machine::Cache& cache : cpu.caches)
    text += fmt::format("{}L{} {} x {}", text.empty() ? "" : ", ", cache.level, cache.instances,
                        bytes_text(cache.size_bytes));
  return text.empty() ? "unknown" : text;
}

std::string cores_text(const machine::Machine& machine) {
  const machine::Cpu& cpu = machine.cpu;
  std::string text = fmt::format("{} of {} (CPUs {} of {})", cpu.allowed_cores, cpu.physical_cores,
                                 machine::format_cpu_list(cpu.cpus), cpu.logical_cpus);
  text += cpu.quota ? fmt::format(", quota {:.3g} CPUs", *cpu.quota) : ", no quota";
  return text + fmt::format(": {} usable threads", usable_threads(machine));
}

std::string memory_text(const machine::Memory& memory) {
  std::string text = bytes_text(memory.total_bytes);
  return memory.limit_bytes ? text + ", limited to " + bytes_text(*memory.limit_bytes) : text;
}

std::string facts_table(const machine::Machine& machine) {
  const std::string disturbed = machine.disturbance ? machine::sentence(*machine.disturbance) : "";
  return table({},
               {{"device", machine.cpu.model},
                {"system", machine.system},
                {"cores", cores_text(machine)},
                {"isa", fmt::format("{}", fmt::join(machine.cpu.isa, " "))},
                {"caches", caches_text(machine.cpu)},
                {"NUMA nodes", std::to_string(std::max<size_t>(1, machine.cpu.numa.size()))},
                {"memory", memory_text(machine.memory)},
                {"links", "none"},
                {"measured", machine.measured_at + (disturbed.empty() ? "" : "; " + disturbed)},
                {"machine", machine.id}},
               "ll");
}

// Beside the list's columns: what the clock and the memory make of a peak.
std::string peaks_table(const machine::Machine& machine) {
  OwnColumn per_cycle{"FLOP/cycle", {}, "r4"}, ridge{"ridge point", {}, "r5"};
  for (const machine::Peak& peak : machine.peaks) {
    const auto point = ridge_point(machine, peak.precision, peak.threads);
    per_cycle.cells.push_back(peak.clock_hz > 0 ? fmt::format("{:.1f}", peak.flops_per_s / peak.clock_hz / peak.threads)
                                                : "-");
    ridge.cells.push_back(point ? fmt::format("{:.1f} FLOP/byte", *point) : "-");
  }
  return figure_table("bench-device", "peaks", json_of(machine.peaks), {}, {.last = {per_cycle, ridge}});
}

std::string machine_text(const machine::Machine& machine) {
  return facts_table(machine) + "\n" + peaks_table(machine) + "\n" +
         figure_table("bench-device", "bandwidth", json_of(machine.bandwidths));
}

// A row per peak, then one per memory level or other bandwidth.
std::string csv_of(const Json& json) {
  Json rows = Json::array();
  for (const char* list : {"peaks", "bandwidth"})
    if (json.contains(list))
      for (const Json& row : json[list]) rows.push_back(row);
  return csv_table("precision level threads flops_per_s bytes_per_s clock_hz kernel origin spread_percent", rows);
}

// A wrong name of a device is wrong usage.
int device_failed(const Error& error) {
  const int exit = fail(kDeviceVerb, error);
  return error.code == Code::kInvalid ? static_cast<int>(kUsage) : exit;
}

limits::accelerator::Options measuring_with(const DeviceOptions& options, Progress& progress) {
  limits::accelerator::Options how;
  how.machine_cache = options.limits.cache_file;
  how.keep_disturbed = options.keep_disturbed;
  how.rounds.most_seconds = options.seconds;
  how.rounds.interrupted = interrupted;
  how.rounds.progress = [&](const std::string& step, double share) { progress.update(step, share); };
  return how;
}

// A busy machine first. Engines run on CUDA devices and the CPU; experiments of the lab everywhere.
std::vector<std::string> next_of(const DeviceOptions& options, bool busy) {
  const std::string device = options.device == "cpu" ? "" : " --device " + app::shell_word(options.device);
  if (busy) return {"ridge doctor", "ridge bench device --fresh" + device};
  if (options.device.starts_with("opencl")) return {"ridge lab" + device};
  return {"ridge bench resnet50" + device, "ridge lab" + device};
}

// Shows text, table or JSON, and writes the files; returns `exit`.
int show(const DeviceOptions& options, const Json& json, const std::string& text, const std::vector<std::string>& next,
         int exit) {
  if (options.json) {
    print_json(options.command, json);
  } else if (options.csv) {
    print_verbatim(csv_of(json));
  } else {
    print(text);
    print_next(next);
  }
  if (const Status kept = keep_and_draw(options.command, options.output, options.page, json); !kept)
    return fail(kDeviceVerb, kept.error());
  return exit;
}

// open → recall or measure → show
int bench_accelerator(const DeviceOptions& options) {
  const auto device = gpu::open_device(options.device);
  if (!device) return device_failed(device.error());
  listen_for_interruption();
  Progress progress("measure " + device->facts.name);
  Result<limits::accelerator::DeviceMeasurement> measured =
      limits::accelerator::recall_or_measure(*device, measuring_with(options, progress), options.limits.fresh);
  progress.finish();
  if (!measured) return fail(kDeviceVerb, measured.error());
  return show(options, to_json(*measured), accelerator_text(*measured),
              next_of(options, machine::disturbed(measured->disturbance)), kDone);
}

}  // namespace

std::vector<RidgePoint> ridge_points(const machine::Machine& machine) {
  std::vector<RidgePoint> points;
  for (const machine::Peak& peak : machine.peaks)
    if (const auto point = ridge_point(machine, peak.precision, peak.threads))
      points.push_back({peak.precision, peak.threads, *point});
  return points;
}

int bench_device(std::span<const std::string> arguments) {
  if (asks_for_help(arguments)) return print_help("bench-device"), kDone;
  DeviceOptions options;
  options.command = typed(kDeviceVerb, arguments);
  CLI::App app;
  bind(app, options);
  if (ParseResult parsed = parse(app, kDeviceVerb, arguments); !parsed.go_on) return parsed.exit;
  if (options.json && options.csv) return device_failed(invalid("--json and --csv exclude each other"));
  if (Status ready = check_writable({options.output, options.page.file}); !ready)
    return fail(kDeviceVerb, ready.error());
  if (options.device == "cuda:all" || options.device.find(',') != std::string::npos)
    return device_failed(invalid("--device " + options.device +
                                 ": one device; for what goes between GPUs: all_reduce_perf -b 8 -e 8G -f 8 -g GPUS "
                                 "(nccl-tests) | ridge doctor --from -"));
  if (options.device != "cpu") return bench_accelerator(options);
  listen_for_interruption();
  Progress progress("measure this machine");
  options.limits.interrupted = interrupted;
  options.limits.progress = [&](const std::string& step, double share) { progress.update(step, share); };
  Result<machine::Machine> machine = limits::machine_with_limits(options.limits);
  progress.finish();
  if (!machine) return fail(kDeviceVerb, machine.error());
  return show(options, json_of(CpuReport{*machine}), machine_text(*machine),
              next_of(options, machine::disturbed(machine->disturbance)), kDone);
}

// Shows a CPU or a GPU.
Status show_bench_device(const Json& document) {
  if (document.contains("facts")) {
    RIDGE_ASSIGN(const auto measured, from_json<limits::accelerator::DeviceMeasurement>(document));
    print(accelerator_text(measured));
    return {};
  }
  RIDGE_ASSIGN(const CpuReport report, from_json<CpuReport>(document));
  print(machine_text(report.machine));
  return {};
}

}  // namespace ridge::cli
