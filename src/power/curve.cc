#include "power/curve.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "gpu/nvml/abi.h"

namespace ridge::power {
namespace {

constexpr double kReached = 0.9;  // of a limit: power fluctuates below a limiting value

double between(double low, double high, double share) { return low + (high - low) * share; }

const CurvePoint* neighbour(std::span<const CurvePoint> points, int64_t limit_mw, bool below) {
  const CurvePoint* best = nullptr;
  for (const CurvePoint& point : points) {
    if (below ? point.limit_mw > limit_mw : point.limit_mw < limit_mw) continue;
    if (best == nullptr || (below ? point.limit_mw > best->limit_mw : point.limit_mw < best->limit_mw)) best = &point;
  }
  return best;
}

}  // namespace

SweetSpots sweet_spots(std::span<const CurvePoint> points, double share) {
  SweetSpots spots;
  double peak = 0;
  for (const CurvePoint& point : points) peak = std::max(peak, point.rate);
  for (size_t i = 0; i < points.size(); ++i) {
    const CurvePoint& point = points[i];
    if (point.power_w > 0 && (!spots.best_per_watt || point.per_joule() > points[*spots.best_per_watt].per_joule()))
      spots.best_per_watt = i;
    if (point.rate >= share * peak && (!spots.within || point.limit_mw < points[*spots.within].limit_mw))
      spots.within = i;
  }
  return spots;
}

std::optional<measure::Ratio> relative_at(std::span<const CurvePoint> points, int64_t limit_mw) {
  const CurvePoint* below = neighbour(points, limit_mw, true);
  const CurvePoint* above = neighbour(points, limit_mw, false);
  if (below == nullptr || above == nullptr) return std::nullopt;
  if (below->limit_mw == above->limit_mw) return below->relative;
  const double share =
      static_cast<double>(limit_mw - below->limit_mw) / static_cast<double>(above->limit_mw - below->limit_mw);
  return measure::Ratio{between(below->relative.value, above->relative.value, share),
                        between(below->relative.low, above->relative.low, share),
                        between(below->relative.high, above->relative.high, share)};
}

bool limits_were_reached(std::span<const CurvePoint> points) {
  return std::any_of(points.begin(), points.end(), [](const CurvePoint& point) {
    return point.power_w >= kReached * static_cast<double>(point.limit_mw) / 1000 ||
           (point.slowdown_bits & gpu::nvml::kSoftwarePowerCap) != 0;
  });
}

std::vector<ClaimVerdict> judge_power_claim(const measure::Claim& claim, std::span<const CurvePoint> points,
                                            int64_t default_limit_mw) {
  const measure::ClaimedFigure keeps{measure::ClaimedFigure::kShare, 0.85, 0.85};
  std::vector<ClaimVerdict> verdicts;
  auto judge = [&](std::string statement, double share, const measure::ClaimedFigure& figure) {
    ClaimVerdict verdict{std::move(statement), share, measure::Judgement::kNotTestable, std::nullopt, ""};
    const auto limit_mw = static_cast<int64_t>(share * static_cast<double>(default_limit_mw));
    verdict.measured = relative_at(points, limit_mw);
    if (!limits_were_reached(points))
      verdict.reason = "the load never reached a power limit, so no limit slowed it";
    else if (!verdict.measured)
      verdict.reason = fmt::format("{:.0f} W is outside the measured limits", static_cast<double>(limit_mw) / 1000);
    else
      verdict.verdict = measure::judge(figure, *verdict.measured);
    if (verdict.reason.empty() && verdict.verdict == measure::Judgement::kNotTestable)
      verdict.reason = "the interval is too wide to decide";
    verdicts.push_back(std::move(verdict));
  };
  if (claim.figure) judge(claim.statement, 335.0 / 450, *claim.figure);
  judge("a power limit of 270 W keeps 85 % of the speed of a GPU of 450 W", 270.0 / 450, keeps);
  return verdicts;
}

std::vector<int64_t> limits_between(int64_t from_mw, int64_t to_mw, int count, std::optional<int64_t> must) {
  std::vector<int64_t> limits = {from_mw, to_mw};
  for (int i = 1; i + 1 < count; ++i) {
    const int64_t exact = from_mw + (to_mw - from_mw) * i / (count - 1);
    limits.push_back(std::clamp((exact + 500) / 1000 * 1000, std::min(from_mw, to_mw), std::max(from_mw, to_mw)));
  }
  if (must && *must >= std::min(from_mw, to_mw) && *must <= std::max(from_mw, to_mw)) limits.push_back(*must);
  std::sort(limits.begin(), limits.end(), std::greater<>());
  limits.erase(std::unique(limits.begin(), limits.end()), limits.end());
  return limits;
}

}  // namespace ridge::power
