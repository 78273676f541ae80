#include "serve/encoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "base/json.h"
#include "model_config.pb.h"

namespace ridge::serve {
namespace {

namespace fs = std::filesystem;
using InputKind = EncoderInput::Kind;

constexpr int64_t kRowsWithoutLimit =
    32;  // of a request to a model that does not batch, where its first dimension is open

struct KnownInput {
  std::string_view name;
  InputKind kind;
  bool needed;
};
constexpr std::array kKnownInputs = {KnownInput{"input_ids", InputKind::kTokens, true},
                                     KnownInput{"attention_mask", InputKind::kMask, true},
                                     KnownInput{"token_type_ids", InputKind::kSegments, false}};

// Names by exporters of sentence-transformers and transformers; the first that the model has counts.
struct KnownOutput {
  std::string_view name;
  size_t rank;
};
constexpr std::array kKnownOutputs = {KnownOutput{"sentence_embedding", 2}, KnownOutput{"last_hidden_state", 3},
                                      KnownOutput{"token_embeddings", 3}, KnownOutput{"pooled", 2}};

Error no_encoder(std::string why) { return {Code::kUnsupported, std::move(why)}; }

Shape shape_of(const ModelSettings& settings, const TensorSettings& tensor) {
  Shape shape = tensor.dims;
  if (settings.batching()) shape.insert(shape.begin(), -1);
  return shape;
}

Status add_encoder_inputs(const ModelSettings& settings, Encoder& encoder) {
  for (const TensorSettings& tensor : settings.inputs) {
    const auto* known = std::ranges::find(kKnownInputs, std::string_view(tensor.name), &KnownInput::name);
    if (known == kKnownInputs.end()) {
      if (tensor.optional) continue;
      return no_encoder(fmt::format("it has the input '{}'; encoders have input_ids, attention_mask and token_type_ids",
                                    tensor.name));
    }
    const Shape shape = shape_of(settings, tensor);
    const bool integers = tensor.type == DataType::kInt64 || tensor.type == DataType::kInt32;
    const bool first = encoder.inputs.empty();
    const int64_t length = shape.size() == 2 && shape[1] > 0 ? shape[1] : 0;
    if (!integers || shape.size() != 2 || (shape[0] != -1 && shape[0] != 1) ||
        (!first && length != encoder.fixed_length))
      return no_encoder(
          fmt::format("its input '{}' is {} {}; an encoder's are INT64 or INT32 [-1,-1], or all of the "
                      "same fixed length",
                      tensor.name, data_type_name(tensor.type), shape_text(shape)));
    encoder.fixed_length = length;
    const int64_t rows = settings.batching() ? settings.max_batch_size : shape[0] == 1 ? 1 : kRowsWithoutLimit;
    encoder.most_rows = first ? rows : std::min(encoder.most_rows, rows);
    encoder.inputs.push_back({tensor.name, known->kind, tensor.type});
  }
  for (const KnownInput& known : kKnownInputs)
    if (known.needed && std::ranges::find(encoder.inputs, known.kind, &EncoderInput::kind) == encoder.inputs.end())
      return no_encoder(fmt::format("it has no input '{}'", known.name));
  return {};
}

// True if the output has one vector for each token.
Result<bool> choose_output(const ModelSettings& settings, Encoder& encoder) {
  for (const KnownOutput& known : kKnownOutputs) {
    const auto tensor = std::ranges::find(settings.outputs, std::string(known.name), &TensorSettings::name);
    if (tensor == settings.outputs.end()) continue;
    const Shape shape = shape_of(settings, *tensor);
    const bool fractions =
        tensor->type == DataType::kFp32 || tensor->type == DataType::kFp16 || tensor->type == DataType::kBf16;
    if (!fractions || shape.size() != known.rank)
      return no_encoder(fmt::format("its output '{}' is {} {}; an encoder's is FP32, FP16 or BF16 with {} dimensions",
                                    known.name, data_type_name(tensor->type), shape_text(shape), known.rank));
    encoder.output = known.name;
    return known.rank == 3;
  }
  return no_encoder("it has no output sentence_embedding, last_hidden_state, token_embeddings or pooled");
}

// Empty object if the file is missing.
Result<Json> document(const std::string& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return Json::object();
  RIDGE_ASSIGN(const std::string text, read_file(path));
  RIDGE_ASSIGN(Json json, parse_json(text, path));
  if (!json.is_object()) return invalid(path + ": should be a JSON object");
  return json;
}

// https://github.com/UKPLab/sentence-transformers, models/Pooling.py: `pooling_mode_…` flags. Several of them are
// vectors side by side. Absent: there is no such file.
Result<std::optional<Pooling>> pooling_of_file(const std::string& path) {
  RIDGE_ASSIGN(const Json json, document(path));
  std::optional<Pooling> pooling;
  for (const auto& [key, value] : json.items()) {
    if (!key.starts_with("pooling_mode_") || !value.is_boolean() || !value.get<bool>()) continue;
    const bool cls = key == "pooling_mode_cls_token";
    if (pooling || (!cls && key != "pooling_mode_mean_tokens"))
      return no_encoder(fmt::format("{} wants {}; ridge pools by mean or by cls, one of them", path, key));
    pooling = cls ? Pooling::kCls : Pooling::kMean;
  }
  if (!json.empty() && !pooling) return no_encoder(path + " names no way of pooling");
  return pooling;
}

Result<Pooling> pooling_of(const inference::ModelConfig& config, const std::string& folder) {
  const std::string path = folder + "/1_Pooling/config.json";
  RIDGE_ASSIGN(const std::optional<Pooling> of_file, pooling_of_file(path));
  const auto parameter = config.parameters().find("ridge_pooling");
  if (parameter == config.parameters().end()) return of_file.value_or(Pooling::kMean);
  RIDGE_ASSIGN(const Pooling wanted, pooling_from_name(parameter->second.string_value()));
  if (!of_file || *of_file == wanted) return wanted;
  return invalid(path + " and the parameter ridge_pooling differ; remove the one that is wrong");
}

// The least of what the files say; fractions such as 1e30 are no limits. 0: nothing.
Result<int64_t> most_tokens_of(const std::string& folder) {
  constexpr std::array<std::pair<const char*, const char*>, 3> kLengths{
      {{"sentence_bert_config.json", "max_seq_length"},
       {"tokenizer_config.json", "model_max_length"},
       {"config.json", "max_position_embeddings"}}};
  int64_t least = 0;
  for (const auto& [file, key] : kLengths) {
    RIDGE_ASSIGN(const Json json, document(folder + "/" + file));
    const auto value = json.find(key);
    if (value == json.end() || !value->is_number_integer() || value->get<int64_t>() < 1) continue;
    least = least == 0 ? value->get<int64_t>() : std::min(least, value->get<int64_t>());
  }
  return least;
}

}  // namespace

Result<Pooling> pooling_from_name(const std::string& name) {
  if (name == "mean") return Pooling::kMean;
  if (name == "cls") return Pooling::kCls;
  return invalid(fmt::format("'{}' should be mean or cls", name));
}

Result<EncoderPtr> read_encoder(const inference::ModelConfig& config, const ModelSettings& settings,
                                const std::string& folder) {
  std::error_code error;
  const std::string path = folder + "/tokenizer.json";
  if (!fs::exists(path, error)) return Error{Code::kNotFound, "no tokenizer.json lies beside its file"};
  if (settings.sequences) return no_encoder("its requests are sequences");
  RIDGE_ASSIGN(const std::string json, read_file(path));
  Result<text::Tokenizer> tokenizer = text::Tokenizer::parse(json);
  if (!tokenizer) return wrap(std::move(tokenizer).error(), path);
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  auto encoder =
      std::make_shared<Encoder>(Encoder{.model = settings.name,
                                        .version = settings.version,
                                        .created = std::chrono::duration_cast<std::chrono::seconds>(since).count(),
                                        .tokenizer = std::move(*tokenizer)});
  RIDGE_TRY(add_encoder_inputs(settings, *encoder));
  RIDGE_ASSIGN(const bool pools, choose_output(settings, *encoder));
  if (pools) {
    RIDGE_ASSIGN(encoder->pooling, pooling_of(config, folder));
    if (fs::exists(folder + "/2_Dense", error))
      return no_encoder(
          "a layer of sentence-transformers (2_Dense) lies beside it; export the model with its output "
          "sentence_embedding");
  }
  RIDGE_ASSIGN(encoder->most_tokens, most_tokens_of(folder));
  if (encoder->fixed_length > 0)
    encoder->most_tokens =
        encoder->most_tokens == 0 ? encoder->fixed_length : std::min(encoder->most_tokens, encoder->fixed_length);
  return EncoderPtr(std::move(encoder));
}

}  // namespace ridge::serve
