// ModelSource: where the versions of a model are loaded from: a directory of the repository, or a load request's files.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "serve/config_text.h"
#include "serve/server.h"

namespace ridge::serve {

// The source of a model.
struct ModelSource {
  std::string name;
  std::string directory;          // holds the version directories, labels and warm-up data
  ConfigPtr config;               // as written, not completed
  std::string config_key;         // its text; equal text = equal configuration
  std::vector<int64_t> versions;  // to serve, ascending
  bool sent = false;              // the configuration came with a load request
  bool states_batch_size = false;
  bool ensemble = false;
  std::shared_ptr<const void> files;  // owns `directory` if it is temporary
};

// Errors: kInvalid name, files or configuration; kNotFound no such model, or no version to serve.
Result<ModelSource> read_source(const ServerOptions& options, const std::string& name, const LoadRequest& request);

// The file of a version. Unnamed in the configuration: model.onnx, else the file of an engine's own format.
Result<std::string> find_file(const ModelSource& source, int64_t version);

// Size of all files below it.
uint64_t bytes_of_folder(const std::string& folder);
// kExhausted: that many bytes of weights do not fit into the free memory.
Status check_free_memory(const ServerOptions& options, uint64_t file_bytes);

inline Error load_cancelled() { return {Code::kCancelled, "the load was cancelled"}; }

// The models of its steps, if its configuration can be read and says that it is an ensemble.
std::vector<std::string> models_of_ensemble(const ServerOptions& options, const std::string& name,
                                            const LoadRequest& request);

// Equal to that of a loaded version: nothing it depends on has changed.
std::string source_fingerprint(const ModelSource& source, int64_t version);

}  // namespace ridge::serve
