#include "serve/model_source.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "base/units.h"
#include "engine/own_format.h"
#include "model_config.pb.h"
#include "serve/config_complete.h"
#include "serve/config_text.h"
#include "serve/ensemble_config.h"
#include "serve/repository.h"
#include "serve/settings_from_config.h"
#include "serve/version_policy.h"

namespace ridge::serve {
namespace {

Status choose_directory(const ServerOptions& options, const LoadRequest& request, ModelSource& source) {
  if (!request.files.empty()) {
    if (!request.config_json)
      return Error{Code::kInvalid, "files were sent without a configuration; give parameters.config too"};
    RIDGE_ASSIGN(std::shared_ptr<const TemporaryFolder> files, write_override_files(request.files));
    source.directory = files->path();
    source.files = std::move(files);
    return {};
  }
  auto found = find_model(options.repositories, source.name);
  if (!found) return Error{Code::kNotFound, "no repository has a model of that name"};
  source.directory = found->path;
  return {};
}

Status choose_config(const LoadRequest& request, ModelSource& source) {
  if (request.config_json) {
    source.sent = true;
    source.config_key = "json:" + *request.config_json;
    RIDGE_ASSIGN(source.config, parse_config_json(*request.config_json, "the configuration sent with the load"));
    source.states_batch_size = states_batch_size_in_json(*request.config_json);
    return {};
  }
  RIDGE_ASSIGN(std::optional<std::string> text, read_config_file(source.directory));
  source.config_key = text ? "text:" + *text : "none";
  source.config = empty_config();
  if (text) {
    RIDGE_ASSIGN(source.config, parse_config_text(*text, config_path(source.directory)));
    source.states_batch_size = states_batch_size(*text);
  }
  return {};
}

// Fingerprints of the files that the configuration names.
std::string side_file_fingerprints(const ModelSource& source) {
  std::string text;
  for (const auto& output : source.config->output())
    if (!output.label_filename().empty()) text += fingerprint(source.directory + "/" + output.label_filename());
  for (const auto& state : source.config->sequence_batching().state())
    for (const auto& initial : state.initial_state())
      if (initial.has_data_file()) text += fingerprint(source.directory + "/initial_state/" + initial.data_file());
  return text;
}

// A frequent mistake is a file beside the folder of its version.
Error without_version(Error error, const std::string& directory) {
  const std::vector<ModelDirectory> files = plain_models(directory);
  if (!files.empty() && list_versions(directory).empty())
    error.message += fmt::format("; move {} into {}/1 and name it model{}", files.front().path, directory,
                                 std::filesystem::path(files.front().path).extension().string());
  return error;
}

}  // namespace

Result<std::string> find_file(const ModelSource& source, int64_t version) {
  Result<std::string> usual = find_model_file(source.directory, version, model_filename_of(*source.config));
  if (usual || !source.config->default_model_filename().empty()) return usual;
  for (const engine::Engine& engine : engine::known())
    if (Result<std::string> own = find_model_file(source.directory, version, std::string(engine.default_file)))
      return own;
  return usual;
}

uint64_t bytes_of_folder(const std::string& folder) {
  std::error_code error;
  if (const auto size = std::filesystem::file_size(folder, error); !error) return size;
  error.clear();
  uint64_t bytes = 0;
  for (std::filesystem::recursive_directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    if (std::error_code size_error; entry->is_regular_file(size_error)) bytes += entry->file_size(size_error);
  return bytes;
}

Status check_free_memory(const ServerOptions& options, uint64_t file_bytes) {
  const uint64_t free = options.free_memory ? options.free_memory() : 0;
  if (free == 0 || file_bytes <= free) return {};
  return Error{Code::kExhausted,
               fmt::format("its files have {}, which its weights take at least, and {} of memory are free for this "
                           "process; unload other "
                           "models, or give it more memory",
                           format_bytes(static_cast<double>(file_bytes)), format_bytes(static_cast<double>(free)))};
}

Result<ModelSource> read_source(const ServerOptions& options, const std::string& name, const LoadRequest& request) {
  RIDGE_TRY(check_model_name(name));
  ModelSource source;
  source.name = name;
  RIDGE_TRY(choose_directory(options, request, source));
  RIDGE_TRY(choose_config(request, source));
  RIDGE_TRY(check_config(*source.config, name));
  source.ensemble = is_ensemble(*source.config);
  for (const auto& output : source.config->output())  // before anything reads the file
    if (!output.label_filename().empty()) RIDGE_TRY(check_relative_path(output.label_filename()));
  for (const auto& state : source.config->sequence_batching().state())
    for (const auto& initial : state.initial_state())
      if (initial.has_data_file()) RIDGE_TRY(check_relative_path(initial.data_file()));
  RIDGE_TRY(check_readable(source.directory));
  Result<std::vector<int64_t>> versions =
      choose_versions(version_policy_of(*source.config), list_versions(source.directory));
  if (!versions) return without_version(std::move(versions).error(), source.directory);
  source.versions = std::move(*versions);
  return source;
}

std::vector<std::string> models_of_ensemble(const ServerOptions& options, const std::string& name,
                                            const LoadRequest& request) {
  ModelSource source;
  const auto found = find_model(options.repositories, name);
  if (!found && !request.config_json) return {};
  if (found) source.directory = found->path;
  if (!choose_config(request, source)) return {};
  return models_of_steps(*source.config);
}

std::string source_fingerprint(const ModelSource& source, int64_t version) {
  return source.config_key + "\n" + side_file_fingerprints(source) +
         fingerprint(version_path(source.directory, version));
}

}  // namespace ridge::serve
