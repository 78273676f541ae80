#include "machine/kernel_gpus.h"

#include <fmt/format.h>
#include <fnmatch.h>
#include <cstdlib>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "base/proc_text.h"
#include "gpu/pcie.h"
#include "gpu/slowdown.h"
#include "machine/amd_metrics.h"
#include "machine/gpu_counters.h"

namespace ridge::machine {
namespace {

using gpu::Gpu;

const std::string kPciFolder = "sys/bus/pci/devices/";
constexpr const char* kAmdVersion = "sys/module/amdgpu/version";
constexpr const char* kKernelRelease = "proc/sys/kernel/osrelease";

// Factor between the file's unit and the reading's.
constexpr double kSame = 1;
constexpr double kMicrowatts = 1e-3, kMicrojoules = 1e-3, kMillidegrees = 1e-3, kHertz = 1e-6;

// A reading, the device's file for it, and the unit of that file. Of several rows of one reading the first with an
// existing file counts; of several matching files (one per tile) the largest value.
struct NumberRow {
  gpu::Reading<int64_t> Gpu::*reading;
  const char* file;
  double scale;
};
struct TextRow {
  gpu::Reading<std::string> Gpu::*reading;
  const char* file;
  const char* prefix;
};

constexpr NumberRow kAmdgpu[] = {
    {&Gpu::memory_total_bytes, "mem_info_vram_total", kSame},
    {&Gpu::memory_used_bytes, "mem_info_vram_used", kSame},
    {&Gpu::utilization_percent, "gpu_busy_percent", kSame},
    {&Gpu::pcie_replays, "pcie_replay_count", kSame},
    {&Gpu::temperature_c, "hwmon/hwmon*/temp2_input", kMillidegrees},  // junction: the hottest spot of the chip
    {&Gpu::temperature_c, "hwmon/hwmon*/temp1_input", kMillidegrees},  // edge
    {&Gpu::slowdown_temperature_c, "hwmon/hwmon*/temp2_crit", kMillidegrees},
    {&Gpu::slowdown_temperature_c, "hwmon/hwmon*/temp1_crit", kMillidegrees},
    {&Gpu::power_mw, "hwmon/hwmon*/power1_average", kMicrowatts},
    {&Gpu::power_mw, "hwmon/hwmon*/power1_input", kMicrowatts},
    {&Gpu::power_limit_mw, "hwmon/hwmon*/power1_cap", kMicrowatts},
    {&Gpu::power_limit_default_mw, "hwmon/hwmon*/power1_cap_default", kMicrowatts},
    {&Gpu::power_limit_min_mw, "hwmon/hwmon*/power1_cap_min", kMicrowatts},
    {&Gpu::power_limit_max_mw, "hwmon/hwmon*/power1_cap_max", kMicrowatts},
    {&Gpu::sm_clock_mhz, "hwmon/hwmon*/freq1_input", kHertz},
    {&Gpu::memory_clock_mhz, "hwmon/hwmon*/freq2_input", kHertz},
};
constexpr TextRow kAmdgpuTexts[] = {
    {&Gpu::name, "product_name", ""},
    {&Gpu::uuid, "unique_id", "0x"},
    {&Gpu::performance_level, "power_dpm_force_performance_level", ""},
    {&Gpu::partition, "current_compute_partition", ""},
};
constexpr NumberRow kI915[] = {
    {&Gpu::temperature_c, "hwmon/hwmon*/temp1_input", kMillidegrees},
    {&Gpu::power_limit_mw, "hwmon/hwmon*/power1_max", kMicrowatts},
    {&Gpu::power_limit_default_mw, "hwmon/hwmon*/power1_rated_max", kMicrowatts},
    {&Gpu::energy_mj, "hwmon/hwmon*/energy1_input", kMicrojoules},
    {&Gpu::sm_clock_mhz, "drm/card*/gt/gt*/rps_act_freq_mhz", kSame},
    {&Gpu::sm_clock_mhz, "drm/card*/gt_act_freq_mhz", kSame},
    {&Gpu::sm_clock_max_mhz, "drm/card*/gt/gt*/rps_RP0_freq_mhz", kSame},
    {&Gpu::sm_clock_max_mhz, "drm/card*/gt_RP0_freq_mhz", kSame},
};
// Channel 1 is the whole GPU, 2 the package; not every GPU has both.
constexpr NumberRow kXe[] = {
    {&Gpu::temperature_c, "hwmon/hwmon*/temp2_input", kMillidegrees},
    {&Gpu::power_limit_mw, "hwmon/hwmon*/power1_max", kMicrowatts},
    {&Gpu::power_limit_mw, "hwmon/hwmon*/power2_max", kMicrowatts},
    {&Gpu::power_limit_default_mw, "hwmon/hwmon*/power1_rated_max", kMicrowatts},
    {&Gpu::power_limit_default_mw, "hwmon/hwmon*/power2_rated_max", kMicrowatts},
    {&Gpu::energy_mj, "hwmon/hwmon*/energy1_input", kMicrojoules},
    {&Gpu::energy_mj, "hwmon/hwmon*/energy2_input", kMicrojoules},
    {&Gpu::sm_clock_mhz, "tile*/gt*/freq0/act_freq", kSame},
    {&Gpu::sm_clock_max_mhz, "tile*/gt*/freq0/rp0_freq", kSame},
};

// Intel: one file per reason, 0 or 1, with the prefix in the driver's row. PL1, PL2: lasting and short power limit, of
// the package or (psys) of the board; PL4 and ICCmax: peak current; TDC: lasting current; RATL: average temperature.
struct SlowdownRow {
  const char* reason;
  uint64_t bit;
};
constexpr SlowdownRow kIntelSlowdown[] = {
    {"pl1", gpu::kPowerLimit},
    {"pl2", gpu::kPowerLimit},
    {"psys_pl1", gpu::kPowerLimit},
    {"psys_pl2", gpu::kPowerLimit},
    {"pl4", gpu::kCurrentLimit},
    {"iccmax", gpu::kCurrentLimit},
    {"vr_tdc", gpu::kCurrentLimit},
    {"fastvmode", gpu::kVoltageLimit},
    {"thermal", gpu::kHeat},
    {"soc_thermal", gpu::kHeat},
    {"soc_avg_thermal", gpu::kHeat},
    {"ratl", gpu::kHeat},
    {"mem_thermal", gpu::kMemoryHeat},
    {"vr_thermalert", gpu::kRegulatorHeat},
    {"vr_thermal", gpu::kRegulatorHeat},
    {"prochot", gpu::kHotSignal},
    {"psys_crit", gpu::kPowerBrake},
};

// amdgpu: values that are not a single number in a file.
constexpr const char* kAmdClockStates = "pp_dpm_sclk";
constexpr const char* kAmdMemoryClockStates = "pp_dpm_mclk";
constexpr const char* kAmdErrorCounts = "ras/*_err_count";
constexpr const char* kAmdErrorFeatures = "ras/features";
constexpr const char* kAmdBadPages = "ras/gpu_vram_bad_pages";
constexpr const char* kAmdMetricsTable = "gpu_metrics";
constexpr const char* kAmdOthers[] = {kAmdClockStates, kAmdMemoryClockStates, kAmdErrorCounts, kAmdErrorFeatures,
                                      kAmdBadPages};

struct Driver {
  const char* name;
  GpuVendor vendor;
  std::span<const NumberRow> numbers;
  std::span<const TextRow> texts;
  const char* slowdown_files;  // prefix of the kIntelSlowdown files; null: none
};
constexpr Driver kDrivers[] = {
    {"amdgpu", GpuVendor::kAmd, kAmdgpu, kAmdgpuTexts, nullptr},
    {"i915", GpuVendor::kIntel, kI915, {}, "drm/card*/gt/gt*/throttle_reason_"},
    {"xe", GpuVendor::kIntel, kXe, {}, "tile*/gt*/freq0/throttle/reason_"},
};

Result<GpuCounterSamples> gpu_counters_in(const Tree& tree) {
  if (std::optional<std::string> text = text_at(tree, kGpuCounters)) return parse_gpu_counters(*text);
  return error_at(tree, kGpuCounters);
}

// The files of one GPU.
class Files {
 public:
  Files(const Tree& tree, const PciGpu& pci, const Driver& driver)
      : tree_(tree), folder_(kPciFolder + pci.address + "/"), driver_(driver.name) {}

