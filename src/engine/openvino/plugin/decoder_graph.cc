#include "engine/openvino/plugin/decoder_graph.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <openvino/op/ops.hpp>
#include <openvino/op/util/variable.hpp>
#include <openvino/pass/manager.hpp>
#include <openvino/pass/sdpa_to_paged_attention.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checkpoint/graph_folder.h"
#include "engine/openvino/matrix_form.h"
#include "engine/openvino/plugin/guarded.h"
#include "engine/openvino/plugin/packed_block.h"

namespace ridge::engine::openvino::plugin {
namespace {

using Value = ov::Output<ov::Node>;

Error unsupported(std::string message) { return {Code::kUnsupported, std::move(message)}; }

template <typename Op, typename... Inputs>
Value made(Inputs&&... inputs) {
  return std::make_shared<Op>(std::forward<Inputs>(inputs)...)->output(0);
}

Value numbers(const std::vector<int64_t>& values) {
  return made<ov::op::v0::Constant>(ov::element::i64, ov::Shape{values.size()}, values);
}
Value number(int64_t value) { return made<ov::op::v0::Constant>(ov::element::i64, ov::Shape{}, value); }
Value real(double value) {
  return made<ov::op::v0::Constant>(ov::element::f32, ov::Shape{}, static_cast<float>(value));
}

// Axes 1 and 2 change places.
Value swapped(const Value& x) { return made<ov::op::v1::Transpose>(x, numbers({0, 2, 1, 3})); }
// A 0 keeps its dimension.
Value reshaped(const Value& x, const std::vector<int64_t>& shape) {
  return made<ov::op::v1::Reshape>(x, numbers(shape), true);
}

// A matrix "NAME.weight" with its rows, and its "NAME.bias".
struct Linear {
  std::string name;
  int64_t rows = 0;
  bool bias = false;
};

// A layer's weights by their names.
struct LayerParts {
  LayerParts(const checkpoint::DecoderConfig& config, int64_t index)
      : layer("model.layers." + std::to_string(index) + "."),
        projections{{{layer + "self_attn.q_proj", config.heads * config.head_dim, config.qkv_bias},
                     {layer + "self_attn.k_proj", config.kv_heads * config.head_dim, config.qkv_bias},
                     {layer + "self_attn.v_proj", config.kv_heads * config.head_dim, config.qkv_bias}}},
        output{layer + "self_attn.o_proj", config.hidden, config.output_bias},
        gate{layer + "mlp.gate_proj", config.intermediate},
        up{layer + "mlp.up_proj", config.intermediate},
        down{layer + "mlp.down_proj", config.hidden} {}
  std::string layer, input_norm = layer + "input_layernorm", norm = layer + "post_attention_layernorm";
  std::array<Linear, 3> projections;
  Linear output, gate, up, down;
};

class Builder {
 public:
  Builder(const checkpoint::DecoderConfig& config, std::shared_ptr<const checkpoint::Weights> weights,
          WeightFormat form, bool packed, int threads)
      : config_(config), weights_(std::move(weights)), form_(form), packed_(packed), threads_(threads) {}

  Result<DecoderGraph> build();

