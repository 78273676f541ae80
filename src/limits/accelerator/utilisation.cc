#include "limits/accelerator/utilisation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/units.h"
#include "catalogue/peak_formula.h"
#include "gpu/pcie.h"
#include "machine/pci_gpus.h"

namespace ridge::limits::accelerator {
namespace {

constexpr double kMemoryTolerance = 0.12, kClockTolerance = 0.02;
// A peak above this share of the datasheet's, at the clock of then, is not one: the loop did less than it claims.
constexpr double kPlausible = 1.05;
// Likewise of memory: caches answered, or a part was left out.
constexpr double kPlausibleOfMemory = 1.02;
constexpr const char* kLanes = "multiply-adds";

bool near(double a, double b, double tolerance) { return std::abs(a - b) <= tolerance * b; }

bool fits(const catalogue::CatalogueDevice& device, const gpu::DeviceFacts& facts) {
  if (!facts.capability.empty() && !device.compute_capability.empty() && device.compute_capability != facts.capability)
    return false;
  if (device.multiprocessors && facts.compute_units > 0 && *device.multiprocessors != facts.compute_units) return false;
  return !device.memory_bytes || facts.memory_bytes == 0 ||
         near(static_cast<double>(facts.memory_bytes), *device.memory_bytes, kMemoryTolerance);
}

double best_of(const MetricResult& result) { return result.best.value_or(0); }

void add(MetricResult& result, const std::string& of, std::optional<double> reference, Origin origin) {
  if (result.best && reference && *reference > 0)
    result.utilisation.push_back(utilisation_of(of, *result.best, *reference, origin));
}

// The best of the rows that `same` groups, beside every other row of them.
template <typename Row, typename Key, typename Name>
void add_best(std::vector<Row>& rows, Key key, Name name) {
  std::map<decltype(key(rows.front())), const Row*> best;
  for (const Row& row : rows) {
    const Row*& so_far = best[key(row)];
    if (row.result.best && (!so_far || best_of(row.result) > best_of(so_far->result))) so_far = &row;
  }
  for (Row& row : rows)
    if (const Row* winner = best[key(row)]; winner && winner != &row)
      add(row.result, "best here: " + name(*winner), winner->result.best, Origin::kMeasured);
}

std::string cpu_text(const machine::Machine& machine, int threads) {
  return fmt::format("limit of {} measured on {}", machine.cpu.model, counted(threads, "thread"));
}

// The name of a level of an OpenCL CPU device in the CPU's own measurement.
std::string level_of_cpu(const machine::Machine& machine, const std::string& level) {
  if (level == "DRAM") return level;
  if (level == "shared") return "L1";  // memory shared by a block on a CPU stays in its first cache
  int last = 0;
  for (const machine::Cache& cache : machine.cpu.caches) last = std::max(last, cache.level);
  return fmt::format("L{}", last);
}

void add_cpu(DeviceMeasurement& measured, const machine::Machine& machine) {
  const int threads = static_cast<int>(
      std::clamp<int64_t>(measured.facts.compute_units, 1, std::max(1, machine::usable_threads(machine))));
  const std::string of = cpu_text(machine, threads);
  double highest = 0;
  auto beside = [&](MetricResult& result, double limit, Origin origin) {
    add(result, of, limit, origin);
    if (result.best && limit > 0) highest = std::max(highest, 100 * *result.best / limit);
  };
  for (PeakRow& row : measured.peaks)
    if (auto limit = machine::peak(machine, row.precision, threads))
      beside(row.result, limit->flops_per_s, limit->origin);
  for (BandwidthRow& row : measured.bandwidths)
    if (row.access == "read")  // no other traffic is measured as a limit
      if (auto limit = machine::bandwidth(machine, level_of_cpu(machine, row.level), threads))
        beside(row.result, limit->bytes_per_s, limit->origin);
  if (highest > 100)
    measured.cpu_limits = fmt::format(
        "too low: {:.1f} % of one was reached, so the machine was slower when they were measured; measure them again "
        "by "
        "'ridge bench device --fresh'",
        highest);
}

void withdraw_above(MetricResult& result, double possible, double plausible) {
  if (!result.best || *result.best <= possible * plausible) return;
  result.reason = fmt::format(
      "not believed: {:.0f} % of what the chip can do by its datasheet, so this loop did less "
      "than it claims",
      100 * *result.best / possible);
  result.best.reset();
  result.typical.reset();
}

void withdraw_implausible(DeviceMeasurement& measured, const catalogue::CatalogueDevice& device) {
  for (PeakRow& row : measured.peaks)
    if (const auto listed = datasheet_peak(device, row.precision, row.way)) {
      const double clock = std::max(1.0, device.boost_hz ? row.result.clock_hz / *device.boost_hz : 1.0);
      withdraw_above(row.result, listed->flops_per_s * clock, kPlausible);
    }
  for (BandwidthRow& row : measured.bandwidths)
    if (row.level == "DRAM" && device.bytes_per_s) withdraw_above(row.result, *device.bytes_per_s, kPlausibleOfMemory);
}

void add_datasheet(DeviceMeasurement& measured, const catalogue::CatalogueDevice& device) {
  const std::string of = "datasheet of " + device.vendor + " " + device.name;
  for (PeakRow& row : measured.peaks)
    if (auto listed = datasheet_peak(device, row.precision, row.way))
      add(row.result, of, listed->flops_per_s, listed->origin);
  for (BandwidthRow& row : measured.bandwidths)
    if (row.level == "DRAM") add(row.result, of, device.bytes_per_s, Origin::kDatasheet);
}

void add_link(DeviceMeasurement& measured, const References& references) {
  for (LinkRow& row : measured.links)
    if (references.link_bytes_per_s)
      add(row.result, references.link, *references.link_bytes_per_s * (row.way == Way::kBoth ? 2 : 1),
          Origin::kDerived);
}

// The catalogue does not list the tensor cores' FP64: it follows from their rate. Where the lanes' is not listed
// either, it is an export model with less than its chip has (H800).
std::optional<catalogue::CataloguePeak> fp64_peak(const catalogue::CatalogueDevice& device, bool lanes) {
  const auto listed = catalogue::peak(device, Precision::kFp64);
  const Result<catalogue::PeakTables> tables = catalogue::peak_tables();
  if (lanes || !listed || !tables) return listed;
  const bool has_units = std::ranges::any_of(tables->rates, [&](const catalogue::TensorRate& rate) {
    return rate.arithmetic == Precision::kFp64 && rate.generation == device.compute_capability;
  });
  if (!has_units) return listed;
  const auto derived = catalogue::formula(device, Precision::kFp64, tables->rates);
  if (!derived) return std::nullopt;
  return catalogue::CataloguePeak{Precision::kFp64, derived->flops_per_s, Origin::kDerived};
}

}  // namespace

Utilisation utilisation_of(std::string of, double value, double reference, Origin origin) {
  return {std::move(of), reference, origin, 100 * value / reference};
}

std::optional<double> pcie_bytes_per_s(int64_t generation, int64_t lanes) {
  const double transfers = gpu::pcie_transfers_per_s(generation);
  if (transfers == 0 || lanes <= 0) return std::nullopt;
  return machine::link_bytes_per_s(lanes, transfers / 1e9);
}

std::optional<catalogue::CataloguePeak> datasheet_peak(const catalogue::CatalogueDevice& device, Precision precision,
                                                       std::string_view way) {
  const bool lanes = way == kLanes;
  const bool tensor = device.tensor_cores.value_or(0) > 0;
  switch (precision) {
    case Precision::kFp64: return fp64_peak(device, lanes);
    case Precision::kFp32: return catalogue::peak(device, Precision::kFp32);
    default: break;
  }
  if (lanes == tensor) return std::nullopt;
  switch (precision) {
    case Precision::kTf32: return catalogue::peak(device, Precision::kTf32);
    case Precision::kFp16:
      if (auto accumulated = catalogue::peak(device, Precision::kFp16Fp32); accumulated && !lanes) return accumulated;
      return catalogue::peak(device, Precision::kFp16);
    case Precision::kBf16: return catalogue::peak(device, Precision::kBf16);
    case Precision::kFp8: return catalogue::peak(device, Precision::kFp8);
    default: return catalogue::peak(device, Precision::kInt8);
  }
}

Result<catalogue::CatalogueDevice> datasheet_of(std::span<const catalogue::CatalogueDevice> devices,
                                                const gpu::DeviceFacts& facts) {
  if (std::optional<catalogue::CatalogueDevice> slice = catalogue::mig_slice(devices, facts.name))
    return std::move(*slice);
  std::vector<const catalogue::CatalogueDevice*> found = catalogue::match_devices(devices, facts.name);
  std::erase_if(found, [&](const catalogue::CatalogueDevice* device) { return !fits(*device, facts); });
  if (found.size() > 1 && facts.clock_hz > 0)
    std::erase_if(found, [&](const catalogue::CatalogueDevice* device) {
      return device->boost_hz && !near(facts.clock_hz, *device->boost_hz, kClockTolerance);
    });
  if (found.size() == 1) return *found.front();
  std::string names;
  for (const catalogue::CatalogueDevice* device : found) names += (names.empty() ? "" : ", ") + device->name;
  return Error{Code::kNotFound, names.empty() ? fmt::format("the catalogue does not know {}", facts.name)
                                              : fmt::format("{} can be any of {}", facts.name, names)};
}

void add_utilisation(DeviceMeasurement& measured, const References& references) {
  if (references.datasheet) {
    withdraw_implausible(measured, *references.datasheet);
    add_datasheet(measured, *references.datasheet);
  }
  if (references.cpu) add_cpu(measured, *references.cpu);
  add_link(measured, references);
  add_best(
      measured.peaks, [](const PeakRow& row) { return row.precision; }, [](const PeakRow& row) { return row.way; });
  add_best(
      measured.bandwidths, [](const BandwidthRow& row) { return row.level; },
      [](const BandwidthRow& row) { return row.access; });
  add_best(
      measured.links, [](const LinkRow& row) { return row.way; },
      [](const LinkRow& row) { return std::string(host_memory_name(row.memory)); });
}

}  // namespace ridge::limits::accelerator
