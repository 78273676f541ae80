#include "model/fold.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>

namespace ridge::model {
namespace {

using Proto = onnx::TensorProto;
using Element = std::optional<Number>;
using MaybeTensor = std::optional<SmallTensor>;

// One node with its known operands.
struct Call {
  const onnx::NodeProto& node;
  const std::vector<FoldInput>& inputs;
  const Shape* output_shape;
  int32_t onnx_type;

  const SmallTensor* value(size_t index) const { return index < inputs.size() ? inputs[index].value : nullptr; }
  // The value, if it holds integers: sizes and positions are always integers, whatever the file says.
  const SmallTensor* integers(size_t index) const {
    const SmallTensor* found = value(index);
    return found != nullptr && is_integer_type(found->onnx_type) ? found : nullptr;
  }
  const Shape* shape(size_t index) const { return index < inputs.size() ? inputs[index].shape : nullptr; }
  bool given(size_t index) const {
    return index < static_cast<size_t>(node.input_size()) && !node.input(static_cast<int>(index)).empty();
  }
  const onnx::AttributeProto* attribute(const char* name) const {
    for (const auto& attribute : node.attribute())
      if (attribute.name() == name) return &attribute;
    return nullptr;
  }
  int64_t integer(const char* name, int64_t otherwise) const {
    const onnx::AttributeProto* found = attribute(name);
    return found ? found->i() : otherwise;
  }
};

int64_t clamp_index(int64_t index, int64_t size) {
  return std::clamp<int64_t>(index < 0 ? index + size : index, 0, size);
}

// In the type's storage form; nullopt if it does not fit.
Element stored(int32_t onnx_type, Element element) {
  if (!element || !std::isfinite(*element)) return std::nullopt;
  if (onnx_type == Proto::FLOAT) return static_cast<float>(*element);
  if (onnx_type == Proto::DOUBLE) return static_cast<double>(*element);
  if (onnx_type == Proto::BOOL) return *element != 0 ? 1 : 0;
  const Number whole = std::trunc(*element);
  const bool wide = onnx_type == Proto::INT64 || onnx_type == Proto::UINT64;
  const Number most = wide ? static_cast<Number>(std::numeric_limits<int64_t>::max())
                           : static_cast<Number>(std::numeric_limits<int32_t>::max());
  if (whole > most || whole < -most - 1) return std::nullopt;
  return whole;
}

// ------------------------------------------------------------------------------------------------- sources of values

MaybeTensor fold_shape(const Call& call) {
  const Shape* shape = call.shape(0);
  if (shape == nullptr) return std::nullopt;
  const auto rank = static_cast<int64_t>(shape->size());
  const int64_t start = clamp_index(call.integer("start", 0), rank);
  const int64_t end = clamp_index(call.integer("end", rank), rank);
  SmallTensor sizes{Proto::INT64, {std::max<int64_t>(end - start, 0)}, {}};
  for (int64_t i = start; i < end; ++i) {
    const int64_t size = (*shape)[static_cast<size_t>(i)];
    sizes.elements.push_back(size < 0 ? Element() : Element(size));
  }
  return sizes;
}

MaybeTensor fold_size(const Call& call) {
  if (call.shape(0) == nullptr) return std::nullopt;
  std::optional<int64_t> count = element_count(*call.shape(0));
  if (!count) return std::nullopt;
  return SmallTensor{Proto::INT64, {}, {Element(*count)}};
}

MaybeTensor range(const Call& call) {
  const SmallTensor *start = call.value(0), *limit = call.value(1), *delta = call.value(2);
  for (const SmallTensor* value : {start, limit, delta})
    if (value == nullptr || value->elements.size() != 1 || !value->elements[0]) return std::nullopt;
  const Number step = *delta->elements[0];
  if (step == 0) return std::nullopt;
  const Number count = std::max<Number>(std::ceil((*limit->elements[0] - *start->elements[0]) / step), 0);
  if (!(count <= kSmallTensorElements)) return std::nullopt;
  SmallTensor out{start->onnx_type, {static_cast<int64_t>(count)}, {}};
  for (int64_t i = 0; i < out.shape[0]; ++i)
    out.elements.push_back(stored(out.onnx_type, *start->elements[0] + static_cast<Number>(i) * step));
  return out;
}

MaybeTensor constant_of_shape(const Call& call) {
  const SmallTensor* sizes = call.integers(0);
  if (sizes == nullptr || !sizes->known()) return std::nullopt;
  SmallTensor out{Proto::FLOAT, {}, {}};
  for (const Element& size : sizes->elements) out.shape.push_back(static_cast<int64_t>(*size));
  const std::optional<int64_t> count = element_count(out.shape);
  if (!count || *count > kSmallTensorElements) return std::nullopt;
  Element filling = Number{0};
  if (const onnx::AttributeProto* attribute = call.attribute("value"); attribute && attribute->has_t()) {
    MaybeTensor value = small_tensor_from(attribute->t());
    if (!value || value->elements.size() != 1) return std::nullopt;
    out.onnx_type = value->onnx_type;
    filling = value->elements[0];
  }
  out.elements.assign(static_cast<size_t>(*count), filling);
  return out;
}

// ---------------------------------------------------------------------------------------------------- moving values

// Reshape, Squeeze, Unsqueeze, Flatten, Identity: the same values under the inferred shape.
MaybeTensor same_values(const Call& call) {
  const SmallTensor* value = call.value(0);
  if (value == nullptr || call.output_shape == nullptr) return std::nullopt;
  if (element_count(*call.output_shape) != static_cast<int64_t>(value->elements.size())) return std::nullopt;
  return SmallTensor{value->onnx_type, *call.output_shape, value->elements};
}

MaybeTensor cast(const Call& call) {
  const SmallTensor* value = call.value(0);
  const auto to = static_cast<int32_t>(call.integer("to", 0));
  if (value == nullptr || !(is_integer_type(to) || is_real_type(to))) return std::nullopt;
  SmallTensor out{to, value->shape, {}};
  for (const Element& element : value->elements) out.elements.push_back(stored(to, element));
  return out;
}

MaybeTensor gather(const Call& call) {
  const SmallTensor *data = call.value(0), *indices = call.integers(1);
  if (data == nullptr || indices == nullptr || data->shape.size() != 1) return std::nullopt;
  SmallTensor out{data->onnx_type, indices->shape, {}};
  for (const Element& index : indices->elements) {
    if (!index) {
      out.elements.emplace_back();
      continue;
    }
    const Number at = *index < 0 ? *index + static_cast<Number>(data->shape[0]) : *index;
    if (at < 0 || at >= static_cast<Number>(data->shape[0])) return std::nullopt;
    out.elements.push_back(data->elements[static_cast<size_t>(at)]);
  }
  return out;
}

MaybeTensor fold_concat(const Call& call) {
  SmallTensor out{0, {0}, {}};
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const SmallTensor* part = call.value(i);
    if (part != nullptr && part->shape.size() == 1) {
      out.onnx_type = part->onnx_type;
      out.elements.insert(out.elements.end(), part->elements.begin(), part->elements.end());
    } else if (const Shape* shape = call.shape(i);
               shape && shape->size() == 1 && (*shape)[0] >= 0 && (*shape)[0] <= 64) {
      out.elements.resize(out.elements.size() +
                          static_cast<size_t>((*shape)[0]));  // values unknown, their number known
    } else {
      return std::nullopt;
    }
  }
  out.shape[0] = static_cast<int64_t>(out.elements.size());
  if (out.onnx_type == 0 || out.shape[0] > kSmallTensorElements) return std::nullopt;
  return out;
}

// One list of a slice: from an input (opset 10 and later) or an attribute; nullopt if unknown.
std::optional<std::vector<int64_t>> slice_list(const Call& call, size_t input, const char* attribute,
                                               std::vector<int64_t> otherwise) {
  if (call.given(input)) {
    const SmallTensor* value = call.integers(input);
    if (value == nullptr || !value->known()) return std::nullopt;
    std::vector<int64_t> list;
    for (const Element& element : value->elements) list.push_back(static_cast<int64_t>(*element));
    return list;
  }
  const onnx::AttributeProto* found = call.attribute(attribute);
  return found == nullptr ? std::move(otherwise) : std::vector<int64_t>(found->ints().begin(), found->ints().end());
}

// The positions that a slice takes along a dimension of `size`.
std::vector<int64_t> sliced(int64_t start, int64_t end, int64_t step, int64_t size) {
  std::vector<int64_t> positions;
  if (step > 0) {
    const int64_t last = clamp_index(end, size);
    for (int64_t i = clamp_index(start, size); i < last; i += std::min(step, size)) positions.push_back(i);
  } else {
    const int64_t first = std::min(clamp_index(start, size), size - 1);
    const int64_t last = end < -size ? -1 : clamp_index(end, size);
    for (int64_t i = first; i > last; i -= std::min(-step, size + 1)) positions.push_back(i);
  }
  return positions;
}

// The elements at all combinations of positions, last dimension fastest. `strides`: of `data`, per dimension.
SmallTensor taken(const SmallTensor& data, const std::vector<std::vector<int64_t>>& positions, const Shape& strides) {
  SmallTensor out{data.onnx_type, {}, {}};
  std::vector<int64_t> offsets = {0};
  for (size_t d = 0; d < positions.size(); ++d) {
    out.shape.push_back(std::ssize(positions[d]));
    std::vector<int64_t> next;
    for (int64_t offset : offsets)
      for (int64_t position : positions[d]) next.push_back(offset + position * strides[d]);
    offsets = std::move(next);
  }
  for (int64_t offset : offsets) out.elements.push_back(data.elements[static_cast<size_t>(offset)]);
  return out;
}

Shape strides_of(const Shape& shape) {
  Shape strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

std::vector<std::vector<int64_t>> all_positions(const Shape& shape) {
  std::vector<std::vector<int64_t>> positions(shape.size());
  for (size_t d = 0; d < shape.size(); ++d)
    for (int64_t i = 0; i < shape[d]; ++i) positions[d].push_back(i);
  return positions;
}

MaybeTensor slice(const Call& call) {
  const SmallTensor* data = call.value(0);
  if (data == nullptr || data->shape.empty()) return std::nullopt;
  const auto starts = slice_list(call, 1, "starts", {}), ends = slice_list(call, 2, "ends", {});
  if (!starts || !ends || starts->empty() || starts->size() != ends->size()) return std::nullopt;
  std::vector<int64_t> leading(starts->size());
  for (size_t i = 0; i < leading.size(); ++i) leading[i] = static_cast<int64_t>(i);
  const auto axes = slice_list(call, 3, "axes", leading);
  const auto steps = slice_list(call, 4, "steps", std::vector<int64_t>(starts->size(), 1));
  if (!axes || !steps || axes->size() != starts->size() || steps->size() != starts->size()) return std::nullopt;
  std::vector<std::vector<int64_t>> positions = all_positions(data->shape);
  for (size_t i = 0; i < starts->size(); ++i) {
    const int64_t axis = (*axes)[i] + ((*axes)[i] < 0 ? std::ssize(data->shape) : 0), step = (*steps)[i];
    if (axis < 0 || axis >= std::ssize(data->shape) || step == 0 || step == std::numeric_limits<int64_t>::min())
      return std::nullopt;
    const auto d = static_cast<size_t>(axis);
    positions[d] = sliced((*starts)[i], (*ends)[i], step, data->shape[d]);
  }
  return taken(*data, positions, strides_of(data->shape));
}

MaybeTensor transpose(const Call& call) {
  const SmallTensor* data = call.value(0);
  if (data == nullptr) return std::nullopt;
  const size_t rank = data->shape.size();
  std::vector<size_t> order;
  for (size_t d = rank; d-- > 0;) order.push_back(d);
  if (const onnx::AttributeProto* found = call.attribute("perm")) {
    order.clear();
    for (int64_t axis : found->ints()) order.push_back(static_cast<size_t>(axis));
  }
  std::vector<size_t> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (size_t d = 0; d < sorted.size(); ++d)
    if (sorted[d] != d) return std::nullopt;
  if (order.size() != rank) return std::nullopt;
  const std::vector<std::vector<int64_t>> all = all_positions(data->shape);
  const Shape strides = strides_of(data->shape);
  std::vector<std::vector<int64_t>> positions;
  Shape moved;
  for (size_t d : order) {
    positions.push_back(all[d]);
    moved.push_back(strides[d]);
  }
  return taken(*data, positions, moved);
}

// ---------------------------------------------------------------------------------------------------- arithmetic

std::optional<Shape> broadcast(const Shape& a, const Shape& b) {
  Shape out(std::max(a.size(), b.size()));
  for (size_t i = 0; i < out.size(); ++i) {
    const int64_t left = i < out.size() - a.size() ? 1 : a[i - (out.size() - a.size())];
    const int64_t right = i < out.size() - b.size() ? 1 : b[i - (out.size() - b.size())];
    if (left != right && left != 1 && right != 1) return std::nullopt;
    out[i] = left == 1 ? right : left;
  }
  std::optional<int64_t> count = element_count(out);
  if (!count || *count > kSmallTensorElements) return std::nullopt;
  return out;
}

// The element of `tensor` at position `index` of the broadcast shape `out`.
const Element& broadcast_at(const SmallTensor& tensor, const Shape& out, int64_t index) {
  int64_t position = 0;
  int64_t stride = 1;
  for (size_t i = 0; i < out.size(); ++i) {
    const size_t from_end = out.size() - 1 - i;
    const int64_t coordinate = index % out[from_end];
    index /= out[from_end];
    if (i >= tensor.shape.size()) continue;
    const int64_t size = tensor.shape[tensor.shape.size() - 1 - i];
    if (size != 1) position += coordinate * stride;
    stride *= size;
  }
  return tensor.elements[static_cast<size_t>(position)];
}

using Binary = Element (*)(Number, Number, bool integer);

Number truth(bool value) { return value ? 1 : 0; }

Element divide(Number a, Number b, bool integer) {
  if (b == 0) return std::nullopt;
  return integer ? std::trunc(a / b) : a / b;
}

Element modulo(Number a, Number b, bool integer) {
  if (b == 0 || !integer) return std::nullopt;
  const Number rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;  // sign of the divisor (fmod = 0)
}

const std::map<std::string, Binary> kBinary = {
    {"Add", [](Number a, Number b, bool) -> Element { return a + b; }},
    {"Sub", [](Number a, Number b, bool) -> Element { return a - b; }},
    {"Mul", [](Number a, Number b, bool) -> Element { return a * b; }},
    {"Div", divide},
    {"Mod", modulo},
    {"Min", [](Number a, Number b, bool) -> Element { return std::min(a, b); }},
    {"Max", [](Number a, Number b, bool) -> Element { return std::max(a, b); }},
    {"Pow", [](Number a, Number b, bool) -> Element { return std::pow(a, b); }},
    {"Equal", [](Number a, Number b, bool) -> Element { return truth(a == b); }},
    {"Less", [](Number a, Number b, bool) -> Element { return truth(a < b); }},
    {"LessOrEqual", [](Number a, Number b, bool) -> Element { return truth(a <= b); }},
    {"Greater", [](Number a, Number b, bool) -> Element { return truth(a > b); }},
    {"GreaterOrEqual", [](Number a, Number b, bool) -> Element { return truth(a >= b); }},
    {"And", [](Number a, Number b, bool) -> Element { return truth(a != 0 && b != 0); }},
    {"Or", [](Number a, Number b, bool) -> Element { return truth(a != 0 || b != 0); }},
};

const std::map<std::string, Number (*)(Number)> kUnary = {
    {"Neg", [](Number a) { return -a; }},
    {"Abs", [](Number a) { return std::fabs(a); }},
    {"Floor", [](Number a) { return std::floor(a); }},
    {"Ceil", [](Number a) { return std::ceil(a); }},
    {"Round", [](Number a) { return std::nearbyint(a); }},
    {"Sqrt", [](Number a) { return std::sqrt(a); }},
    {"Reciprocal", [](Number a) { return 1 / a; }},
    {"Not", [](Number a) { return truth(a == 0); }},
};

MaybeTensor binary(const Call& call, Binary operation) {
  const SmallTensor *a = call.value(0), *b = call.value(1);
  if (a == nullptr || b == nullptr || call.node.input_size() != 2 || a->onnx_type != b->onnx_type) return std::nullopt;
  const std::optional<Shape> shape = broadcast(a->shape, b->shape);
  if (!shape) return std::nullopt;
  SmallTensor out{call.onnx_type, *shape, {}};
  const int64_t count = element_count(*shape).value();
  for (int64_t i = 0; i < count; ++i) {
    const Element &left = broadcast_at(*a, *shape, i), &right = broadcast_at(*b, *shape, i);
    Element result = left && right ? operation(*left, *right, is_integer_type(a->onnx_type)) : std::nullopt;
    out.elements.push_back(stored(out.onnx_type, result));
  }
  return out;
}

MaybeTensor unary(const Call& call, Number (*operation)(Number)) {
  const SmallTensor* value = call.value(0);
  if (value == nullptr) return std::nullopt;
  SmallTensor out{value->onnx_type, value->shape, {}};
  for (const Element& element : value->elements)
    out.elements.push_back(element ? stored(out.onnx_type, operation(*element)) : Element());
  return out;
}

MaybeTensor where(const Call& call) {
  const SmallTensor *condition = call.value(0), *yes = call.value(1), *no = call.value(2);
  if (condition == nullptr || yes == nullptr || no == nullptr) return std::nullopt;
  std::optional<Shape> shape = broadcast(yes->shape, no->shape);
  if (shape) shape = broadcast(*shape, condition->shape);
  if (!shape) return std::nullopt;
  SmallTensor out{yes->onnx_type, *shape, {}};
  const int64_t count = element_count(*shape).value();
  for (int64_t i = 0; i < count; ++i) {
    const Element& chosen = broadcast_at(*condition, *shape, i);
    out.elements.push_back(!chosen ? Element() : broadcast_at(*chosen != 0 ? *yes : *no, *shape, i));
  }
  return out;
}

MaybeTensor expand(const Call& call) {
  const SmallTensor *value = call.value(0), *sizes = call.integers(1);
  if (value == nullptr || sizes == nullptr || !sizes->known()) return std::nullopt;
  Shape target;
  for (const Element& size : sizes->elements) target.push_back(static_cast<int64_t>(*size));
  const std::optional<Shape> shape = broadcast(value->shape, target);
  if (!shape) return std::nullopt;
  SmallTensor out{value->onnx_type, *shape, {}};
  const int64_t count = element_count(*shape).value();
  for (int64_t i = 0; i < count; ++i) out.elements.push_back(broadcast_at(*value, *shape, i));
  return out;
}

// Over all elements; exporters reduce lists of sizes only. Without `start` an empty list has no result.
MaybeTensor reduce(const Call& call, Element start, Binary operation) {
  const SmallTensor* value = call.value(0);
  if (value == nullptr || value->shape.size() > 1 || call.output_shape == nullptr) return std::nullopt;
  if (element_count(*call.output_shape) != 1 || (!start && value->elements.empty())) return std::nullopt;
  const size_t from = start ? 0 : 1;
  Element result = start ? start : value->elements[0];
  for (size_t i = from; i < value->elements.size(); ++i)
    result = value->elements[i] && result ? operation(*result, *value->elements[i], true) : std::nullopt;
  return SmallTensor{value->onnx_type, *call.output_shape, {stored(value->onnx_type, result)}};
}

MaybeTensor fold_one(const Call& call) {
  const std::string& op = call.node.op_type();
  static const std::map<std::string, MaybeTensor (*)(const Call&)> kOthers = {
      {"Shape", fold_shape},
      {"Size", fold_size},
      {"Range", range},
      {"ConstantOfShape", constant_of_shape},
      {"Reshape", same_values},
      {"Squeeze", same_values},
      {"Unsqueeze", same_values},
      {"Flatten", same_values},
      {"Identity", same_values},
      {"Cast", cast},
      {"Gather", gather},
      {"Concat", fold_concat},
      {"Slice", slice},
      {"Transpose", transpose},
      {"Where", where},
      {"Expand", expand},
      {"ReduceProd", [](const Call& c) { return reduce(c, Number{1}, kBinary.at("Mul")); }},
      {"ReduceSum", [](const Call& c) { return reduce(c, Number{0}, kBinary.at("Add")); }},
      {"ReduceMin", [](const Call& c) { return reduce(c, std::nullopt, kBinary.at("Min")); }},
      {"ReduceMax", [](const Call& c) { return reduce(c, std::nullopt, kBinary.at("Max")); }},
  };
  if (auto found = kOthers.find(op); found != kOthers.end()) return found->second(call);
  if (auto found = kBinary.find(op); found != kBinary.end()) return binary(call, found->second);
  if (auto found = kUnary.find(op); found != kUnary.end()) return unary(call, found->second);
  return std::nullopt;
}

// A list of sizes, cut into parts of one element or of the sizes given.
std::vector<MaybeTensor> split(const Call& call) {
  const auto parts = static_cast<size_t>(call.node.output_size());
  std::vector<MaybeTensor> out(parts);
  const SmallTensor* value = call.value(0);
  if (value == nullptr || value->shape.size() != 1) return out;
  std::vector<int64_t> sizes(parts, value->shape[0] / static_cast<int64_t>(parts));
  if (call.given(1)) {
    const SmallTensor* given = call.integers(1);
    if (given == nullptr || !given->known() || given->elements.size() != parts) return out;
    for (size_t i = 0; i < parts; ++i) sizes[i] = static_cast<int64_t>(*given->elements[i]);
  } else if (const onnx::AttributeProto* attribute = call.attribute("split")) {
    sizes.assign(attribute->ints().begin(), attribute->ints().end());
  }
  int64_t total = 0;
  for (int64_t size : sizes) {
    if (size < 0 || size > value->shape[0] - total) return out;
    total += size;
  }
  if (total != value->shape[0] || sizes.size() != parts) return out;
  auto at = value->elements.begin();
  for (size_t i = 0; i < parts; ++i, at += sizes[i - 1])
    out[i] = SmallTensor{value->onnx_type, {sizes[i]}, {at, at + sizes[i]}};
  return out;
}

}  // namespace

std::vector<std::optional<SmallTensor>> fold(const onnx::NodeProto& node, const std::vector<FoldInput>& inputs,
                                             const Shape* output_shape, int32_t onnx_type) {
  if (!node.domain().empty() || node.output_size() == 0) return {};
  const Call call{node, inputs, output_shape, onnx_type};
  if (node.op_type() == "Split") return split(call);
  if (node.output_size() != 1) return {};
  MaybeTensor folded = fold_one(call);
  if (!folded || static_cast<int64_t>(folded->elements.size()) > kSmallTensorElements) return {};
  return {std::move(folded)};
}

}  // namespace ridge::model
