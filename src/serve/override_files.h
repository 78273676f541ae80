// Files that a load request brings, in a private temporary folder for as long as the model that uses them lives.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/temporary_folder.h"

namespace ridge::serve {

// `files`: "1/model.onnx" → content. kInvalid: a name that would leave the folder; kFailed: they could not be written.
Result<std::shared_ptr<const TemporaryFolder>> write_override_files(
    const std::vector<std::pair<std::string, std::string>>& files);

}  // namespace ridge::serve
