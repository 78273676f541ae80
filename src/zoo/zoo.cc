#include "zoo/zoo.h"

#include <array>
#include <utility>

#include "zoo/language_model.h"
#include "zoo/models.h"
#include "zoo/writer.h"

namespace ridge::zoo {
namespace {

struct ModelRow {
  std::string_view name;
  Blueprint (*build)(const ZooOptions&);
  int64_t image_multiple;  // images are squares whose side is a multiple of this; 0: the model takes no images
  bool has_sequence;
  bool has_type;
  bool has_channels;
};

// Order of an error's list.
constexpr std::array<ModelRow, 6> kModels = {{
    {"resnet50", resnet50, 32, false, false, false},
    {"bert-base", bert_base, 0, true, false, false},
    {"yolov8x", yolov8x, 32, false, false, false},
    {"sd-unet", sd_unet, 64, false, false, true},
    {"mlp", mlp, 0, false, false, false},
    {"identity", identity, 0, false, true, false},
}};

// llama-90m: large enough that its weights do not stay in a cache, small enough for a test. llama-1b: the shape of
// TinyLlama 1.1B (TinyLlama/TinyLlama-1.1B-Chat-v1.0, config.json).
constexpr std::array<LanguageModel, 2> kLanguageModels = {{
    // name, layers, hidden, heads, kv_heads, intermediate, vocabulary, context, tied
    {"llama-90m", 12, 768, 12, 4, 2048, 16'384, 16'384, true},
    {"llama-1b", 22, 2048, 32, 4, 5632, 32'000, 2048, false},
}};

constexpr int64_t kOldestZooOpset = 17;  // the first with LayerNormalization
constexpr int64_t kNewestOpset = 23;
constexpr int64_t kLargestImage = 4096;
constexpr int64_t kLongestSequence = 512;  // BERT's position embeddings
constexpr int64_t kChannelMultiple = 32;   // groups of the normalisation

const LanguageModel* language_model(std::string_view name) {
  for (const LanguageModel& model : kLanguageModels)
    if (model.name == name) return &model;
  return nullptr;
}

Result<const ModelRow*> find_row(std::string_view name) {
  for (const ModelRow& row : kModels)
    if (row.name == name) return &row;
  std::string known;
  for (const ModelRow& row : kModels) known += (known.empty() ? "" : ", ") + std::string(row.name);
  for (const LanguageModel& model : kLanguageModels) known += ", " + std::string(model.name);
  return Error{Code::kNotFound, "there is no reference model '" + std::string(name) + "'; there are " + known};
}

Status check_image(const ModelRow& row, int64_t size) {
  if (size == 0) return {};
  const std::string name(row.name);
  if (row.image_multiple == 0) return invalid(name + " takes no images, so it has no image size");
  if (size < row.image_multiple || size % row.image_multiple != 0 || size > kLargestImage)
    return invalid("image size " + std::to_string(size) + ": " + name + " needs a multiple of " +
                   std::to_string(row.image_multiple) + ", at most " + std::to_string(kLargestImage));
  return {};
}

Status check(const ModelRow& row, const ZooOptions& options) {
  const std::string name(row.name);
  RIDGE_TRY(check_image(row, options.image_size));
  if (options.batch && *options.batch < 1) return invalid("a batch has at least 1 row");
  if (options.sequence && !row.has_sequence) return invalid(name + " has no sequence length");
  if (options.sequence && (*options.sequence < 1 || *options.sequence > kLongestSequence))
    return invalid("sequence length " + std::to_string(*options.sequence) + ": " + name + " has 1 to " +
                   std::to_string(kLongestSequence) + " positions");
  if (options.type != DataType::kFp32 && !row.has_type) return invalid(name + " is available in FP32 only");
  if (options.type == DataType::kInvalid) return invalid("unknown tensor type");
  if (options.channels != ZooOptions().channels && !row.has_channels) return invalid(name + " has a fixed width");
  if (options.channels < kChannelMultiple || options.channels % kChannelMultiple != 0 || options.channels > 4096)
    return invalid("channels " + std::to_string(options.channels) + ": " + name +
                   " needs a multiple of 32, at most 4096");
  if (options.opset < kOldestZooOpset || options.opset > kNewestOpset)
    return invalid("opset " + std::to_string(options.opset) + ": reference models use opset " +
                   std::to_string(kOldestZooOpset) + " to " + std::to_string(kNewestOpset));
  return {};
}

Status check_language(std::string_view name, const ZooOptions& options) {
  const ZooOptions usual;
  if (options.batch || options.sequence || options.image_size != usual.image_size ||
      options.channels != usual.channels || options.type != usual.type || options.opset != usual.opset)
    return invalid(std::string(name) + " is a language model in BF16, no ONNX file: of the options it has only a seed");
  return {};
}

Result<Blueprint> build(std::string_view name, const ZooOptions& options) {
  RIDGE_ASSIGN(const ModelRow* row, find_row(name));
  RIDGE_TRY(check(*row, options));
  return row->build(options);
}

std::vector<ZooPort> ports(const std::vector<Port>& from) {
  std::vector<ZooPort> to;
  for (const Port& port : from) {
    std::string shape;
    for (const Dimension& dimension : port.shape) {
      const auto* size = std::get_if<int64_t>(&dimension);
      shape += (shape.empty() ? "" : ",") + (size ? std::to_string(*size) : std::get<std::string>(dimension));
    }
    to.push_back({port.name, port.type, "[" + shape + "]"});
  }
  return to;
}

int64_t parameters_of(const Blueprint& blueprint) {
  int64_t parameters = 0;
  for (const Weight& weight : blueprint.weights)
    if (weight.parameter) parameters += element_count(weight.shape).value();
  for (const Constant& constant : blueprint.constants)
    if (constant.parameter) parameters += element_count(constant.shape).value();
  return parameters;
}

ZooDescription description_of(const Blueprint& blueprint) {
  return {blueprint.name,
          blueprint.opset,
          parameters_of(blueprint),
          weight_bytes(blueprint),
          static_cast<int64_t>(blueprint.operations.size()),
          needs_external_data(blueprint),
          ports(blueprint.inputs),
          ports(blueprint.outputs),
          false};
}

// A language model's weights are in BF16.
ZooDescription description_of(const LanguageModel& model) {
  ZooDescription description = description_of(blueprint_of(model));
  description.weight_bytes = description.parameters * 2;
  description.external_data = false;
  description.folder = true;
  return description;
}

}  // namespace

Result<ZooDescription> describe(std::string_view name, const ZooOptions& options) {
  if (const LanguageModel* model = language_model(name)) {
    RIDGE_TRY(check_language(name, options));
    return description_of(*model);
  }
  RIDGE_ASSIGN(Blueprint blueprint, build(name, options));
  return description_of(blueprint);
}

Result<ZooDescription> make(std::string_view name, const ZooOptions& options, const std::string& path) {
  if (const LanguageModel* model = language_model(name)) {
    RIDGE_TRY(check_language(name, options));
    RIDGE_TRY(write_checkpoint(*model, options.seed, path));
    return description_of(*model);
  }
  RIDGE_ASSIGN(Blueprint blueprint, build(name, options));
  RIDGE_TRY(write(blueprint, options.seed, path));
  return description_of(blueprint);
}

}  // namespace ridge::zoo
