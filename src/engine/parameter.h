// Rows of the parameter tables of a served model's configuration (serve/engine_parameters.cc, openvino/parameters.cc).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "plan/plan.h"

namespace ridge::engine {

struct Parameter {
  std::string_view key;
  Status (*read)(const std::string& value, plan::Plan& plan);
};

// Null if the table does not have it.
const Parameter* find_parameter(std::span<const Parameter> table, std::string_view key);

Status wrong_value(const std::string& value, std::string_view expected);  // "'x' is not one of …"
Status read_threads(const std::string& value, int& threads);              // 0 … 4096; 0: the engine's default

}  // namespace ridge::engine
