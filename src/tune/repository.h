// Writes a tuned model into a Triton-style repository: <name>/<version>/model.onnx, <name>/config.pbtxt and
// <name>/tuning.json, and other files named in the configuration: warm-up data, <name>/warmup/….
//
// A reader sees the old entry or the new one, never a part: the entry is completed in a hidden folder beside it and
// moved into place in one step. An existing entry gets the next version; with `overwrite` it is replaced whole.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace ridge::tune {

// Checks that `repository` is a folder that can be written, or can become one.
Status check_repository(const std::string& repository);

struct RepositoryEntry {
  std::string name;                         // a folder name
  std::string model_file;                   // copied to model.onnx; empty for a language model
  std::vector<std::string> external_files;  // its external data, relative to its folder; copied under the same names
  std::string config_pbtxt;
  std::string tuning_json;
  std::string ovms_json = {};                                          // for OpenVINO Model Server; empty = not written
  std::vector<std::pair<std::string, std::string>> warmup_files = {};  // name beneath warmup/, and content
  std::string checkpoint = {};  // a language model's folder, whose files that are served are copied
};

// "model.onnx" → "model"; characters invalid in a folder name or URL become '_'.
std::string entry_name(const std::string& model_file);
Status check_entry_name(const std::string& name);

// Returns the folder of the new version, "repository/name/1".
Result<std::string> save(const RepositoryEntry& entry, const std::string& repository, bool overwrite);

}  // namespace ridge::tune