 private:
  std::shared_ptr<ov::op::v0::Parameter> parameter(const char* name, ov::element::Type type,
                                                   const ov::PartialShape& shape);
  Value constant(const checkpoint::Weight& weight, WeightFormat form);
  Value matrix_constant(const checkpoint::Weight& weight);
  Value form_constant(ov::element::Type type, const ov::Shape& shape, std::shared_ptr<const FormedMatrix> formed,
                      bool scales);
  Result<checkpoint::Weight> matrix(const std::string& name, int64_t rows, int64_t columns) const;
  Value formed(const checkpoint::Weight& weight);
  Result<Value> vector(const std::string& name, int64_t size);
  Result<Value> linear(const Value& x, const Linear& part, int64_t columns);
  Result<std::vector<float>> read_vector(const std::string& name, int64_t size);
  Result<PackedLinear> packed(const Linear& part, int64_t columns);
  Result<ov::OutputVector> block(const ov::OutputVector& inputs, int64_t index);
  Result<Value> norm(const Value& x, const std::string& name, int64_t size);
  Result<Value> heads(const Value& flat, const std::string& name, int64_t count, bool rotated);
  Value rotate(const Value& x);
  Value cached(const Value& now, const std::string& name);
  Value repeated(const Value& x);
  Result<Value> attention(std::span<const Value> flat, const std::string& layer);
  Result<Value> feed_forward(const Value& x, const LayerParts& parts);
  Result<Value> layer(const Value& x, int64_t index);
  Result<Value> layers(Value x);
  Result<Value> packed_layers(Value x);
  Linear head() const { return {config_.tied_embeddings ? "model.embed_tokens" : "lm_head", config_.vocabulary}; }
  Value sampled(const Value& x) { return made<ov::op::v8::Gather>(x, sampled_rows_, number(0)); }

