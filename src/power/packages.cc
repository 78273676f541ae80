#include "power/packages.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <numeric>

#include "base/file.h"
#include "base/mutex.h"
#include "base/proc_text.h"
#include "base/units.h"
#include "machine/energy_meter.h"

namespace ridge::power {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLimitFile = "constraint_0_power_limit_uw";

Result<int64_t> number_in(const fs::path& file) {
  RIDGE_ASSIGN(std::string text, read_file(file.string()));
  std::optional<int64_t> number = to_number(text);
  if (!number) return Error{Code::kFailed, fmt::format("{} holds '{}', not a number", file.string(), text)};
  return *number;
}

// A file of sysfs takes a value in one write.
Status write_number(const fs::path& path, int64_t value) {
  const std::string what = fmt::format("write {} to {}", value, path.string());
  int file = open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
  const std::string text = std::to_string(value);
  bool done = file >= 0 && write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  int problem = errno;
  if (file >= 0) close(file);
  if (done) return {};
  std::string message = fmt::format("{}: {}", what, std::strerror(problem));
  if (problem == EACCES || problem == EPERM)
    message += "; only an administrator may change this: run the same command as root (sudo)";
  if (problem == EROFS) message += "; /sys is read-only in this container: set it on the host instead";
  return Error{Code::kUnavailable, message};
}

class PackagesPowerControl : public PowerControl {
 public:
  PackagesPowerControl(std::vector<std::string> zones, const std::string& root, const Clock& clock)
      : clock_(clock), zones_(std::move(zones)), last_time_(clock.now()) {
    // The domain of the limit: memory is not limited with its package.
    Result<machine::EnergyMeter> meter = machine::EnergyMeter::open(root, machine::EnergyMeter::Of::kPackages);
    if (meter)
      meter_.emplace(std::move(*meter));
    else
      meter_reason_ = meter.error().message;
    name_ = fmt::format("CPU ({})", counted(zones_.size(), "package"));
  }
  const std::string& id() const override { return id_; }
  const std::string& name() const override { return name_; }
  Result<State> state() override;
  Status set_limit(int64_t limit_mw) override;

 private:
  // Sum over all packages [mW].
  gpu::Reading<int64_t> sum(const char* file) const {
    int64_t total_uw = 0;
    for (const fs::path zone : zones_) {
      Result<int64_t> value = number_in(zone / file);
      if (!value) return value.error();
      total_uw += *value;
    }
    return total_uw / 1000;
  }

  const Clock& clock_;
  std::string id_ = kCpuId, name_;
  std::vector<std::string> zones_;
  Mutex mutex_;
  std::optional<machine::EnergyMeter> meter_ RIDGE_GUARDED_BY(mutex_);
  std::string meter_reason_;
  double last_joules_ RIDGE_GUARDED_BY(mutex_) = 0;
  TimePoint last_time_ RIDGE_GUARDED_BY(mutex_);
};

// In the current proportion, so that the old values return where packages differ. All or none: if one refuses, those
// before it get their old values back.
Status PackagesPowerControl::set_limit(int64_t limit_mw) {
  const std::string what = fmt::format("set the power limit of the {} to {}", name_, watts_text(limit_mw));
  std::vector<int64_t> before_uw;
  for (const fs::path zone : zones_) {
    RIDGE_ASSIGN(int64_t one, number_in(zone / kLimitFile));
    before_uw.push_back(one);
  }
  const auto count = static_cast<double>(zones_.size());
  const auto all = static_cast<double>(std::accumulate(before_uw.begin(), before_uw.end(), int64_t{0}));
  for (size_t i = 0; i < zones_.size(); ++i) {
    const double share = all > 0 ? static_cast<double>(before_uw[i]) / all : 1 / count;
    Status written =
        write_number(fs::path(zones_[i]) / kLimitFile, std::llround(static_cast<double>(limit_mw) * 1000 * share));
    if (written) continue;
    while (i-- > 0) (void)write_number(fs::path(zones_[i]) / kLimitFile, before_uw[i]);
    return wrap(written.error(), what);
  }
  return {};
}

Result<State> PackagesPowerControl::state() {
  State state;
  const Error unreported{Code::kUnsupported, "not reported by RAPL"};
  state.temperature_c = state.clock_mhz = state.clock_max_mhz = state.memory_clock_mhz = state.memory_clock_max_mhz =
      state.slowdown_bits = unreported;
  state.limit_mw = state.limit_set_mw = sum(kLimitFile);
  state.limit_max_mw = sum("constraint_0_max_power_uw");
  if (state.limit_max_mw && *state.limit_max_mw == 0)
    state.limit_max_mw = Error{Code::kUnsupported, "RAPL reports no maximum limit for this CPU"};
  state.limit_default_mw = state.limit_max_mw;  // the CPU's thermal design power
  // Below a tenth a CPU can no longer do its own housekeeping; RAPL itself names no lower bound.
  if (state.limit_max_mw)
    state.limit_min_mw = *state.limit_max_mw / 10;
  else
    state.limit_min_mw = Error{Code::kUnsupported, state.limit_max_mw.reason};
  MutexLock lock(mutex_);
  if (!meter_) {
    state.energy_mj = state.power_mw = Error{Code::kUnavailable, meter_reason_};
    return state;
  }
  RIDGE_ASSIGN(double joules, meter_->joules());
  const TimePoint now = clock_.now();
  const double seconds = to_seconds(now - last_time_);
  state.energy_mj = static_cast<int64_t>(joules * 1000);
  // RAPL counts in steps of about a millisecond: power over fewer than 50 of them is noise.
  if (seconds < 0.05) {
    state.power_mw = Error{Code::kUnavailable, "too soon after the previous reading"};
    return state;
  }
  state.power_mw = static_cast<int64_t>((joules - last_joules_) / seconds * 1000);
  last_joules_ = joules;
  last_time_ = now;
  return state;
}

}  // namespace

std::string system_root() {
  const char* root = std::getenv("RIDGE_POWER_ROOT");
  return root != nullptr ? root : "";
}

std::vector<std::string> package_zones(const std::string& root) {
  std::vector<std::string> zones;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(root + "/sys/class/powercap", ignored)) {
    if (!entry.path().filename().string().starts_with("intel-rapl:")) continue;
    Result<std::string> name = read_file((entry.path() / "name").string());
    if (name && name->starts_with("package") && fs::exists(entry.path() / kLimitFile, ignored))
      zones.push_back(entry.path().string());
  }
  std::sort(zones.begin(), zones.end());
  return zones;
}

Result<std::unique_ptr<PowerControl>> open_packages(const std::string& root, const Clock& clock) {
  std::vector<std::string> zones = package_zones(root);
  if (zones.empty())
    return Error{Code::kNotFound,
                 root +
                     "/sys/class/powercap has no RAPL package with a power limit: this machine's CPU cannot be "
                     "limited (usual in virtual machines and containers)"};
  return std::unique_ptr<PowerControl>(std::make_unique<PackagesPowerControl>(std::move(zones), root, clock));
}

}  // namespace ridge::power
