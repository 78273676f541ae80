// For tests of decoders: a small checkpoint with seeded weights, and its forward pass in double precision, written as
// plainly as the definition.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/half.h"
#include "base/json.h"
#include "base/random.h"
#include "checkpoint/decoder_config.h"
#include "checkpoint/test_gguf.h"

namespace ridge::engine {

class TestCheckpoint {
 public:
  // Two layers, four heads that share two of keys and values. `changes` to config.json.
  explicit TestCheckpoint(const Json& changes = Json::object()) {
    json_ = {{"model_type", "llama"},    {"hidden_size", 64},
             {"num_hidden_layers", 2},   {"num_attention_heads", 4},
             {"num_key_value_heads", 2}, {"head_dim", 32},
             {"vocab_size", 96},         {"max_position_embeddings", 256},
             {"rms_norm_eps", 1e-5},     {"rope_theta", 10000.0},
             {"intermediate_size", 96},  {"tie_word_embeddings", false}};
    json_.update(changes);
    const Result<checkpoint::DecoderConfig> config = checkpoint::decoder_config_of(json_, nullptr);
    EXPECT_TRUE(config.ok()) << (config ? "" : config.error().message);
    config_ = *config;
    const auto& c = config_;
    add("model.embed_tokens.weight", {c.vocabulary, c.hidden}, 1);
    for (int64_t i = 0; i < c.layers; ++i) {
      const std::string layer = layer_name(i), attention = layer + "self_attn.";
      add(layer + "input_layernorm.weight", {c.hidden}, 0.2, 1);
      add(layer + "post_attention_layernorm.weight", {c.hidden}, 0.2, 1);
      for (const auto& [name, count] : {std::pair{"q", c.heads}, {"k", c.kv_heads}, {"v", c.kv_heads}}) {
        add(attention + name + "_proj.weight", {count * c.head_dim, c.hidden}, 0.25);
        if (c.qkv_bias) add(attention + name + "_proj.bias", {count * c.head_dim}, 0.5);
        if (c.qk_norm && name != std::string("v")) add(attention + name + "_norm.weight", {c.head_dim}, 0.2, 1);
      }
      add(attention + "o_proj.weight", {c.hidden, c.heads * c.head_dim}, 0.15);
      if (c.output_bias) add(attention + "o_proj.bias", {c.hidden}, 0.5);
      add(layer + "mlp.gate_proj.weight", {c.intermediate, c.hidden}, 0.2);
      add(layer + "mlp.up_proj.weight", {c.intermediate, c.hidden}, 0.2);
      add(layer + "mlp.down_proj.weight", {c.hidden, c.intermediate}, 0.2);
    }
    add("model.norm.weight", {c.hidden}, 0.2, 1);
    if (!c.tied_embeddings) add("lm_head.weight", {c.vocabulary, c.hidden}, 0.2);
  }

  const checkpoint::DecoderConfig& config() const { return config_; }
  void remove(const std::string& tensor) { tensors_.erase(tensor); }

  // BF16 rounds the weights; logits() uses the weights as they were last written.
  void write(const std::string& folder, const std::string& dtype = "F32") {
    Json header = Json::object();
    std::string data;
    for (auto& [name, tensor] : tensors_) {
      const size_t begin = data.size();
      for (float& value : tensor.values) {
        if (dtype == "BF16") {
          const uint16_t half = to_bf16(value);
          value = from_bf16(half);
          data.append(reinterpret_cast<const char*>(&half), sizeof half);
        } else {
          data.append(reinterpret_cast<const char*>(&value), sizeof value);
        }
      }
      header[name] = {{"dtype", dtype}, {"shape", tensor.shape}, {"data_offsets", {begin, data.size()}}};
    }
    std::string text = header.dump();
    text.resize((text.size() + 7) / 8 * 8, ' ');
    const uint64_t length = text.size();
    write_config(folder);
    EXPECT_TRUE(write_file_atomically(folder + "/model.safetensors",
                                      std::string(reinterpret_cast<const char*>(&length), sizeof length) + text + data)
                    .ok());
  }

