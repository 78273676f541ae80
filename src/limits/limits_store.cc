#include "limits/limits_store.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/log.h"
#include "base/utc.h"
#include "limits/limits_file.h"
#include "machine/probe.h"

namespace ridge::limits {
namespace {

bool has_limits(const machine::Machine& machine) { return !machine.peaks.empty() && !machine.bandwidths.empty(); }

std::optional<machine::Machine> find(const Json& store, const std::string& file, const std::string& id) {
  auto entry = store["machines"].find(id);
  if (entry == store["machines"].end()) return std::nullopt;
  Result<machine::Machine> machine = from_json<machine::Machine>(*entry);
  if (machine && has_limits(*machine)) return std::move(*machine);
  log::warning("machine cache {}: the entry {} is damaged ({}), measuring again", file, id,
               machine ? "it holds no limits" : machine.error().message);
  return std::nullopt;
}

void remember(const machine::Machine& machine, const std::string& file) {
  // Reads the file again: another process may have added its machine meanwhile.
  const Status written =
      change_limits_file(file, [&](Json& store) { store["machines"][machine.id] = to_json(machine); });
  if (!written) log::warning("the measured limits are not kept: {}", written.error().message);
}

// The higher of two measurements of one limit, and those that only `before` has.
template <typename Row>
void keep_higher(const std::vector<Row>& before, std::vector<Row>& rows, auto key, double Row::*rate) {
  for (const Row& old : before) {
    const auto found = std::ranges::find_if(rows, [&](const Row& row) { return key(row) == key(old); });
    if (found == rows.end())
      rows.push_back(old);
    else if (old.*rate > (*found).*rate)
      *found = old;
  }
}

void keep_higher(const machine::Machine& before, machine::Machine& machine) {
  keep_higher(
      before.peaks, machine.peaks, [](const auto& peak) { return std::pair(peak.precision, peak.threads); },
      &machine::Peak::flops_per_s);
  keep_higher(
      before.bandwidths, machine.bandwidths,
      [](const auto& bandwidth) { return std::pair(bandwidth.level, bandwidth.threads); },
      &machine::Bandwidth::bytes_per_s);
  if (machine::disturbed(before.disturbance)) return;
  machine.disturbance = before.disturbance;
  machine.measured_at = before.measured_at;
}

}  // namespace

bool take_limits(machine::Machine&& known, machine::Machine& machine) {
  if (!has_limits(known)) return false;
  machine.measured_at = std::move(known.measured_at);
  machine.peaks = std::move(known.peaks);
  machine.bandwidths = std::move(known.bandwidths);
  machine.disturbance = std::move(known.disturbance);
  return true;
}

bool recall(machine::Machine& machine, const std::string& cache_file) {
  const std::string file = cache_file.empty() ? default_cache_file() : cache_file;
  if (file.empty()) return false;
  Result<Json> store = read_limits_file(file);
  if (!store) {
    log::warning("{}; measuring again", store.error().message);
    return false;
  }
  std::optional<machine::Machine> known = find(*store, file, machine.id);
  return known && take_limits(std::move(*known), machine);
}

Result<machine::Machine> recall_or_measure(machine::Machine machine, const LimitOptions& options,
                                           const Measure& measure) {
  std::string file = options.cache_file.empty() ? default_cache_file() : options.cache_file;
  std::optional<FileLock> lock;
  if (recalled_or_locked(file, lock_of(file), lock, [&] { return !options.fresh && recall(machine, file); }))
    return machine;
  if (options.measuring) RIDGE_TRY(options.measuring());
  RIDGE_ASSIGN(Limits limits, measure(machine));
  machine.measured_at = now_in_utc();
  machine.peaks = std::move(limits.peaks);
  machine.bandwidths = std::move(limits.bandwidths);
  machine.disturbance = std::move(limits.disturbance);
  if (machine::disturbed(machine.disturbance)) {
    log::warning("{}: the limits measured meanwhile may be too low; when it is quiet: ridge bench device --fresh",
                 machine::sentence(*machine.disturbance));
    machine::Machine before = machine;
    if (options.fresh && recall(before, file)) keep_higher(before, machine);
  }
  if (!file.empty()) remember(machine, file);
  return machine;
}

Result<machine::Machine> machine_with_limits(const LimitOptions& options) {
  RIDGE_ASSIGN(machine::Machine machine, machine::probe());
  return recall_or_measure(std::move(machine), options, [&](const machine::Machine& probed) {
    RoundOptions rounds = cpu_rounds();
    rounds.progress = options.progress;
    rounds.interrupted = options.interrupted;
    return measure_limits(probed, rounds);
  });
}

}  // namespace ridge::limits
