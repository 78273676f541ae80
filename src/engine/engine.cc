#include "engine/engine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/engines.h"

namespace ridge::engine {
namespace {

Error unknown_engine(const plan::Plan& plan) {
  std::vector<std::string_view> names;
  for (const Engine& engine : known()) names.push_back(engine.name);
  const std::string_view last = names.back();
  names.pop_back();
  return {Code::kUnsupported,
          fmt::format("there is no engine '{}'; the engines are {} and {}", plan.engine, fmt::join(names, ", "), last)};
}

}  // namespace

Result<std::unique_ptr<Session>> open(const plan::Plan& plan, Clock& clock) {
  const Engine& engine = named(plan.engine);
  if (engine.open == nullptr) return unknown_engine(plan);
  return engine.open(plan, clock);
}

Result<Info> find_engine(const plan::Plan& plan) {
  const Engine& engine = named(plan.engine);
  if (engine.find == nullptr) return unknown_engine(plan);
  return engine.find(plan);
}

}  // namespace ridge::engine
