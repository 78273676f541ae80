// The model repository on disk: DIRECTORY/<model>/{config.pbtxt, <version>/model.onnx, label files}, and .onnx and
// .gguf files, each a model with version 1 and no configuration; or one such file. A folder that is a language model's
// checkpoint is a model's version, or a model with version 1. Writes nothing into it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/temporary_folder.h"

namespace ridge::serve {

struct ModelDirectory {
  std::string name;
  std::string path;              // of the folder, or of a model that is one file or one checkpoint
  std::string passed_over = {};  // why it is not a model; empty: it is one
};

// One path component that is no `.`, `..`, blank or over 255 bytes.
Status check_model_name(const std::string& name);
// A path that stays inside its folder: relative, no `..`, every component at most 255 bytes.
Status check_relative_path(const std::string& path);

// The models of all repositories, and the folders and files that are passed over, with the reason; sorted by name.
// Hidden ones and lost+found are not mentioned. A folder with a model's file but no version is a model, whose load says
// what it lacks, where no files are models. kFailed: a repository cannot be read; kInvalid: it is a file of another
// kind, or two models have the same name.
Result<std::vector<ModelDirectory>> scan_repositories(const std::vector<std::string>& repositories);
// The .onnx and .gguf files in a folder, sorted by name.
std::vector<ModelDirectory> plain_models(const std::string& folder);
// Finds the language model in a version's folder, or in a model that is one file: model.gguf or the .gguf file; the
// folder if it has config.json and no .onnx file (as Hugging Face's hub has it). nullopt: nothing.
std::optional<std::string> checkpoint_of(const std::string& path);
// The model of that name, else what is passed over under it; nullopt if there is neither.
std::optional<ModelDirectory> find_model(const std::vector<std::string>& repositories, const std::string& name);

// Checks that its entries can be listed: list_versions() has none where they cannot.
Status check_readable(const std::string& model_directory);
// The version directories: names that are numbers from 1, without leading zero; ascending. 1 of a model that is one
// file or one checkpoint.
std::vector<int64_t> list_versions(const std::string& model_directory);
// The folder of a version, or the file or the checkpoint that is the model.
std::string version_path(const std::string& model_directory, int64_t version);
// Text of config.pbtxt; nullopt if there is none.
Result<std::optional<std::string>> read_config_file(const std::string& model_directory);
std::string config_path(const std::string& model_directory);
// The file of a version, or of a directory of that name the file of that name in it (models with external data).
Result<std::string> find_model_file(const std::string& model_directory, int64_t version, const std::string& filename);
// One label per line, beside config.pbtxt.
Result<std::vector<std::string>> read_labels(const std::string& model_directory, const std::string& filename);

// Names, sizes and times of the files under `path`, as text: equal text = nothing was changed.
std::string fingerprint(const std::string& path);

// Writes the files of a load request into a private temporary folder, which its owner keeps while the model lives.
// `files`: "1/model.onnx" → content. kInvalid: a name that would leave the folder; kFailed: they could not be written.
Result<std::shared_ptr<const TemporaryFolder>> write_override_files(
    const std::vector<std::pair<std::string, std::string>>& files);

// Model name → fingerprint of its directory, for the control mode poll.
using RepositoryView = std::map<std::string, std::string>;

struct RepositoryChanges {
  std::vector<std::string> load;    // new, or different from before
  std::vector<std::string> unload;  // gone
  bool settling = false;            // others are new or different, and still being written
};

// Compares the loaded with what is there `now`. A model whose files changed since the `last` look is not loaded yet.
RepositoryChanges compare_views(const RepositoryView& loaded, const RepositoryView& last, const RepositoryView& now);

}  // namespace ridge::serve
