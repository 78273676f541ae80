#include "engine/providers.h"

#include "engine/onnxruntime/library.h"
#include "engine/onnxruntime/provider_trial.h"

namespace ridge::engine {
namespace {

Error no_providers(const plan::Plan& plan) {
  return {Code::kUnsupported, "the engine '" + plan.engine + "' has no execution providers"};
}

}  // namespace

Result<std::vector<std::string>> compiled_providers(const plan::Plan& plan) {
  if (plan.engine != "onnxruntime") return no_providers(plan);
  RIDGE_ASSIGN(const onnxruntime::Library* library, onnxruntime::load(plan.engine_library));
  return library->providers;
}

Status try_provider(const plan::Plan& plan, const std::string& provider) {
  if (plan.engine != "onnxruntime") return no_providers(plan);
  RIDGE_ASSIGN(const onnxruntime::Library* library, onnxruntime::load(plan.engine_library));
  return onnxruntime::try_provider(*library, plan, provider);
}

}  // namespace ridge::engine
