// Implementation: one engine computing one variant of the model: at which precision, from which file.
#pragma once

#include <map>
#include <string>

#include "base/fields.h"
#include "base/units.h"
#include "plan/plan.h"

namespace ridge::tune {

struct Implementation {
  std::string engine = plan::kUsualEngine;
  std::string variant = "fp32";                     // "fp32", "bf16", "fp16", "int8", "int8-dynamic", "int4-weights"
  Precision precision = Precision::kFp32;           // of its main arithmetic: the bounding peak
  double weight_scale = 1;                          // bytes of the stored weights ÷ those of weights at `precision`
  std::string file = {};                            // empty = the original model
  std::string identity = {};                        // the engine's version and the digest of `file`, for the store
  std::string engine_library = {};                  // empty = the engine's search order
  std::map<std::string, std::string> options = {};  // for the engine, as in Plan::options
};
void visit_fields(auto& visit, Is<Implementation> auto& implementation) {
  visit("engine", implementation.engine);
  visit("variant", implementation.variant);
  visit("precision", implementation.precision);
  visit.unless_empty("file", implementation.file);
}

}  // namespace ridge::tune
