#include "engine/decoder.h"

#include "engine/engines.h"

namespace ridge::engine {

Result<std::unique_ptr<Decoder>> open_decoder(const DecoderPlan& plan, Clock& clock) {
  RIDGE_TRY(check_name(plan.engine));
  RIDGE_TRY(form_of(plan.folder, plan.weights));
  const Engine& engine = named(plan.engine);
  if (engine.open_decoder != nullptr) return engine.open_decoder(plan, clock);
  std::string known;
  for (const Engine& row : engine::known())
    if (row.open_decoder != nullptr && !row.for_tests) known += (known.empty() ? "" : ", ") + std::string(row.name);
  return Error{Code::kUnsupported, std::string(engine.label) +
                                       " has no decoder for language models here; these engines have one: " + known};
}

}  // namespace ridge::engine
