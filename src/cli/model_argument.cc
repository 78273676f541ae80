#include "cli/model_argument.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "app/download.h"
#include "app/next_steps.h"
#include "base/cache_folder.h"
#include "checkpoint/weights.h"
#include "cli/terminal.h"
#include "zoo/zoo.h"

namespace ridge::cli {
namespace {

namespace fs = std::filesystem;

// One folder per release, as another one may write another file.
Result<fs::path> reference_path(const std::string& name, const zoo::ZooDescription& model) {
  const std::string folder = cache_folder("models");
  if (folder.empty())
    return Error{Code::kUnavailable, name +
                                         " is a reference model, and there is no folder to keep it in: neither "
                                         "XDG_CACHE_HOME nor HOME is set. ridge make " +
                                         name + " -o FILE writes it anywhere"};
  return fs::path(folder) / RIDGE_VERSION / (model.folder ? name : name + ".onnx");
}

// ORG/NAME, as model hubs name models: no path that begins here, and no file's extension.
bool is_hub_name(const std::string& model) {
  const size_t slash = model.find('/');
  std::error_code error;
  return slash != std::string::npos && slash > 0 && model.find('/', slash + 1) == std::string::npos &&
         model.front() != '.' && model.front() != '~' && !fs::exists(model.substr(0, slash), error) &&
         !model.ends_with(".onnx") && !model.ends_with(".xml") && !model.ends_with(".json") &&
         !model.ends_with(".gguf");
}

// "localhost:8000"
bool is_address(const std::string& model) {
  const size_t colon = model.find(':');
  return colon > 0 && colon + 1 < model.size() &&
         model.find_first_not_of("0123456789/", colon + 1) == std::string::npos;
}

// Explains a model argument that is neither a path of this system nor the name of a reference model.
std::string why_no_path(const std::string& model) {
  std::error_code error;
  std::string turned = model;
  std::ranges::replace(turned, '\\', '/');
  const bool differs = turned != model;
  if (differs)
    return "'\\' separates no folders here" + (fs::exists(turned, error) ? "; there is " + turned : std::string());
  if (is_address(model)) return "a server is named by its URL: http://" + model;
  if (is_hub_name(model) || model.find("://") != std::string::npos)
    return "it looks like a model of a hub: download its config.json for ridge plan config.json, or export it to ONNX";
  return {};
}

Status find_reference(std::string_view verb, std::string& model) {
  std::error_code error;
  if (fs::exists(model, error)) return {};
  if (const std::string why = why_no_path(model); !why.empty())
    return Error{Code::kNotFound, "there is no file '" + model + "': " + why};
  if (model.find_first_of("/.") != std::string::npos || model.empty()) return {};
  Result<zoo::ZooDescription> known = zoo::describe(model, {});
  if (!known) return wrap(known.error(), "there is no file '" + model + "'");
  RIDGE_ASSIGN(const fs::path path, reference_path(model, *known));
  if (!fs::exists(path, error)) {
    Progress progress("make " + model);
    progress.update("write " + path.string(), kUnknownShare);
    RIDGE_TRY(zoo::make(model, {}, path.string()));
    progress.finish();
    say_note("ridge " + std::string(verb) + ": " + model + " is a reference model with random weights; made " +
             path.string());
  }
  model = path.string();
  return {};
}

}  // namespace

bool is_language_model(const std::string& model) {
  std::error_code error;
  if (checkpoint::is_gguf(model)) return true;
  if (fs::exists(model, error)) return fs::exists(fs::path(model) / "config.json", error);
  const Result<zoo::ZooDescription> known = zoo::describe(model, {});
  return known && known->folder;
}

bool has_language_config(const std::string& model) { return model.ends_with(".json") || is_language_model(model); }

std::string compare_gpus_line(const std::string& model) {
  return "ridge size " + app::shell_word(model) + " --gpu \"L4,L40S,H100 SXM\"";
}

Status fetch_model(std::string_view verb, std::string& model) {
  return app::is_url(model) ? fetch_url(model) : find_reference(verb, model);
}

Status fetch_url(std::string& model) {
  if (!app::is_url(model)) return {};
  RIDGE_ASSIGN(model, app::download(model, {}, interruptible("download")));
  return {};
}

}  // namespace ridge::cli
