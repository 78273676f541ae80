// Reference models with seeded random weights, so that nothing needs a download. Untrained: their outputs mean nothing,
// but they cost the same as the originals. The same seed gives the same file, byte for byte.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/figure.h"
#include "base/result.h"
#include "base/tensor.h"

namespace ridge::zoo {

struct ZooOptions {
  uint64_t seed = 0;
  std::optional<int64_t> batch;     // absent: symbol "batch"
  std::optional<int64_t> sequence;  // bert-base: absent: symbol "sequence"
  int64_t image_size = 0;           // [pixels], square; 0: the model's own (resnet50 224, yolov8x 640, sd-unet 512)
  int64_t channels = 320;           // sd-unet: width of the first level
  DataType type = DataType::kFp32;  // identity: of its tensors
  int64_t opset = 17;
};

struct ZooPort {
  std::string name;
  DataType type = DataType::kInvalid;
  std::string shape;  // "[batch,3,224,224]"
};
void visit_fields(auto& visit, Is<ZooPort> auto& port) {
  visit("name", port.name);
  visit.derived("datatype", data_type_name(port.type));
  visit("shape", port.shape);
}

// A model's facts, known without writing it.
struct ZooDescription {
  std::string name;
  int64_t opset = 0;
  int64_t parameters = 0;    // as published: without statistics of batch normalisation and without constant tables
  int64_t weight_bytes = 0;  // of all initialisers
  int64_t nodes = 0;
  bool external_data = false;  // weights go to a second file, <file>.data
  std::vector<ZooPort> inputs;
  std::vector<ZooPort> outputs;
  bool folder =
      false;  // a language model: a checkpoint folder (language_model.h), no ONNX file; it has no opset and no nodes
  uint64_t seed = 0;
  std::optional<std::string> file = {};  // that was written; absent: none
};
void visit_fields(auto& visit, Is<ZooDescription> auto& model) {
  visit("model", model.name);
  visit("file", model.file, means("null: none was written, `--describe`"));
  visit("seed", model.seed);
  visit("opset", model.opset);
  visit("params", model.parameters,
        means("as published: without statistics of batch normalisation and constant tables"));
  visit("weight_bytes", model.weight_bytes, means("of all initialisers"));
  visit("nodes", model.nodes);
  visit("external_data", model.external_data, means("the weights lie in a second file, FILE.data"));
  visit("folder", model.folder, means("a language model: a checkpoint folder; it has no opset and no nodes"));
  visit("inputs", model.inputs);
  visit("outputs", model.outputs);
}

// Errors: unknown name (kNotFound, the message lists the names), options that the model cannot have (kInvalid).
Result<ZooDescription> describe(std::string_view name, const ZooOptions& options);
// Writes the model to `path`, replacing an existing file as a whole; on failure nothing is left behind. Models whose
// weights exceed protobuf's 2 GB get a second file beside it, `path` + ".data". A language model's `path` is a folder;
// one that exists is replaced only if it is empty or was made here (kInvalid). Memory stays below 100 MB.
Result<ZooDescription> make(std::string_view name, const ZooOptions& options, const std::string& path);

}  // namespace ridge::zoo