  void write_config(const std::string& folder) const {
    EXPECT_TRUE(write_file_atomically(folder + "/config.json", json_.dump()).ok());
  }

  // A tensor's shape and bytes, with matrices of type F32, F16 or BF16; logits() is of the values that these have.
  std::pair<Shape, std::string> stored(const std::string& name, std::string_view type) {
    Stored& tensor = tensors_.at(name);
    return {tensor.shape, gguf_form(tensor.shape.size() == 2 ? type : "F32").store(tensor.values)};
  }

  // Writes GGUF, with matrices of type F32, F16, BF16, Q8_0 or Q4_0; logits() uses the values that the file then has.
  void write_gguf(const std::string& path, std::string_view type) {
    const std::string kind = config_.kind == "mistral" ? "llama" : config_.kind, prefix = kind + ".";
    checkpoint::TestGguf file;
    file.text("general.architecture", kind)
        .number(prefix + "context_length", static_cast<uint32_t>(config_.context))
        .number(prefix + "embedding_length", static_cast<uint32_t>(config_.hidden))
        .number(prefix + "block_count", static_cast<uint32_t>(config_.layers))
        .number(prefix + "feed_forward_length", static_cast<uint32_t>(config_.intermediate))
        .number(prefix + "attention.head_count", static_cast<uint32_t>(config_.heads))
        .number(prefix + "attention.head_count_kv", static_cast<uint32_t>(config_.kv_heads))
        .number(prefix + "attention.key_length", static_cast<uint32_t>(config_.head_dim))
        .real(prefix + "attention.layer_norm_rms_epsilon", static_cast<float>(config_.rms_norm_eps));
    for (auto& [name, tensor] : tensors_) {
      const bool matrix = tensor.shape.size() == 2;
      const GgufForm form = matrix ? gguf_form(type) : gguf_form("F32");
      const auto columns = static_cast<size_t>(matrix ? tensor.shape[1] : 1), rows = tensor.values.size() / columns;
      std::vector<std::string> stored(rows);
      for (size_t i = 0; i < rows; ++i) stored[i] = form.store(std::span(tensor.values).subspan(i * columns, columns));
      const bool keys = name.find("k_proj") != std::string::npos;
      if (kind == "llama" && (keys || name.find("q_proj") != std::string::npos)) {  // halves of heads in turns
        const std::vector<std::string> given = stored;
        const auto head = static_cast<size_t>(config_.head_dim);
        for (size_t i = 0; i < rows; ++i)
          stored[i / head * head + i % head % (head / 2) * 2 + i % head / (head / 2)] = given[i];
      }
      std::string data;
      for (const std::string& row : stored) data += row;
      file.tensor(gguf_name(name), tensor.shape, form.number, data);
    }
    EXPECT_TRUE(write_file_atomically(path, file.bytes()).ok());
  }

  // After each token: [token][vocabulary].
  std::vector<std::vector<double>> logits(const std::vector<int32_t>& tokens) const {
    const auto& c = config_;
    std::vector<Row> x;
    for (const int32_t token : tokens) x.push_back(row_of("model.embed_tokens.weight", token, c.hidden));
    for (int64_t i = 0; i < c.layers; ++i) run_layer(layer_name(i), x);
    std::vector<Row> all;
    for (const Row& each : x)
      all.push_back(product(c.tied_embeddings ? "model.embed_tokens.weight" : "lm_head.weight",
                            normed(each, "model.norm.weight")));
    return all;
  }

 private:
  using Row = std::vector<double>;
  struct Stored {
    Shape shape;
    std::vector<float> values;
  };

