#include "front/control.h"

#include <utility>
#include <vector>

namespace ridge::front {
namespace {

constexpr size_t kLongestName = 300;  // [bytes]

}  // namespace

Error too_many_calls() { return {Code::kUnavailable, "too many calls of this kind are waiting; try again later"}; }

std::optional<Error> no_load_is_possible(const serve::Service& service) {
  const std::vector<std::string> models = service.long_warm_ups();
  if (models.size() < ControlThreads::kLoads) return std::nullopt;
  std::string names;
  for (const std::string& model : models) names += (names.empty() ? "'" : ", '") + model.substr(0, kLongestName) + "'";
  return Error{Code::kUnavailable,
               std::to_string(ControlThreads::kLoads) +
                   " loads, the most at a time, go on, and their warm-ups have taken more than 10 s (" + names +
                   "); try again when one has ended (--warmup-timeout-secs)"};
}

Error load_failed(const std::string& model, Error why) {
  why.message = "failed to load '" + model.substr(0, kLongestName) + "', " + why.message;
  return why;
}

}  // namespace ridge::front
