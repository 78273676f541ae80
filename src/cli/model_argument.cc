#include "cli/model_argument.h"

#include <filesystem>
#include <system_error>

#include "app/download.h"
#include "base/cache_folder.h"
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
         model.front() != '.' && model.front() != '~' && !fs::exists(model, error) &&
         !fs::exists(model.substr(0, slash), error) && !model.ends_with(".onnx") && !model.ends_with(".xml") &&
         !model.ends_with(".json") && !model.ends_with(".gguf");
}

Status find_reference(std::string_view verb, std::string& model) {
  std::error_code error;
  if (is_hub_name(model))
    return Error{Code::kNotFound, "there is no file '" + model +
                                      "'. It looks like a model of a hub: download its config.json for ridge plan "
                                      "config.json, or export it to ONNX"};
  if (model.find_first_of("/.") != std::string::npos || model.empty() || fs::exists(model, error)) return {};
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

Status fetch_model(std::string_view verb, std::string& model) {
  return app::is_url(model) ? fetch_url(model) : find_reference(verb, model);
}

Status fetch_url(std::string& model) {
  if (!app::is_url(model)) return {};
  RIDGE_ASSIGN(model, app::download(model, {}, interruptible("download")));
  return {};
}

}  // namespace ridge::cli
