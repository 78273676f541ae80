// Files that a load request brings, in a private temporary folder for as long as the model that uses them lives.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace ridge::serve {

// Owns one temporary folder; its destructor removes it with all its content.
class OverrideFiles {
 public:
  explicit OverrideFiles(std::string path) : path_(std::move(path)) {}
  OverrideFiles(const OverrideFiles&) = delete;
  OverrideFiles& operator=(const OverrideFiles&) = delete;
  ~OverrideFiles();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// `files`: "1/model.onnx" → content. kInvalid: a name that would leave the folder; kFailed: they could not be written.
Result<std::shared_ptr<const OverrideFiles>> write_override_files(
    const std::vector<std::pair<std::string, std::string>>& files);

}  // namespace ridge::serve
