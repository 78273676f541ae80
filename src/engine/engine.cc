#include "engine/engine.h"

#include "engine/engines.h"

namespace ridge::engine {
Result<std::unique_ptr<Session>> open(const plan::Plan& plan, Clock& clock) {
  RIDGE_TRY(check_name(plan.engine));
  RIDGE_ASSIGN(const plan::Device device, plan::device_from_name(plan.device));
  RIDGE_TRY(check_device(named(plan.engine), device));
  return named(plan.engine).open(plan, clock);
}

Result<Info> find_engine(const plan::Plan& plan) {
  RIDGE_TRY(check_name(plan.engine));
  return named(plan.engine).find(plan);
}

Status check_library(std::string_view engine, const std::string& library) {
  if (library.empty()) return {};
  plan::Plan plan;
  plan.engine = engine;
  plan.engine_library = library;
  RIDGE_TRY(find_engine(plan));
  return {};
}

}  // namespace ridge::engine
