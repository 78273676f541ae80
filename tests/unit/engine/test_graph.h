// For tests of decoders: the checkpoint of test_checkpoint.h as an OpenVINO folder, in the pattern that optimum-intel
// exports. Source of the format: OpenVINO's IR, version 11, as its serialiser writes it.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "engine/test_checkpoint.h"

namespace ridge::engine {

class TestGraph {
 public:
  // Matrices of `type`: F32 or F16 (test_checkpoint.h, GGUF's names), which rounds the checkpoint's values.
  TestGraph(TestCheckpoint& checkpoint, std::string_view type) : checkpoint_(checkpoint), type_(type) {}

  // Before write(): how the graph differs from the pattern.
  bool states = true;    // ReadValue and Assign
  bool softmax = false;  // after the last MatMul
  std::string ids = "input_ids";

  void write(const std::string& folder) {
    build();
    checkpoint_.write_config(folder);
    const std::string text = "<?xml version=\"1.0\"?><net name=\"decoder\" version=\"11\"><layers>" + layers_ +
                             "</layers><edges>" + edges_ + "</edges><rt_info/></net>";
    EXPECT_TRUE(write_file_atomically(folder + "/openvino_model.xml", text).ok());
    EXPECT_TRUE(write_file_atomically(folder + "/openvino_model.bin", data_).ok());
  }

 private:
  struct Value {
    int layer, port;
  };

  Value layer(const std::string& name, const std::string& type, const std::string& opset, const std::string& attributes,
              const std::vector<Value>& inputs, const std::string& names = "") {
    const int id = count_++, out = static_cast<int>(inputs.size());
    std::string in;
    for (int i = 0; i < out; ++i) {
      in += fmt::format("<port id=\"{}\"/>", i);
      const Value& from = inputs[static_cast<size_t>(i)];
      edges_ += fmt::format("<edge from-layer=\"{}\" from-port=\"{}\" to-layer=\"{}\" to-port=\"{}\"/>", from.layer,
                            from.port, id, i);
    }
    layers_ += fmt::format("<layer id=\"{}\" name=\"{}\" type=\"{}\" version=\"{}\">", id,
                           name.empty() ? fmt::format("{}_{}", type, id) : name, type, opset);
    if (!attributes.empty()) layers_ += "<data " + attributes + "/>";
    if (!in.empty()) layers_ += "<input>" + in + "</input>";
    if (type != "Result")
      layers_ += fmt::format("<output><port id=\"{}\" precision=\"FP32\"{}/></output>", out,
                             names.empty() ? "" : " names=\"" + names + "\"");
    layers_ += "</layer>";
    return {id, out};
  }
  Value op(const std::string& type, const std::vector<Value>& inputs, const std::string& attributes = "",
           const std::string& opset = "opset1") {
    return layer("", type, opset, attributes, inputs);
  }
  Value parameter(const std::string& name, const char* type, const char* shape) {
    return layer(name, "Parameter", "opset1", fmt::format("shape=\"{}\" element_type=\"{}\"", shape, type), {}, name);
  }
  Value constant(const char* type, const std::string& shape, const std::string& bytes) {
    data_.resize((data_.size() + 63) / 64 * 64, '\0');
    const size_t offset = data_.size();
    data_ += bytes;
    return op(
        "Const", {},
        fmt::format("element_type=\"{}\" shape=\"{}\" offset=\"{}\" size=\"{}\"", type, shape, offset, bytes.size()));
  }
  template <typename T>
  static std::string raw(const std::vector<T>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
  }
  Value numbers(const std::vector<int64_t>& values) {
    return constant("i64", std::to_string(values.size()), raw(values));
  }
  Value number(int64_t value) { return constant("i64", "", raw(std::vector{value})); }
  Value real(double value) { return constant("f32", "1", raw(std::vector{static_cast<float>(value)})); }
  Value multiplied(const Value& a, const Value& b) { return op("Multiply", {a, b}, "auto_broadcast=\"numpy\""); }
  Value added(const Value& a, const Value& b) { return op("Add", {a, b}, "auto_broadcast=\"numpy\""); }
  Value converted(const Value& x) { return op("Convert", {x}, "destination_type=\"f32\""); }
  Value unsqueezed(const Value& x, std::vector<int64_t> axes) { return op("Unsqueeze", {x, numbers(axes)}); }
  Value reshaped(const Value& x, const std::vector<int64_t>& shape) {
    return op("Reshape", {x, numbers(shape)}, "special_zero=\"true\"");
  }
  Value swapped(const Value& x) { return op("Transpose", {x, numbers({0, 2, 1, 3})}); }
  Value joined(const std::vector<Value>& parts, int axis) {
    return op("Concat", parts, fmt::format("axis=\"{}\"", axis));
  }
  Value gathered(const Value& x, const Value& indices) {
    return op("Gather", {x, indices, number(0)}, "batch_dims=\"0\"", "opset8");
  }
  Value weight(const std::string& name) {
    const auto [shape, bytes] = checkpoint_.stored(name, type_);
    std::string dimensions;
    for (const int64_t size : shape) dimensions += (dimensions.empty() ? "" : ", ") + std::to_string(size);
    const bool half = shape.size() == 2 && type_ == "F16";
    const Value value = constant(half ? "f16" : "f32", dimensions, bytes);
    return half ? converted(value) : value;
  }
  Value product(const Value& x, const std::string& name) {
    return op("MatMul", {x, weight(name)}, "transpose_a=\"false\" transpose_b=\"true\"");
  }
  Value normed(const Value& x, const std::string& name) {
    const Value square = op("Power", {x, real(2)}, "auto_broadcast=\"numpy\"");
    const Value mean = op("ReduceMean", {square, numbers({-1})}, "keep_dims=\"true\"");
    const Value root = op("Sqrt", {added(mean, real(checkpoint_.config().rms_norm_eps))});
    const Value inverse = op("Divide", {real(1), root}, "auto_broadcast=\"numpy\" m_pythondiv=\"true\"");
    return multiplied(multiplied(x, inverse), weight(name));
  }
  Value rotated(const Value& x) {
    const int64_t half = checkpoint_.config().head_dim / 2;
    const auto part = [&](int64_t from, int64_t to) {
      return op("Slice", {x, numbers({from}), numbers({to}), numbers({1}), numbers({3})}, "", "opset8");
    };
    const Value turned = joined({multiplied(part(half, 2 * half), real(-1)), part(0, half)}, -1);
    return added(multiplied(x, cos_), multiplied(turned, sin_));
  }
  Value heads(const Value& x, const std::string& name, int64_t count) {
    return swapped(reshaped(product(x, name + "_proj.weight"), {0, 0, count, checkpoint_.config().head_dim}));
  }
  Value cached(const Value& now, const std::string& name) {
    const auto& c = checkpoint_.config();
    Value all = now;
    if (states) {
      const std::string variable = fmt::format("variable_id=\"{}\" variable_type=\"f32\" variable_shape=\"?,{},?,{}\"",
                                               name, c.kv_heads, c.head_dim);
      const Value none = constant("f32", fmt::format("1, {}, 0, {}", c.kv_heads, c.head_dim), "");
      all = joined({gathered(op("ReadValue", {none}, variable, "opset6"), beam_), now}, 2);
      op("Assign", {all}, variable, "opset6");
    }
    const Value wide = op("Broadcast", {unsqueezed(all, {2}), numbers({1, 1, c.heads / c.kv_heads, 1, 1})},
                          "mode=\"bidirectional\"", "opset3");
    return reshaped(wide, {0, c.heads, -1, c.head_dim});
  }
  Value run_layer(const Value& input, const std::string& layer) {
    const auto& c = checkpoint_.config();
    const std::string name = layer + "self_attn.";
    const Value in = normed(input, layer + "input_layernorm.weight");
    const Value attended =
        op("ScaledDotProductAttention",
           {rotated(heads(in, name + "q", c.heads)), cached(rotated(heads(in, name + "k", c.kv_heads)), name + "key"),
            cached(heads(in, name + "v", c.kv_heads), name + "value"), mask_},
           "causal=\"false\"", "opset13");
    const Value x =
        added(input, product(reshaped(swapped(attended), {0, 0, c.heads * c.head_dim}), name + "o_proj.weight"));
    const Value between = normed(x, layer + "post_attention_layernorm.weight");
    const Value gate = op("Swish", {product(between, layer + "mlp.gate_proj.weight")}, "", "opset4");
    return added(
        x, product(multiplied(gate, product(between, layer + "mlp.up_proj.weight")), layer + "mlp.down_proj.weight"));
  }

