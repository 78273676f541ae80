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
Result<fs::path> reference_file(const std::string& name) {
  const std::string folder = cache_folder("models");
  if (folder.empty())
    return Error{Code::kUnavailable, name +
                                         " is a reference model, and there is no folder to keep it in: neither "
                                         "XDG_CACHE_HOME nor HOME is set. ridge make " +
                                         name + " -o FILE writes it anywhere"};
  return fs::path(folder) / RIDGE_VERSION / (name + ".onnx");
}

Status find_reference(std::string_view verb, std::string& model) {
  std::error_code error;
  if (model.find_first_of("/.") != std::string::npos || model.empty() || fs::exists(model, error)) return {};
  Result<zoo::ZooDescription> known = zoo::describe(model, {});
  if (!known) return wrap(known.error(), "there is no file '" + model + "'");
  RIDGE_ASSIGN(const fs::path path, reference_file(model));
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
