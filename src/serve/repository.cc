#include "serve/repository.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iterator>
#include <system_error>

#include "base/file.h"
#include "base/read_number.h"
#include "checkpoint/graph_folder.h"
#include "checkpoint/weights.h"
#include "engine/own_format.h"

namespace ridge::serve {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxComponent = 255;       // of a file name on Linux [bytes]
constexpr int64_t kLargestText = 64 << 20;  // a configuration or a file of labels [bytes]

std::optional<int64_t> version_from_name(const std::string& name) {
  int64_t version = 0;
  if (!read_number(name, version) || version < 1 || name[0] == '0') return std::nullopt;
  return version;
}

constexpr std::string_view kGraphFile = ".onnx";
constexpr std::string_view kWeightsFile = ".safetensors";
constexpr const char* kLanguageFile = "model.gguf";

// Why a folder or file of that name is not a model.
std::string refused_name(const std::string& name) {
  const Status named = check_model_name(name);
  return named ? "" : named.error().message;
}

// A model that is one file, served under the file's name.
std::optional<ModelDirectory> plain_model(const fs::path& path) {
  std::error_code error;
  const std::string name = path.stem().string();
  const bool known = path.extension() == kGraphFile || checkpoint::is_gguf(path.string());
  if (!known || !fs::is_regular_file(path, error)) return std::nullopt;
  return ModelDirectory{name, path.string(), refused_name(name)};
}

bool has_entry(const std::string& folder, const std::function<bool(const fs::path&)>& wanted) {
  std::error_code error;
  for (fs::directory_iterator entries(folder, error); !error && entries != fs::directory_iterator();
       entries.increment(error))
    if (wanted(entries->path())) return true;
  return false;
}
bool has_files(const std::string& folder, std::string_view extension) {
  return has_entry(folder, [&](const fs::path& path) { return path.extension() == extension; });
}
bool has_weights(const std::string& folder) {
  return has_files(folder, kWeightsFile) || checkpoint::is_graph_folder(folder);
}
// Names that models of any kind have: model.plan, pytorch_model.bin and saved_model.pb cannot be loaded.
bool has_model_file(const std::string& folder) {
  return has_entry(folder, [](const fs::path& path) {
    return path.extension() == kGraphFile || path.extension() == kWeightsFile || checkpoint::is_gguf(path.string()) ||
           path.stem().string().ends_with("model");
  });
}

// Why a folder is not a model; empty: it has a configuration, or a version that is empty or has a model's file, or it
// cannot be read, which its load reports.
std::string why_no_model(const std::string& folder) {
  std::error_code error;
  if (fs::exists(config_path(folder), error) || !check_readable(folder)) return "";
  for (const int64_t version : list_versions(folder))
    if (const std::string path = version_path(folder, version); fs::is_empty(path, error) || has_model_file(path))
      return "";
  return has_model_file(folder) ? "its model's file is in no folder of a version, as in NAME/1/model.onnx"
                                : "it holds no model: NAME/1/model.onnx, or a config.pbtxt";
}

Result<std::vector<ModelDirectory>> scan_repository(const std::string& repository) {
  std::error_code error;
  if (fs::is_regular_file(repository, error)) {
    if (auto model = plain_model(repository)) return std::vector{*model};
    const std::string name = fs::path(repository).stem().string();
    if (engine::owner_of(repository) != nullptr && check_model_name(name))
      return std::vector{ModelDirectory{name, repository}};
    return Error{Code::kInvalid,
                 "cannot serve " + repository + ": a model is an .onnx or .gguf file, IR (.xml) or a folder"};
  }
  std::vector<ModelDirectory> models;
  fs::directory_iterator entries(repository, error);
  if (error)
    return Error{Code::kFailed, "cannot read the model repository " + repository + ": " + error.message() +
                                    "; name an .onnx or .gguf file, a folder of them, or one with a folder per model"};
  for (; entries != fs::directory_iterator(); entries.increment(error)) {
    if (error) return Error{Code::kFailed, "cannot read the model repository " + repository + ": " + error.message()};
    const std::string name = entries->path().filename().string(), path = entries->path().string();
    if (name.starts_with('.') || name == "lost+found" || !entries->is_directory(error)) continue;
    const std::string refused = refused_name(name);
    models.push_back({name, path, refused.empty() ? why_no_model(path) : refused});
  }
  const bool folders = std::ranges::any_of(models, [](const auto& model) { return model.passed_over.empty(); });
  const fs::path whole = fs::weakly_canonical(repository, error);  // "." has a name, too
  if (!folders && checkpoint_of(repository) && has_weights(repository) && check_model_name(whole.filename().string()))
    return std::vector{ModelDirectory{whole.filename().string(), whole.string()}};
  std::vector<ModelDirectory> plain = plain_models(repository);
  for (ModelDirectory& model : models)
    if (plain.empty() && refused_name(model.name).empty() && has_model_file(model.path)) model.passed_over.clear();
  for (ModelDirectory& file : plain) {
    const auto same = std::ranges::find_if(
        models, [&](const auto& model) { return model.name == file.name && model.passed_over.empty(); });
    if (same != models.end()) file.passed_over = same->path + " beside it is the model of its name";
    models.push_back(std::move(file));
  }
  return models;
}

bool is_blank(const std::string& text) { return text.find_first_not_of(" \t\r\n") == std::string::npos; }

}  // namespace

