// Rows of the tables of parameters that a served model's configuration gives (serve/engine_parameters.cc,
// */parameters.cc), and what reads their values.
#pragma once

#include <map>
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

// Option of the CUDA provider, on by default: FP32 is multiplied as TF32.
constexpr const char* kUseTf32 = "cuda.use_tf32";
// True if a provider's flag is on, as ONNX Runtime reads it; absent: `otherwise`.
bool is_on(const std::map<std::string, std::string>& options, const std::string& key, bool otherwise = false);

Status wrong_value(const std::string& value, std::string_view expected);  // "'x' is not one of …"
Status read_threads(const std::string& value, int& threads);              // 0 … 4096; 0: the engine's default
Status read_flag(const std::string& value, bool& flag);
Status read_spin(const std::string& value, plan::Spin& spin);

}  // namespace ridge::engine
