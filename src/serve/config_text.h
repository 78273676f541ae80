// Reads model configurations: config.pbtxt (protobuf text format, Triton's schema) and their JSON form.
//
// The result is protobuf's own message, which stays behind this folder's .cc files; other headers only name it.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"

namespace inference {
class ModelConfig;
}

namespace ridge::serve {

using ConfigPtr = std::shared_ptr<const inference::ModelConfig>;

// `path` names the file in errors: "path:line:column: what is wrong". An unknown field is an error.
Result<ConfigPtr> parse_config_text(const std::string& text, const std::string& path);
// The same from JSON; 64-bit integers may be strings, names snake_case or camelCase. `what` names it in errors.
Result<ConfigPtr> parse_config_json(const std::string& json, const std::string& what);
// True if the text, or the JSON, of a readable configuration states max_batch_size; its message hides a stated 0.
bool states_batch_size(const std::string& text);
bool states_batch_size_in_json(const std::string& json);
// A configuration with nothing set, for models without a file.
ConfigPtr empty_config();

}  // namespace ridge::serve
