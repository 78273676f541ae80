#include "measure/inputs.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <optional>
#include <random>
#include <set>

#include "base/half.h"
#include "cost/operators.h"

namespace ridge::measure {
namespace {

int tensor_named(const model::Graph& graph, const std::string& name) {
  for (int input : graph.inputs)
    if (graph.tensors[static_cast<size_t>(input)].name == name) return input;
  return -1;
}

bool is_mask(const std::string& name) { return name.find("mask") != std::string::npos; }

// Towards zero: rounding to fewer bits then leaves what lies below 1 below 1.
float without_low_bits(float value, int bits) {
  return std::bit_cast<float>(std::bit_cast<uint32_t>(value) >> bits << bits);
}

// [bytes] of a string of strings(), with its length.
constexpr size_t kStringBytes = sizeof(uint32_t) + 5;

class Filler {
 public:
  explicit Filler(uint64_t seed) : random_(seed) {}

  // May throw std::bad_alloc.
  Tensor tensor(const TensorSpec& spec, Shape shape, size_t count, int64_t below) {
    Tensor tensor{spec.type, std::move(shape), {}};
    if (spec.type == DataType::kBytes) {
      tensor.data = strings(count);
      return tensor;
    }
    tensor.data = Buffer(count * data_type_size(spec.type));
    bool mask = is_mask(spec.name);
    for (size_t i = 0; i < count; ++i)
      write(spec.type, tensor.data.data() + i * data_type_size(spec.type), below, mask);
    return tensor;
  }

 private:
  float unit() { return static_cast<float>(random_() >> 40) * 0x1.0p-24f; }
  int64_t integer(int64_t below) {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(std::max<int64_t>(below, 1)));
  }

  template <typename T>
  static void put(std::byte* at, T value) {
    std::memcpy(at, &value, sizeof value);
  }

  void write(DataType type, std::byte* at, int64_t below, bool mask) {
    const int64_t whole = mask ? 1 : integer(below > 0 ? below : 2);
    const float real = mask ? 1.0f : unit();
    switch (type) {
      case DataType::kFp32: return put(at, real);
      case DataType::kFp64: return put(at, static_cast<double>(real));
      case DataType::kFp16: return put(at, to_fp16(without_low_bits(real, 23 - 10)));
      case DataType::kBf16: return put(at, to_bf16(without_low_bits(real, 23 - 7)));
      case DataType::kBool: return put(at, uint8_t{1});
      case DataType::kUint8: return put(at, static_cast<uint8_t>(below > 0 || mask ? whole : integer(256)));
      case DataType::kInt8: return put(at, static_cast<int8_t>(whole));
      case DataType::kUint16:
      case DataType::kInt16: return put(at, static_cast<uint16_t>(whole));
      case DataType::kUint32:
      case DataType::kInt32: return put(at, static_cast<uint32_t>(whole));
      case DataType::kUint64:
      case DataType::kInt64: return put(at, whole);
      case DataType::kBytes:
      case DataType::kInvalid: return;
    }
  }

  Buffer strings(size_t count) {
    constexpr uint32_t kLetters = kStringBytes - sizeof(uint32_t);
    Buffer buffer(count * kStringBytes);
    std::byte* at = buffer.data();
    for (size_t i = 0; i < count; ++i) {
      put(at, kLetters);
      at += sizeof(uint32_t);
      for (uint32_t letter = 0; letter < kLetters; ++letter) put(at++, static_cast<char>('a' + integer(26)));
    }
    return buffer;
  }

  std::mt19937_64 random_;
};

// Elements of a tensor whose bytes can be counted.
Result<size_t> countable_elements(const TensorSpec& spec, const Shape& shape) {
  const DataType counted = spec.type == DataType::kBytes ? DataType::kInt64 : spec.type;
  constexpr size_t kMost = size_t{1} << 56;  // [bytes] above every address space; of strings with room for their length
  const std::optional<size_t> bytes = byte_size(counted, shape);
  if (bytes && *bytes < kMost) return static_cast<size_t>(*element_count(shape));
  return Error{Code::kInvalid, "input '" + spec.name + "' of shape " + shape_text(shape) +
                                   " has more bytes than any machine's memory; give a smaller --shape or --batch"};
}

}  // namespace

int64_t table_rows(const model::Graph& graph, const std::string& input) {
  std::set<int> same = {tensor_named(graph, input)};
  if (same.contains(-1)) return 0;
  int64_t rows = 0;
  for (const model::Node& node : graph.nodes) {  // topological order: one pass is enough
    const cost::Operator& row = cost::operator_of(node.domain, node.op);
    if (!node.inputs.empty() && row.values != cost::Values::kNewValues && same.contains(node.inputs[0]))
      same.insert(node.outputs.begin(), node.outputs.end());
    const bool looks_up = row.is(cost::Trait::kLooksUp) && node.inputs.size() > 1 && same.contains(node.inputs[1]);
    if (!looks_up || node.inputs[0] < 0) continue;
    const model::TensorInfo& table = graph.tensors[static_cast<size_t>(node.inputs[0])];
    auto axis = model::attribute_or<int64_t>(node, "axis", 0);
    if (!table.shape || table.shape->empty()) continue;
    if (axis < 0) axis += static_cast<int64_t>(table.shape->size());
    if (axis < 0 || axis >= static_cast<int64_t>(table.shape->size())) continue;
    int64_t size = (*table.shape)[static_cast<size_t>(axis)];
    if (size > 0) rows = rows == 0 ? size : std::min(rows, size);
  }
  return rows;
}

Result<std::vector<Tensor>> make_inputs(const engine::Signature& signature, const std::map<std::string, Shape>& shapes,
                                        const model::Graph* graph, uint64_t seed) {
  Filler filler(seed);
  std::vector<Tensor> tensors;
  for (const TensorSpec& spec : signature.inputs) {
    auto given = shapes.find(spec.name);
    Shape shape = given == shapes.end() ? spec.shape : given->second;
    if (shape.size() != spec.shape.size())
      return Error{Code::kInvalid, "input '" + spec.name + "' has shape " + shape_text(spec.shape) + ", asked for " +
                                       shape_text(shape) + ": the number of dimensions differs"};
    for (size_t i = 0; i < shape.size(); ++i)
      if (shape[i] < 0 || (spec.shape[i] >= 0 && shape[i] != spec.shape[i]))
        return Error{Code::kInvalid, "input '" + spec.name + "' has shape " + shape_text(spec.shape) + "; " +
                                         shape_text(shape) + " does not fit: give --shape " + spec.name +
                                         "=… with 'x' between"};
    RIDGE_ASSIGN(const size_t count, countable_elements(spec, shape));
    try {
      tensors.push_back(filler.tensor(spec, shape, count, graph ? table_rows(*graph, spec.name) : 0));
    } catch (const std::bad_alloc&) {
      return Error{Code::kExhausted, "not enough memory for input '" + spec.name + "' of shape " + shape_text(shape) +
                                         "; give a smaller --shape or --batch"};
    }
  }
  return tensors;
}

}  // namespace ridge::measure
