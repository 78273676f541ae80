// Reads an ONNX model file into a Graph: parse and check once, then bind symbols and infer shapes as often as wanted.
// OpenVINO's IR is read by engine/model_file.h.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/graph.h"

namespace onnx {
class ModelProto;
}

namespace ridge::model {

class IrSource;

// Values for dynamic dimensions.
struct Binding {
  std::optional<int64_t> batch;            // for the first dimension of every input whose first dimension is dynamic
  bool insist_on_batch = true;             // false: a file without such a dimension keeps its own
  std::map<std::string, int64_t> symbols;  // by symbol name
  std::map<std::string, Shape> shapes;     // by input name; whole shape
  // Data-dependent sizes (boxes kept, non-zero elements): at their maximum instead of unknown. For a forecast; an
  // engine returns less.
  bool data_sizes_at_most = false;
  bool empty() const { return !batch && symbols.empty() && shapes.empty(); }
};

// "input=1x3x224x224" or "sequence=128" (no 'x', not an input's rank) → into `binding`.
Status parse_shape_option(const std::string& text, Binding& binding);

struct WholeModel;

// A model read once, with its dynamic dimensions; bind() binds them as often as wanted without reading the file again.
// Immutable; copies share the data.
class UnboundModel {
 public:
  // Errors (each its own message): missing file, empty, truncated or not ONNX, cyclic, missing or escaping external
  // data, opset newer than known. Domains without schemas are allowed: their shapes stay unknown.
  static Result<UnboundModel> read(const std::string& path);
  // OpenVINO's IR at `path`, as its engine describes it.
  static Result<UnboundModel> from_ir(const std::string& path, std::shared_ptr<const IrSource> source);
  // Reads all values, external data too. Takes memory of their size.
  static Result<WholeModel> read_whole(const std::string& path);
  // The same from memory, for fuzzing and for files sent over the wire. `folder` resolves external data.
  static Result<UnboundModel> read_bytes(std::string_view bytes, const std::string& folder);

  // Errors: names in `binding` that the model does not have, a binding that contradicts the file or itself.
  Result<Graph> bind(const Binding& binding = {}) const;
  // ONNX's structure, without large values.
  const onnx::ModelProto& proto() const;
  // Digest of the file's bytes and of its external data (base/digest.h). Reads external data, unless read_whole() did.
  Result<std::string> digest() const;
  // Read from OpenVINO's IR, as nodes of ONNX (model/ir.h); only the engine whose format it is opens the file.
  bool is_ir() const;
  // True if a node runs other graphs, so that values decide what is run and how often (If, Loop, Scan, …).
  bool has_subgraphs() const;
  // The files with its external data (external_files.h).
  const std::vector<std::string>& external_files() const;

 private:
  struct ParsedModel;
  explicit UnboundModel(std::shared_ptr<const ParsedModel> parsed) : parsed_(std::move(parsed)) {}
  std::shared_ptr<const ParsedModel> parsed_;
};

// Contents of the files with external data, by their location as the model gives it.
using ExternalData = std::map<std::string, std::string>;

// A model with its values, for passes that write it in other forms without its files. Immutable; copies share data.
struct WholeModel {
  std::string path;
  UnboundModel unbound;
  std::shared_ptr<const onnx::ModelProto> proto;  // as the file has it
  std::shared_ptr<const ExternalData> external_data;
};

// Both steps, for a graph that is bound only once.
Result<Graph> read(const std::string& path, const Binding& binding = {});
Result<Graph> read_bytes(std::string_view bytes, const std::string& folder, const Binding& binding = {});

}  // namespace ridge::model
