// BERT-Base, uncased: embeddings, 12 encoder layers, pooler, named as in transformers' BertModel and its exports.
// Devlin et al., BERT, 2018, section 3. 109,482,240 parameters (bert-base-uncased, BertModel with pooler).
#include <numeric>

#include "zoo/builder.h"
#include "zoo/models.h"
#include "zoo/shape_words.h"

namespace ridge::zoo {
namespace {

constexpr int64_t kHidden = 768;
constexpr int64_t kAttentionHeads = 12;
constexpr int64_t kHeadSize = kHidden / kAttentionHeads;
constexpr int64_t kLayers = 12;
constexpr int64_t kIntermediate = 3072;
constexpr int64_t kVocabulary = 30522;
constexpr int64_t kPositions = 512;
constexpr int64_t kTokenTypes = 2;
constexpr float kEpsilon = 1e-12F;
constexpr float kDeviation = 0.02F;        // initializer_range of the published configuration
constexpr float kMasked = -3.4028235e38F;  // least float: softmax gives exactly 0

Value embedding(GraphBuilder& b, const std::string& path, const Value& ids, int64_t rows) {
  return b.node(path, "Gather", {b.weight(path + ".weight", {rows, kHidden}, kDeviation), ids});
}

// position_ids[:, :sequence]
Value positions(GraphBuilder& b, const Value& input_ids) {
  const std::string path = "embeddings";
  std::vector<int64_t> ids(kPositions);
  std::iota(ids.begin(), ids.end(), 0);
  Value all = b.integer_table("embeddings.position_ids", {1, kPositions}, ids);
  Value length = b.node(path, "Gather", {b.node(path, "Shape", {input_ids}), b.integer(1)}, {{"axis", int64_t{0}}});
  Value end = b.node(path, "Unsqueeze", {length, b.integers({0})});
  return b.node(path, "Slice", {all, b.integers({0}), end, b.integers({1})});
}

Value embeddings(GraphBuilder& b, const Value& input_ids, const Value& token_type_ids) {
  Value words = embedding(b, "embeddings.word_embeddings", input_ids, kVocabulary);
  Value types = embedding(b, "embeddings.token_type_embeddings", token_type_ids, kTokenTypes);
  Value places = embedding(b, "embeddings.position_embeddings", positions(b, input_ids), kPositions);
  Value sum = b.add("embeddings", b.add("embeddings", words, types), places);
  return b.layer_norm("embeddings.LayerNorm", sum, kHidden, kEpsilon);
}

// [batch, sequence] of 1 and 0 → [batch, 1, 1, sequence] of 0 and kMasked.
Value additive_mask(GraphBuilder& b, const Value& attention_mask) {
  Value wide = b.node("mask", "Unsqueeze", {attention_mask, b.integers({1, 2})});
  Value real = b.node("mask", "Cast", {wide}, {{"to", int64_t{1}}});  // TensorProto.FLOAT
  return b.mul("mask", b.node("mask", "Sub", {b.real(1), real}), b.real(kMasked));
}

// [batch, sequence, hidden] → [batch, heads, sequence, head size], or with the last two swapped.
Value split_heads(GraphBuilder& b, const std::string& path, const Value& x, bool swapped) {
  Value split = b.reshape(path, x, {0, 0, kAttentionHeads, kHeadSize});
  return b.transpose(path, split, swapped ? std::vector<int64_t>{0, 2, 3, 1} : std::vector<int64_t>{0, 2, 1, 3});
}

Value attention(GraphBuilder& b, const std::string& path, const Value& x, const Value& mask) {
  const std::string self = path + ".self";
  Value query = split_heads(b, self, b.linear(self + ".query", x, kHidden, kHidden, kDeviation), false);
  Value key = split_heads(b, self, b.linear(self + ".key", x, kHidden, kHidden, kDeviation), true);
  Value value = split_heads(b, self, b.linear(self + ".value", x, kHidden, kHidden, kDeviation), false);
  Value scores = b.node(self, "Div", {b.node(self, "MatMul", {query, key}), b.real(8)});  // √head size
  Value share = b.node(self, "Softmax", {b.add(self, scores, mask)}, {{"axis", int64_t{-1}}});
  Value mixed = b.transpose(self, b.node(self, "MatMul", {share, value}), {0, 2, 1, 3});
  Value merged = b.reshape(self, mixed, {0, 0, kHidden});
  Value out = b.linear(path + ".output.dense", merged, kHidden, kHidden, kDeviation);
  return b.layer_norm(path + ".output.LayerNorm", b.add(path + ".output", out, x), kHidden, kEpsilon);
}

Value encoder_layer(GraphBuilder& b, const std::string& path, const Value& x, const Value& mask, const Value& result) {
  Value attended = attention(b, path + ".attention", x, mask);
  Value wide = b.linear(path + ".intermediate.dense", attended, kHidden, kIntermediate, kDeviation);
  Value narrow =
      b.linear(path + ".output.dense", b.gelu(path + ".intermediate", wide), kIntermediate, kHidden, kDeviation);
  return b.layer_norm(path + ".output.LayerNorm", b.add(path + ".output", narrow, attended), kHidden, kEpsilon, result);
}

}  // namespace

Blueprint bert_base(const ZooOptions& options) {
  const Dimension batch = batch_dimension(options);
  const Dimension sequence = sequence_dimension(options);
  GraphBuilder b("bert-base", options.opset);
  Value input_ids = b.input("input_ids", DataType::kInt64, {batch, sequence});
  Value attention_mask = b.input("attention_mask", DataType::kInt64, {batch, sequence});
  Value token_type_ids = b.input("token_type_ids", DataType::kInt64, {batch, sequence});
  Value mask = additive_mask(b, attention_mask);
  Value x = embeddings(b, input_ids, token_type_ids);
  for (int64_t layer = 0; layer < kLayers; ++layer)
    x = encoder_layer(b, "encoder.layer." + std::to_string(layer), x, mask,
                      layer + 1 == kLayers ? "last_hidden_state" : "");
  Value first = b.node("pooler", "Gather", {x, b.integer(0)}, {{"axis", int64_t{1}}});
  Value pooled =
      b.node("pooler", "Tanh", {b.gemm("pooler.dense", first, kHidden, kHidden, kLinearGain)}, {}, "pooler_output");
  b.output(x, DataType::kFp32, {batch, sequence, kHidden});
  b.output(pooled, DataType::kFp32, {batch, kHidden});
  return b.blueprint();
}

}  // namespace ridge::zoo
