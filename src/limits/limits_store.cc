#include "limits/limits_store.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "base/log.h"
#include "base/utc.h"
#include "limits/limits_file.h"
#include "machine/probe.h"

namespace ridge::limits {
namespace {

std::optional<machine::Machine> find(const Json& store, const std::string& file, const std::string& id) {
  auto entry = store["machines"].find(id);
  if (entry == store["machines"].end()) return std::nullopt;
  Result<machine::Machine> machine = from_json<machine::Machine>(*entry);
  if (machine && !machine->peaks.empty() && !machine->bandwidths.empty()) return std::move(*machine);
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

void warn_of_spread(const machine::Machine& machine) {
  const std::vector<std::string> wide = machine::uncertain_limits(machine);
  if (wide.empty()) return;
  const std::string more = wide.size() > 1 ? fmt::format(" and {} more", wide.size() - 1) : "";
  log::warning(
      "limits of this machine are uncertain: {}{}; measure them again when it is quiet: ridge bench device --fresh",
      wide.front(), more);
}

}  // namespace

bool recall(machine::Machine& machine, const std::string& cache_file) {
  const std::string file = cache_file.empty() ? default_cache_file() : cache_file;
  if (file.empty()) return false;
  Result<Json> store = read_limits_file(file);
  if (!store) {
    log::warning("{}; measuring again", store.error().message);
    return false;
  }
  std::optional<machine::Machine> known = find(*store, file, machine.id);
  if (!known) return false;
  machine.measured_at = std::move(known->measured_at);
  machine.peaks = std::move(known->peaks);
  machine.bandwidths = std::move(known->bandwidths);
  machine.disturbance = std::move(known->disturbance);
  return true;
}

Result<machine::Machine> recall_or_measure(machine::Machine machine, const LimitOptions& options,
                                           const Measure& measure) {
  std::string file = options.cache_file.empty() ? default_cache_file() : options.cache_file;
  std::optional<FileLock> lock;
  if (recalled_or_locked(file, lock_of(file), lock, [&] { return !options.fresh && recall(machine, file); })) {
    warn_of_spread(machine);
    return machine;
  }
  if (options.measuring) options.measuring();
  RIDGE_ASSIGN(Limits limits, measure(machine));
  machine.measured_at = now_in_utc();
  machine.peaks = std::move(limits.peaks);
  machine.bandwidths = std::move(limits.bandwidths);
  machine.disturbance = std::move(limits.disturbance);
  warn_of_spread(machine);
  if (machine::disturbed(machine.disturbance) && !options.keep_disturbed)
    log::warning(
        "{}: the limits measured meanwhile may be too low, serve this run only and are not kept (each run measures "
        "again, 5 to 20 s, until the machine is quiet; --keep-disturbed keeps them)",
        machine::sentence(*machine.disturbance));
  else if (!file.empty())
    remember(machine, file);
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