  const checkpoint::DecoderConfig& config_;
  const std::shared_ptr<const checkpoint::Weights> weights_;
  const WeightFormat form_;
  const bool packed_;  // matrices are multiplied by our own node
  const int threads_;
  int64_t weight_bytes_ = 0;
  Value cos_, sin_, mask_, beam_, sampled_rows_;
  ov::ParameterVector parameters_;
  ov::SinkVector sinks_;
};

std::shared_ptr<ov::op::v0::Parameter> Builder::parameter(const char* name, ov::element::Type type,
                                                          const ov::PartialShape& shape) {
  auto parameter = std::make_shared<ov::op::v0::Parameter>(type, shape);
  parameter->set_friendly_name(name);
  parameter->output(0).set_names({name});
  parameters_.push_back(parameter);
  return parameter;
}

// Over `formed`'s memory, which it keeps.
Value Builder::form_constant(ov::element::Type type, const ov::Shape& shape, std::shared_ptr<const FormedMatrix> formed,
                             bool scales) {
  const void* data = scales ? formed->scales.data() : formed->values.data();
  return made<ov::op::v0::Constant>(type, shape, data, std::const_pointer_cast<FormedMatrix>(std::move(formed)));
}

// FP32 or BF16.
Value Builder::constant(const checkpoint::Weight& weight, WeightFormat form) {
  return form_constant(form == WeightFormat::kFp32 ? ov::element::f32 : ov::element::bf16,
                       ov::Shape(weight.shape.begin(), weight.shape.end()),
                       std::make_shared<const FormedMatrix>(form_matrix(weight, form, threads_)), false);
}

// In the file's own memory where it has that form already. The engine lets go of a matrix in BF16, of which it makes
// its own, but not of one in FP32. What it keeps holds the whole file in memory, so other constants are copies.
Value Builder::matrix_constant(const checkpoint::Weight& weight) {
  const bool wide = form_ == WeightFormat::kFp32;
  const ov::element::Type type = wide ? ov::element::f32 : ov::element::bf16;
  const bool as_stored =
      weight.type->plain == (wide ? DataType::kFp32 : DataType::kBf16) && weight.interleaved_heads == 0;
  if (!as_stored || reinterpret_cast<uintptr_t>(weight.data.data()) % type.size() != 0) return constant(weight, form_);
  return made<ov::op::v0::Constant>(type, ov::Shape(weight.shape.begin(), weight.shape.end()),
                                    static_cast<const void*>(weight.data.data()),
                                    std::const_pointer_cast<checkpoint::Weights>(weights_));
}

// Computes FP32 from constants of the form: OpenVINO's kernels read the form itself.
Value Builder::formed(const checkpoint::Weight& weight) {
  const auto rows = static_cast<size_t>(weight.shape[0]), columns = static_cast<size_t>(weight.shape[1]);
  if (form_ == WeightFormat::kFp32 || form_ == WeightFormat::kBf16) {
    const Value stored = matrix_constant(weight);
    weight_bytes_ += static_cast<int64_t>(rows * columns * stored.get_element_type().size());
    return form_ == WeightFormat::kFp32 ? stored : made<ov::op::v0::Convert>(stored, ov::element::f32);
  }
  const auto formed = std::make_shared<const FormedMatrix>(form_matrix(weight, form_, threads_));
  weight_bytes_ += static_cast<int64_t>(formed->values.size() + formed->scales.size());
  const size_t group = static_cast<size_t>(formed->group), groups = columns / group;
  const ov::Shape values_shape = groups == 1 ? ov::Shape{rows, columns} : ov::Shape{rows, groups, group};
  const ov::Shape scales_shape = groups == 1 ? ov::Shape{rows, 1} : ov::Shape{rows, groups, 1};
  const bool zero_based = form_ == WeightFormat::kInt8;
  Value values = made<ov::op::v0::Convert>(
      form_constant(zero_based ? ov::element::i8 : ov::element::u4, values_shape, formed, false), ov::element::f32);
  if (!zero_based) {
    const Value zero =
        made<ov::op::v0::Constant>(ov::element::u4, ov::Shape(values_shape.size(), 1), std::vector<uint8_t>{kInt4Zero});
    values = made<ov::op::v1::Subtract>(values, made<ov::op::v0::Convert>(zero, ov::element::f32));
  }
  const Value scaled = made<ov::op::v1::Multiply>(values, form_constant(ov::element::f32, scales_shape, formed, true));
  return groups == 1 ? scaled : reshaped(scaled, {static_cast<int64_t>(rows), static_cast<int64_t>(columns)});
}

Result<checkpoint::Weight> Builder::matrix(const std::string& name, int64_t rows, int64_t columns) const {
  RIDGE_ASSIGN(checkpoint::Weight weight, weights_->find(name, {rows, columns}));
  if (form_ == WeightFormat::kInt4 && columns % kInt4Group != 0)
    return Error{Code::kUnsupported, "tensor '" + name + "' has rows of " + std::to_string(columns) +
                                         " values, and int4 has groups of " + std::to_string(kInt4Group) +
                                         "; use int8"};
  return weight;
}

Result<Value> Builder::vector(const std::string& name, int64_t size) {
  RIDGE_ASSIGN(const checkpoint::Weight weight, weights_->find(name, {size}));
  weight_bytes_ += size * static_cast<int64_t>(sizeof(float));
  return constant(weight, WeightFormat::kFp32);
}

Result<Value> Builder::linear(const Value& x, const Linear& part, int64_t columns) {
  RIDGE_ASSIGN(const checkpoint::Weight weight, matrix(part.name + ".weight", part.rows, columns));
  const Value product = made<ov::op::v0::MatMul>(x, formed(weight), false, true);
  if (!part.bias) return product;
  RIDGE_ASSIGN(const Value added, vector(part.name + ".bias", part.rows));
  return made<ov::op::v1::Add>(product, added);
}

Result<std::vector<float>> Builder::read_vector(const std::string& name, int64_t size) {
  RIDGE_ASSIGN(const checkpoint::Weight weight, weights_->find(name, {size}));
  std::vector<float> values(static_cast<size_t>(size));
  checkpoint::read_row(weight, 0, values);
  weight_bytes_ += size * static_cast<int64_t>(sizeof(float));
  return values;
}

Result<PackedLinear> Builder::packed(const Linear& part, int64_t columns) {
  RIDGE_ASSIGN(const checkpoint::Weight weight, matrix(part.name + ".weight", part.rows, columns));
  PackedLinear linear{pack_matrix(weight, form_, threads_), {}};
  weight_bytes_ += linear.matrix.bytes();
  if (part.bias) {
    RIDGE_ASSIGN(linear.bias, read_vector(part.name + ".bias", part.rows));
  }
  return linear;
}

// x / √(mean(x²) + ε) · weight (arXiv:1910.07467).
Result<Value> Builder::norm(const Value& x, const std::string& name, int64_t size) {
  const Value mean = made<ov::op::v1::ReduceMean>(made<ov::op::v1::Power>(x, real(2)), numbers({-1}), true);
  const Value root = made<ov::op::v0::Sqrt>(made<ov::op::v1::Add>(mean, real(config_.rms_norm_eps)));
  const Value normed = made<ov::op::v1::Multiply>(x, made<ov::op::v1::Divide>(real(1), root));
  RIDGE_ASSIGN(const Value weight, vector(name + ".weight", size));
  return made<ov::op::v1::Multiply>(normed, weight);
}

// x · cos + (−x₂, x₁) · sin, with x₁ and x₂ the halves of each head.
Value Builder::rotate(const Value& x) {
  const auto half = config_.head_dim / 2;
  const Value first = made<ov::op::v8::Slice>(x, numbers({0}), numbers({half}), numbers({1}), numbers({3}));
  const Value second = made<ov::op::v8::Slice>(x, numbers({half}), numbers({2 * half}), numbers({1}), numbers({3}));
  const Value negative =
      made<ov::op::v1::Multiply>(second, made<ov::op::v0::Constant>(ov::element::f32, ov::Shape{1, 1, 1, 1}, -1.0F));
  const Value turned = made<ov::op::v0::Concat>(ov::OutputVector{negative, first}, -1);
  return made<ov::op::v1::Add>(made<ov::op::v1::Multiply>(x, cos_), made<ov::op::v1::Multiply>(turned, sin_));
}

// Turns a projection's [batch, token, head · head_dim] into [batch, head, token, head_dim]. `name`: "…q", "…q_norm".
Result<Value> Builder::heads(const Value& flat, const std::string& name, int64_t count, bool rotated) {
  Value split = reshaped(flat, {0, 0, count, config_.head_dim});
  if (!rotated) return swapped(split);
  if (config_.qk_norm) {
    RIDGE_ASSIGN(split, norm(split, name + "_norm", config_.head_dim));
  }
  return rotate(swapped(split));
}

// Puts earlier tokens before it. A variable's content becomes the cache's blocks.
Value Builder::cached(const Value& now, const std::string& name) {
  const ov::PartialShape shape{-1, config_.kv_heads, -1, config_.head_dim};
  auto variable = std::make_shared<ov::op::util::Variable>(ov::op::util::VariableInfo{shape, ov::element::f32, name});
  const Value none = made<ov::op::v0::Constant>(
      ov::element::f32, ov::Shape{1, static_cast<size_t>(config_.kv_heads), 0, static_cast<size_t>(config_.head_dim)},
      std::vector<float>());
  const Value past = made<ov::op::v8::Gather>(made<ov::op::v6::ReadValue>(none, variable), beam_, number(0));
  const Value all = made<ov::op::v0::Concat>(ov::OutputVector{past, now}, 2);
  sinks_.push_back(std::make_shared<ov::op::v6::Assign>(all, variable));
  return all;
}

// Repeats each head of keys or values for the heads that share it.
Value Builder::repeated(const Value& x) {
  const int64_t times = config_.heads / config_.kv_heads;
  if (times == 1) return x;
  const Value wide = made<ov::op::v3::Broadcast>(made<ov::op::v0::Unsqueeze>(x, number(2)),
                                                 numbers({1, 1, times, 1, 1}), ov::op::BroadcastType::BIDIRECTIONAL);
  return reshaped(wide, {0, config_.heads, -1, config_.head_dim});
}

// [batch, token, heads · head_dim], before the output projection; from the projections.
Result<Value> Builder::attention(std::span<const Value> flat, const std::string& layer) {
  const std::string name = layer + "self_attn.";
  RIDGE_ASSIGN(const Value query, heads(flat[0], name + "q", config_.heads, true));
  RIDGE_ASSIGN(const Value key, heads(flat[1], name + "k", config_.kv_heads, true));
  RIDGE_ASSIGN(const Value value, heads(flat[2], name + "v", config_.kv_heads, false));
  const Value result = made<ov::op::v13::ScaledDotProductAttention>(
      query, repeated(cached(key, name + "key")), repeated(cached(value, name + "value")), mask_, false);
  return reshaped(swapped(result), {0, 0, config_.heads * config_.head_dim});
}

Result<Value> Builder::feed_forward(const Value& x, const LayerParts& parts) {
  RIDGE_ASSIGN(const Value gate, linear(x, parts.gate, config_.hidden));
  RIDGE_ASSIGN(const Value up, linear(x, parts.up, config_.hidden));
  const Value gated = made<ov::op::v1::Multiply>(made<ov::op::v4::Swish>(gate), up);
  return linear(gated, parts.down, config_.intermediate);
}

Result<Value> Builder::layer(const Value& input, int64_t index) {
  const LayerParts parts(config_, index);
  RIDGE_ASSIGN(const Value normed, norm(input, parts.input_norm, config_.hidden));
  std::vector<Value> flat;
  for (const Linear& part : parts.projections) {
    RIDGE_ASSIGN(Value projected, linear(normed, part, config_.hidden));
    flat.push_back(std::move(projected));
  }
  RIDGE_ASSIGN(Value attended, attention(flat, parts.layer));
  Value x = input;
  if (index == config_.layers - 1) {  // nothing reads the other tokens any more
    attended = sampled(attended);
    x = sampled(x);
  }
  RIDGE_ASSIGN(const Value projected, linear(attended, parts.output, config_.heads * config_.head_dim));
  x = made<ov::op::v1::Add>(x, projected);
  RIDGE_ASSIGN(const Value between, norm(x, parts.norm, config_.hidden));
  RIDGE_ASSIGN(const Value fed, feed_forward(between, parts));
  return made<ov::op::v1::Add>(x, fed);
}

// Computes the logits from the embedded tokens.
Result<Value> Builder::layers(Value x) {
  for (int64_t i = 0; i < config_.layers; ++i) {
    RIDGE_ASSIGN(x, layer(x, i));
  }
  RIDGE_ASSIGN(x, norm(x, "model.norm", config_.hidden));
  return linear(x, head(), config_.hidden);
}

// The same with the products packed; a tied output matrix too, because every step reads all of it.
Result<Value> Builder::packed_layers(Value x) {
  RIDGE_ASSIGN(ov::OutputVector flat, block({x}, 0));
  for (int64_t i = 0; i < config_.layers; ++i) {
    if (i > 0) {
      x = flat.front();
      flat.erase(flat.begin());
    }
    RIDGE_ASSIGN(Value attended, attention(flat, LayerParts(config_, i).layer));
    const bool last = i == config_.layers - 1;
    RIDGE_ASSIGN(flat, last ? block({sampled(x), sampled(attended)}, i + 1) : block({x, attended}, i + 1));
  }
  return flat.front();
}

// Nodes before the attention of layer `index`, from the one before it on.
Result<ov::OutputVector> Builder::block(const ov::OutputVector& inputs, int64_t index) {
  auto weights = std::make_shared<BlockWeights>();
  weights->epsilon = static_cast<float>(config_.rms_norm_eps);
  if (index > 0) {
    const LayerParts parts(config_, index - 1);
    BlockWeights::Layer& layer = weights->layer.emplace();
    RIDGE_ASSIGN(layer.output, packed(parts.output, config_.heads * config_.head_dim));
    RIDGE_ASSIGN(layer.norm, read_vector(parts.norm + ".weight", config_.hidden));
    RIDGE_ASSIGN(layer.gate, packed(parts.gate, config_.hidden));
    RIDGE_ASSIGN(layer.up, packed(parts.up, config_.hidden));
    RIDGE_ASSIGN(layer.down, packed(parts.down, config_.intermediate));
  }
  weights->last = index == config_.layers;
  const LayerParts next(config_, index);
  RIDGE_ASSIGN(weights->norm,
               read_vector(weights->last ? "model.norm.weight" : next.input_norm + ".weight", config_.hidden));
  const Linear logits = head();
  for (const Linear& part : weights->last ? std::span(&logits, 1) : std::span<const Linear>(next.projections)) {
    RIDGE_ASSIGN(PackedLinear linear, packed(part, config_.hidden));
    weights->products.push_back(std::move(linear));
  }
  weights_->release_pages();
  return std::make_shared<PackedBlock>(inputs, std::move(weights))->outputs();
}

Result<DecoderGraph> Builder::build() {
  const Value tokens = parameter("input_ids", ov::element::i64, {-1, -1})->output(0);
  const Value attended = parameter("attention_mask", ov::element::i64, {-1, -1})->output(0);
  beam_ = parameter("beam_idx", ov::element::i32, {-1})->output(0);
  // The pass wants a mask and drops it: its attention is causal.
  mask_ = made<ov::op::v0::Convert>(made<ov::op::v0::Unsqueeze>(attended, numbers({1, 2})), ov::element::f32);
  cos_ = parameter(kRotaryCos, ov::element::f32, {-1, 1, -1, config_.head_dim})->output(0);
  sin_ = parameter(kRotarySin, ov::element::f32, {-1, 1, -1, config_.head_dim})->output(0);
  sampled_rows_ = parameter(kSampledRows, ov::element::i32, {-1})->output(0);

  RIDGE_ASSIGN(const checkpoint::Weight embedding,
               weights_->find("model.embed_tokens.weight", {config_.vocabulary, config_.hidden}));
  const Value table = constant(embedding, form_ == WeightFormat::kFp32 ? WeightFormat::kFp32 : WeightFormat::kBf16);
  Value x = made<ov::op::v8::Gather>(table, tokens, number(0));
  if (x.get_element_type() != ov::element::f32) x = made<ov::op::v0::Convert>(x, ov::element::f32);
  RIDGE_ASSIGN(x, packed_ ? packed_layers(x) : layers(x));
  auto result = std::make_shared<ov::op::v0::Result>(x);
  result->output(0).set_names({kLogits});
  auto model = std::make_shared<ov::Model>(ov::ResultVector{result}, sinks_, parameters_, config_.kind);
  return DecoderGraph{std::move(model), weight_bytes_};
}

int64_t count(const ov::Model& model, std::string_view type) {
  int64_t found = 0;
  for (const auto& node : model.get_ops()) found += node->get_type_name() == type ? 1 : 0;
  return found;
}

// The pass throws where a graph has no attention that it knows.
Status page_attention(const std::shared_ptr<ov::Model>& model, int64_t layers) {
  const int64_t attentions = count(*model, "ScaledDotProductAttention"), caches = count(*model, "ReadValue");
  if (attentions > 0 && caches > 0) {
    ov::pass::Manager manager;
    manager.register_pass<ov::pass::SDPAToPagedAttention>();
    manager.run_passes(model);
  }
  const int64_t paged = count(*model, "PagedAttentionExtension");
  if (paged == layers) return {};
  return unsupported("OpenVINO's pass for paged attention turned " + std::to_string(paged) + " of " +
                     std::to_string(layers) + " layers; the graph has " + std::to_string(attentions) +
                     " ScaledDotProductAttention and " + std::to_string(caches) + " states (ReadValue)");
}

// optimum-intel, export of text-generation-with-past.
constexpr std::pair<const char*, ov::element::Type_t> kGraphInputs[] = {{"input_ids", ov::element::Type_t::i64},
                                                                        {"attention_mask", ov::element::Type_t::i64},
                                                                        {"position_ids", ov::element::Type_t::i64},
                                                                        {"beam_idx", ov::element::Type_t::i32}};

// The pass finds parameters by their friendly names.
Status check_inputs(const ov::Model& model) {
  std::string names;
  size_t known = 0;
  for (const auto& parameter : model.get_parameters()) {
    const std::string& name = parameter->get_friendly_name();
    const ov::element::Type type = parameter->get_element_type();
    names += (names.empty() ? "" : ", ") + name + " " + type.get_type_name();
    for (const auto& [wanted, wanted_type] : kGraphInputs) known += name == wanted && type == wanted_type ? 1 : 0;
  }
  if (known == std::size(kGraphInputs) && model.get_parameters().size() == known) return {};
  return unsupported("the graph's inputs are " + names +
                     "; those of a decoder with a cache are input_ids i64, attention_mask i64, position_ids i64, "
                     "beam_idx i32");
}

// Logits of the sampled rows only, from the last matrix multiplication on. Later nodes work on single values.
Status sample_rows(ov::Model& model, int64_t vocabulary) {
  if (model.get_results().size() != 1)
    return unsupported("the graph has " + std::to_string(model.get_results().size()) + " outputs, not logits alone");
  const auto& result = model.get_results().front();
  const ov::PartialShape& shape = result->get_output_partial_shape(0);
  if (shape.rank().is_dynamic() || shape.size() != 3 || shape[2] != ov::Dimension(vocabulary))
    return unsupported("the graph's output is " + shape.to_string() + ", not logits of " + std::to_string(vocabulary) +
                       " tokens (vocab_size)");
  constexpr std::string_view kBetween[] = {"Convert", "Multiply", "Divide", "Tanh", "Add"};
  std::shared_ptr<ov::Node> node = result->get_input_node_shared_ptr(0);
  while (std::ranges::count(kBetween, std::string_view(node->get_type_name())) > 0)
    node = node->get_input_node_shared_ptr(0);
  if (!ov::is_type<ov::op::v0::MatMul>(node))
    return unsupported(std::string("the graph has no MatMul before its output, but ") + node->get_type_name() + " '" +
                       node->get_friendly_name() + "'");
  auto rows = std::make_shared<ov::op::v0::Parameter>(ov::element::i32, ov::PartialShape{-1});
  rows->output(0).set_names({kSampledRows});
  model.add_parameters({rows});
  node->input(0).replace_source_output(made<ov::op::v8::Gather>(node->input_value(0), rows->output(0), number(0)));
  if (result->get_element_type() != ov::element::f32)
    result->input(0).replace_source_output(made<ov::op::v0::Convert>(result->input_value(0), ov::element::f32));
  model.validate_nodes_and_infer_types();
  return {};
}

// True if rows of it are all that is read, as of an embedding: through what puts a compressed one together.
bool only_gathered(const Value& value) {
  constexpr std::string_view kDecompression[] = {"Convert", "Subtract", "Multiply", "Reshape"};
  return std::ranges::all_of(value.get_target_inputs(), [&](const ov::Input<ov::Node>& input) {
    const std::string_view type = input.get_node()->get_type_name();
    if (type == "Gather") return input.get_index() == 0;
    return std::ranges::count(kDecompression, type) > 0 && only_gathered(input.get_node()->output(0));
  });
}

}  // namespace

Result<DecoderGraph> build_decoder(const checkpoint::DecoderConfig& config,
                                   std::shared_ptr<const checkpoint::Weights> weights, WeightFormat form, bool packed,
                                   int threads) {
  RIDGE_ASSIGN(DecoderGraph graph, Builder(config, std::move(weights), form, packed, threads).build());
  RIDGE_TRY(page_attention(graph.model, config.layers));
  return graph;
}

Result<DecoderGraph> read_decoder(const checkpoint::DecoderConfig& config, const std::string& folder) {
  DecoderGraph graph{core().read_model(checkpoint::graph_file(folder))};
  RIDGE_TRY(check_inputs(*graph.model));
  RIDGE_TRY(sample_rows(*graph.model, config.vocabulary));
  for (const auto& node : graph.model->get_ops())
    if (const auto constant = ov::as_type_ptr<ov::op::v0::Constant>(node); constant && !only_gathered(constant))
      graph.weight_bytes += static_cast<int64_t>(constant->get_byte_size());
  RIDGE_TRY(page_attention(graph.model, config.layers));
  return graph;
}

}  // namespace ridge::engine::openvino::plugin