Status check_model_name(const std::string& name) {
  bool wrong = is_blank(name) || name == "." || name == ".." || name.size() > kMaxComponent ||
               name.find_first_of(std::string_view("/\0", 2)) != std::string::npos;
  if (!wrong) return {};
  return Error{Code::kInvalid, "'" + name.substr(0, 300) + "' is not a model name: it must be the name of one folder"};
}

Status check_relative_path(const std::string& path) {
  fs::path parsed(path);
  bool wrong = is_blank(path) || parsed.is_absolute() || path.find('\0') != std::string::npos || path.ends_with('/');
  for (const fs::path& part : parsed)
    if (part == ".." || part == "." || part.native().size() > kMaxComponent) wrong = true;
  if (!wrong) return {};
  return Error{Code::kInvalid, "'" + path.substr(0, 300) + "' is not a path inside the model's folder"};
}

std::optional<std::string> checkpoint_of(const std::string& path) {
  std::error_code error;
  if (fs::is_regular_file(path, error)) return checkpoint::is_gguf(path) ? std::optional(path) : std::nullopt;
  std::string file = path + "/" + kLanguageFile;
  if (fs::is_regular_file(file, error) && !has_weights(path)) return file;
  const bool described = fs::is_regular_file(path + "/config.json", error) && !has_files(path, kGraphFile);
  return described ? std::optional(path) : std::nullopt;
}

std::vector<ModelDirectory> plain_models(const std::string& folder) {
  std::vector<ModelDirectory> models;
  std::error_code error;
  for (fs::directory_iterator entries(folder, error); !error && entries != fs::directory_iterator();
       entries.increment(error)) {
    if (entries->path().filename().string().starts_with('.')) continue;
    if (auto model = plain_model(entries->path())) models.push_back(std::move(*model));
  }
  std::ranges::sort(models, {}, [](const auto& model) { return std::pair(model.name, model.path); });
  return models;
}

Result<std::vector<ModelDirectory>> scan_repositories(const std::vector<std::string>& repositories) {
  std::vector<ModelDirectory> models;
  for (const std::string& repository : repositories) {
    RIDGE_ASSIGN(const std::vector<ModelDirectory> found, scan_repository(repository));
    models.insert(models.end(), found.begin(), found.end());
  }
  std::ranges::sort(models, {}, [](const auto& model) { return std::pair(model.name, !model.passed_over.empty()); });
  auto twice = std::ranges::adjacent_find(
      models, [](const auto& a, const auto& b) { return a.name == b.name && b.passed_over.empty(); });
  if (twice != models.end())
    return Error{Code::kInvalid, "model '" + twice->name + "' is in two repositories: " + twice->path + " and " +
                                     std::next(twice)->path + "; remove one"};
  return models;
}

std::optional<ModelDirectory> find_model(const std::vector<std::string>& repositories, const std::string& name) {
  if (!check_model_name(name)) return std::nullopt;
  std::optional<ModelDirectory> found;
  for (const std::string& repository : repositories) {
    std::error_code error;
    const std::string path = (fs::path(repository) / name).string();
    if (fs::is_directory(path, error) && why_no_model(path).empty()) return ModelDirectory{name, path};
    const Result<std::vector<ModelDirectory>> models = scan_repository(repository);
    if (!models) continue;
    for (const ModelDirectory& model : *models)
      if (model.name == name && (!found || model.passed_over.empty())) found = model;
    if (found && found->passed_over.empty()) break;
  }
  return found;
}

std::vector<int64_t> list_versions(const std::string& model_directory) {
  std::vector<int64_t> versions;
  std::error_code error;
  if (fs::is_regular_file(model_directory, error)) return {1};
  for (fs::directory_iterator entries(model_directory, error); !error && entries != fs::directory_iterator();
       entries.increment(error)) {
    std::error_code ignored;
    auto version = version_from_name(entries->path().filename().string());
    if (version && entries->is_directory(ignored)) versions.push_back(*version);
  }
  std::sort(versions.begin(), versions.end());
  if (versions.empty() && checkpoint_of(model_directory)) return {1};
  return versions;
}

