// Performance over power limits, and its results: the sweet spots, and whether a claim about limits holds. Pure.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/figure.h"
#include "gpu/slowdown.h"
#include "measure/claim.h"

namespace ridge::power {

struct CurvePoint {
  int64_t limit_mw = 0;
  int rounds = 0;
  double rate = 0;  // of the workload, in its unit per second; median of the rounds
  measure::Ratio relative{
      1, 0, std::numeric_limits<double>::infinity()};  // rate over that of the reference point, with its 95 % interval
  double power_w = 0;                                  // mean while the workload ran
  double power_spread_percent = 0;                     // standard deviation over the rounds / mean
  std::optional<int64_t> temperature_c;                // highest
  std::optional<int64_t> clock_mhz;                    // mean
  uint64_t slowdown_bits = 0;                          // all that were seen
  double per_joule() const { return power_w > 0 ? rate / power_w : 0; }  // work per joule: rate per watt
};
inline double watts_of(int64_t milliwatts) { return static_cast<double>(milliwatts) / 1000; }
void visit_fields(auto& visit, Is<CurvePoint> auto& point) {
  std::vector<std::string_view> slowed_by;
  for (const gpu::Slowdown& slowdown : gpu::decode_slowdown(point.slowdown_bits)) slowed_by.push_back(slowdown.name);
  visit.derived("limit_w", Derived{watts_of(point.limit_mw), Figure().column("power limit").in("W")});
  visit("rounds", point.rounds);
  visit("rate_per_s", point.rate);
  visit("relative", point.relative.value, Figure().column("relative").in("share"));
  visit("relative_low", point.relative.low, Figure().column("≥").in("share").leaves(3));
  visit.optional("relative_high", point.relative.high,
                 means("null: no bound").column("≤").in("share").leaves(3).or_null());
  visit("power_w", point.power_w, Figure().column("power draw").in("W"));
  visit("power_spread_percent", point.power_spread_percent, Figure().column("spread").leaves(2));
  visit.derived("per_joule", point.per_joule());
  visit("temperature_c", point.temperature_c, Figure().column("hottest").in("°C").leaves(1));
  visit("clock_mhz", point.clock_mhz, Figure().column("clock").in("MHz").leaves(2));
  visit.derived("slowed_by", Derived{slowed_by, Figure().column("slowed by").remark()});
}

struct SweetSpots {
  std::optional<size_t> best_per_watt;  // index of the point with the most work per joule
  std::optional<size_t> within;         // the lowest limit that keeps `share` of the highest rate
};
constexpr double kNearPeak = 0.95;

// Indices into `points`, in any order; none for an empty list or without power.
SweetSpots sweet_spots(std::span<const CurvePoint> points, double share = kNearPeak);

// The relative rate at a limit between two points, linearly interpolated; absent outside the curve.
std::optional<measure::Ratio> relative_at(std::span<const CurvePoint> points, int64_t limit_mw);

// True if some limit was reached: the load drew 90 % of one, or the device reports a power slowdown.
bool limits_were_reached(std::span<const CurvePoint> points);

struct ClaimVerdict {
  std::string statement;  // the judged part of the claim
  double share = 0;       // of the default limit
  measure::Judgement verdict = measure::Judgement::kNotTestable;
  std::optional<measure::Ratio> measured;  // rate relative to that at the default limit
  std::string reason;                      // why it could not be judged
};
void visit_fields(auto& visit, Is<ClaimVerdict> auto& claim) {
  const auto measured = [&](double measure::Ratio::*bound) {
    return claim.measured ? std::optional((*claim.measured).*bound) : std::nullopt;
  };
  visit.derived("id", "L18");
  visit("statement", claim.statement);
  visit("share_of_default_limit", claim.share);
  visit("verdict", claim.verdict);
  visit.derived("relative", measured(&measure::Ratio::value));
  visit.derived("relative_low", measured(&measure::Ratio::low));
  visit.derived("relative_high", measured(&measure::Ratio::high));
  visit("reason", claim.reason);
}

// Claim L18 of data/claims.csv, about a GPU of 450 W, as shares of the default limit: 320 to 350 W are 71 to 78 % and
// cost 3 to 5 % of the time (judged at 335 W, 74.4 %); 270 W are 60 % and keep 85 % of the speed.
std::vector<ClaimVerdict> judge_power_claim(const measure::Claim& claim, std::span<const CurvePoint> points,
                                            int64_t default_limit_mw);

// `count` limits from `from_mw` to `to_mw`, both included, in equal steps and whole watts, highest first; with `must`
// too if it lies between.
std::vector<int64_t> limits_between(int64_t from_mw, int64_t to_mw, int count, std::optional<int64_t> must);

}  // namespace ridge::power
