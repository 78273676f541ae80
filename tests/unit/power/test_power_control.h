// For tests: a fake GPU whose power follows its limit.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "power/power_control.h"

namespace ridge::power {

// Draws power up to its limit. Refuses every change once `changes_left` are made.
class PlayedGpu : public PowerControl {
 public:
  struct Values {
    int64_t limit_mw = 450000;
    std::vector<std::string> changes;  // "limit 300"
    int changes_left = 1000;
    int64_t counts_mw = 0;                    // value of its energy counter; 0: none
    std::chrono::milliseconds look_takes{0};  // state()
  };
  explicit PlayedGpu(Values& values, std::string id = "GPU-played", Clock& clock = system_clock())
      : values_(values), id_(std::move(id)), clock_(clock) {}
  const std::string& id() const override { return id_; }
  const std::string& name() const override { return id_; }
  Result<State> state() override {
    clock_.sleep_for(values_.look_takes);
    State state;
    if (values_.counts_mw > 0)
      state.energy_mj =
          static_cast<int64_t>(static_cast<double>(values_.counts_mw) * to_seconds(clock_.now().time_since_epoch()));
    state.limit_mw = state.limit_set_mw = state.power_mw = values_.limit_mw;
    state.limit_default_mw = int64_t{450000};
    state.limit_min_mw = int64_t{100000};
    state.limit_max_mw = int64_t{600000};
    state.clock_mhz = int64_t{2000};
    state.clock_max_mhz = int64_t{2500};
    state.memory_clock_max_mhz = int64_t{10000};
    state.temperature_c = int64_t{60};
    return state;
  }
  Status set_limit(int64_t limit_mw) override {
    RIDGE_TRY(change("limit " + std::to_string(limit_mw / 1000)));
    values_.limit_mw = limit_mw;
    return {};
  }

 private:
  Status change(const std::string& what) {
    if (values_.changes_left-- <= 0) return Error{Code::kUnavailable, id_ + " is lost"};
    values_.changes.push_back(what);
    return {};
  }
  Values& values_;
  std::string id_;
  Clock& clock_;
};

}  // namespace ridge::power
