// Runs one workload under several power limits, interleaved in a new random order each round, so that slow changes
// (heat, other load) affect all limits alike: performance, power, temperature and clock over the limit.
//
// The caller holds the device (scoped_setting.h) and so restores it in any case. Uses one thread of its own, which
// samples the device ten times a second.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "machine/disturbance.h"
#include "power/curve.h"
#include "power/power_control.h"

namespace ridge::power {

struct Workload {
  std::string name;  // "GEMM 4096³ fp16 on cuda:0"
  std::string unit;  // unit of the work: "FLOP", "items", "runs"
  // Works for about `slice`; returns the work per second.
  std::function<Result<double>(Nanoseconds slice)> rate;
};

// Runs `once`, which does so much `work`, again and again for about `slice`: what is done per second.
Result<double> rate_of(Nanoseconds slice, double work, const std::function<Status()>& once, Clock& clock);

struct SweepOptions {
  std::vector<int64_t> limits_mw;  // highest first; at least one
  int64_t default_limit_mw = 0;    // reference of the relative rates if it is among the limits, else the highest
  Nanoseconds most_time = std::chrono::seconds(120);
  int min_rounds = 5;
  uint64_t seed = 1;
  std::function<bool()> interrupted;                                         // may be empty
  std::function<void(const std::string& step, double share_done)> progress;  // may be empty
};

struct Sweep {
  std::string device, workload, unit;
  int64_t reference_limit_mw = 0;
  std::vector<CurvePoint> points;  // as options.limits_mw
  SweetSpots spots;
  std::vector<ClaimVerdict> claims;
  std::string power_origin;  // "energy counter" or "samples of the power"
  int rounds = 0;
  bool converged = false;  // all relative rates known to 2 %
  bool interrupted = false;
  std::optional<machine::Disturbance> disturbance = {};  // of the CPU meanwhile
};
void visit_fields(auto& visit, Is<Sweep> auto& sweep) {
  const auto limit_w = [&](const std::optional<size_t>& index) {
    return index ? std::optional(watts_of(sweep.points[*index].limit_mw)) : std::nullopt;
  };
  visit("device", sweep.device);
  visit("workload", sweep.workload);
  visit("unit", sweep.unit);
  visit.derived("reference_limit_w", watts_of(sweep.reference_limit_mw));
  visit("power_origin", sweep.power_origin);
  visit("rounds", sweep.rounds);
  visit("converged", sweep.converged);
  visit("interrupted", sweep.interrupted);
  visit.unless_empty("disturbance", sweep.disturbance);
  visit("points", sweep.points);
  visit.derived("best_per_watt_w", limit_w(sweep.spots.best_per_watt));
  visit.derived("within_5_percent_of_peak_w", limit_w(sweep.spots.within));
  visit("claims", sweep.claims);
}

// Reads what the list of fields wrote, with derived members.
Result<Sweep> sweep_from_json(const Json& json);

// `steps` limits from `from_mw` to `to_mw`, absent: those of the device called `name`; and the default limit, the
// reference. Errors: it has no settable limit; one is outside its range.
Result<SweepOptions> sweep_options(const State& state, const std::string& name, std::optional<int64_t> from_mw,
                                   std::optional<int64_t> to_mw, int steps);

// Error: a limit is refused, the workload fails, the device is lost; interrupted before the first full round.
Result<Sweep> sweep(PowerControl& control, const Workload& workload, const SweepOptions& options,
                    Clock& clock = system_clock());

}  // namespace ridge::power