Status check_readable(const std::string& model_directory) {
  std::error_code error;
  if (fs::is_regular_file(model_directory, error)) return {};
  const fs::directory_iterator entries(model_directory, error);
  if (!error) return {};
  return Error{error == std::errc::no_such_file_or_directory ? Code::kNotFound : Code::kFailed,
               "cannot read the model's folder " + model_directory + ": " + error.message()};
}

std::string config_path(const std::string& model_directory) {
  return (fs::path(model_directory) / "config.pbtxt").string();
}

Result<std::optional<std::string>> read_config_file(const std::string& model_directory) {
  std::error_code error;
  if (!fs::exists(config_path(model_directory), error)) return std::optional<std::string>();
  RIDGE_ASSIGN(std::string text, read_file(config_path(model_directory), kLargestText));
  return std::optional<std::string>(std::move(text));
}

std::string version_path(const std::string& model_directory, int64_t version) {
  std::error_code error;
  if (fs::is_regular_file(model_directory, error)) return model_directory;
  const std::string folder = (fs::path(model_directory) / std::to_string(version)).string();
  return fs::is_directory(folder, error) || !checkpoint_of(model_directory) ? folder : model_directory;
}

Result<std::string> find_model_file(const std::string& model_directory, int64_t version, const std::string& filename) {
  RIDGE_TRY(check_relative_path(filename));
  std::error_code error;
  if (fs::is_regular_file(model_directory, error)) return model_directory;
  fs::path path = fs::path(version_path(model_directory, version)) / filename;
  if (fs::is_directory(path, error)) path /= fs::path(filename).filename();
  if (fs::is_regular_file(path, error)) return path.string();
  if (error && error != std::errc::no_such_file_or_directory && error != std::errc::not_a_directory)
    return Error{Code::kFailed, "cannot look for the model file " + path.string() + ": " + error.message()};
  return Error{Code::kNotFound, "there is no model file " + path.string()};
}

Result<std::vector<std::string>> read_labels(const std::string& model_directory, const std::string& filename) {
  RIDGE_TRY(check_relative_path(filename));
  RIDGE_ASSIGN(std::string text, read_file((fs::path(model_directory) / filename).string(), kLargestText));
  std::vector<std::string> labels;
  for (size_t start = 0; start < text.size();) {
    size_t end = std::min(text.find('\n', start), text.size());
    std::string label = text.substr(start, end - start);
    if (label.ends_with('\r')) label.pop_back();
    labels.push_back(std::move(label));
    start = end + 1;
  }
  return labels;
}

std::string fingerprint(const std::string& path) {
  std::vector<std::string> files;
  std::error_code error;
  auto add = [&](const fs::directory_entry& file) {
    std::error_code ignored;
    if (!file.is_regular_file(ignored)) return;
    files.push_back(fmt::format("{} {} {}\n", file.path().string(), file.file_size(ignored),
                                file.last_write_time(ignored).time_since_epoch().count()));
  };
  fs::directory_entry entry(path, error);
  if (!error && entry.is_directory(error)) {
    for (fs::recursive_directory_iterator files_in(path, error);
         !error && files_in != fs::recursive_directory_iterator(); files_in.increment(error))
      add(*files_in);
  } else if (!error) {
    add(entry);
  }
  std::sort(files.begin(), files.end());
  std::string text;
  for (const std::string& file : files) text += file;
  return text;
}

Result<std::shared_ptr<const TemporaryFolder>> write_override_files(
    const std::vector<std::pair<std::string, std::string>>& files) {
  for (const auto& [name, content] : files) RIDGE_TRY(check_relative_path(name));
  Result<TemporaryFolder> folder = TemporaryFolder::make();
  if (!folder) return wrap(std::move(folder).error(), "keep the files sent with the load");
  for (const auto& [name, content] : files) RIDGE_TRY(write_file_atomically(folder->path() + "/" + name, content));
  return std::make_shared<const TemporaryFolder>(std::move(*folder));
}

RepositoryChanges compare_views(const RepositoryView& loaded, const RepositoryView& last, const RepositoryView& now) {
  RepositoryChanges changes;
  for (const auto& [name, fingerprint] : now) {
    auto known = loaded.find(name);
    if (known != loaded.end() && known->second == fingerprint) continue;
    auto before = last.find(name);
    if (before != last.end() && before->second == fingerprint)
      changes.load.push_back(name);
    else
      changes.settling = true;
  }
  for (const auto& [name, fingerprint] : loaded)
    if (!now.contains(name)) changes.unload.push_back(name);
  return changes;
}

}  // namespace ridge::serve