  void build() {
    const auto& c = checkpoint_.config();
    const Value tokens = parameter(ids, "i64", "?,?"), attended = parameter("attention_mask", "i64", "?,?");
    const Value positions = parameter("position_ids", "i64", "?,?");
    beam_ = parameter("beam_idx", "i32", "?");
    mask_ = converted(unsqueezed(attended, {1, 2}));
    std::vector<float> frequencies;
    for (const double one : checkpoint::rope_frequencies(c.rope, c.head_dim))
      frequencies.push_back(static_cast<float>(one));
    const Value angles = multiplied(converted(unsqueezed(positions, {1, 3})),
                                    constant("f32", std::to_string(frequencies.size()), raw(frequencies)));
    cos_ = op("Cos", {joined({angles, angles}, -1)});
    sin_ = op("Sin", {joined({angles, angles}, -1)});
    Value x = gathered(weight("model.embed_tokens.weight"), tokens);
    for (int64_t i = 0; i < c.layers; ++i) x = run_layer(x, "model.layers." + std::to_string(i) + ".");
    x = normed(x, "model.norm.weight");
    x = product(x, "lm_head.weight");
    if (softmax) x = op("Softmax", {x}, "axis=\"-1\"", "opset8");
    layer("logits", "Result", "opset1", "", {x});
  }

  TestCheckpoint& checkpoint_;
  const std::string type_;
  int count_ = 0;
  std::string layers_, edges_, data_;
  Value cos_{}, sin_{}, mask_{}, beam_{};
};

}  // namespace ridge::engine