  std::vector<std::string> matching(const std::string& pattern) const {
    const std::string whole = folder_ + pattern;
    std::vector<std::string> paths;
    for (const std::string& path : paths_like(tree_, whole.substr(0, whole.find('*')), ""))
      if (fnmatch(whole.c_str(), path.c_str(), FNM_PATHNAME) == 0) paths.push_back(path);
    return paths;
  }
  std::optional<std::string> text(const std::string& file) const { return text_at(tree_, folder_ + file); }
  std::optional<int64_t> largest(const NumberRow& row) const {
    std::optional<int64_t> most;
    for (const std::string& path : matching(row.file))
      if (std::optional<int64_t> value = number_at(tree_, path))
        most = std::max<int64_t>(most.value_or(INT64_MIN), std::llround(static_cast<double>(*value) * row.scale));
    return most;
  }
  Error missing(const std::string& file) const {
    return {Code::kUnsupported, fmt::format("{} has no file {} for this GPU", driver_, file)};
  }
  // The reason why reading one of the files was abandoned; empty: none was.
  std::string hang() const {
    for (auto at = tree_.missing.lower_bound(folder_); at != tree_.missing.end() && at->first.starts_with(folder_);
         ++at)
      if (at->second.code == Code::kTimeout) return at->second.message;
    return "";
  }
  const std::string& folder() const { return folder_; }
  const Tree& tree() const { return tree_; }

