// The step lines that `ridge bench FOLDER` measured, kept per machine, model and form: one file each in `steps/MACHINE`
// of the cache folder.
#pragma once

#include <optional>
#include <string>

#include "base/fields.h"
#include "base/result.h"
#include "engine/decoder.h"
#include "generate/step_line.h"

namespace ridge::llm::cpu {

// Everything besides the machine that a line depends on. Values of weights do not: config.json has their number.
struct StepsOf {
  std::string config_digest;  // decoder_model.h
  std::string engine;
  engine::WeightFormat weights = engine::WeightFormat::kBf16;
  engine::CacheForm cache = engine::CacheForm::kU8;
  int threads = 0;
};

struct KeptSteps {
  std::string model;  // the folder, as it was given
  std::string engine_version, measured_at;
  int64_t weight_bytes = 0;  // that a step reads
  generate::StepLine line;
  double error_percent = 0;  // of the line: nine in ten of its points keep within it
};
void visit_fields(auto& visit, Is<KeptSteps> auto& kept) {
  visit("model", kept.model);
  visit("engine_version", kept.engine_version);
  visit("measured_at", kept.measured_at);
  visit("weight_bytes", kept.weight_bytes);
  visit("step_line", kept.line);
  visit("error_percent", kept.error_percent);
}

// Empty without a cache folder.
std::string steps_file(const std::string& machine_id, const StepsOf& of);
Status keep_steps(const KeptSteps& kept, const std::string& file);
// None: it was not measured here; a damaged file costs one warning.
std::optional<KeptSteps> recall_steps(const std::string& file);

}  // namespace ridge::llm::cpu
