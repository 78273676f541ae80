#include "engine/engine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/engines.h"

namespace ridge::engine {
namespace {

Error unknown_engine(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Engine& engine : known()) names.push_back(engine.name);
  const std::string_view last = names.back();
  names.pop_back();
  return {Code::kUnsupported,
          fmt::format("there is no engine '{}'; the engines are {} and {}", name, fmt::join(names, ", "), last)};
}

}  // namespace

Status check_name(std::string_view name) {
  if (named(name).open != nullptr) return {};
  return Error{Code::kInvalid, unknown_engine(name).message};
}

Result<std::unique_ptr<Session>> open(const plan::Plan& plan, Clock& clock) {
  const Engine& engine = named(plan.engine);
  if (engine.open == nullptr) return unknown_engine(plan.engine);
  return engine.open(plan, clock);
}

Result<Info> find_engine(const plan::Plan& plan) {
  const Engine& engine = named(plan.engine);
  if (engine.find == nullptr) return unknown_engine(plan.engine);
  return engine.find(plan);
}

}  // namespace ridge::engine
