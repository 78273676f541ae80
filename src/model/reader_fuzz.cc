// Fuzz target: reading a model from any bytes ends in a Graph or an Error; never in a crash, a hang or memory by
// claimed sizes. The mutator knows ONNX: it adds nodes with any operator's schema and changes single fields, to reach
// shape inference, which raw bytes hardly ever do. Its seeds are the small models below, in ONNX's own text form.
#include <google/protobuf/message.h>
#include <onnx/defs/parser.h>
#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/log.h"
#include "model/reader.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

using Random = std::minstd_rand;

constexpr std::array<const char*, 4> kSeeds = {
    R"(<ir_version: 8, opset_import: ["" : 17]>
       convolution (float[batch, 3, 8, 8] x, float[4, 3, 3, 3] w) => (float[batch, 4, 4, 4] y) {
         c = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (x, w)
         r = Relu (c)
         y = MaxPool <kernel_shape = [1, 1]> (r) })",
    R"(<ir_version: 8, opset_import: ["" : 17]>
       shapes (float[batch, sequence, 12] x) => (float[a, b, c, d] y) {
         s = Shape (x)
         zero = Constant <value_int = 0> ()
         n = Gather (s, zero)
         axes = Constant <value_ints = [0]> ()
         u = Unsqueeze (n, axes)
         rest = Constant <value_ints = [-1, 3, 4]> ()
         t = Concat <axis = 0> (u, rest)
         y = Reshape (x, t) })",
    R"(<ir_version: 8, opset_import: ["" : 17]>
       branches (bool flag, float[4] x) => (float[n] y) {
         y = If (flag) <
           then_branch = yes () => (float[4] a) { a = Abs (x) },
           else_branch = no () => (float[4] b) { b = Neg (x) } > })",
    R"(<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
       calls (float[2, 4] x) => (float[2, 4] y) { y = local.twice (x) }
       <opset_import: ["" : 17], domain: "local">
       twice (a) => (b) { b = Add (a, a) })"};

uint32_t below(Random& random, size_t bound) { return bound == 0 ? 0 : static_cast<uint32_t>(random() % bound); }

int64_t interesting_integer(Random& random) {
  constexpr std::array<int64_t, 14> kValues = {0,
                                               1,
                                               -1,
                                               2,
                                               3,
                                               -2,
                                               4,
                                               7,
                                               64,
                                               1 << 20,
                                               int64_t{1} << 40,
                                               std::numeric_limits<int64_t>::min(),
                                               std::numeric_limits<int64_t>::max(),
                                               1000};
  return kValues[below(random, kValues.size())];
}

// -------------------------------------------------------------------------------------- one field of any message

void mutate_field(google::protobuf::Message& message, Random& random, int depth) {
  using Field = google::protobuf::FieldDescriptor;
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  std::vector<const Field*> fields;
  reflection.ListFields(message, &fields);
  if (fields.empty() || depth > 60) return;
  const Field* field = fields[below(random, fields.size())];
  const int count = field->is_repeated() ? reflection.FieldSize(message, field) : 0;
  const int at = field->is_repeated() ? static_cast<int>(below(random, static_cast<size_t>(count))) : 0;
  if (field->is_repeated() && below(random, 8) == 0) return reflection.RemoveLast(&message, field);
  switch (field->cpp_type()) {
    case Field::CPPTYPE_MESSAGE:
      if (!field->is_repeated() && below(random, 20) == 0) return reflection.ClearField(&message, field);
      return mutate_field(field->is_repeated() ? *reflection.MutableRepeatedMessage(&message, field, at)
                                               : *reflection.MutableMessage(&message, field),
                          random, depth + 1);
    case Field::CPPTYPE_INT64:
      return field->is_repeated() ? reflection.SetRepeatedInt64(&message, field, at, interesting_integer(random))
                                  : reflection.SetInt64(&message, field, interesting_integer(random));
    case Field::CPPTYPE_INT32:
      return field->is_repeated()
                 ? reflection.SetRepeatedInt32(&message, field, at, static_cast<int32_t>(below(random, 30)) - 2)
                 : reflection.SetInt32(&message, field, static_cast<int32_t>(below(random, 30)) - 2);
    case Field::CPPTYPE_STRING: {
      constexpr std::array<const char*, 8> kNames = {"x", "y", "", "value", "axis", "local", "NHWC", "ij,jk->ik"};
      const std::string name = kNames[below(random, kNames.size())];
      return field->is_repeated() ? reflection.SetRepeatedString(&message, field, at, name)
                                  : reflection.SetString(&message, field, name);
    }
    default: return;
  }
}

// ------------------------------------------------------------------------------------- a node of any operator