  // The bytes of a row; what they stand for replaces it.
  struct GgufForm {
    uint32_t number;
    std::string (*store)(std::span<float> row);
  };
  template <typename T>
  static std::string bytes_of(T value) {
    return checkpoint::TestGguf::raw(value);
  }
  static GgufForm gguf_form(std::string_view type) {
    if (type == "F16")
      return {1, [](std::span<float> row) {
                std::string bytes;
                for (float& value : row) bytes += bytes_of(to_fp16(value)), value = from_fp16(to_fp16(value));
                return bytes;
              }};
    if (type == "BF16")
      return {30, [](std::span<float> row) {
                std::string bytes;
                for (float& value : row) bytes += bytes_of(to_bf16(value)), value = from_bf16(to_bf16(value));
                return bytes;
              }};
    if (type == "Q8_0")
      return {8, [](std::span<float> row) {
                std::string bytes;
                for (size_t at = 0; at < row.size(); at += 32) {
                  const uint16_t scale = to_fp16(largest(row.subspan(at, 32)) / 127);
                  bytes += bytes_of(scale);
                  for (float& value : row.subspan(at, 32)) {
                    const auto integer =
                        static_cast<int8_t>(std::lround(std::clamp(value / from_fp16(scale), -127.0F, 127.0F)));
                    bytes += bytes_of(integer);
                    value = static_cast<float>(integer) * from_fp16(scale);
                  }
                }
                return bytes;
              }};
    if (type == "Q4_0")
      return {2, [](std::span<float> row) {
                std::string bytes;
                for (size_t at = 0; at < row.size(); at += 32) {
                  const uint16_t scale = to_fp16(largest(row.subspan(at, 32)) / 8);
                  bytes += bytes_of(scale) + std::string(16, '\0');
                  for (size_t i = 0; i < 32; ++i) {
                    float& value = row[at + i];
                    const auto integer =
                        static_cast<int>(std::lround(std::clamp(value / from_fp16(scale), -8.0F, 7.0F)));
                    bytes[bytes.size() - 16 + i % 16] |= static_cast<char>((integer + 8) << (i < 16 ? 0 : 4));
                    value = static_cast<float>(integer) * from_fp16(scale);
                  }
                }
                return bytes;
              }};
    EXPECT_EQ(type, "F32");
    return {0, [](std::span<float> row) {
              return std::string(reinterpret_cast<const char*>(row.data()), row.size_bytes());
            }};
  }
  static float largest(std::span<const float> values) {
    float most = 0;
    for (const float value : values) most = std::max(most, std::abs(value));
    return most;
  }
  static std::string gguf_name(std::string name) {
    static const std::pair<std::string_view, std::string_view> kParts[] = {{"model.layers.", "blk."},
                                                                           {"model.embed_tokens", "token_embd"},
                                                                           {"model.norm", "output_norm"},
                                                                           {"lm_head", "output"},
                                                                           {"input_layernorm", "attn_norm"},
                                                                           {"post_attention_layernorm", "ffn_norm"},
                                                                           {"self_attn.o_proj", "attn_output"},
                                                                           {"self_attn.", "attn_"},
                                                                           {"mlp.", "ffn_"},
                                                                           {"_proj", ""}};
    for (const auto& [ours, theirs] : kParts)
      if (const size_t at = name.find(ours); at != std::string::npos) name.replace(at, ours.size(), theirs);
    return name;
  }

  static std::string layer_name(int64_t index) { return "model.layers." + std::to_string(index) + "."; }

  // Uniform in mean ± spread.
  void add(const std::string& name, const Shape& shape, double spread, double mean = 0) {
    Stored& tensor = tensors_[name];
    tensor.shape = shape;
    tensor.values.resize(static_cast<size_t>(*element_count(shape)));
    for (float& value : tensor.values) {
      const double uniform = static_cast<double>(split_mix(kGoldenGamma * ++drawn_) >> 11) * 0x1p-52 - 1;
      value = static_cast<float>(mean + spread * uniform);
    }
  }

