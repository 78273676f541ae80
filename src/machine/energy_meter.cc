#include "machine/energy_meter.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/file.h"

namespace ridge::machine {
namespace {

namespace fs = std::filesystem;

// Intel 64 and IA-32 manual, volume 3B, "RAPL Interfaces": updated about every millisecond.
constexpr double kRaplStepSeconds = 1e-3;

std::string first_word(const std::string& text) { return text.substr(0, text.find_first_of(" \n")); }

Result<int64_t> read_number(const std::string& file) {
  RIDGE_ASSIGN(const std::string text, read_file(file));
  int64_t value = 0;
  const std::string word = first_word(text);
  const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (problem != std::errc() || end == word.data())
    return Error{Code::kFailed, fmt::format("{} holds '{}', not a number", file, word)};
  return value;
}

// Zones "intel-rapl:0" (a package) and "intel-rapl:0:1" (a part of it); AMD's use the same names.
std::vector<fs::path> zones(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored))
    if (entry.path().filename().string().starts_with("intel-rapl:")) found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

// Packages and DRAM add up; core and uncore are parts of their package, psys counts everything again.
bool adds_up(const std::string& name, EnergyMeter::Of of) {
  return name.starts_with("package") || (name == "dram" && of == EnergyMeter::Of::kPackagesAndMemory);
}

}  // namespace

Result<EnergyMeter> EnergyMeter::open(const std::string& root, Of of) {
  const fs::path folder = root + "/sys/class/powercap";
  std::vector<EnergyCounter> counters;
  for (const fs::path& zone : zones(folder)) {
    Result<std::string> name = read_file(zone / "name");
    if (!name || !adds_up(first_word(*name), of)) continue;
    RIDGE_ASSIGN(const int64_t range_uj, read_number(zone / "max_energy_range_uj"));
    const std::string file = (zone / "energy_uj").string();
    const char* vendor = counters.empty() ? "RAPL " : "";
    counters.push_back({vendor + first_word(*name), [file] { return read_number(file); }, range_uj});
  }
  if (counters.empty())
    return Error{Code::kNotFound,
                 fmt::format("{} has no RAPL zone: this machine has no energy counter (usual in virtual "
                             "machines and containers)",
                             folder.string())};
  Result<EnergyMeter> meter = of_counters(std::move(counters), kRaplStepSeconds);
  if (meter) return meter;
  return Error{Code::kUnavailable,
               fmt::format("{}; energy counters are readable only by root since Linux 5.10: run as root, or let an "
                           "administrator grant read permission",
                           meter.error().message)};
}

Result<EnergyMeter> EnergyMeter::of_counters(std::vector<EnergyCounter> counters, double step_seconds) {
  EnergyMeter meter;
  meter.step_seconds_ = step_seconds;
  for (EnergyCounter& counter : counters) {
    RIDGE_ASSIGN(const int64_t now, counter.read_uj());
    meter.counters_.push_back({std::move(counter), now});
  }
  return meter;
}

Result<double> EnergyMeter::joules() {
  for (CounterState& standing : counters_) {
    const EnergyCounter& counter = standing.counter;
    RIDGE_ASSIGN(const int64_t now, counter.read_uj());
    if (counter.range_uj == 0 && now < standing.last_uj)
      return Error{Code::kFailed, fmt::format("{} went back from {} to {} µJ: its driver was reloaded", counter.name,
                                              standing.last_uj, now)};
    joules_ += static_cast<double>(energy_between(standing.last_uj, now, counter.range_uj)) / 1e6;
    standing.last_uj = now;
  }
  return joules_;
}

std::string EnergyMeter::source() const {
  std::string names;
  for (const CounterState& standing : counters_) names += (names.empty() ? "" : ", ") + standing.counter.name;
  return names;
}

int64_t energy_between(int64_t before_uj, int64_t after_uj, int64_t range_uj) {
  return after_uj >= before_uj ? after_uj - before_uj : after_uj + (range_uj - before_uj);
}

}  // namespace ridge::machine
