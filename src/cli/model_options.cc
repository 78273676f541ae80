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

bool is_open(const Shape& shape) {
  return std::any_of(shape.begin(), shape.end(), [](int64_t size) { return size < 0; });
}

// `shape` with likely sizes in the open places: of a picture, or of a sequence.
Shape example_of(Shape shape) {
  const int64_t likely = shape.size() == 4 ? 224 : 128;
  std::replace_if(shape.begin(), shape.end(), [](int64_t size) { return size < 0; }, likely);
  return shape;
}

std::string option_text(const Shape& shape) { return fmt::format("{}", fmt::join(shape, "x")); }

}  // namespace

Status check_open_dimensions(const std::string& path, const model::Graph& graph) {
  if (graph.unbound.empty()) {
    for (const model::GraphInput& input : graph.input_specs)
      if (is_open(input.spec.shape))
        return invalid(fmt::format(
            "{} leaves dimensions without a name open in input {}: {}; give the whole shape, e.g. --shape {}={}", path,
            input.spec.name, shape_text(input.spec.shape), input.spec.name, option_text(example_of(input.spec.shape))));
    return {};
  }
  return Error{Code::kInvalid, fmt::format("{} leaves open: {}; give each a value, e.g. --shape {}=128", path,
                                           fmt::join(graph.unbound, ", "), graph.unbound.front())};
}

Status check_precision(const std::string& engine, Precision precision, const model::Graph& graph) {
  if (precision == Precision::kFp32 || engine::named(engine).takes_precision) return {};
  const bool stored = std::any_of(graph.tensors.begin(), graph.tensors.end(), [&](const model::TensorInfo& tensor) {
    return tensor.role == model::TensorRole::kWeight && stores(precision, tensor.type);
  });
  if (stored) return {};
  return Error{
      Code::kInvalid,
      fmt::format("--precision {}: {} computes in what the file is stored in, and this file has no "
                  "such weights; convert it, or take --engine {}",
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

std::map<std::string, Shape> input_shapes(const model::Graph& graph) {
  std::map<std::string, Shape> shapes;
  for (const model::GraphInput& input : graph.input_specs) shapes[input.spec.name] = input.spec.shape;
  return shapes;
}

int64_t rows_of(const model::Graph& graph) {
  bool known = !graph.input_specs.empty() && !graph.input_specs.front().spec.shape.empty();
  return known ? graph.input_specs.front().spec.shape.front() : 1;
}

}  // namespace ridge::cli
