#include "power/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <nlohmann/json.hpp>
#include <thread>

#include "measure/claim.h"
#include "measure/interleave.h"
#include "measure/statistics.h"

namespace ridge::power {
namespace {

constexpr std::chrono::milliseconds kBetweenStates(100);
constexpr double kFirstRounds = 0.5;  // of the time, for the fewest rounds: leaves time for more, or is already enough
constexpr double kSettle = 0.2;       // of a slice, before it: clocks follow a new limit within tenths of a second

// One slice under one limit.
struct Visit {
  double rate = 0, power_w = 0;
  std::optional<int64_t> temperature_c, clock_mhz;
  uint64_t slowdown_bits = 0;
  bool counted = false;  // power by the energy counter
};

// Samples the device until it is stopped.
class Watcher {
 public:
  Watcher(PowerControl& control, Clock& clock)
      : clock_(clock), thread_(clock.start([this, &control] { run(control); })) {}
  std::vector<State> finish() {
    done_ = true;
    clock_.join(thread_);
    return std::move(states_);
  }

 private:
  void run(PowerControl& control) {
    while (clock_.sleep_until(clock_.now() + kBetweenStates, [this] { return done_.load(); }))
      if (Result<State> state = control.state()) states_.push_back(*state);
  }
  Clock& clock_;
  std::atomic<bool> done_ = false;
  std::vector<State> states_;
  std::jthread thread_;  // last: starts after all other members
};

std::optional<int64_t> mean_of(const std::vector<State>& states, gpu::Reading<int64_t> State::*member) {
  int64_t sum = 0, count = 0;
  for (const State& state : states)
    if (state.*member) sum += *(state.*member), ++count;
  return count > 0 ? std::optional(sum / count) : std::nullopt;
}

// Power by the energy counter if there is one and it moved, else by the samples.
void set_power(Visit& visit, const State& before, const State& after, double seconds,
               const std::vector<State>& states) {
  visit.counted = before.energy_mj && after.energy_mj && *after.energy_mj > *before.energy_mj && seconds > 0;
  if (visit.counted)
    visit.power_w = static_cast<double>(*after.energy_mj - *before.energy_mj) / 1000 / seconds;
  else if (std::optional<int64_t> mean = mean_of(states, &State::power_mw))
    visit.power_w = static_cast<double>(*mean) / 1000;
}

Result<Visit> visit_limit(PowerControl& control, const Workload& workload, int64_t limit_mw, Nanoseconds slice,
                          Clock& clock) {
  RIDGE_TRY(control.set_limit(limit_mw));
  RIDGE_ASSIGN([[maybe_unused]] double settling, workload.rate(from_seconds(kSettle * to_seconds(slice))));
  RIDGE_ASSIGN(State before, control.state());
  const TimePoint begin = clock.now();
  Watcher watcher(control, clock);
  Result<double> rate = workload.rate(slice);
  Result<State> looked = control.state();
  const double seconds = to_seconds(clock.now() - begin);  // between samples, by the counter
  std::vector<State> states = watcher.finish();
  if (!rate) return rate.error();
  RIDGE_ASSIGN(State after, std::move(looked));
  states.push_back(after);
  Visit visit;
  visit.rate = *rate;
  set_power(visit, before, after, seconds, states);
  visit.clock_mhz = mean_of(states, &State::clock_mhz);
  for (const State& state : states) {
    if (state.temperature_c) visit.temperature_c = std::max(visit.temperature_c.value_or(0), *state.temperature_c);
    if (state.slowdown_bits) visit.slowdown_bits |= static_cast<uint64_t>(*state.slowdown_bits);
  }
  return visit;
}

CurvePoint point_of(int64_t limit_mw, const std::vector<Visit>& visits, const measure::ArmResult& arm_result) {
  CurvePoint point;
  point.limit_mw = limit_mw;
  point.rounds = static_cast<int>(visits.size());
  point.rate = arm_result.rate;
  point.relative = arm_result.ratio;
  std::vector<double> powers;
  int64_t clocks = 0, clock_count = 0;
  for (const Visit& visit : visits) {
    powers.push_back(visit.power_w);
    point.slowdown_bits |= visit.slowdown_bits;
    if (visit.temperature_c) point.temperature_c = std::max(point.temperature_c.value_or(0), *visit.temperature_c);
    if (visit.clock_mhz) clocks += *visit.clock_mhz, ++clock_count;
  }
  point.power_w = measure::mean(powers);
  if (point.power_w > 0) point.power_spread_percent = 100 * measure::standard_deviation(powers) / point.power_w;
  if (clock_count > 0) point.clock_mhz = clocks / clock_count;
  return point;
}

// The visits of every limit, in the order of the rounds; an interrupted round gives some one more.
using Journal = std::vector<std::vector<Visit>>;

// The reference first, as interleave() expects.
std::vector<int64_t> with_reference_first(const SweepOptions& options) {
  std::vector<int64_t> limits = options.limits_mw;
  auto reference = std::find(limits.begin(), limits.end(), options.default_limit_mw);
  if (reference != limits.end()) std::rotate(limits.begin(), reference, reference + 1);
  return limits;
}

void fill(Sweep& result, Journal& journal, const std::vector<int64_t>& limits,
          const std::vector<measure::ArmResult>& arm_results, size_t rounds) {
  for (size_t i = 0; i < limits.size(); ++i) {
    journal[i].resize(rounds);
    result.points.push_back(point_of(limits[i], journal[i], arm_results[i]));
  }
  result.rounds = static_cast<int>(rounds);
  std::sort(result.points.begin(), result.points.end(),
            [](const CurvePoint& a, const CurvePoint& b) { return a.limit_mw > b.limit_mw; });
  bool counted = true;
  for (const std::vector<Visit>& of_one : journal)
    for (const Visit& visit : of_one) counted &= visit.counted;
  result.power_origin = counted ? "energy counter" : "samples of the power";
}

}  // namespace

Result<Sweep> sweep_from_json(const Json& json) {
  RIDGE_ASSIGN(Sweep sweep, from_json<Sweep>(json));
  const auto milliwatts = [](double watts) { return std::llround(1000 * watts); };
  RIDGE_TRY(read_fields(json, [&](auto& visit) {
    double watts = 0;
    visit("reference_limit_w", watts);
    sweep.reference_limit_mw = milliwatts(watts);
  }));
  for (size_t i = 0; i < sweep.points.size(); ++i)
    RIDGE_TRY(read_fields(json["points"][i], [&](auto& visit) {
      double watts = 0;
      visit("limit_w", watts);
      sweep.points[i].limit_mw = milliwatts(watts);
    }));
  for (size_t i = 0; i < sweep.claims.size(); ++i)
    RIDGE_TRY(read_fields(json["claims"][i], [&](auto& visit) {
      std::optional<double> value, low, high;
      visit("relative", value);
      visit("relative_low", low);
      visit("relative_high", high);
      if (value && low && high) sweep.claims[i].measured = measure::Ratio{*value, *low, *high};
    }));
  sweep.spots = sweet_spots(sweep.points);
  return sweep;
}

Result<double> rate_of(Nanoseconds slice, double work, const std::function<Status()>& once, Clock& clock) {
  const TimePoint begin = clock.now();
  double done = 0;
  do {
    RIDGE_TRY(once());
    done += work;
  } while (clock.now() - begin < slice);
  return done / to_seconds(clock.now() - begin);
}

Result<SweepOptions> sweep_options(const State& state, const std::string& name, std::optional<int64_t> from_mw,
                                   std::optional<int64_t> to_mw, int steps) {
  if (!state.limit_min_mw || !state.limit_max_mw)
    return Error{Code::kUnsupported,
                 fmt::format("{}: its power limit cannot be set: {}", name, state.limit_max_mw.reason)};
  const int64_t from = from_mw.value_or(*state.limit_min_mw), to = to_mw.value_or(*state.limit_max_mw);
  for (const int64_t limit_mw : {from, to}) RIDGE_TRY(check_limit(limit_mw, state, name));
  if (from >= to) return invalid("--from must be below --to");
  SweepOptions options;
  std::optional<int64_t> must;
  if (state.limit_default_mw) must = *state.limit_default_mw;
  options.limits_mw = limits_between(from, to, steps, must);
  options.default_limit_mw = must.value_or(to);
  return options;
}

Result<Sweep> sweep(PowerControl& control, const Workload& workload, const SweepOptions& options, Clock& clock) {
  const std::vector<int64_t> limits = with_reference_first(options);
  Sweep result{control.name(), workload.name, workload.unit, limits.front(), {}, {}, {}, "", 0, false, false};
  const double visits = static_cast<double>(limits.size() * static_cast<size_t>(options.min_rounds));
  const Nanoseconds slice = from_seconds(kFirstRounds * to_seconds(options.most_time) / visits / (1 + kSettle));
  Journal journal(limits.size());
  double done = 0;
  std::vector<measure::Arm> arms;
  for (size_t i = 0; i < limits.size(); ++i)
    arms.push_back({watts_text(limits[i]), [&, i]() -> Result<std::vector<measure::Slice>> {
                      if (options.interrupted && options.interrupted()) return Error{Code::kCancelled, "interrupted"};
                      if (options.progress)
                        options.progress("limit " + watts_text(limits[i]), kFirstRounds * done / visits);
                      RIDGE_ASSIGN(Visit visit, visit_limit(control, workload, limits[i], slice, clock));
                      done += 1;
                      journal[i].push_back(visit);
                      return std::vector{measure::Slice{.rate = visit.rate}};
                    }});
  measure::InterleaveOptions how;
  how.stop.min_samples = options.min_rounds;
  how.stop.max_time = options.most_time;
  how.seed = options.seed;
  how.interrupted = options.interrupted;
  const measure::InterleavedResult interleaved = measure::interleave(arms, how, clock);
  result.interrupted = options.interrupted && options.interrupted();
  if (interleaved.failed_arm && (!result.interrupted || interleaved.rounds.empty()))
    return wrap(interleaved.failure, arms[*interleaved.failed_arm].name);
  if (interleaved.rounds.empty()) return Error{Code::kCancelled, "interrupted before the first round was complete"};
  result.converged = interleaved.verdict == measure::Verdict::kConverged;
  const measure::Comparison comparison = measure::comparison_of(arms, interleaved.rounds, how.stop.confidence);
  fill(result, journal, limits, comparison.arm_results, interleaved.rounds.size());
  result.spots = sweet_spots(result.points);
  RIDGE_ASSIGN(std::vector<measure::Claim> claims, measure::claims());
  RIDGE_ASSIGN(measure::Claim claim, measure::find_claim(claims, "L18"));
  if (limits.front() == options.default_limit_mw)
    result.claims = judge_power_claim(claim, result.points, options.default_limit_mw);
  return result;
}

}  // namespace ridge::power