 private:
  const Tree& tree_;
  const std::string folder_;
  const char* driver_;
};

void read_tables(const Files& files, const Driver& driver, Gpu& gpu) {
  for (const NumberRow& row : driver.numbers) {
    gpu::Reading<int64_t>& reading = gpu.*(row.reading);
    if (reading) continue;
    if (std::optional<int64_t> value = files.largest(row))
      reading = *value;
    else
      reading = files.missing(row.file);
  }
  for (const TextRow& row : driver.texts) {
    std::optional<std::string> text = files.text(row.file);
    if (text && !text->empty())
      gpu.*(row.reading) = row.prefix + *text;
    else
      gpu.*(row.reading) = files.missing(row.file);
  }
}

// The highest of lines "2: 2100Mhz *".
gpu::Reading<int64_t> highest_state(const Files& files, const char* file) {
  int64_t most = 0;
  for (const std::string& word : split_words(files.text(file).value_or("")))
    if (word.ends_with("Mhz")) most = std::max<int64_t>(most, std::strtoll(word.c_str(), nullptr, 10));
  if (most > 0) return most;
  return files.missing(file);
}

// Files "ue: 0", "ce: 3" for each block of the chip with counted errors, since the driver started.
void read_amd_errors(const Files& files, Gpu& gpu) {
  gpu.ecc_corrected = gpu.ecc_uncorrected = files.missing(kAmdErrorCounts);
  for (const std::string& path : files.matching(kAmdErrorCounts)) {
    const std::string text = text_at(files.tree(), path).value_or("");
    auto add = [&](gpu::Reading<int64_t>& sum, const char* name) {
      if (std::optional<int64_t> count = to_number(line_value(text, name).value_or("")))
        sum = (sum ? *sum : 0) + *count;
    };
    add(gpu.ecc_corrected, "ce");
    add(gpu.ecc_uncorrected, "ue");
  }
  // "feature mask: 0x7fff"; bit 0 is the memory (amdgpu_ras.h, AMDGPU_RAS_BLOCK__UMC).
  std::optional<std::string> mask = line_value(files.text(kAmdErrorFeatures).value_or(""), "feature mask");
  if (mask)
    gpu.ecc = (std::strtoull(mask->c_str(), nullptr, 16) & 1) != 0;
  else
    gpu.ecc = files.missing(kAmdErrorFeatures);
}

// Lines "0x00000001 : 0x00001000 : R": reserved, and so retired; P: will be retired soon; F: could not be.
void read_amd_pages(const Files& files, Gpu& gpu) {
  std::optional<std::string> text = files.text(kAmdBadPages);
  if (!text) {
    gpu.rows_remapped = files.missing(kAmdBadPages);
    gpu.row_remap_pending = gpu.row_remap_failed = files.missing(kAmdBadPages);
    return;
  }
  auto count = [&](std::string_view flag) {
    const std::vector<std::string> words = split_words(*text);
    return std::count(words.begin(), words.end(), flag);
  };
  gpu.rows_remapped = int64_t{count("R") + count("P") + count("F")};
  gpu.row_remap_pending = count("P") > 0;
  gpu.row_remap_failed = count("F") > 0;
}

void read_amd_metrics(const Files& files, const Result<GpuCounterSamples>& samples, Gpu& gpu) {
  const std::string path = files.folder() + kAmdMetricsTable;
  if (!samples || !samples->after.contains(path)) {
    const Error missing = samples ? files.missing(kAmdMetricsTable) : samples.error();
    gpu.energy_mj = gpu.slowdown_bits = missing;
    return;
  }
  auto before = samples->before.find(path);
  AmdMetrics metrics = amd_metrics(before == samples->before.end() ? "" : before->second, samples->after.at(path));
  gpu.energy_mj = std::move(metrics.energy_mj);
  gpu.slowdown_bits = std::move(metrics.slowdown_bits);
}

void read_amd(const Files& files, const Result<GpuCounterSamples>& samples, Gpu& gpu) {
  gpu.sm_clock_max_mhz = highest_state(files, kAmdClockStates);
  gpu.memory_clock_max_mhz = highest_state(files, kAmdMemoryClockStates);
  read_amd_errors(files, gpu);
  read_amd_pages(files, gpu);
  read_amd_metrics(files, samples, gpu);
}

void read_intel_slowdown(const Files& files, const char* begin, Gpu& gpu) {
  uint64_t bits = 0;
  bool reported = false;
  for (const SlowdownRow& row : kIntelSlowdown)
    for (const std::string& path : files.matching(std::string(begin) + row.reason)) {
      reported = true;
      if (number_at(files.tree(), path).value_or(0) != 0) bits |= row.bit;
    }
  if (reported)
    gpu.slowdown_bits = static_cast<int64_t>(bits);
  else
    gpu.slowdown_bits = files.missing(std::string(begin) + "*");
}

// Power, from the energy counter that the tables name for this GPU.
void read_intel_power(const Files& files, const Driver& driver, const GpuCounterSamples& samples, Gpu& gpu) {
  for (const NumberRow& row : driver.numbers) {
    if (row.reading != &Gpu::energy_mj) continue;
    for (const std::string& path : files.matching(row.file)) {
      auto before = samples.before.find(path), after = samples.after.find(path);
      if (before == samples.before.end() || after == samples.after.end()) continue;
      const double microjoules =
          std::strtod(after->second.c_str(), nullptr) - std::strtod(before->second.c_str(), nullptr);
      if (microjoules < 0 || samples.elapsed_ns <= 0) continue;  // it was reset in between
      gpu.power_mw = std::llround(microjoules / samples.elapsed_ns * 1e6);
      return;
    }
  }
  gpu.power_mw = Error{Code::kUnsupported, fmt::format("{} has no energy counter for this GPU", driver.name)};
}

// Values missing from the driver: the sum over the visible processes.
void read_intel_use(const GpuCounterSamples& samples, const std::string& address, Gpu& gpu) {
  if (gpu.processes.empty() && !samples.complete) {
    gpu.memory_used_bytes = gpu.utilization_percent =
        Error{Code::kUnavailable, "no process is visible; those of other users need root"};
    return;
  }
  int64_t used = 0;
  for (const gpu::GpuProcess& process : gpu.processes) used += process.memory_bytes;
  gpu.memory_used_bytes = used;
  gpu.utilization_percent =
      engine_percent(samples.clients_before, samples.clients_after, address, static_cast<uint64_t>(samples.elapsed_ns));
}

void read_intel(const Files& files, const Driver& driver, const Result<GpuCounterSamples>& samples,
                const std::string& address, Gpu& gpu) {
  const Error unreported{Code::kUnsupported, fmt::format("{} does not report it", driver.name)};
  gpu.memory_total_bytes = unreported;
  gpu.memory_clock_mhz = gpu.memory_clock_max_mhz = gpu.pcie_replays = unreported;
  gpu.ecc = gpu.row_remap_pending = gpu.row_remap_failed = unreported;
  gpu.ecc_corrected = gpu.ecc_uncorrected = gpu.rows_remapped = unreported;
  gpu.power_limit_min_mw = gpu.power_limit_max_mw = unreported;
  gpu.uuid = gpu.performance_level = gpu.partition = unreported;
  gpu.slowdown_temperature_c = unreported;
  read_intel_slowdown(files, driver.slowdown_files, gpu);
  if (!samples) {
    gpu.power_mw = gpu.memory_used_bytes = gpu.utilization_percent = samples.error();
    return;
  }
  read_intel_power(files, driver, *samples, gpu);
  read_intel_use(*samples, address, gpu);
}

// The marketing name from the board's vendor, else from the system's list of PCI devices, else the numbers.
void read_name(const Tree& tree, const PciGpu& pci, Gpu& gpu) {
  if (gpu.name) return;
  const std::string vendor(vendor_name(pci.vendor));
  std::optional<std::string> known = line_value(text_at(tree, kPciNames).value_or(""), pci.id, ' ');
  gpu.name = vendor + " " + known.value_or(pci.id);
}

void read_link(const PciGpu& pci, Gpu& gpu) {
  const Error unreported{Code::kUnavailable, "the link is not reported: integrated, or a virtual machine"};
  gpu.pcie_width = gpu.pcie_width_max = gpu.pcie_generation = gpu.pcie_generation_max = unreported;
  if (pci.width) gpu.pcie_width = *pci.width;
  if (pci.width_max) gpu.pcie_width_max = *pci.width_max;
  if (pci.speed) gpu.pcie_generation = gpu::pcie_generation(*pci.speed * 1e9);
  if (pci.speed_max) gpu.pcie_generation_max = gpu::pcie_generation(*pci.speed_max * 1e9);
}

void mark_unreported(const Driver& driver, Gpu& gpu) {
  const Error foreign{Code::kUnsupported, "a notion of NVIDIA's"};
  gpu.compute_capability = foreign;
  gpu.persistence = gpu.mig = foreign;
  gpu.compute_mode = gpu.performance_state = gpu.mig_instances = gpu.peer_links = foreign;
  const Error unreported{Code::kUnsupported, fmt::format("{} does not report it", driver.name)};
  gpu.architecture = unreported;
  gpu.cores = gpu.memory_bus_bits = gpu.ecc_corrected_ever = gpu.ecc_uncorrected_ever = unreported;
}

// A limit of 0 is disabled.
void settle_power_limit(Gpu& gpu) {
  const Error off{Code::kUnsupported, "no limit is set"};
  if (gpu.power_limit_mw && *gpu.power_limit_mw == 0) gpu.power_limit_mw = off;
  if (gpu.power_limit_default_mw && *gpu.power_limit_default_mw == 0) gpu.power_limit_default_mw = off;
  gpu.power_limit_set_mw = gpu.power_limit_mw;
}

// A GPU that has fallen off the bus keeps its folder; its changing files cannot be read.
std::string failure_of(const Files& files, const Driver& driver, const Result<GpuCounterSamples>& samples,
                       const Gpu& gpu) {
  if (std::string hang = files.hang(); !hang.empty()) return hang;
  if (!samples && samples.error().code == Code::kTimeout) return samples.error().message;
  const bool alive = gpu.temperature_c || gpu.power_mw || gpu.sm_clock_mhz || gpu.energy_mj ||
                     (driver.vendor == GpuVendor::kAmd && (gpu.memory_used_bytes || gpu.utilization_percent));
  if (alive) return "";
  return fmt::format("bound to {}, but neither temperature nor power nor clock can be read", driver.name);
}

Gpu read_gpu(const Tree& tree, const PciGpu& pci, const Driver& driver, const Result<GpuCounterSamples>& samples) {
  Gpu gpu;
  const Files files(tree, pci, driver);
  mark_unreported(driver, gpu);
  read_tables(files, driver, gpu);
  if (samples) gpu.processes = processes_of(samples->clients_after, pci.address);
  if (driver.vendor == GpuVendor::kAmd)
    read_amd(files, samples, gpu);
  else
    read_intel(files, driver, samples, pci.address, gpu);
  read_name(tree, pci, gpu);
  read_link(pci, gpu);
  settle_power_limit(gpu);
  gpu.pci_address = pci.address;
  gpu.failure = failure_of(files, driver, samples, gpu);
  return gpu;
}

}  // namespace

std::vector<std::string> kernel_gpu_files() {
  std::vector<std::string> files = {kAmdVersion, kKernelRelease};
  auto add = [&](const std::string& file) { files.push_back(kPciFolder + "*/" + file); };
  for (const Driver& driver : kDrivers) {
    for (const NumberRow& row : driver.numbers) add(row.file);
    for (const TextRow& row : driver.texts) add(row.file);
    for (const SlowdownRow& row : kIntelSlowdown)
      if (driver.slowdown_files != nullptr) add(std::string(driver.slowdown_files) + row.reason);
  }
  for (const char* file : kAmdOthers) add(file);
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return files;
}

std::vector<Gpu> kernel_gpus(const Tree& tree, GpuVendor vendor) {
  std::vector<Gpu> gpus;
  const Result<GpuCounterSamples> samples = gpu_counters_in(tree);
  for (const PciGpu& pci : pci_gpus(tree)) {
    if (pci.vendor != vendor || pci.display_only) continue;
    for (const Driver& driver : kDrivers) {
      if (pci.driver != driver.name || driver.vendor != vendor) continue;
      Gpu gpu = read_gpu(tree, pci, driver, samples);
      gpu.index = static_cast<int>(gpus.size());
      gpus.push_back(std::move(gpu));
    }
  }
  return gpus;
}

gpu::Reading<std::string> kernel_driver_version(const Tree& tree, GpuVendor vendor) {
  std::optional<std::string> own = vendor == GpuVendor::kAmd ? text_at(tree, kAmdVersion) : std::nullopt;
  if (own) return *own;
  if (std::optional<std::string> release = text_at(tree, kKernelRelease)) return "Linux " + *release;
  return error_at(tree, kKernelRelease);
}

}  // namespace ridge::machine