  const std::vector<float>& values(const std::string& name) const { return tensors_.at(name).values; }
  Row row_of(const std::string& name, int64_t index, int64_t columns) const {
    const auto begin = values(name).begin() + index * columns;
    return Row(begin, begin + columns);
  }
  Row product(const std::string& name, const Row& x) const {
    const std::vector<float>& matrix = values(name);
    Row result(matrix.size() / x.size(), 0);
    for (size_t i = 0; i < matrix.size(); ++i) result[i / x.size()] += double{matrix[i]} * x[i % x.size()];
    const std::string bias = name.substr(0, name.rfind('.')) + ".bias";
    if (tensors_.contains(bias))
      for (size_t i = 0; i < result.size(); ++i) result[i] += values(bias)[i];
    return result;
  }
  Row normed(Row x, const std::string& weight) const {
    double sum = 0;
    for (const double value : x) sum += value * value;
    const double root = std::sqrt(sum / static_cast<double>(x.size()) + config_.rms_norm_eps);
    for (size_t i = 0; i < x.size(); ++i) x[i] = x[i] / root * values(weight)[i];
    return x;
  }
  // Heads of one token's projection, with norm and rotation.
  std::vector<Row> heads(const std::string& name, const Row& x, size_t position, bool rotated) const {
    const Row flat = product(name + "_proj.weight", x);
    const auto width = static_cast<size_t>(config_.head_dim), half = width / 2;
    const std::vector<double> frequencies = checkpoint::rope_frequencies(config_.rope, config_.head_dim);
    std::vector<Row> all;
    for (size_t at = 0; at < flat.size(); at += width) {
      Row head(flat.begin() + static_cast<std::ptrdiff_t>(at), flat.begin() + static_cast<std::ptrdiff_t>(at + width));
      if (rotated && config_.qk_norm) head = normed(head, name + "_norm.weight");
      if (rotated)
        for (size_t i = 0; i < half; ++i) {
          const double angle = static_cast<double>(position) * frequencies[i], a = head[i], b = head[i + half];
          head[i] = a * std::cos(angle) - b * std::sin(angle);
          head[i + half] = b * std::cos(angle) + a * std::sin(angle);
        }
      all.push_back(head);
    }
    return all;
  }
  static Row attended(const Row& query, const std::vector<std::vector<Row>>& keys,
                      const std::vector<std::vector<Row>>& values, size_t head, size_t count) {
    Row weights(count), result(query.size(), 0);
    double sum = 0;
    for (size_t i = 0; i < count; ++i) {
      double score = 0;
      for (size_t d = 0; d < query.size(); ++d) score += query[d] * keys[i][head][d];
      sum += weights[i] = std::exp(score / std::sqrt(static_cast<double>(query.size())));
    }
    for (size_t i = 0; i < count; ++i)
      for (size_t d = 0; d < query.size(); ++d) result[d] += weights[i] / sum * values[i][head][d];
    return result;
  }
  void run_layer(const std::string& layer, std::vector<Row>& x) const {
    const std::string name = layer + "self_attn.";
    std::vector<std::vector<Row>> queries, keys, all_values;
    for (size_t t = 0; t < x.size(); ++t) {
      const Row in = normed(x[t], layer + "input_layernorm.weight");
      queries.push_back(heads(name + "q", in, t, true));
      keys.push_back(heads(name + "k", in, t, true));
      all_values.push_back(heads(name + "v", in, t, false));
    }
    const auto shared = static_cast<size_t>(config_.heads / config_.kv_heads);
    for (size_t t = 0; t < x.size(); ++t) {
      Row joined;
      for (size_t head = 0; head < queries[t].size(); ++head) {
        const Row part = attended(queries[t][head], keys, all_values, head / shared, t + 1);
        joined.insert(joined.end(), part.begin(), part.end());
      }
      add_to(x[t], product(name + "o_proj.weight", joined));
      const Row in = normed(x[t], layer + "post_attention_layernorm.weight");
      Row gate = product(layer + "mlp.gate_proj.weight", in);
      const Row up = product(layer + "mlp.up_proj.weight", in);
      for (size_t i = 0; i < gate.size(); ++i) gate[i] = gate[i] / (1 + std::exp(-gate[i])) * up[i];
      add_to(x[t], product(layer + "mlp.down_proj.weight", gate));
    }
  }
  static void add_to(Row& x, const Row& y) {
    for (size_t i = 0; i < x.size(); ++i) x[i] += y[i];
  }

  Json json_;
  checkpoint::DecoderConfig config_;
  std::map<std::string, Stored> tensors_;
  uint64_t drawn_ = 0;
};

}  // namespace ridge::engine
