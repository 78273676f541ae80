#include "cli/model_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/engines.h"
namespace ridge::cli {
namespace {

bool stores(Precision precision, DataType type) {
  switch (precision) {
    case Precision::kFp16: return type == DataType::kFp16;
    case Precision::kBf16: return type == DataType::kBf16;
    case Precision::kInt8: return type == DataType::kInt8 || type == DataType::kUint8;
    default: return false;
  }
}

}  // namespace

Status check_precision(const std::string& engine, Precision precision, const model::Graph& graph) {
  if (precision == Precision::kFp32 || engine::named(engine).takes_precision) return {};
  const bool stored = std::any_of(graph.tensors.begin(), graph.tensors.end(), [&](const model::TensorInfo& tensor) {
    return tensor.role == model::TensorRole::kWeight && stores(precision, tensor.type);
  });
  if (stored) return {};
  return Error{
      Code::kInvalid,
      fmt::format("--precision {}: {} computes in the precision of the file, and this file has no "
                  "such weights; convert it, or use --engine {}",
                  precision_name(precision), engine, engine::first_that(&engine::Engine::takes_precision).name)};
}

Result<std::map<std::string, std::string>> parse_engine_options(const std::vector<std::string>& options) {
  std::map<std::string, std::string> parsed;
  for (const std::string& option : options) {
    size_t equals = option.find('=');
    if (equals == std::string::npos || equals == 0)
      return Error{Code::kInvalid, "--engine-option takes KEY=VALUE, given '" + option + "'"};
    parsed[option.substr(0, equals)] = option.substr(equals + 1);
  }
  return parsed;
}

}  // namespace ridge::cli
