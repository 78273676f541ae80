#include "engine/engine.h"

#include "engine/engines.h"

namespace ridge::engine {
Result<std::unique_ptr<Session>> open(const plan::Plan& plan, Clock& clock) {
  RIDGE_TRY(check_name(plan.engine));
  return named(plan.engine).open(plan, clock);
}

Result<Info> find_engine(const plan::Plan& plan) {
  RIDGE_TRY(check_name(plan.engine));
  return named(plan.engine).find(plan);
}

}  // namespace ridge::engine
