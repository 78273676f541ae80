#include <nlohmann/json.hpp>

#include "sizing/recommend.h"

namespace ridge::sizing {
namespace {

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json to_json(const Goal& goal) {
  return Json{{"for", use_name(goal.use)},
              {"precision", precision_name(goal.precision)},
              {"batch", goal.batch},
              {"p99_ms", or_null(goal.p99_ms)},
              {"rps", or_null(goal.rows_per_s)},
              {"budget_usd_per_hour", or_null(goal.usd_per_hour)},
              {"by", rank_by_name(goal.rank_by)}};
}

Json to_json(const Candidate& candidate) {
  return Json{
      {"device", candidate.device.name},
      {"vendor", candidate.device.vendor},
      {"meets", candidate.meets},
      {"refusal", candidate.meets ? Json(nullptr) : Json(candidate.refusal)},
      {"reason", candidate.reason},
      {"bound_ms", or_null(candidate.bound_ms)},
      {"held_by",
       {{"compute", candidate.held.compute}, {"memory", candidate.held.memory}, {"start", candidate.held.start}}},
      {"run_ms",
       {{"slow", candidate.run_ms.slow}, {"likely", candidate.run_ms.likely}, {"fast", candidate.run_ms.fast}}},
      {"throughput_per_s", candidate.rows_per_s},
      {"memory_bytes", {{"needed", candidate.needed_bytes}, {"available", candidate.available_bytes}}},
      {"devices", candidate.devices},
      {"p99_ms", or_null(candidate.p99_ms)},
      {"per_joule", or_null(candidate.rows_per_joule)},
      {"per_usd", or_null(candidate.rows_per_usd)},
      {"usd_per_hour", or_null(candidate.usd_per_hour)},
      {"price", candidate.price ? catalogue::to_json(*candidate.price) : Json(nullptr)}};
}

}  // namespace

Json to_json(const Recommendation& recommendation) {
  Json ranked = Json::array(), refused = Json::array();
  for (const Candidate& candidate : recommendation.ranked) ranked.push_back(to_json(candidate));
  for (const Candidate& candidate : recommendation.refused) refused.push_back(to_json(candidate));
  return Json{{"goal", to_json(recommendation.goal)},
              {"ranked", ranked},
              {"refused", refused},
              {"assumptions", recommendation.assumptions}};
}

}  // namespace ridge::sizing