void set_attribute(onnx::AttributeProto& attribute, const onnx::OpSchema::Attribute& declared, Random& random) {
  attribute.set_name(declared.name);
  attribute.set_type(declared.type);
  const uint32_t count = below(random, 5);
  switch (declared.type) {
    case onnx::AttributeProto::INT: return attribute.set_i(interesting_integer(random));
    case onnx::AttributeProto::FLOAT: return attribute.set_f(static_cast<float>(interesting_integer(random)));
    case onnx::AttributeProto::STRING: return attribute.set_s(below(random, 2) != 0 ? "SAME_UPPER" : "ab,bc->ac");
    case onnx::AttributeProto::INTS:
      for (uint32_t i = 0; i < count; ++i) attribute.add_ints(interesting_integer(random));
      return;
    case onnx::AttributeProto::FLOATS:
      for (uint32_t i = 0; i < count; ++i) attribute.add_floats(static_cast<float>(interesting_integer(random)));
      return;
    case onnx::AttributeProto::STRINGS:
      for (uint32_t i = 0; i < count; ++i) attribute.add_strings("a");
      return;
    case onnx::AttributeProto::TENSOR:
      attribute.mutable_t()->set_data_type(onnx::TensorProto::INT64);
      attribute.mutable_t()->add_dims(1);
      attribute.mutable_t()->add_int64_data(interesting_integer(random));
      return;
    case onnx::AttributeProto::GRAPH:
      attribute.mutable_g()->set_name("inner");
      attribute.mutable_g()->add_output()->set_name("x");
      return;
    default: return;
  }
}

std::string some_value(onnx::GraphProto& graph, Random& random) {
  const uint32_t kind = below(random, 4);
  if (kind == 0 && graph.input_size() > 0)
    return graph.input(static_cast<int>(below(random, static_cast<size_t>(graph.input_size())))).name();
  if (kind == 1 && graph.node_size() > 0) {
    const onnx::NodeProto& node = graph.node(static_cast<int>(below(random, static_cast<size_t>(graph.node_size()))));
    return node.output_size() > 0 ? node.output(0) : "";
  }
  // A new one: an input of some rank, or a small list of integers.
  const std::string name = "v" + std::to_string(random() % 100000);
  if (kind == 2) {
    onnx::TensorProto& tensor = *graph.add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::INT64);
    const uint32_t count = below(random, 5);
    tensor.add_dims(count);
    for (uint32_t i = 0; i < count; ++i) tensor.add_int64_data(interesting_integer(random));
    return name;
  }
  onnx::ValueInfoProto& input = *graph.add_input();
  input.set_name(name);
  auto& tensor = *input.mutable_type()->mutable_tensor_type();
  constexpr std::array<int, 5> kTypes = {1, 1, 7, 3, 9};  // FLOAT, INT64, INT8, BOOL
  tensor.set_elem_type(kTypes[below(random, kTypes.size())]);
  auto& shape = *tensor.mutable_shape();
  for (uint32_t i = below(random, 6); i > 0; --i)
    if (below(random, 6) != 0)
      shape.add_dim()->set_dim_value(interesting_integer(random));
    else
      shape.add_dim()->set_dim_param("n");
  return name;
}

void add_node(onnx::ModelProto& model, Random& random) {
  static const std::vector<onnx::OpSchema> schemas = onnx::OpSchemaRegistry::get_all_schemas();
  const onnx::OpSchema& schema = schemas[below(random, schemas.size())];
  onnx::GraphProto& graph = *model.mutable_graph();
  onnx::NodeProto node;
  node.set_op_type(schema.Name());
  node.set_domain(schema.domain());
  const int most = std::min(schema.max_input(), schema.min_input() + 3);
  const int inputs =
      schema.min_input() + static_cast<int>(below(random, static_cast<size_t>(most - schema.min_input() + 1)));
  for (int i = 0; i < inputs; ++i) node.add_input(some_value(graph, random));
  for (int i = 0; i < std::max(schema.min_output(), 1); ++i) node.add_output("o" + std::to_string(random() % 100000));
  for (const auto& [name, declared] : schema.attributes())
    if (declared.required || below(random, 3) != 0) set_attribute(*node.add_attribute(), declared, random);
  bool imported = false;
  for (auto& import : *model.mutable_opset_import()) {
    imported |= import.domain() == schema.domain();
    if (import.domain() == schema.domain())
      import.set_version(std::max<int64_t>(schema.SinceVersion(), import.version()));
  }
  if (!imported) {
    auto& import = *model.add_opset_import();
    import.set_domain(schema.domain());
    import.set_version(schema.SinceVersion());
  }
  graph.add_node()->Swap(&node);
}

onnx::ModelProto seed(Random& random) {
  onnx::ModelProto model;
  onnx::OnnxParser(kSeeds[below(random, kSeeds.size())]).Parse(model);
  return model;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  ridge::log::set_level(ridge::log::Level::kOff);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int number) {
  Random random(number);
  if (size > 0 && below(random, 5) == 0) return LLVMFuzzerMutate(data, size, max_size);
  onnx::ModelProto model;
  if (!model.ParseFromArray(data, static_cast<int>(size)) || !model.has_graph() || below(random, 50) == 0)
    model = seed(random);
  const uint32_t kind = below(random, 3);
  if (kind == 0) add_node(model, random);
  for (uint32_t i = kind == 0 ? below(random, 3) : 1 + below(random, 4); i > 0; --i) mutate_field(model, random, 0);
  const std::string bytes = model.SerializePartialAsString();
  if (bytes.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, bytes.data(), bytes.size());
  return bytes.size();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  ridge::model::Binding binding;
  binding.batch = 2;
  binding.symbols["sequence"] = 5;
  for (const ridge::model::Binding& each : {ridge::model::Binding(), binding}) {
    auto graph = ridge::model::read_bytes(bytes, "no-such-folder", each);
    if (!graph && graph.error().message.empty()) __builtin_trap();
  }
  return 0;
}
